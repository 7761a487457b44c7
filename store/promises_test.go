package store_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/store"
)

// said is a summarizer that always says the same.
func said(text string) pare.Summarizer {
	return func(context.Context, pare.Removed) (pare.Summary, error) { return pare.Summary{Text: text}, nil }
}

// A fork that was reverted to what it shares is looked at like any other session. On
// PostgreSQL this was "the database cannot be reached: conn busy".
func TestFsckOfAForkThatWentBack(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		key := create(t, st, "parent")
		put(t, st, key, user("one"), assistant("two"), user("three"))
		fork := store.ID("fork")
		if _, err := st.Fork(ctx, key, "", fork); err != nil {
			t.Fatal(err)
		}
		put(t, st, fork, assistant("four"))
		if _, err := st.RevertTurns(ctx, fork, store.Anywhere, 1); err != nil {
			t.Fatal(err)
		}
		put(t, st, fork, user("five"))
		sound(t, st, key, fork)
		if _, err := st.Revert(ctx, fork, store.Anywhere, ""); err != nil {
			t.Fatal(err)
		}
		put(t, st, fork, user("six"))
		sound(t, st, key, fork)
	})
}

// A compaction that a fork has inherited is in force there, and so can be undone there; the
// parent keeps it.
func TestUndoOfAnInheritedCompaction(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		key := create(t, st, "parent")
		long := strings.Repeat("long ", 100)
		for i := range 6 {
			put(t, st, key, user(fmt.Sprintf("ask %d %s", i, long)), assistant(fmt.Sprintf("answer %d %s", i, long)))
		}
		if made, err := st.Compact(ctx, key, &pare.Compactor{MinKeep: 2, Summarize: said("they talked")}); err != nil || made == nil {
			t.Fatal(made, err)
		}
		before := window(t, st, key, store.Ask{})
		fork, last := store.ID("fork"), store.ID("fork of the fork")
		if _, err := st.Fork(ctx, key, "", fork); err != nil {
			t.Fatal(err)
		}
		head := put(t, st, fork, user("on"))
		then := window(t, st, fork, store.Ask{})
		if kind, err := st.Undo(ctx, fork); err != nil || kind != store.KindCompaction {
			t.Fatal(kind, err)
		}
		if body := window(t, st, fork, store.Ask{}); strings.Contains(body, "they talked") || !strings.Contains(body, "answer 2") {
			t.Errorf("the fork: %s", body)
		}
		if body := window(t, st, fork, store.Ask{Head: head}); body != then {
			t.Errorf("the fork at its earlier head: %s", body)
		}
		if _, err := st.Undo(ctx, fork); !errors.Is(err, store.ErrNothingToUndo) {
			t.Errorf("again: %v", err)
		}
		if body := window(t, st, key, store.Ask{}); body != before {
			t.Errorf("the parent: %s", body)
		}
		if _, err := st.Fork(ctx, fork, "", last); err != nil {
			t.Fatal(err)
		}
		if body := window(t, st, last, store.Ask{}); strings.Contains(body, "they talked") {
			t.Errorf("the fork of the fork: %s", body)
		}
		sound(t, st, key, fork, last)
	})
}

// An export is of one moment, whatever happens while it is handed out.
func TestExportIsOfOneMoment(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		for name, meanwhile := range map[string]func(store.Key) error{
			"revert": func(key store.Key) error { _, err := st.Revert(ctx, key, store.Anywhere, "m10"); return err },
			"revert and append": func(key store.Key) error {
				if _, err := st.Revert(ctx, key, store.Anywhere, "m10"); err != nil {
					return err
				}
				_, err := st.Append(ctx, key, store.Anywhere, store.Message("late", user("late")))
				return err
			},
			"append": func(key store.Key) error {
				_, err := st.Append(ctx, key, store.Anywhere, store.Message("late", user("late")))
				return err
			},
		} {
			key := create(t, st, name)
			var want []string
			var all []store.Entry
			for i := range 300 {
				all = append(all, store.Message(fmt.Sprintf("m%d", i), user(fmt.Sprintf("text %d", i))))
				want = append(want, fmt.Sprintf("m%d", i))
			}
			if _, err := st.Append(ctx, key, store.Anywhere, all...); err != nil {
				t.Fatal(err)
			}
			var got []string
			err := st.Export(ctx, key, store.Export{}, func(e store.Entry) error {
				got = append(got, e.ID)
				if len(got) == 20 {
					return meanwhile(key)
				}
				return nil
			})
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("%s: %d of %d entries, %v", name, len(got), len(want), err)
			}
		}
	})
}

