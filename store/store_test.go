package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/pgtest"
	"github.com/pare-llm/pare/store"
	"github.com/pare-llm/pare/wire"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "child" {
		runKilledProcess(os.Args[2:])
		return
	}
	code := m.Run()
	pgtest.Stop()
	os.Exit(code)
}

// engines runs a test on an empty database of each engine.
func engines(t *testing.T, f func(t *testing.T, dsn string)) {
	t.Helper()
	enginesOn(t, func(t *testing.T) string { return pgtest.Copy(t, ready(t)) }, f)
}

// durableEngines is engines with a PostgreSQL that syncs to disk.
func durableEngines(t *testing.T, f func(t *testing.T, dsn string)) {
	t.Helper()
	enginesOn(t, func(t *testing.T) string { return pgtest.Durable(t) }, f)
}

func enginesOn(t *testing.T, postgres func(*testing.T) string, f func(t *testing.T, dsn string)) {
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		f(t, filepath.Join(t.TempDir(), "pare.db"))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		f(t, postgres(t))
	})
}

var readied struct {
	sync.Once
	dsn string
}

// ready returns a PostgreSQL database with tables, for copying: creating the tables takes longer
// than most tests.
func ready(t *testing.T) string {
	t.Helper()
	readied.Do(func() {
		dsn := pgtest.DSN(t)
		st, err := store.Open(ctx, dsn)
		if err != nil {
			t.Fatal(err)
		}
		st.Close()
		readied.dsn = dsn
	})
	return readied.dsn
}

