package store_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/store"
)

// plainTurns returns turns of a user and an assistant without calls.
func plainTurns(turns int) (raws [][]byte) {
	for i := range turns {
		raws = append(raws, user(fmt.Sprintf("question %d", i)), assistant(fmt.Sprintf("answer %d", i)))
	}
	return raws
}

// TestPageIncludesDistantResult checks that a page includes the result of its call a hundred
// entries later, from both directions.
func TestPageIncludesDistantResult(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		key := create(t, st, "a")
		put(t, st, key, user("t0"), assistant("a0"), user("go"), call("c1"))
		put(t, st, key, plainTurns(60)...)
		head := put(t, st, key, result("c1", "late"), assistant("thanks"), user("next"), assistant("yes"))
		for _, x := range []struct {
			page        store.Page
			first, last int64
		}{
			{store.Page{Limit: 3}, 1, 3},
			{store.Page{Limit: 4}, 1, head - 3},
			{store.Page{Last: true, Limit: 3}, head - 2, head},
			{store.Page{Last: true, Limit: 4}, 4, head},
		} {
			page, err := st.Page(ctx, key, x.page)
			if err != nil {
				t.Fatal(err)
			}
			if entries := page.Entries; entries[0].Seq != x.first || entries[len(entries)-1].Seq != x.last {
				t.Errorf("%+v: entries %d to %d, want %d to %d", x.page, entries[0].Seq, entries[len(entries)-1].Seq, x.first, x.last)
			}
		}
	})
}

// TestRevertedEntryIsNotAddressable checks that a reverted entry is no cursor, no fork point and no
// end of a compaction, and that its id stays taken.
func TestRevertedEntryIsNotAddressable(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		key := create(t, st, "a")
		put(t, st, key, user("t1"), assistant("a1"), user("t2"))
		gone := store.Message("gone", assistant("a2"))
		if _, err := st.Append(ctx, key, store.Anywhere, gone); err != nil {
			t.Fatal(err)
		}
		if _, err := st.RevertTurns(ctx, key, store.Anywhere, 1); err != nil {
			t.Fatal(err)
		}
		for what, do := range map[string]func() error{
			"after":  func() error { _, err := st.Page(ctx, key, store.Page{After: gone.ID}); return err },
			"before": func() error { _, err := st.Page(ctx, key, store.Page{Before: gone.ID}); return err },
			"fork":   func() error { _, err := st.Fork(ctx, key, gone.ID, store.ID("b")); return err },
			"swap":   func() error { _, err := st.AcceptCompaction(ctx, key, gone.ID, user("a summary")); return err },
		} {
			if err := do(); !errors.Is(err, store.ErrNoCursor) {
				t.Errorf("%s: %v", what, err)
			}
		}
		_, err := st.Append(ctx, key, store.Anywhere, gone)
		if d := new(store.DuplicateError); !errors.As(err, &d) || !d.Reverted {
			t.Errorf("appended again: %v", err)
		}
		checkStore(t, st, key)
	})
}

// TestDisjointRejectsTooManyMissedEntries checks that a writer that has missed more entries than
// can be compared gets a conflict.
func TestDisjointRejectsTooManyMissedEntries(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		key := create(t, st, "a")
		head := put(t, st, key, user("go"))
		put(t, st, key, append(plainTurns(550), call("c1"))...)
		_, err := st.Append(ctx, key, store.Disjoint(head), store.Message("", user("between call and answer")))
		if c := new(store.ConflictError); !errors.As(err, &c) {
			t.Errorf("%v", err)
		}
	})
}

// TestLeaseAllowsOneCompaction checks that one compaction runs at a time, unless its holder is
// silent for too long or its clock was ahead.
func TestLeaseAllowsOneCompaction(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		key := create(t, st, "a")
		put(t, st, key, plainTurns(12)...)
		for _, x := range []struct {
			ends time.Duration
			busy bool
		}{{30 * time.Second, true}, {-time.Second, false}, {time.Hour, false}} {
			if err := st.Exec(`DELETE FROM leases`); err != nil {
				t.Fatal(err)
			}
			ends := time.Now().Add(x.ends).UnixMicro()
			if err := st.Exec(`INSERT INTO leases (sid, token, expires) SELECT sid, 'another', ? FROM sessions`, ends); err != nil {
				t.Fatal(err)
			}
			_, err := st.AcceptCompaction(ctx, key, "", user("a summary"))
			if busy := errors.Is(err, store.ErrBusy); busy != x.busy {
				t.Errorf("a lease that ends in %v: %v", x.ends, err)
			}
		}
	})
}

// TestDistantSystemMessagesAreSent checks that a window includes system messages long before its
// start.
func TestDistantSystemMessagesAreSent(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		key := store.ID("a")
		if _, err := st.Create(ctx, key, store.Create{Dialect: "openai-chat", Model: "gpt-4o", Base: []byte(`{"model":"gpt-4o"}`)}); err != nil {
			t.Fatal(err)
		}
		chat := func(role, text string) []byte { return []byte(fmt.Sprintf(`{"role":%q,"content":%q}`, role, text)) }
		raws := [][]byte{chat("system", "Speak Latin."), chat("user", "The task.")}
		for i := range 100 {
			if i == 20 {
				raws = append(raws, chat("system", "Speak Greek."))
			}
			raws = append(raws, chat("assistant", fmt.Sprintf("answer %d", i)), chat("user", fmt.Sprintf("question %d", i)))
		}
		put(t, st, key, raws...)
		w, err := st.Window(ctx, key, store.WindowOptions{Policy: &pare.Policy{Window: &pare.Window{Messages: 12}}})
		if err != nil {
			t.Fatal(err)
		}
		if w.From < 100 {
			t.Errorf("it reads from entry %d on", w.From)
		}
		for _, text := range []string{"Speak Latin.", "The task.", "Speak Greek.", "question 99"} {
			if !strings.Contains(string(w.Body), text) {
				t.Errorf("%q is missing: %s", text, w.Body)
			}
		}
	})
}

