//go:build unix

package store_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/pare-llm/pare/internal/pgtest"
	"github.com/pare-llm/pare/store"
)

// TestIDsAreUnique checks that an id is taken whether its mark is written, in the tail or in a
// shared session, for the process that wrote it and for others.
func TestIDsAreUnique(t *testing.T) {
	engines(t, func(t *testing.T, dsn string) {
		st := open(t, dsn)
		other := open(t, dsn)
		key := create(t, st, "s")
		const n = 1100 // marks are written twice or more often, and some are left
		for i := range n {
			if _, err := st.Append(ctx, key, store.Exactly(int64(i)), store.Message(fmt.Sprintf("m%d", i), user(fmt.Sprint(i)))); err != nil {
				t.Fatal(err)
			}
		}
		if marks := st.Count(`SELECT count(*) FROM marks`); marks == 0 || marks >= 2*n {
			t.Errorf("%d marks are written", marks)
		}
		fork := store.ID("f")
		if _, err := other.Fork(ctx, key, "m1080", fork); err != nil {
			t.Fatal(err)
		}
		for _, i := range []int{0, 1, 63, 64, 126, 127, 128, 129, 255, 256, 257, 258, 511, 512, 513, 514, 1023, 1024, 1025, 1026, 1080} {
			id := fmt.Sprintf("m%d", i)
			for name, s := range map[string]*store.Store{"the writer": st, "another process": other} {
				for _, key := range []store.Key{key, fork} {
					result, err := s.Append(ctx, key, store.Anywhere, store.Message(id, user(fmt.Sprint(i))))
					if err != nil || result.Replayed != 1 || result.Entries[0].Seq != int64(i+1) {
						t.Errorf("%s of %s for %s: %+v, %v", id, key, name, result, err)
					}
					var dup *store.DuplicateError
					if _, err := s.Append(ctx, key, store.Anywhere, store.Message(id, user("other"))); !errors.As(err, &dup) {
						t.Errorf("%s of %s for %s was taken twice: %v", id, key, name, err)
					}
					if _, err := s.Append(ctx, key, store.Anywhere, store.Message("new", user("a")), store.Message("new", user("b"))); err == nil {
						t.Errorf("%s: one id stands twice in an append", key)
					}
				}
			}
		}
		if result, err := other.Append(ctx, fork, store.Anywhere, store.Message("m1085", user("its own"))); err != nil || result.Replayed != 0 {
			t.Errorf("an id behind what is shared is taken: %v", err)
		}
		checkStore(t, st, key, fork)
	})
}

// TestReaderOfTailWritesMarks checks that a process that had to read a long tail for an append
// writes its marks.
func TestReaderOfTailWritesMarks(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		store.SettleAfter(st, 1000)
		key := create(t, st, "s")
		for i := range 300 {
			if _, err := st.Append(ctx, key, store.Anywhere, store.Message(fmt.Sprintf("m%d", i), user(fmt.Sprint(i)))); err != nil {
				t.Fatal(err)
			}
		}
		marks := func() int { return st.Count(`SELECT count(DISTINCT seq) FROM marks`) }
		if n := marks(); n != 0 {
			t.Fatalf("the marks of %d entries are written", n)
		}
		for _, i := range []int{0, 150, 298} { // the writer has cached them
			page, err := st.Page(ctx, key, store.Page{After: fmt.Sprintf("m%d", i), Limit: 1})
			if err != nil || len(page.Entries) != 1 || page.Entries[0].ID != fmt.Sprintf("m%d", i+1) {
				t.Errorf("behind m%d: %+v, %v", i, page, err)
			}
		}
		store.Forget(st, key)
		if _, err := st.Append(ctx, key, store.Anywhere, store.Message("last", user("x"))); err != nil {
			t.Fatal(err)
		}
		if n := marks(); n != 301 {
			t.Errorf("the marks of %d entries are written", n)
		}
		checkStore(t, st, key)
	})
}

// TestIDsOfAnotherWriter checks that an id that another process has taken meanwhile is found,
// although this process has cached the session since its first entry.
func TestIDsOfAnotherWriter(t *testing.T) {
	engines(t, func(t *testing.T, dsn string) {
		st := open(t, dsn)
		other := open(t, dsn)
		key := create(t, st, "s")
		add := func(s *store.Store, id string) (store.Appended, error) {
			return s.Append(ctx, key, store.Anywhere, store.Message(id, user(id)))
		}
		for i := range 400 {
			by := st
			if i%140 == 139 {
				by = other
			}
			if result, err := add(by, fmt.Sprintf("m%d", i)); err != nil || result.Replayed != 0 {
				t.Fatalf("m%d: %+v, %v", i, result, err)
			}
		}
		for i := range 400 {
			if result, err := add(st, fmt.Sprintf("m%d", i)); err != nil || result.Replayed != 1 || result.Entries[0].Seq != int64(i+1) {
				t.Fatalf("m%d again: %+v, %v", i, result, err)
			}
		}
		checkStore(t, st, key)
	})
}