func open(t testing.TB, dsn string) *store.Store {
	t.Helper()
	st, err := store.Open(context.Background(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	return st
}

// both runs a test on an empty store of each engine, in parallel.
func both(t *testing.T, f func(t *testing.T, st *store.Store)) {
	engines(t, func(t *testing.T, dsn string) { f(t, open(t, dsn)) })
}

// inTurn is both without parallel tests, for tests that count operations of the process.
func inTurn(t *testing.T, f func(t *testing.T, st *store.Store)) {
	t.Run("sqlite", func(t *testing.T) { f(t, open(t, filepath.Join(t.TempDir(), "pare.db"))) })
	t.Run("postgres", func(t *testing.T) { f(t, open(t, pgtest.Copy(t, ready(t)))) })
}

var ctx = context.Background()

func user(text string) []byte {
	return []byte(fmt.Sprintf(`{"role":"user","content":%q}`, text))
}

func assistant(text string) []byte {
	return []byte(fmt.Sprintf(`{"role":"assistant","content":[{"type":"text","text":%q}]}`, text))
}

func call(ids ...string) []byte {
	var parts []string
	for _, id := range ids {
		parts = append(parts, fmt.Sprintf(`{"type":"tool_use","id":%q,"name":"run","input":{"x":1}}`, id))
	}
	return []byte(`{"role":"assistant","content":[` + strings.Join(parts, ",") + `]}`)
}

func result(id, text string) []byte {
	return []byte(fmt.Sprintf(`{"role":"user","content":[{"type":"tool_result","tool_use_id":%q,"content":%q}]}`, id, text))
}

var anthropic = store.Create{Dialect: "anthropic", Model: "claude-sonnet-4-5", Base: []byte(`{"model":"claude-sonnet-4-5","max_tokens":1000,"tools":[{"name":"run","input_schema":{"type":"object"}}]}`)}

func create(t testing.TB, st *store.Store, id string) store.Key {
	t.Helper()
	key := store.ID(id)
	if _, err := st.Create(ctx, key, anthropic); err != nil {
		t.Fatal(err)
	}
	return key
}

func put(t testing.TB, st *store.Store, key store.Key, raws ...[]byte) int64 {
	t.Helper()
	var list []store.Entry
	for _, raw := range raws {
		list = append(list, store.Message("", raw))
	}
	result, err := st.Append(ctx, key, store.Anywhere, list...)
	if err != nil {
		t.Fatal(err)
	}
	return result.Head
}

// texts returns the messages in force.
func texts(t testing.TB, st *store.Store, key store.Key) (all []string) {
	t.Helper()
	err := st.Export(ctx, key, store.Export{}, func(e store.Entry) error {
		all = append(all, string(e.Raw))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// checkStore checks that fsck finds nothing and that the windows of sessions are valid.
func checkStore(t testing.TB, st *store.Store, keys ...store.Key) {
	t.Helper()
	problems, err := st.Fsck(ctx, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		if !p.Harmless {
			t.Errorf("fsck: %s", p)
		}
	}
	for _, key := range keys {
		w, err := st.Window(ctx, key, store.WindowOptions{})
		if err != nil {
			t.Errorf("window of %s: %v", key, err)
			continue
		}
		clean(t, w.Body)
	}
}

func clean(t testing.TB, body []byte) {
	t.Helper()
	r, err := wire.Parse(body, wire.Options{})
	if err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	for _, f := range r.Check(wire.CheckOptions{}) {
		t.Errorf("%s at %s: %s\n%s", f.Rule, f.Path, f.Message, body)
	}
}

func TestAppendAndWindow(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		key := create(t, st, "a")
		raws := [][]byte{user("hello"), call("c1"), result("c1", "out"), assistant("done")}
		if head := put(t, st, key, raws...); head != 4 {
			t.Fatalf("head %d", head)
		}
		got := texts(t, st, key)
		for i, raw := range raws {
			if got[i] != string(raw) {
				t.Errorf("entry %d: got %s, want %s", i+1, got[i], raw)
			}
		}
		put(t, st, key, user("go on"))
		w, err := st.Window(ctx, key, store.WindowOptions{})
		if err != nil {
			t.Fatal(err)
		}
		want := `{"model":"claude-sonnet-4-5","max_tokens":1000,"tools":[{"name":"run","input_schema":{"type":"object"}}],"messages":[` +
			string(raws[0]) + "," + string(raws[1]) + "," + string(raws[2]) + "," + string(raws[3]) + "," + string(user("go on")) + `]}`
		if string(w.Body) != want {
			t.Errorf("got  %s\nwant %s", w.Body, want)
		}
		if w.Head != 5 || !w.Plan.Empty() {
			t.Errorf("head %d, plan %v", w.Head, w.Plan)
		}
		checkStore(t, st, key)
	})
}

func TestReplayAndDuplicate(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		key := create(t, st, "a")
		list := []store.Entry{store.Message("e1", user("one")), store.Message("e2", assistant("two"))}
		for i := range 3 {
			result, err := st.Append(ctx, key, store.Exactly(0), list...)
			if err != nil || result.Head != 2 || result.Replayed != min(i, 1)*2 {
				t.Fatalf("round %d: %+v, %v", i, result, err)
			}
		}
		_, err := st.Append(ctx, key, store.Exactly(2), store.Message("e3", user("three")), store.Message("e1", user("other")))
		var dup *store.DuplicateError
		if !errors.As(err, &dup) || dup.Seq != 1 {
			t.Fatalf("got %v", err)
		}
		if n := len(texts(t, st, key)); n != 2 {
			t.Errorf("%d entries: a refused append wrote something", n)
		}
		// A retry of a batch of which a part is there adds the rest.
		result, err := st.Append(ctx, key, store.Exactly(2), list[1], store.Message("e3", user("three")))
		if err != nil || result.Replayed != 1 || result.Head != 3 {
			t.Fatalf("%+v, %v", result, err)
		}
	})
}

// TestReplayReturnsSameEntries checks that a repeated append returns the same entries.
func TestReplayReturnsSameEntries(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		key := create(t, st, "a")
		list := []store.Entry{store.Message("e1", user("one")),
			store.Message("e2", call("t1")),
			store.Message("e3", result("t1", "x"))}
		first, err := st.Append(ctx, key, store.Exactly(0), list...)
		if err != nil {
			t.Fatal(err)
		}
		again, err := st.Append(ctx, key, store.Exactly(0), list...)
		if err != nil || again.Replayed != 3 {
			t.Fatalf("%+v, %v", again, err)
		}
		for i, e := range first.Entries {
			e.At = e.At.Truncate(time.Microsecond) // as the database keeps it
			if !reflect.DeepEqual(e, again.Entries[i]) {
				t.Errorf("entry %d: %+v, again %+v", i, e, again.Entries[i])
			}
		}
	})
}

func TestConflictCarriesWhatWasMissed(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		key := create(t, st, "a")
		put(t, st, key, user("one"))
		put(t, st, key, assistant("two"), user("three"))
		_, err := st.Append(ctx, key, store.Exactly(1), store.Message("", user("late")))
		var c *store.ConflictError
		if !errors.As(err, &c) || c.Head != 3 || c.Expected != 1 || len(c.Missed) != 2 || string(c.Missed[0].Raw) != string(assistant("two")) {
			t.Fatalf("got %#v", err)
		}
		if _, err := st.Append(ctx, key, store.Exactly(7), store.Message("", user("early"))); !errors.As(err, &c) {
			t.Fatalf("got %v", err)
		}
	})
}