// What a swap cannot do is told as it is: nobody has reverted or compacted anything.
func TestSwapSaysWhatIsInTheWay(t *testing.T) {
	compacted := []byte(`{"role":"assistant","content":[{"type":"compaction","content":"they talked"}]}`)
	both(t, func(t *testing.T, st *store.Store) {
		key := create(t, st, "s")
		for i, raw := range [][]byte{user("one"), assistant("two"), user("three"), call("c1"), result("c1", "done"), assistant("four")} {
			if _, err := st.Append(ctx, key, store.Anywhere, store.Message(fmt.Sprintf("m%d", i+1), raw)); err != nil {
				t.Fatal(err)
			}
		}
		try := func(upto, want string) {
			t.Helper()
			_, err := st.Swap(ctx, key, upto, compacted)
			if err == nil || errors.Is(err, store.ErrStale) || strings.Contains(err.Error(), "while the summary was written") || !strings.Contains(err.Error(), want) {
				t.Errorf("up to %s: %v", upto, err)
			}
		}
		try("m4", "answered behind it")
		if _, err := st.Swap(ctx, key, "m3", compacted); err != nil {
			t.Fatal(err)
		}
		try("m2", "stands for it already")
		try("m3", "stands for it already")
		if _, err := st.Swap(ctx, key, "m5", compacted); err != nil {
			t.Error(err)
		}
		sound(t, st, key)
	})
}

// A compaction says how many messages it has taken out; the summary before it is none of
// them. One that would take out none is not made.
func TestCompactionCountsMessages(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		key := create(t, st, "s")
		long := strings.Repeat("long ", 100)
		turn := func(i int) {
			put(t, st, key, user(fmt.Sprintf("ask %d %s", i, long)), assistant(fmt.Sprintf("answer %d %s", i, long)))
		}
		for i := range 6 {
			turn(i)
		}
		c := &pare.Compactor{MinKeep: 2, Summarize: said("they talked")}
		made, err := st.Compact(ctx, key, c)
		if err != nil || made.To != 10 || made.Messages != 9 { // all but the task
			t.Fatalf("%+v %v", made, err)
		}
		for i := range 4 {
			turn(6 + i)
		}
		c = &pare.Compactor{MinKeep: 2, Summarize: said("and talked")}
		second, err := st.Compact(ctx, key, c)
		if err != nil || second.To != 19 || second.Messages != 8 {
			t.Fatalf("%+v %v", second, err)
		}
		raw, err := st.Recall(ctx, "", second.Archive)
		if err != nil || strings.Count(string(raw), `"role"`) != second.Messages {
			t.Errorf("recall: %s %v", raw, err)
		}

		// The first user message behind a summary in which the task was folded stays as the task:
		// there is nothing to summarize in front of the cut.
		key = create(t, st, "folded")
		for i := range 3 {
			turn(i)
		}
		c = &pare.Compactor{MinKeep: 4, Summarize: said("they talked"), Options: pare.CompactOptions{FoldTask: true}}
		if made, err = st.Compact(ctx, key, c); err != nil || made.Messages != 2 {
			t.Fatalf("%+v %v", made, err)
		}
		c = &pare.Compactor{MinKeep: 3, Summarize: said("and talked")}
		if made, err = st.Compact(ctx, key, c); err != nil || made != nil {
			t.Errorf("nothing to take out: %+v %v", made, err)
		}
		sound(t, st, key)
	})
}

// A revert that comes too late says what it has missed, as an append does.
func TestRevertSaysWhatItMissed(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		key := create(t, st, "s")
		head := put(t, st, key, user("one"))
		put(t, st, key, assistant("two"))
		for _, h := range []store.Head{store.Exactly(head), store.Disjoint(head)} {
			var c *store.ConflictError
			if _, err := st.Revert(ctx, key, h, ""); !errors.As(err, &c) || c.Head != 2 || len(c.Missed) != 1 || string(c.Missed[0].Raw) != string(assistant("two")) {
				t.Errorf("%v %+v", err, c)
			}
		}
	})
}

// What several forks share does not use up the room for hits that only one of them has.
func TestSearchFindsAsManyAsThereAre(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		key := create(t, st, "parent")
		for range 5 {
			put(t, st, key, user("needle"))
		}
		if _, err := st.Fork(ctx, key, "", store.ID("fork")); err != nil {
			t.Fatal(err)
		}
		for i := range 5 {
			put(t, st, key, user(fmt.Sprintf("number %d of the texts in which there is a needle among many other words", i)))
		}
		put(t, st, store.ID("fork"), user("needle fork"))
		hits, err := st.Search(ctx, store.Key{}, "needle", 8)
		if err != nil || len(hits) != 8 {
			t.Errorf("%d hits of 11, %v: %+v", len(hits), err, hits)
		}
	})
}
