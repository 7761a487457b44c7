package store_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/archive"
	"github.com/pare-llm/pare/store"
)

// fixedSummarizer is a summarizer that always returns the same text.
func fixedSummarizer(text string) pare.Summarizer {
	return func(context.Context, pare.Removed) (pare.Summary, error) { return pare.Summary{Text: text}, nil }
}

// TestFsckOfRevertedFork checks a fork that was reverted to its shared entries. On PostgreSQL, this
// failed with "conn busy".
func TestFsckOfRevertedFork(t *testing.T) {
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
		checkStore(t, st, key, fork)
		if _, err := st.Revert(ctx, fork, store.Anywhere, ""); err != nil {
			t.Fatal(err)
		}
		put(t, st, fork, user("six"))
		checkStore(t, st, key, fork)
	})
}

// TestUndoOfInheritedCompaction checks that a fork can undo an inherited compaction, and that the
// parent keeps it.
func TestUndoOfInheritedCompaction(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		key := create(t, st, "parent")
		long := strings.Repeat("long ", 100)
		for i := range 6 {
			put(t, st, key, user(fmt.Sprintf("ask %d %s", i, long)), assistant(fmt.Sprintf("answer %d %s", i, long)))
		}
		if compaction, err := st.Compact(ctx, key, &pare.Compactor{MinKeep: 2, Summarize: fixedSummarizer("they talked")}); err != nil || compaction == nil {
			t.Fatal(compaction, err)
		}
		before := window(t, st, key, store.WindowOptions{})
		fork, last := store.ID("fork"), store.ID("fork of the fork")
		if _, err := st.Fork(ctx, key, "", fork); err != nil {
			t.Fatal(err)
		}
		head := put(t, st, fork, user("on"))
		then := window(t, st, fork, store.WindowOptions{})
		if kind, err := st.Undo(ctx, fork); err != nil || kind != store.KindCompaction {
			t.Fatal(kind, err)
		}
		if body := window(t, st, fork, store.WindowOptions{}); strings.Contains(body, "they talked") || !strings.Contains(body, "answer 2") {
			t.Errorf("the fork: %s", body)
		}
		if body := window(t, st, fork, store.WindowOptions{Head: head}); body != then {
			t.Errorf("the fork at its earlier head: %s", body)
		}
		if _, err := st.Undo(ctx, fork); !errors.Is(err, store.ErrNothingToUndo) {
			t.Errorf("again: %v", err)
		}
		if body := window(t, st, key, store.WindowOptions{}); body != before {
			t.Errorf("the parent: %s", body)
		}
		if _, err := st.Fork(ctx, fork, "", last); err != nil {
			t.Fatal(err)
		}
		if body := window(t, st, last, store.WindowOptions{}); strings.Contains(body, "they talked") {
			t.Errorf("the fork of the fork: %s", body)
		}
		checkStore(t, st, key, fork, last)
	})
}

// TestExportIsConsistent checks that an export has the state at its beginning, whatever changes
// meanwhile.
func TestExportIsConsistent(t *testing.T) {
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
			var entries []store.Entry
			for i := range 300 {
				entries = append(entries, store.Message(fmt.Sprintf("m%d", i), user(fmt.Sprintf("text %d", i))))
				want = append(want, fmt.Sprintf("m%d", i))
			}
			if _, err := st.Append(ctx, key, store.Anywhere, entries...); err != nil {
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

// TestAcceptCompactionErrors checks the errors of AcceptCompaction.
func TestAcceptCompactionErrors(t *testing.T) {
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
			_, err := st.AcceptCompaction(ctx, key, upto, compacted)
			if err == nil || errors.Is(err, store.ErrStale) || strings.Contains(err.Error(), "while the summary was written") || !strings.Contains(err.Error(), want) {
				t.Errorf("up to %s: %v", upto, err)
			}
		}
		try("m4", "answered behind it")
		if _, err := st.AcceptCompaction(ctx, key, "m3", compacted); err != nil {
			t.Fatal(err)
		}
		try("m2", "stands for it already")
		try("m3", "stands for it already")
		if _, err := st.AcceptCompaction(ctx, key, "m5", compacted); err != nil {
			t.Error(err)
		}
		checkStore(t, st, key)
	})
}

