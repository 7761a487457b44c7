package store_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/trial"
	"github.com/pare-llm/pare/store"
)

// TestEqualTimesKeepTheirOrder checks that numbers alone order entries, not times. See also
// TestClockSetBack.
func TestEqualTimesKeepTheirOrder(t *testing.T) {
	engines(t, func(t *testing.T, dsn string) {
		now := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
		st, err := store.OpenWith(ctx, dsn, store.Options{Now: func() time.Time { return now }})
		if err != nil {
			t.Fatal(err)
		}
		defer st.Close()
		key := create(t, st, "a")
		for i := range 10 {
			turn(t, st, key, i)
		}
		compact(t, st, key, "they talked")
		put(t, st, key, user("now?"))
		body := window(t, st, key, store.WindowOptions{})
		if s, n := strings.Index(body, "they talked"), strings.Index(body, "turn 9,"); s < 0 || n < s {
			t.Errorf("the summary does not stand in front of its tail: %s", body)
		}
		page, err := st.Page(ctx, key, store.Page{})
		if err != nil {
			t.Fatal(err)
		}
		for i, e := range page.Entries {
			if e.Seq != int64(i)+1 {
				t.Errorf("entry %d has number %d", i, e.Seq)
			}
		}
	})
}

// TestStaleWriterContinues checks that a writer with an old head gets the missed entries and can
// continue if they do not conflict.
func TestStaleWriterContinues(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		key := create(t, st, "a")
		head := put(t, st, key, user("go"), call("c1"))
		note := store.Entry{ID: "note", Kind: "state", Raw: []byte(`{"user_is":"typing"}`)}
		if _, err := st.Append(ctx, key, store.Anywhere, note); err != nil {
			t.Fatal(err)
		}
		_, err := st.Append(ctx, key, store.Exactly(head), store.Message("r1", result("c1", "x")))
		var c *store.ConflictError
		if !errors.As(err, &c) || c.Head != 3 || len(c.Missed) != 1 || c.Missed[0].ID != "note" || string(c.Missed[0].Raw) != string(note.Raw) {
			t.Fatalf("%#v", err)
		}
		if _, err := st.Append(ctx, key, store.Disjoint(head), store.Message("r1", result("c1", "x"))); err != nil {
			t.Errorf("its own result was refused: %v", err)
		}
		checkStore(t, st, key)
	})
}

// TestTwoWritersDoNotInterleave checks that an entry that would separate an exchange is refused.
func TestTwoWritersDoNotInterleave(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		key := create(t, st, "a")
		head := put(t, st, key, user("go"))
		if _, err := st.Append(ctx, key, store.Disjoint(head), store.Message("", call("one"))); err != nil {
			t.Fatal(err)
		}
		for name, e := range map[string]store.Entry{
			"call": store.Message("", call("two")), "answer": store.Message("", assistant("done")), "words": store.Message("", user("and?")),
			"the other's result": store.Message("", result("one", "mine")),
		} {
			var c *store.ConflictError
			if _, err := st.Append(ctx, key, store.Disjoint(head), e); !errors.As(err, &c) || !strings.Contains(err.Error(), "one") {
				t.Errorf("%s of the second run: %v", name, err)
			}
		}
		if _, err := st.Append(ctx, key, store.Disjoint(head+1), store.Message("", result("one", "out"))); err != nil {
			t.Fatal(err)
		}
		if _, err := st.Append(ctx, key, store.Disjoint(head), store.Message("", call("two")), store.Message("", result("two", "out"))); err != nil {
			t.Errorf("behind the other's exchange there is room: %v", err)
		}
		checkStore(t, st, key)
	})
}

