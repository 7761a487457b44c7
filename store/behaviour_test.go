package store_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/archive"
	"github.com/pare-llm/pare/store"
)

// TestRecallOfRemovedParts checks that everything that a window clears or drops can be recalled
// byte for byte, including images.
func TestRecallOfRemovedParts(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		key := create(t, st, "a")
		put(t, st, key, user("go"))
		var blocks []string
		for i := range 12 {
			id := fmt.Sprintf("toolu_%d", i)
			raw := result(id, strings.Repeat(fmt.Sprintf("line %d of output ", i), 60))
			if i%3 == 0 {
				raw = []byte(fmt.Sprintf(`{"role":"user","content":[{"type":"tool_result","tool_use_id":"%s","content":[{"type":"text","text":"%s"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"%s"}}]}]}`,
					id, strings.Repeat("shot ", 200), picture(20_000, byte(i))))
			}
			blocks = append(blocks, strings.TrimSuffix(strings.TrimPrefix(string(raw), `{"role":"user","content":[`), `]}`))
			put(t, st, key, call(id), raw)
		}
		put(t, st, key, user("and now?"))
		var items []archive.Item
		named, whole := 0, 0
		for _, win := range []pare.Window{{Tokens: 1500, Recent: 1}, {Messages: 8}, {Messages: 8}} {
			w, err := st.Window(ctx, key, store.WindowOptions{Policy: &pare.Policy{Window: &win}})
			if err != nil {
				t.Fatal(err)
			}
			clean(t, w.Body)
			items = append(items, w.Plan.Archive()...)
			for _, item := range w.Plan.Archive() {
				got, err := st.Recall(ctx, "", item.ID)
				if err != nil {
					t.Errorf("%s (%s): %v", item.ID, item.Path, err)
					continue
				}
				if strings.Contains(string(w.Body), item.ID) {
					named++
				}
				found := false
				for _, b := range blocks {
					if string(got) == b {
						found = true
					}
				}
				if strings.Contains(item.Path, "content") && strings.Contains(string(got), "tool_result") && !found {
					t.Errorf("%s is not what was put in: %.200s", item.Path, got)
				}
				if !strings.Contains(item.Path, "content") {
					whole++
				}
				again, err := st.Archive(key).Get(ctx, item.ID)
				if err != nil || !item.Stands() && string(again.Raw) != string(got) || again.Path != item.Path { // an index is recalled as its messages
					t.Errorf("%v: %+v", err, again.Path)
				}
			}
		}
		if named == 0 || whole == 0 {
			t.Fatalf("%d items, %d named in placeholders, %d whole messages: nothing was tried", len(items), named, whole)
		}
		if _, err := st.Recall(ctx, "other", items[0].ID); !errors.Is(err, archive.ErrNotFound) {
			t.Errorf("another scope: %v", err)
		}
		checkStore(t, st, key)
	})
}

// TestArchiveOfSession checks that the archive of a session returns stored items, and that a text
// that looks like a reference stays a text.
func TestArchiveOfSession(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		key := create(t, st, "a")
		put(t, st, key, user("secret"))
		a := st.Archive(key)
		items := []archive.Item{archive.New("messages.1", []byte(`{"a": 1}`)), archive.New("messages.2", []byte(`{"pare_session":{"id":"a"},"from":1,"to":1}`))}
		for range 2 {
			if err := a.Put(ctx, items...); err != nil {
				t.Fatal(err)
			}
		}
		for _, want := range items {
			got, err := a.Get(ctx, want.ID)
			if err != nil || got.ID != want.ID || got.Path != want.Path || string(got.Raw) != string(want.Raw) {
				t.Errorf("%v: %+v", err, got)
			}
		}
		if _, err := a.Get(ctx, archive.ID([]byte("never"))); !errors.Is(err, archive.ErrNotFound) {
			t.Error(err)
		}
		if err := a.Put(ctx, archive.Item{ID: items[0].ID, Raw: []byte("other")}); err == nil {
			t.Error("an item under the name of another was kept")
		}
	})
}