// TestCompactionCountsMessages checks that a compaction counts its replaced messages without the
// previous summary, and that none is made that would replace nothing.
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
		c := &pare.Compactor{MinKeep: 2, Summarize: fixedSummarizer("they talked")}
		compaction, err := st.Compact(ctx, key, c)
		if err != nil || compaction.To != 10 || compaction.Messages != 9 { // all but the task
			t.Fatalf("%+v %v", compaction, err)
		}
		for i := range 4 {
			turn(6 + i)
		}
		c = &pare.Compactor{MinKeep: 2, Summarize: fixedSummarizer("and talked")}
		second, err := st.Compact(ctx, key, c)
		if err != nil || second.To != 19 || second.Messages != 8 {
			t.Fatalf("%+v %v", second, err)
		}
		raw, err := st.Recall(ctx, "", second.Archive)
		if err != nil || strings.Count(string(raw), `"role"`) != second.Messages {
			t.Errorf("recall: %s %v", raw, err)
		}

		// The first user message after a summary that includes the task is the new task, so there
		// is nothing to summarize before the cut.
		key = create(t, st, "folded")
		for i := range 3 {
			turn(i)
		}
		c = &pare.Compactor{MinKeep: 4, Summarize: fixedSummarizer("they talked"), Options: pare.CompactOptions{FoldTask: true}}
		if compaction, err = st.Compact(ctx, key, c); err != nil || compaction.Messages != 2 {
			t.Fatalf("%+v %v", compaction, err)
		}
		c = &pare.Compactor{MinKeep: 3, Summarize: fixedSummarizer("and talked")}
		if compaction, err = st.Compact(ctx, key, c); err != nil || compaction != nil {
			t.Errorf("nothing to take out: %+v %v", compaction, err)
		}
		checkStore(t, st, key)
	})
}

// TestRevertConflictHasMissedEntries checks that a conflict of a revert has the missed entries.
func TestRevertConflictHasMissedEntries(t *testing.T) {
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

// TestSearchLimitCountsSharedEntriesOnce checks that entries shared by several forks count once
// against the limit.
func TestSearchLimitCountsSharedEntriesOnce(t *testing.T) {
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

// TestSearchListsAllForks checks that a hit lists all forks that share the entry.
func TestSearchListsAllForks(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		key := create(t, st, "parent")
		put(t, st, key, user("needle shared"))
		kept, err := st.Append(ctx, key, store.Anywhere, store.Message("kept", assistant("yes")))
		if err != nil || len(kept.Entries) == 0 {
			t.Fatal(err)
		}
		put(t, st, key, user("needle late"))
		for _, id := range []string{"a", "b", "c"} {
			if _, err := st.Fork(ctx, key, "kept", store.ID(id)); err != nil {
				t.Fatal(err)
			}
			put(t, st, store.ID(id), user("needle of "+id))
		}
		if err := st.Delete(ctx, store.ID("b")); err != nil {
			t.Fatal(err)
		}
		if _, err := st.Fork(ctx, key, "", store.Key{ID: "whole"}); err != nil {
			t.Fatal(err)
		}
		for name, find := range map[string]func(text string) ([]store.Hit, error){
			"search": func(text string) ([]store.Hit, error) { return st.Search(ctx, store.Key{}, text, 0) },
			"about":  func(text string) ([]store.Hit, error) { return st.SearchRanked(ctx, "", text, 1) },
		} {
			for text, want := range map[string][]string{
				"shared": {"a", "c", "parent", "whole"},
				"late":   {"parent", "whole"},
				"of c":   {"c"},
			} {
				hits, err := find(text)
				if err != nil || len(hits) != 1 {
					t.Fatalf("%s %s: %v %+v", name, text, err, hits)
				}
				got := []string{hits[0].Key.ID}
				for _, k := range hits[0].Also {
					got = append(got, k.ID)
				}
				if slices.Sort(got); !slices.Equal(got, want) {
					t.Errorf("%s %s: in %v, want %v", name, text, got, want)
				}
			}
		}
	})
}

// TestRecallOfSummary checks that the handle of a summary recalls its messages without reverted
// ones, and in a fork also after its session was deleted.
func TestRecallOfSummary(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		key := create(t, st, "s")
		long := strings.Repeat("long ", 100)
		put(t, st, key, user("one "+long))
		if _, err := st.Append(ctx, key, store.Anywhere, store.Message("last", assistant("two "+long))); err != nil {
			t.Fatal(err)
		}
		put(t, st, key, user("second thoughts "+long))
		if _, err := st.Revert(ctx, key, store.Anywhere, "last"); err != nil {
			t.Fatal(err)
		}
		put(t, st, key, user("three "+long), assistant("four "+long), user("five"), assistant("six"))
		compaction, err := st.Compact(ctx, key, &pare.Compactor{MinKeep: 2, Summarize: fixedSummarizer("they talked")})
		if err != nil || compaction == nil {
			t.Fatal(compaction, err)
		}
		check := func(when string) {
			t.Helper()
			raw, err := st.Recall(ctx, "", compaction.Archive)
			if err != nil {
				t.Errorf("%s: %v", when, err)
				return
			}
			if text := string(raw); strings.Contains(text, "second thoughts") || strings.Contains(text, "five") || !strings.Contains(text, "one ") || !strings.Contains(text, "four ") {
				t.Errorf("%s: %s", when, text)
			}
		}
		check("at once")
		if _, err := st.Revert(ctx, key, store.Anywhere, "last"); err != nil {
			t.Fatal(err)
		}
		check("after a revert")
		if _, err := st.Undo(ctx, key); err != nil {
			t.Fatal(err)
		}
		if _, err := st.Fork(ctx, key, "", store.ID("fork")); err != nil {
			t.Fatal(err)
		}
		if err := st.Delete(ctx, key); err != nil {
			t.Fatal(err)
		}
		check("from a fork of a session that was deleted")
		if err := st.Delete(ctx, store.ID("fork")); err != nil {
			t.Fatal(err)
		}
		if _, err := st.Recall(ctx, "", compaction.Archive); !errors.Is(err, archive.ErrNotFound) {
			t.Errorf("when all are gone: %v", err)
		}
	})
}

