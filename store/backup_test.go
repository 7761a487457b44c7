package store_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pare-llm/pare/internal/pgtest"
	"github.com/pare-llm/pare/internal/trial"
	"github.com/pare-llm/pare/store"
)

// TestBackupOfStoreInUse checks that a backup during writes is complete and consistent.
func TestBackupOfStoreInUse(t *testing.T) {
	dir := t.TempDir()
	st := open(t, filepath.Join(dir, "pare.db"))
	key := create(t, st, "s")
	done := make(chan struct{})
	var wait sync.WaitGroup
	wait.Go(func() {
		for i := 0; ; i++ {
			put(t, st, key, call(fmt.Sprint(i)), result(fmt.Sprint(i), "out"))
			select {
			case <-done:
				return
			default:
			}
		}
	})
	for i := range 1 + trial.Size(10)/5 {
		before := int64(0)
		if session, err := st.Session(ctx, key); err == nil {
			before = session.Head
		}
		path := filepath.Join(dir, fmt.Sprintf("copy%d.db", i))
		if err := st.Backup(ctx, path); err != nil {
			t.Fatal(err)
		}
		if err := st.Backup(ctx, path); err == nil {
			t.Error("a backup was written over")
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Error(info, err)
		}
		again := open(t, path)
		session, err := again.Session(ctx, key)
		if err != nil || session.Head < before || session.Head%2 != 0 {
			t.Errorf("%+v, %v; the head was %d", session, err, before)
		}
		checkStore(t, again)
	}
	close(done)
	wait.Wait()
	if left, _ := filepath.Glob(filepath.Join(dir, "*.part")); left != nil {
		t.Error(left)
	}
	if err := open(t, pgtest.Copy(t, ready(t))).Backup(ctx, filepath.Join(dir, "pg")); err == nil || !strings.Contains(err.Error(), "pg_dump") {
		t.Error(err)
	}
}

// TestJournalIsCheckpointed checks that the database file has new entries some time after a write,
// without further writes.
func TestJournalIsCheckpointed(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "pare.db")
	st := open(t, path)
	store.CheckpointAfter(st, time.Millisecond)
	key := create(t, st, "s")
	put(t, st, key, user("the words of one that is not lost"))
	words := []byte("the words of one that is not lost")
	for n := 0; ; n++ { // the test's own deadline ends it
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		copied := filepath.Join(dir, fmt.Sprintf("copied%d.db", n))
		if err := os.WriteFile(copied, raw, 0o600); err != nil {
			t.Fatal(err)
		}
		// The words may be there while the rest of the journal is still being worked in.
		if bytes.Contains(raw, words) && entries(copied, key) == 1 {
			return
		}
		os.Remove(copied)
		time.Sleep(time.Millisecond)
	}
}

// entries returns the number of entries of a session in a file, or 0 if it cannot be read.
func entries(path string, key store.Key) (n int) {
	st, err := store.Open(ctx, path)
	if err != nil {
		return 0
	}
	defer st.Close()
	if st.Export(ctx, key, store.Export{All: true}, func(store.Entry) error { n++; return nil }) != nil {
		return 0
	}
	return n
}