// TestAcceptCompactionReplacesSentMessages checks that exactly the sent messages are replaced, that
// later messages follow, that the block is unchanged, and that undo works.
func TestAcceptCompactionReplacesSentMessages(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		key := create(t, st, "a")
		for i := range 4 {
			turn(t, st, key, i)
		}
		page, err := st.Page(ctx, key, store.Page{Last: true, Limit: 1})
		if err != nil {
			t.Fatal(err)
		}
		upto := page.Entries[0].ID
		turn(t, st, key, 4) // while the provider compacts
		block := []byte(`{"role":"assistant","content":[ {"type":"compaction","content":"They <built> a parser.","signature":"c2ln"} ] }`)
		compaction, err := st.AcceptCompaction(ctx, key, upto, block)
		if err != nil || compaction.To != 16 || compaction.Messages != 16 {
			t.Fatalf("%+v, %v", compaction, err)
		}
		put(t, st, key, user("go on"))
		w, err := st.Window(ctx, key, store.WindowOptions{Policy: &pare.Policy{Off: true}})
		if err != nil {
			t.Fatal(err)
		}
		if body := string(w.Body); !strings.Contains(body, `"messages":[`+string(block)+`,`+string(user("turn 4, "+strings.Repeat("and so on ", 30)))) {
			t.Errorf("%s", body)
		}
		if _, err := st.AcceptCompaction(ctx, key, "nobody", block); !errors.Is(err, store.ErrNoCursor) {
			t.Error(err)
		}
		if back, err := st.Recall(ctx, "", compaction.Archive); err != nil || strings.Count(string(back), `"role"`) != 16 {
			t.Errorf("%v: %s", err, back)
		}
		checkStore(t, st)
		if kind, err := st.Undo(ctx, key); err != nil || kind != store.KindCompaction {
			t.Error(kind, err)
		}
		if body := window(t, st, key, store.WindowOptions{}); strings.Contains(body, "compaction") || !strings.Contains(body, "turn 1,") {
			t.Error(body)
		}
	})
}

// TestProviderCompactionInReply checks that a window begins with the provider's compaction in a
// reply and never drops it.
func TestProviderCompactionInReply(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		key := create(t, st, "a")
		for i := range 5 {
			turn(t, st, key, i)
		}
		block := `{"role":"assistant","content":[{"type":"compaction","content":"They built a parser."},{"type":"text","text":"Done."}]}`
		put(t, st, key, user("compact"), []byte(block))
		for i := range 30 {
			turn(t, st, key, 10+i)
		}
		put(t, st, key, user("and now?"))
		for _, tokens := range []int{100_000, 4000} {
			w, err := st.Window(ctx, key, store.WindowOptions{Policy: &pare.Policy{Window: &pare.Window{Tokens: tokens, Messages: 60}}})
			if err != nil {
				t.Fatal(err)
			}
			if w.From <= 21 || strings.Contains(string(w.Body), "turn 2,") {
				t.Errorf("%d tokens: it reads from entry %d on", tokens, w.From)
			}
		}
		// A summary includes the block.
		if compaction := compact(t, st, key, "and then more"); !strings.Contains(fmt.Sprintf("%s", compaction.Prefix), `"type":"compaction"`) {
			t.Errorf("%s", compaction.Prefix)
		}
		checkStore(t, st)
	})
}

// TestEntriesOfOtherKindsAreNotSent checks that entries of other kinds are kept in order, exported,
// and never sent.
func TestEntriesOfOtherKindsAreNotSent(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		key := create(t, st, "a")
		list := []store.Entry{
			{ID: "1", Raw: user("go")}, {ID: "2", Kind: "state", Raw: []byte(`{"k": "secret"}`)}, {ID: "3", Kind: "span", Raw: []byte(`17`)},
			{ID: "4", Raw: call("c1")}, {ID: "5", Kind: "marker", Raw: []byte(`null`)}, {ID: "6", Raw: result("c1", "x")},
			{ID: "7", Kind: "link", Raw: []byte(`{"path":"agents/1"}`)}, {ID: "8", Raw: user("more")},
		}
		if _, err := st.Append(ctx, key, store.Exactly(0), list...); err != nil {
			t.Fatal(err)
		}
		if body := window(t, st, key, store.WindowOptions{}); strings.Contains(body, "secret") || strings.Contains(body, "unknown") {
			t.Errorf("%s", body)
		}
		var got []string
		if err := st.Export(ctx, key, store.Export{All: true}, func(e store.Entry) error {
			got = append(got, e.ID+string(e.Kind)+string(e.Raw))
			return nil
		}); err != nil || len(got) != 8 || got[1] != `2state{"k": "secret"}` {
			t.Errorf("%v: %q", err, got)
		}
		if n := len(texts(t, st, key)); n != 4 {
			t.Errorf("%d messages", n)
		}
		var bad *store.EntryError
		if _, err := st.Append(ctx, key, store.Anywhere, store.Entry{Kind: "compaction", Raw: []byte(`{}`)}); !errors.As(err, &bad) {
			t.Errorf("an entry of the store's own kind: %v", err)
		}
		checkStore(t, st, key)
	})
}