// TestRecallOfSharedBytes checks that a placeholder can be recalled after the session that archived
// the bytes first was deleted.
func TestRecallOfSharedBytes(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		const same = "the same result in several sessions "
		fill := func(key store.Key) {
			put(t, st, key, user("task"), call("c0"), result("c0", strings.Repeat(same, 60)))
			for i := range 20 {
				id := fmt.Sprintf("c%d", i+1)
				put(t, st, key, call(id), result(id, strings.Repeat("x ", 10)))
			}
		}
		ask := store.WindowOptions{Policy: &pare.Policy{Window: &pare.Window{Tokens: 1200, Recent: 1}}}
		handle := func(key store.Key) string {
			t.Helper()
			w, err := st.Window(ctx, key, ask)
			if err != nil {
				t.Fatal(err)
			}
			for _, item := range w.Plan.Archive() {
				if strings.Contains(string(item.Raw), same) {
					return item.ID
				}
			}
			t.Fatalf("it was not removed: %v", w.Plan)
			return ""
		}
		first, other, fork := create(t, st, "first"), create(t, st, "other"), store.ID("fork")
		fill(first)
		fill(other)
		if _, err := st.Fork(ctx, first, "", fork); err != nil {
			t.Fatal(err)
		}
		ids := []string{handle(first), handle(other), handle(fork)}
		if err := st.Delete(ctx, first); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, handle(other), handle(fork))
		for i, id := range ids {
			if raw, err := st.Recall(ctx, "", id); err != nil || !strings.Contains(string(raw), same) {
				t.Errorf("handle %d: %s %v", i, raw, err)
			}
		}
		// The fork keeps shared entries only; the other session names the rest again.
		second, early := create(t, st, "second"), store.ID("early fork")
		fill(second)
		id := handle(second)
		page, err := st.Page(ctx, second, store.Page{Limit: 1})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := st.Fork(ctx, second, page.Entries[0].ID, early); err != nil {
			t.Fatal(err)
		}
		for _, key := range []store.Key{second, fork} {
			if err := st.Delete(ctx, key); err != nil {
				t.Fatal(err)
			}
		}
		handle(other)
		if raw, err := st.Recall(ctx, "", id); err != nil || !strings.Contains(string(raw), same) {
			t.Errorf("named anew: %s %v", raw, err)
		}
	})
}

// TestMergeRefusesProviderCompaction checks that a merge does not append the provider's compaction
// after other messages, which would never be sent again.
func TestMergeRefusesProviderCompaction(t *testing.T) {
	compacted := []byte(`{"role":"assistant","content":[{"type":"compaction","content":"they talked"}]}`)
	both(t, func(t *testing.T, st *store.Store) {
		from, into, empty := create(t, st, "from"), create(t, st, "into"), create(t, st, "empty")
		put(t, st, from, user("one"), compacted, user("two"))
		put(t, st, into, user("of another talk"))
		if n, err := st.Merge(ctx, from, into); err == nil || n != 0 || !strings.Contains(err.Error(), "compaction") {
			t.Errorf("%d %v", n, err)
		}
		if body := window(t, st, into, store.WindowOptions{}); !strings.Contains(body, "of another talk") {
			t.Errorf("%s", body)
		}
		if n, err := st.Merge(ctx, from, empty); err != nil || n != 3 {
			t.Errorf("into an empty one: %d %v", n, err)
		}
		checkStore(t, st, from, into, empty)
	})
}

// TestMinimumOfWindowWorks checks that the minimum in the error of a window that is too small gives
// a window.
func TestMinimumOfWindowWorks(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		for seed := range uint64(3) {
			r := rand.New(rand.NewPCG(seed, 1))
			text := func() string { return strings.Repeat("what was said ", 1+r.IntN(40)) }
			key := create(t, st, fmt.Sprint("s", seed))
			raws := [][]byte{user("task")}
			for i := range 5 + r.IntN(20) {
				switch id := fmt.Sprint("c", i); r.IntN(4) {
				case 0:
					raws = append(raws, user(text()))
				case 1:
					raws = append(raws, assistant(text()))
				default:
					if raws = append(raws, call(id)); r.IntN(4) > 0 {
						raws = append(raws, result(id, text()))
					}
				}
			}
			put(t, st, key, raws...)
			for limit := 20; limit < 900; limit += 40 {
				ask := func(n int) store.WindowOptions {
					return store.WindowOptions{Policy: &pare.Policy{Window: &pare.Window{Tokens: n}}}
				}
				_, err := st.Window(ctx, key, ask(limit))
				var small *pare.WindowTooSmall
				if !errors.As(err, &small) {
					continue
				}
				if small.Limit != limit || small.Minimum <= limit {
					t.Errorf("%d: %+v", limit, small)
				}
				if _, err := st.Window(ctx, key, ask(small.Minimum)); err != nil {
					t.Errorf("%d: %v, and then %v", limit, small, err)
				}
			}
		}
	})
}