// TestAppendDoesNotReadTheHistory checks that an append does the same work after a hundred times as
// many entries.
func TestAppendDoesNotReadTheHistory(t *testing.T) {
	if trial.Race {
		t.Skip("the race detector counts memory of its own")
	}
	inTurn(t, func(t *testing.T, st *store.Store) {
		work := func(entries int) uint64 {
			key := create(t, st, fmt.Sprintf("n%d", entries))
			var list []store.Entry
			for i := range entries / 2 {
				id := fmt.Sprintf("c%d", i)
				list = append(list, store.Message("", call(id)), store.Message("", result(id, strings.Repeat("out ", 50))))
			}
			if _, err := st.Append(ctx, key, store.Anywhere, list...); err != nil {
				t.Fatal(err)
			}
			least := ^uint64(0)
			for i := range 20 { // other goroutines can only add allocations
				id := fmt.Sprintf("x%d", i)
				a, b := store.Message("", call(id)), store.Message("", result(id, "out"))
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				if _, err := st.Append(ctx, key, store.Disjoint(int64(entries+2*i)), a, b); err != nil {
					t.Fatal(err)
				}
				runtime.ReadMemStats(&after)
				least = min(least, after.TotalAlloc-before.TotalAlloc)
			}
			return least
		}
		few, many := work(60), work(6000)
		t.Logf("an append allocates %d bytes behind 60 entries, %d behind 6,000", few, many)
		if many > 2*few+50_000 {
			t.Errorf("an append allocates %d bytes behind 60 entries, %d behind 6,000", few, many)
		}
	})
}

// TestFailedWriteLeavesNoLock checks that every failure ends its transaction.
func TestFailedWriteLeavesNoLock(t *testing.T) {
	engines(t, func(t *testing.T, dsn string) {
		st, other := open(t, dsn), open(t, dsn)
		key := create(t, st, "a")
		for i := range 4 {
			turn(t, st, key, i)
		}
		gone, cancel := context.WithCancel(ctx)
		cancel()
		for name, fail := range map[string]func() error{
			"duplicate": func() error {
				return second(st.Append(ctx, key, store.Anywhere, store.Message("d", user("1")), store.Message("d", user("2"))))
			},
			"conflict":   func() error { return second(st.Append(ctx, key, store.Exactly(0), store.Message("", user("x")))) },
			"bad entry":  func() error { return second(st.Append(ctx, key, store.Anywhere, store.Message("", []byte(`{`)))) },
			"cancelled":  func() error { return second(st.Append(gone, key, store.Anywhere, store.Message("", user("x")))) },
			"revert":     func() error { return second(st.Revert(ctx, key, store.Anywhere, "nobody")) },
			"turns":      func() error { return second(st.RevertTurns(ctx, key, store.Anywhere, 9)) },
			"undo":       func() error { return second(st.Undo(ctx, key)) },
			"fork":       func() error { return second(st.Fork(ctx, key, "nobody", store.ID("f"))) },
			"fork there": func() error { return second(st.Fork(ctx, key, "", key)) },
			"merge":      func() error { return second(st.Merge(ctx, store.ID("nobody"), key)) },
			"swap":       func() error { return second(st.AcceptCompaction(ctx, key, "nobody", user("x"))) },
			"compact": func() error {
				return second(st.Compact(ctx, key, &pare.Compactor{MinKeep: 1, Summarize: func(context.Context, pare.Removed) (pare.Summary, error) {
					return pare.Summary{}, errors.New("no model")
				}}))
			},
			"create": func() error { return second(st.Create(ctx, key, anthropic)) },
			"update": func() error { return st.Update(ctx, key, store.Update{Base: []byte(`[`)}) },
			"delete": func() error { return st.Delete(ctx, store.ID("nobody")) },
		} {
			if err := fail(); err == nil {
				t.Errorf("%s: it did not fail", name)
			}
			if _, err := other.Append(ctx, key, store.Anywhere, store.Entry{Kind: "state", Raw: []byte(`1`)}); err != nil {
				t.Errorf("after %s: %v", name, err)
			}
		}
		checkStore(t, st, key)
	})
}