func TestDisjoint(t *testing.T) {
	type try struct {
		name   string
		before [][]byte // known to both
		other  [][]byte // appended meanwhile
		mine   []store.Entry
		ok     bool
	}
	m := func(raw []byte) store.Entry { return store.Message("", raw) }
	tries := []try{
		{"two workers answer two calls", [][]byte{user("go"), call("c1", "c2")}, [][]byte{result("c1", "x")}, []store.Entry{m(result("c2", "y"))}, true},
		{"two workers answer one call", [][]byte{user("go"), call("c1")}, [][]byte{result("c1", "x")}, []store.Entry{m(result("c1", "y"))}, false},
		{"a person speaks while a call runs that they have not seen", [][]byte{user("go")}, [][]byte{call("c1")}, []store.Entry{m(user("and?"))}, false},
		{"a person speaks after an exchange they have not seen", [][]byte{user("go")}, [][]byte{call("c1"), result("c1", "x")}, []store.Entry{m(user("and?"))}, true},
		{"a second runner calls while the first one's call is open", [][]byte{user("go")}, [][]byte{call("c1")}, []store.Entry{m(call("c2"))}, false},
		{"a late answer behind what a person said", [][]byte{user("go"), call("c1")}, [][]byte{user("stop")}, []store.Entry{m(result("c1", "x"))}, true},
		{"state is never in the way", [][]byte{user("go")}, [][]byte{call("c1")}, []store.Entry{{Kind: "state", Raw: []byte(`{"k":1}`)}}, true},
		{"the same id again", [][]byte{user("go")}, [][]byte{call("c1"), result("c1", "x")}, []store.Entry{m(call("c1"))}, false},
		{"text behind text", [][]byte{user("go")}, [][]byte{assistant("a")}, []store.Entry{m(user("b"))}, true},
	}
	both(t, func(t *testing.T, st *store.Store) {
		for _, x := range tries {
			t.Run(x.name, func(t *testing.T) {
				key := create(t, st, x.name)
				head := put(t, st, key, x.before...)
				put(t, st, key, x.other...)
				_, err := st.Append(ctx, key, store.Disjoint(head), x.mine...)
				var c *store.ConflictError
				if x.ok && err != nil || !x.ok && !errors.As(err, &c) {
					t.Fatalf("got %v", err)
				}
				if c != nil && len(c.Missed) != len(x.other) {
					t.Errorf("missed: %d of %d", len(c.Missed), len(x.other))
				}
				checkStore(t, st, key)
			})
		}
	})
}

// TestDisjointConflictsWithRevert checks that a writer that has missed a revert gets a conflict,
// even if it has seen all appended entries.
func TestDisjointConflictsWithRevert(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		key := create(t, st, "a")
		head := put(t, st, key, user("t1"), assistant("a1"), user("t2"))
		conflict := func(what string) {
			t.Helper()
			_, err := st.Append(ctx, key, store.Disjoint(head), store.Message("", assistant("a2")))
			if c := new(store.ConflictError); !errors.As(err, &c) {
				t.Fatalf("behind %s: %v", what, err)
			}
		}
		if _, err := st.RevertTurns(ctx, key, store.Exactly(head), 1); err != nil {
			t.Fatal(err)
		}
		conflict("a revert")
		if _, err := st.Undo(ctx, key); err != nil {
			t.Fatal(err)
		}
		conflict("its undo")
		checkStore(t, st, key)
	})
}