// TestScopesAndPaths checks that deleting a session deletes its sub-sessions and nothing of other
// sessions or scopes.
func TestScopesAndPaths(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		k := func(scope, id, path string) store.Key { return store.Key{Scope: scope, ID: id, Path: path} }
		keys := []store.Key{k("", "s", ""), k("", "s", "a"), k("", "s", "a/b"), k("", "s", "ab"), k("", "s2", ""), k("other", "s", ""), k("other", "s", "a")}
		for _, key := range keys {
			if _, err := st.Create(ctx, key, anthropic); err != nil {
				t.Fatal(err)
			}
			put(t, st, key, user("in "+key.String()))
		}
		paths, err := st.Paths(ctx, keys[0])
		if err != nil || len(paths) != 3 || paths[0].Path != "a" {
			t.Errorf("%v: %v", err, paths)
		}
		if err := st.Delete(ctx, k("", "s", "a")); err != nil {
			t.Fatal(err)
		}
		alive := func(want ...bool) {
			t.Helper()
			for i, key := range keys {
				_, err := st.Session(ctx, key)
				if (err == nil) != want[i] || err != nil && !errors.Is(err, store.ErrDeleted) {
					t.Errorf("%s: %v", key, err)
				}
			}
		}
		alive(true, false, false, true, true, true, true)
		if err := st.Delete(ctx, keys[0]); err != nil {
			t.Fatal(err)
		}
		alive(false, false, false, false, true, true, true)
		if hits, err := st.Search(ctx, store.Key{Scope: "other"}, "in", 0); err != nil || len(hits) != 2 {
			t.Errorf("%v: %v", err, hits)
		}
		list, err := st.Sessions(ctx, "", 0, nil)
		if err != nil || len(list) != 1 || list[0].ID != "s2" {
			t.Errorf("%v: %v", err, list)
		}
		checkStore(t, st)
	})
}

// TestSettingsAreInEveryWindow checks that settings are in every window, in all processes and
// forks.
func TestSettingsAreInEveryWindow(t *testing.T) {
	engines(t, func(t *testing.T, dsn string) {
		st := open(t, dsn)
		key := create(t, st, "a")
		put(t, st, key, user("go"))
		set := []byte(`{"thinking":{"block_binding":{"prefix_mismatch_behavior":"drop_block"}}}`)
		if err := st.Update(ctx, key, store.Update{Settings: set}); err != nil {
			t.Fatal(err)
		}
		if _, err := st.Fork(ctx, key, "", store.ID("b")); err != nil {
			t.Fatal(err)
		}
		other := open(t, dsn)
		for _, k := range []store.Key{key, store.ID("b")} {
			w, err := other.Window(ctx, k, store.WindowOptions{Base: []byte(`{"model":"claude-opus-5-5","max_tokens":9,"thinking":{"type":"adaptive"}}`)})
			if err != nil || !strings.Contains(string(w.Body), `"thinking":{"type":"adaptive","block_binding":{"prefix_mismatch_behavior":"drop_block"}}`) {
				t.Errorf("%v: %s", err, w.Body)
			}
		}
	})
}

// TestMergeResolvesEqualIDs merges two sessions with equal ids, checks that pairs stay complete,
// and that a second merge changes nothing.
func TestMergeResolvesEqualIDs(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		var keys []store.Key
		for _, id := range []string{"a", "b"} {
			key := create(t, st, id)
			keys = append(keys, key)
			for i := range 4 {
				c := fmt.Sprintf("call_%d", i)
				for j, raw := range [][]byte{user(id + " asks"), call(c), result(c, id+" hears"), assistant(id + " ends")} {
					if _, err := st.Append(ctx, key, store.Anywhere, store.Message(fmt.Sprintf("e%d", 4*i+j), raw)); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
		n, err := st.Merge(ctx, keys[0], keys[1])
		// The calls are the same bytes under the same ids in both: they are there.
		if err != nil || n < 12 {
			t.Fatal(n, err)
		}
		if again, err := st.Merge(ctx, keys[0], keys[1]); err != nil || again != 0 {
			t.Errorf("again: %d, %v", again, err)
		}
		put(t, st, keys[1], user("so?"))
		body := window(t, st, keys[1], store.WindowOptions{})
		if strings.Count(body, "a hears") != 4 || strings.Count(body, "b hears") != 4 || strings.Contains(body, "unknown") {
			t.Errorf("%s", body)
		}
		checkStore(t, st, keys...)
	})
}

// TestExportTurns checks exports of the last turns and from a turn on.
func TestExportTurns(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		key := create(t, st, "a")
		for i := range 5 {
			turn(t, st, key, i)
		}
		for _, x := range []struct {
			o    store.Export
			want int
		}{{store.Export{LastTurns: 1}, 4}, {store.Export{LastTurns: 3}, 12}, {store.Export{LastTurns: 9}, 20}, {store.Export{FromTurn: 1}, 20}, {store.Export{FromTurn: 5}, 4}, {store.Export{}, 20}} {
			n := 0
			if err := st.Export(ctx, key, x.o, func(store.Entry) error { n++; return nil }); err != nil || n != x.want {
				t.Errorf("%+v: %d messages, want %d, %v", x.o, n, x.want, err)
			}
		}
		if err := st.Export(ctx, key, store.Export{FromTurn: 6}, func(store.Entry) error { return nil }); err == nil {
			t.Error("the sixth turn of five was exported")
		}
	})
}

