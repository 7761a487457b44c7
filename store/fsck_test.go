package store_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pare-llm/pare/store"
)

// TestFsckReportsDamagedPages damages pages of the file. Fsck must report the damage and verify the
// rest, and repair must not claim too much.
func TestFsckReportsDamagedPages(t *testing.T) {
	const page = 4096
	path := filepath.Join(t.TempDir(), "pare.db")
	st := open(t, path)
	for i := range 6 {
		key := create(t, st, fmt.Sprint("talk", i))
		for j := range 12 {
			put(t, st, key, user(strings.Repeat(fmt.Sprintf("word%d of talk %d, ", j, i), 60)))
		}
	}
	if problems, err := st.Fsck(ctx, false); err != nil || len(problems) > 0 {
		t.Fatalf("before: %v, %v", problems, err)
	}
	st.Close()
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	pages, seen := len(whole)/page, 0
	step := max(1, pages/12)
	for at := 1; at < pages; at += step { // the first page is the head: without it there is no database
		for name, spoil := range map[string]func(p []byte){
			"zeros": func(p []byte) { clear(p) },
			"noise": func(p []byte) { copy(p, bytes.Repeat([]byte{0xA5, 0x5A, 7}, page)) },
		} {
			spoilt := bytes.Clone(whole)
			spoil(spoilt[at*page : (at+1)*page])
			if bytes.Equal(spoilt, whole) {
				continue
			}
			path := filepath.Join(t.TempDir(), "spoilt.db")
			if err := os.WriteFile(path, spoilt, 0o600); err != nil {
				t.Fatal(err)
			}
			st, err := store.Open(ctx, path)
			if errors.Is(err, store.ErrDamaged) {
				seen++
				continue
			}
			if err != nil {
				t.Errorf("page %d, %s: %v", at, name, err)
				continue
			}
			for _, repair := range []bool{false, true} {
				problems, err := st.Fsck(ctx, repair)
				damaged := 0
				for _, p := range problems {
					if p.Damaged {
						damaged++
					}
					if p.Repaired && !repair {
						t.Errorf("page %d, %s: repaired unasked: %s", at, name, p)
					}
				}
				if err != nil || damaged == 0 && !repair {
					t.Errorf("page %d, %s, repair %v: %d problems, none is damage, %v", at, name, repair, len(problems), err)
				}
				seen += damaged
			}
			st.Close()
		}
	}
	if seen == 0 {
		t.Error("nothing was damaged")
	}
}

// TestFsckRebuildsWordIndex checks that a damaged word index is reported and rebuilt, and that
// nothing else changes.
func TestFsckRebuildsWordIndex(t *testing.T) {
	for _, damage := range []string{
		`UPDATE words_data SET block = X'0989540000' WHERE id = 1`, // the sums, as a disk that failed once left them
		`DELETE FROM words_data WHERE id > 10`,
		`DELETE FROM words_docsize`,
	} {
		st := open(t, filepath.Join(t.TempDir(), "pare.db"))
		key := create(t, st, "a")
		put(t, st, key, user("where is the yellow lamp?"), assistant("in the hall"), user("and the green one?"))
		find := func() (hits []store.Hit) {
			t.Helper()
			hits, err := st.Search(ctx, key, "lamp", 5)
			if err != nil || len(hits) != 1 {
				t.Fatal(damage, hits, err)
			}
			return hits
		}
		find()
		if err := st.Exec(damage); err != nil {
			t.Fatal(err)
		}
		found, err := st.Fsck(ctx, false)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %v %v", damage, found, err)
		}
		if found, err = st.Fsck(ctx, true); err != nil || len(found) == 0 || !found[0].Repaired {
			t.Fatalf("%s: %v %v", damage, found, err)
		}
		find()
		if found, err = st.Fsck(ctx, false); err != nil || len(found) > 0 {
			t.Errorf("%s: %v %v", damage, found, err)
		}
	}
}