func TestRevertUndoFork(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		key := create(t, st, "a")
		put(t, st, key, user("t1"), assistant("a1"), user("t2"), call("c1"), result("c1", "x"), assistant("a2"), user("t3"), assistant("a3"))
		all := texts(t, st, key)
		if n, err := st.RevertTurns(ctx, key, store.Exactly(8), 1); err != nil || n != 2 {
			t.Fatalf("%d, %v", n, err)
		}
		if got := texts(t, st, key); len(got) != 6 || got[5] != all[5] {
			t.Fatalf("a revert by a turn takes that turn alone: %q", got)
		}
		if kind, err := st.Undo(ctx, key); err != nil || kind != store.KindRevert {
			t.Fatalf("%v, %v", kind, err)
		}
		if got := texts(t, st, key); strings.Join(got, "") != strings.Join(all, "") {
			t.Fatalf("undone: %q", got)
		}
		if _, err := st.Undo(ctx, key); !errors.Is(err, store.ErrNothingToUndo) {
			t.Fatalf("got %v", err)
		}
		if _, err := st.RevertTurns(ctx, key, store.Anywhere, 2); err != nil {
			t.Fatal(err)
		}
		put(t, st, key, user("t2b"))
		if _, err := st.Undo(ctx, key); !errors.Is(err, store.ErrNothingToUndo) {
			t.Fatalf("an undo over new entries: %v", err)
		}
		if got := texts(t, st, key); len(got) != 3 || got[2] != string(user("t2b")) {
			t.Fatalf("%q", got)
		}
		page, err := st.Page(ctx, key, store.Page{Limit: 2})
		if err != nil || len(page.Entries) != 2 {
			t.Fatal(page, err)
		}
		// A fork in the middle, and one of the fork.
		fork := store.ID("b")
		if _, err := st.Fork(ctx, key, page.Entries[1].ID, fork); err != nil {
			t.Fatal(err)
		}
		put(t, st, fork, user("f1"), assistant("f2"))
		second := store.ID("c")
		if _, err := st.Fork(ctx, fork, "", second); err != nil {
			t.Fatal(err)
		}
		put(t, st, second, user("s1"))
		put(t, st, key, assistant("later"))
		if got := texts(t, st, fork); len(got) != 4 || got[1] != all[1] || got[3] != string(assistant("f2")) {
			t.Errorf("fork: %q", got)
		}
		if got := texts(t, st, second); len(got) != 5 {
			t.Errorf("second fork: %q", got)
		}
		// Reverting a fork into its shared entries does not change the parent.
		if _, err := st.RevertTurns(ctx, second, store.Anywhere, 3); err != nil {
			t.Fatal(err)
		}
		if got := texts(t, st, second); len(got) != 0 {
			t.Errorf("reverted fork: %q", got)
		}
		if _, err := st.Undo(ctx, second); err != nil {
			t.Fatal(err)
		}
		if got := texts(t, st, second); len(got) != 5 {
			t.Errorf("undone fork: %q", got)
		}
		checkStore(t, st, key, fork, second)
		// Deleting the parent keeps the shared entries.
		if err := st.Delete(ctx, key); err != nil {
			t.Fatal(err)
		}
		if _, err := st.Append(ctx, key, store.Anywhere, store.Message("", user("late"))); !errors.Is(err, store.ErrDeleted) {
			t.Errorf("a write after a delete: %v", err)
		}
		if _, err := st.Create(ctx, key, anthropic); !errors.Is(err, store.ErrDeleted) {
			t.Errorf("a create after a delete: %v", err)
		}
		if got := texts(t, st, second); len(got) != 5 || got[0] != all[0] {
			t.Errorf("the fork of a deleted session: %q", got)
		}
		checkStore(t, st, fork, second)
	})
}

// inJSON returns a text as a JSON string.
func inJSON(text string) string {
	raw, _ := json.Marshal(text)
	return string(raw[1 : len(raw)-1])
}

func TestCompactAndWindow(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		key := create(t, st, "a")
		for i := range 30 {
			id := fmt.Sprintf("c%d", i)
			put(t, st, key, user(fmt.Sprintf("turn %d %s", i, strings.Repeat("word ", 50))), call(id), result(id, strings.Repeat("out ", 100)), assistant("done"))
		}
		c := &pare.Compactor{MinKeep: 8, Summarize: func(_ context.Context, h pare.Removed) (pare.Summary, error) {
			return pare.Summary{Text: fmt.Sprintf("summary of %d blocks", len(h.Blocks))}, nil
		}}
		compaction, err := st.Compact(ctx, key, c)
		if err != nil || compaction == nil {
			t.Fatal(compaction, err)
		}
		put(t, st, key, user("and now?"))
		w, err := st.Window(ctx, key, store.WindowOptions{})
		if err != nil {
			t.Fatal(err)
		}
		clean(t, w.Body)
		if !strings.Contains(string(w.Body), inJSON(compaction.Summary)) || !strings.Contains(compaction.Summary, compaction.Archive) || !strings.Contains(string(w.Body), "turn 29") || strings.Contains(string(w.Body), "turn 5 ") || !strings.Contains(string(w.Body), "turn 0 ") {
			t.Errorf("window: %.2000s", w.Body)
		}
		if n := len(texts(t, st, key)); n != 121 {
			t.Errorf("%d messages: a compaction deletes nothing", n)
		}
		back, err := st.Recall(ctx, "", compaction.Archive)
		if err != nil || !strings.Contains(string(back), "turn 5 ") {
			t.Errorf("recall: %.200s, %v", back, err)
		}
		// A second one carries the first.
		for i := range 10 {
			put(t, st, key, assistant("ok"), user(fmt.Sprintf("more %d", i)))
		}
		again, err := st.Compact(ctx, key, c)
		if err != nil || again == nil || !strings.Contains(again.Summary, compaction.Summary) {
			t.Fatalf("%+v, %v", again, err)
		}
		checkStore(t, st, key)
		// Undone, the first one is in force again; undone again, everything is there.
		for _, want := range []string{inJSON(compaction.Summary), "turn 5 "} {
			if kind, err := st.Undo(ctx, key); err != nil || kind != store.KindCompaction {
				t.Fatal(kind, err)
			}
			w, err := st.Window(ctx, key, store.WindowOptions{Policy: &pare.Policy{}})
			if err != nil || !strings.Contains(string(w.Body), want) {
				t.Fatalf("%v: %.3000s", err, w.Body)
			}
		}
		checkStore(t, st, key)
	})
}
