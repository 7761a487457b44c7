package store_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"github.com/pare-llm/pare/internal/pgtest"
	"github.com/pare-llm/pare/internal/trial"
	"github.com/pare-llm/pare/store"
)

// TestDeletedByAnotherProcess checks that a process that has just appended notices a deletion by
// another process, however many entries it has missed.
func TestDeletedByAnotherProcess(t *testing.T) {
	engines(t, func(t *testing.T, dsn string) {
		st, other := open(t, dsn), open(t, dsn)
		stays := create(t, st, "stays")
		for _, behind := range []int{0, 1, 5} {
			key := create(t, st, fmt.Sprintf("s%d", behind))
			for range 3 {
				put(t, st, key, user("a"))
				put(t, st, stays, user("a"))
			}
			for range behind {
				put(t, other, key, user("b"))
			}
			if err := other.Delete(ctx, key); err != nil {
				t.Fatal(err)
			}
			if _, err := st.Append(ctx, key, store.Anywhere, store.Message("", user("c"))); !errors.Is(err, store.ErrDeleted) {
				t.Errorf("%d behind: %v", behind, err)
			}
			put(t, st, stays, user("d"))
		}
		if n := st.Count(`SELECT count(*) FROM entries`); n != 12 {
			t.Errorf("%d entries are left", n)
		}
		checkStore(t, st, stays)
	})
}

// TestDeletedByHand checks that a process does not append to a cached session whose row was deleted
// by hand.
func TestDeletedByHand(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		stays, key := createCached(t, st, "stays"), createCached(t, st, "s")
		if err := st.Exec(`DELETE FROM sessions WHERE id = 's'`); err != nil {
			t.Fatal(err)
		}
		before := st.Count(`SELECT count(*) FROM entries`)
		if _, err := st.Append(ctx, key, store.Anywhere, store.Message("", user("c"))); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("an append to what is gone: %v", err)
		}
		if n := st.Count(`SELECT count(*) FROM entries`); n != before {
			t.Errorf("%d entries, %d before", n, before)
		}
		put(t, st, stays, user("d"))
	})
}

// createCached creates a session that the process has cached.
func createCached(t *testing.T, st *store.Store, id string) store.Key {
	t.Helper()
	key := create(t, st, id)
	for range 3 {
		put(t, st, key, user("a"))
	}
	return key
}

// runDuringAppend runs f during an append that is not committed, checks that f waits for it, and returns when
// both are done.
func runDuringAppend(t *testing.T, st *store.Store, key store.Key, f func() error) {
	t.Helper()
	done := make(chan error, 1)
	ok, err := store.WithinAppend(st, key, store.Message("late", user("late")), func() {
		go func() { done <- f() }()
		for st.Count(`SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`) == 0 {
			runtime.Gosched()
			select {
			case err := <-done:
				t.Errorf("it did not wait: %v", err)
				done <- err
				return
			default:
			}
		}
	})
	if err != nil || !ok {
		t.Fatalf("%v, %v", ok, err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// TestDeletionWaitsForAppends checks that changes of a session wait for an append in progress.
func TestDeletionWaitsForAppends(t *testing.T) {
	dsn := pgtest.Copy(t, ready(t))
	st, other := open(t, dsn), open(t, dsn)
	key := createCached(t, st, "s")
	runDuringAppend(t, st, key, func() error {
		var head int64
		err := store.HoldLock(other, key, func() {
			head = int64(other.Count(`SELECT max(pos & 268435455) FROM entries`))
		})
		if head != 4 {
			t.Errorf("the head is %d for the one who waited", head)
		}
		return err
	})
	key = createCached(t, st, "t")
	runDuringAppend(t, st, key, func() error { return other.Delete(ctx, key) })
	if n := st.Count(`SELECT count(*) FROM entries WHERE pos >> 28 = (SELECT sid FROM sessions WHERE id = 't')`); n != 0 {
		t.Errorf("%d entries of a deleted session", n)
	}
	checkStore(t, st)
}

// TestAppendWaitsForLock checks that no fast append is written while another transaction locks the
// session.
func TestAppendWaitsForLock(t *testing.T) {
	dsn := pgtest.Copy(t, ready(t))
	st, other := open(t, dsn), open(t, dsn)
	key := createCached(t, st, "s")
	if err := store.HoldLock(other, key, func() {
		if ok, err := store.WithinAppend(st, key, store.Message("late", user("late")), func() {}); ok || err != nil {
			t.Errorf("%v, %v", ok, err)
		}
	}); err != nil {
		t.Fatal(err)
	}
	if head := put(t, st, key, user("b")); head != 4 {
		t.Errorf("the head is %d", head)
	}
	checkStore(t, st, key)
}

// TestDeletedDuringAppends checks that nothing is left of sessions that are deleted during appends.
func TestDeletedDuringAppends(t *testing.T) {
	engines(t, func(t *testing.T, dsn string) {
		stores := []*store.Store{open(t, dsn), open(t, dsn), open(t, dsn)}
		rounds := trial.Size(20)
		if stores[0].Engine() == "sqlite" { // it waits for the disk
			rounds = 2
		}
		for round := range rounds {
			r := rand.New(rand.NewPCG(9, uint64(round)))
			key := create(t, stores[0], fmt.Sprintf("s%d", round))
			var wait sync.WaitGroup
			begun := make(chan bool, 3)
			for w, st := range stores[:2] {
				wait.Go(func() {
					for i := 0; ; i++ {
						_, err := st.Append(ctx, key, store.Anywhere, store.Message(fmt.Sprintf("%d-%d", w, i), user("go")))
						if errors.Is(err, store.ErrDeleted) {
							return
						}
						if err != nil {
							t.Error(err)
							return
						}
						if i == 3 && w == 0 {
							begun <- true
						}
					}
				})
			}
			<-begun
			for range r.IntN(2000) {
				runtime.Gosched()
			}
			if err := stores[2].Delete(ctx, key); err != nil {
				t.Error(err)
			}
			wait.Wait()
		}
		if n := stores[0].Count(`SELECT count(*) FROM entries`); n != 0 {
			t.Errorf("%d entries of deleted sessions", n)
		}
		checkStore(t, stores[0])
	})
}

// TestUpgradeFromVersion9 upgrades tables of version 9 and checks their content, also without
// prepared statements.
func TestUpgradeFromVersion9(t *testing.T) {
	engines(t, func(t *testing.T, dsn string) {
		old := open(t, dsn)
		key := create(t, old, "s")
		put(t, old, key, user("a"))
		queries := []string{`DELETE FROM goose_db_version WHERE version_id > 9`, `DROP TABLE earlier`, `DROP TABLE remembered`, `DROP TABLE beginnings`, `DROP TABLE stems`}
		if old.Engine() == "postgres" {
			dsn += "&default_query_exec_mode=exec"
		}
		for _, query := range queries {
			if err := old.Exec(query); err != nil {
				t.Fatal(err)
			}
		}
		old.Close()
		st, other := open(t, dsn), open(t, dsn)
		if head := put(t, st, key, user("b")); head != 2 {
			t.Errorf("the head is %d", head)
		}
		next := create(t, st, "t")
		for range 100 {
			put(t, st, next, user("c"))
		}
		if err := other.Delete(ctx, next); err != nil {
			t.Fatal(err)
		}
		if _, err := st.Append(ctx, next, store.Anywhere, store.Message("", user("d"))); !errors.Is(err, store.ErrDeleted) {
			t.Error(err)
		}
		checkStore(t, st, key)
	})
}