// TestDistantProviderCompactionIsSent checks that a window reads nothing before the provider's
// compaction, and includes a compaction long before its start.
func TestDistantProviderCompactionIsSent(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		key := create(t, st, "a")
		put(t, st, key, plainTurns(5)...)
		head := put(t, st, key, user("compact"),
			[]byte(`{"role":"assistant","content":[{"type":"compaction","content":"They built a parser."},{"type":"tool_use","id":"c1","name":"run","input":{}}]}`), result("c1", "it runs"))
		put(t, st, key, slices.Concat(plainTurns(100), [][]byte{user("and now?")})...)
		for _, x := range []struct {
			window pare.Window
			from   int64 // at least
		}{{pare.Window{Tokens: 1_000_000}, head - 1}, {pare.Window{Messages: 12}, head + 50}} {
			w, err := st.Window(ctx, key, store.WindowOptions{Policy: &pare.Policy{Window: &x.window}})
			if err != nil {
				t.Fatal(err)
			}
			clean(t, w.Body)
			if w.From < x.from || strings.Contains(string(w.Body), "compact\"") {
				t.Errorf("%+v: it reads from entry %d on", x.window, w.From)
			}
			for _, text := range []string{`"type":"compaction"`, "They built a parser.", "and now?"} {
				if !strings.Contains(string(w.Body), text) {
					t.Errorf("%+v: %s is missing: %.2000s", x.window, text, w.Body)
				}
			}
		}
	})
}

// TestWindowWithLateResult checks that the start of reading splits no exchange, so that the window
// equals that of the full history, and that pinned messages count against the limit.
func TestWindowWithLateResult(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		key := create(t, st, "a")
		put(t, st, key, user("go"), call("c1"))
		put(t, st, key, plainTurns(40)...)
		put(t, st, key, result("c1", "late"), assistant("thanks"))
		put(t, st, key, append(plainTurns(3), user("next"))...)
		r, _, err := st.Request(ctx, key)
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range []pare.Window{{Messages: 8}, {Messages: 20}, {Turns: 5}} {
			got, err := st.Window(ctx, key, store.WindowOptions{Policy: &pare.Policy{Window: &w}})
			if err != nil {
				t.Fatal(err)
			}
			plan, err := (&pare.Policy{Window: &w, Archived: true}).Plan(ctx, r)
			if err != nil {
				t.Fatal(err)
			}
			if want, err := plan.Apply(); err != nil || string(want) != string(got.Body) {
				t.Errorf("%+v: %v\n%s\n%s", w, err, got.Body, want)
			}
		}
		tight := &pare.Policy{Window: &pare.Window{Turns: 2, MinKeep: 30}}
		_, err = st.Window(ctx, key, store.WindowOptions{Policy: tight})
		_, err2 := tight.Plan(ctx, r)
		got, want := new(pare.WindowTooSmall), new(pare.WindowTooSmall)
		if !errors.As(err, &got) || !errors.As(err2, &want) || *got != *want {
			t.Errorf("30 messages in 2 turns: %v, want %v", err, err2)
		}
	})
}

// TestForkAfterRevert checks that a fork does not have entries that its parent has reverted.
func TestForkAfterRevert(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		key, to := create(t, st, "a"), store.ID("b")
		put(t, st, key, user("t1"), assistant("a1"), user("t2"), assistant("a2"))
		if _, err := st.RevertTurns(ctx, key, store.Anywhere, 1); err != nil {
			t.Fatal(err)
		}
		put(t, st, key, user("t3"))
		if _, err := st.Fork(ctx, key, "", to); err != nil {
			t.Fatal(err)
		}
		put(t, st, to, assistant("a3"))
		if got, want := strings.Join(texts(t, st, to), ""), string(slices.Concat(user("t1"), assistant("a1"), user("t3"), assistant("a3"))); got != want {
			t.Errorf("%s", got)
		}
		checkStore(t, st)
	})
}

// TestForkBeforeCompaction checks that a fork has the compactions before its fork point only.
func TestForkBeforeCompaction(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		key := create(t, st, "a")
		put(t, st, key, plainTurns(12)...)
		if _, err := st.Append(ctx, key, store.Anywhere, store.Message("before", user("before the summary"))); err != nil {
			t.Fatal(err)
		}
		compact(t, st, key, "they talked")
		put(t, st, key, assistant("behind the summary"))
		for id, summed := range map[string]bool{"before": false, "": true} {
			to := store.ID("fork-" + id)
			if _, err := st.Fork(ctx, key, id, to); err != nil {
				t.Fatal(err)
			}
			if body := window(t, st, to, store.WindowOptions{}); strings.Contains(body, "they talked") != summed || strings.Contains(body, "question 3") == summed {
				t.Errorf("fork at %q: %s", id, body)
			}
		}
		checkStore(t, st)
	})
}