// TestWindowsByCountReadLittle checks that windows limited by messages or turns read about as much
// as they send, and equal windows of the full history.
func TestWindowsByCountReadLittle(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		key := create(t, st, "a")
		for i := range 60 {
			turn(t, st, key, i)
		}
		put(t, st, key, user("now?"))
		for _, w := range []pare.Window{{Messages: 9}, {Turns: 3}, {Exchanges: 3, Turns: 5}, {Messages: 30, Turns: 4}, {Messages: 12, MinKeep: 8}} {
			w.Unmarked = true // the marker would count unread messages
			got, err := st.Window(ctx, key, store.WindowOptions{Policy: &pare.Policy{Window: &w}})
			if err != nil {
				t.Fatalf("%+v: %v", w, err)
			}
			clean(t, got.Body)
			if got.From < 180 {
				t.Errorf("%+v: it reads from entry %d of 241 on", w, got.From)
			}
			r, _, err := st.Request(ctx, key)
			if err != nil {
				t.Fatal(err)
			}
			plan, err := (&pare.Policy{Window: &w, Archived: true}).Plan(ctx, r)
			if err != nil {
				t.Fatal(err)
			}
			want, err := plan.Apply()
			if err != nil || string(want) != string(got.Body) {
				t.Errorf("%+v: not what the whole history gives: %v\n%.3000s\n%.3000s", w, err, got.Body, want)
			}
		}
	})
}

// TestEarlierHeadGivesSameWindow checks that a session and a head give the same bytes after later
// changes, so that a durable workflow can record them instead of the conversation.
func TestEarlierHeadGivesSameWindow(t *testing.T) {
	engines(t, func(t *testing.T, dsn string) {
		st := open(t, dsn)
		key := create(t, st, "a")
		bodies := make(map[int64]string)
		step := func() {
			w, err := st.Window(ctx, key, store.WindowOptions{})
			if err != nil {
				t.Fatal(err)
			}
			bodies[w.Head] = string(w.Body)
		}
		for i := range 12 {
			turn(t, st, key, i)
			step()
			switch i {
			case 7:
				compact(t, st, key, "they talked")
				step()
			case 9:
				if _, err := st.RevertTurns(ctx, key, store.Anywhere, 1); err != nil {
					t.Fatal(err)
				}
				step()
			case 10:
				if _, err := st.RevertTurns(ctx, key, store.Anywhere, 4); err != nil {
					t.Fatal(err)
				}
				if _, err := st.Undo(ctx, key); err != nil {
					t.Fatal(err)
				}
				step()
			}
		}
		other := open(t, dsn)
		for head, want := range bodies {
			w, err := other.Window(ctx, key, store.WindowOptions{Head: head})
			if err != nil || string(w.Body) != want || w.Head != head {
				t.Errorf("head %d: %v\n%s\n%s", head, err, w.Body, want)
			}
		}
		if _, err := other.Window(ctx, key, store.WindowOptions{Head: 1 << 40}); err == nil {
			t.Error("a head that does not exist gave a window")
		}
	})
}

// TestUnknownModelHasNoLimit checks that an unknown model gets a window without a limit.
func TestUnknownModelHasNoLimit(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		key := store.ID("a")
		if _, err := st.Create(ctx, key, store.Create{Dialect: "openai-chat", Model: "house-model-7"}); err != nil {
			t.Fatal(err)
		}
		put(t, st, key, []byte(`{"role":"user","content":"hi"}`))
		window(t, st, key, store.WindowOptions{})
	})
}
