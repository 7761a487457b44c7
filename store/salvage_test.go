package store_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pare-llm/pare/store"
)

// TestTruncatedFile opens a truncated file. Fsck must report the damage, sessions before the cut
// must be exported, and nothing may be written.
func TestTruncatedFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "pare.db")
	st, err := store.Open(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	var want [][]string
	for i := range 40 {
		key := create(t, st, fmt.Sprint("s", i))
		for j := range 5 {
			put(t, st, key, user(fmt.Sprint(i, " ", j, " ", strings.Repeat(store.NewID(), 40))))
		}
		want = append(want, texts(t, st, key))
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, tenths := range []int{9, 7, 5} {
		cut := filepath.Join(dir, fmt.Sprintf("cut%d.db", tenths))
		if err := os.WriteFile(cut, whole[:len(whole)*tenths/10+100], 0o600); err != nil {
			t.Fatal(err)
		}
		if again, err := store.Open(ctx, cut); err == nil {
			again.Close()
			t.Fatalf("%d tenths were opened as if nothing was missing", tenths)
		} else if !errors.Is(err, store.ErrDamaged) {
			t.Errorf("%d tenths: %v", tenths, err)
		}
		st, err := store.OpenWith(ctx, cut, store.Options{Damaged: true})
		if tenths < 6 && errors.Is(err, store.ErrDamaged) {
			continue // the list of tables is lost
		}
		if err != nil {
			t.Fatalf("%d tenths: %v", tenths, err)
		}
		problems, err := st.Fsck(ctx, true)
		damaged := false
		for _, p := range problems {
			damaged = damaged || p.Damaged && !p.Repaired
		}
		if err != nil || !damaged {
			t.Errorf("%d tenths: %v, %v", tenths, problems, err)
		}
		saved := 0
		for i, messages := range want {
			var got []string
			err := st.Export(ctx, store.ID(fmt.Sprint("s", i)), store.Export{}, func(e store.Entry) error {
				got = append(got, string(e.Raw))
				return nil
			})
			if err == nil && strings.Join(got, "\n") == strings.Join(messages, "\n") {
				saved++
			} else if err == nil {
				t.Errorf("%d tenths: session %d was exported with %d messages of %d", tenths, i, len(got), len(messages))
			}
		}
		t.Logf("%d tenths: %d of %d sessions saved, %d problems", tenths, saved, len(want), len(problems))
		if saved == 0 && tenths == 9 { // with more of the file the table of the sessions may be lost
			t.Errorf("%d tenths: nothing was saved", tenths)
		}
		if _, err := st.Append(ctx, store.ID("s0"), store.Anywhere, store.Message("", user("x"))); !errors.Is(err, store.ErrDamaged) {
			t.Errorf("a damaged store was written to: %v", err)
		}
		if err := st.Close(); err != nil {
			t.Error(err)
		}
		if after, err := os.ReadFile(cut); err != nil || string(after) != string(whole[:len(whole)*tenths/10+100]) {
			t.Errorf("%d tenths: the file was changed: %v", tenths, err)
		}
	}
}