// TestStatementsArePreparedAgain removes the prepared statements of a connection. The next append
// must be written, and later ones must be fast again.
func TestStatementsArePreparedAgain(t *testing.T) {
	st := open(t, pgtest.DSN(t))
	key := create(t, st, "s")
	put(t, st, key, user("a"))
	prepared := func() int {
		t.Helper()
		n, err := store.OnFastConnection(st, `SELECT count(*) FROM pg_prepared_statements`)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if prepared() == 0 {
		t.Fatal("nothing is prepared")
	}
	if _, err := store.OnFastConnection(st, `DEALLOCATE ALL`); err != nil {
		t.Fatal(err)
	}
	if n := prepared(); n != 0 {
		t.Fatalf("%d are left", n)
	}
	for i := range 3 {
		put(t, st, key, user(fmt.Sprint(i)))
	}
	if prepared() == 0 {
		t.Error("appends go the long way for ever")
	}
	checkStore(t, st, key)
}

// TestIDsWithEqualMarks checks that ids with equal marks are distinguished.
func TestIDsWithEqualMarks(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		key := create(t, st, "s")
		var list []store.Entry
		for i := range 200 {
			list = append(list, store.Message(fmt.Sprintf("m%d", i), user(fmt.Sprint(i))))
		}
		if _, err := st.Append(ctx, key, store.Anywhere, list...); err != nil {
			t.Fatal(err)
		}
		if err := st.Exec(`INSERT INTO marks (sid, mark, seq) SELECT sid, ?, 3 FROM sessions`, store.MarkID("m50")); err != nil {
			t.Fatal(err)
		}
		if result, err := st.Append(ctx, key, store.Anywhere, list[50], list[2]); err != nil || result.Replayed != 2 || result.Entries[0].Seq != 51 {
			t.Errorf("%+v, %v", result, err)
		}
		page, err := st.Page(ctx, key, store.Page{After: "m50", Limit: 1})
		if err != nil || len(page.Entries) != 1 || page.Entries[0].ID != "m51" {
			t.Errorf("%+v, %v", page, err)
		}
	})
}

// TestFsckRewritesMarks checks that missing and wrong marks are reported and rewritten.
func TestFsckRewritesMarks(t *testing.T) {
	for _, damage := range []string{
		`DELETE FROM marks WHERE mark < 100`,
		`DELETE FROM marks WHERE seq = 7`,
		`INSERT INTO marks (sid, mark, seq) SELECT sid, 1, 9 FROM sessions`,
		`UPDATE entries SET pairs = NULL WHERE pairs IS NOT NULL`,
	} {
		both(t, func(t *testing.T, st *store.Store) {
			key := create(t, st, "s")
			store.SettleAfter(st, 64)
			for i := range 50 {
				id := fmt.Sprintf("c%d", i)
				put(t, st, key, user("go"), call(id), result(id, "out"))
			}
			if err := st.Exec(damage); err != nil {
				t.Fatal(err)
			}
			problems, err := st.Fsck(ctx, true)
			if err != nil || len(problems) == 0 {
				t.Errorf("%s: %v, %v", damage, problems, err)
			}
			for _, p := range problems {
				if !p.Repaired {
					t.Errorf("%s: %v", damage, p)
				}
			}
			checkStore(t, st, key)
			put(t, st, key, call("late"), result("late", "out"))
			checkStore(t, st, key)
		})
	}
}

// TestForkCostIsIndependentOfDepth checks that a fork of a fork writes one row with the same number
// of statements.
func TestForkCostIsIndependentOfDepth(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		key := create(t, st, "f0")
		const depth = 40
		for i := range depth {
			put(t, st, key, user(fmt.Sprint(i)))
			next := store.ID(fmt.Sprintf("f%d", i+1))
			if _, err := st.Fork(ctx, key, "", next); err != nil {
				t.Fatal(err)
			}
			key = next
		}
		if n := st.Count(`SELECT count(*) FROM forks`); n != depth {
			t.Errorf("%d forks have %d rows", depth, n)
		}
		put(t, st, key, user("end"))
		if got := texts(t, st, key); len(got) != depth+1 {
			t.Errorf("%d entries", len(got))
		}
		checkStore(t, st, key)
		// Deleting a session keeps shared entries; deleting the last one deletes everything.
		for i := range depth {
			if err := st.Delete(ctx, store.ID(fmt.Sprintf("f%d", i))); err != nil {
				t.Fatal(err)
			}
		}
		if got := texts(t, st, key); len(got) != depth+1 {
			t.Errorf("%d entries are left", len(got))
		}
		checkStore(t, st, key)
		if err := st.Delete(ctx, key); err != nil {
			t.Fatal(err)
		}
		for _, table := range []string{"entries", "marks", "forks"} {
			if n := st.Count(`SELECT count(*) FROM ` + table); n != 0 {
				t.Errorf("%d rows of %s are left", n, table)
			}
		}
	})
	var c tally
	_, dsn := newWire(t, pgtest.DSN(t), func() int64 { return 0 }, c.reader)
	st := open(t, dsn)
	key := create(t, st, "f0")
	costs := make([]int, 30)
	for i := range costs {
		put(t, st, key, user(fmt.Sprint(i)))
		next := store.ID(fmt.Sprintf("f%d", i+1))
		_, before := c.since(0, 0)
		if _, err := st.Fork(ctx, key, "", next); err != nil {
			t.Fatal(err)
		}
		_, costs[i] = c.since(0, before)
		key = next
	}
	if first, last := costs[2], costs[len(costs)-1]; last > first {
		t.Errorf("statements of each fork: %v", costs)
	}
}

// TestAppendIsAtomicUnderLocks locks and unlocks a session continuously. Each append must be
// written completely or not at all.
func TestAppendIsAtomicUnderLocks(t *testing.T) {
	st := open(t, pgtest.DSN(t))
	key := create(t, st, "s")
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				if err := store.HoldLock(st, key, func() {}); err != nil {
					t.Error(err)
				}
			}
		}
	}()
	for i := range 150 {
		var list []store.Entry
		for j := range []int{2, 4, 60}[i%3] {
			list = append(list, store.Message(fmt.Sprintf("%d-%d", i, j), user("go")))
		}
		if _, err := st.Append(ctx, key, store.Anywhere, list...); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	<-stopped
	checkStore(t, st, key)
}
