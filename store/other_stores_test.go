package store_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/store"
	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/wire"
)

// How other session stores with compaction have lost conversations, one test each.

// A turn is a user message, a call, its result and an answer.
func turn(t testing.TB, st *store.Store, key store.Key, i int) {
	t.Helper()
	id := fmt.Sprintf("toolu_%s_%d", key.ID, i)
	put(t, st, key, user(fmt.Sprintf("turn %d, %s", i, strings.Repeat("and so on ", 30))), call(id), result(id, fmt.Sprintf("out %d", i)), assistant(fmt.Sprintf("answer %d", i)))
}

func window(t testing.TB, st *store.Store, key store.Key, ask store.WindowOptions) string {
	t.Helper()
	w, err := st.Window(ctx, key, ask)
	if err != nil {
		t.Fatal(err)
	}
	clean(t, w.Body)
	return string(w.Body)
}

func compact(t testing.TB, st *store.Store, key store.Key, text string) *store.Compaction {
	t.Helper()
	compaction, err := st.Compact(ctx, key, &pare.Compactor{MinKeep: 6, Summarize: says(text)})
	if err != nil || compaction == nil {
		t.Fatal(compaction, err)
	}
	return compaction
}

// TestCompactionHidesReplacedEntries checks that a window does not contain both a summary and its
// messages; in another store the update matched no row.
func TestCompactionHidesReplacedEntries(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		key := create(t, st, "a")
		for i := range 12 {
			turn(t, st, key, i)
		}
		compaction := compact(t, st, key, "they talked")
		put(t, st, key, user("now?"))
		body := window(t, st, key, store.WindowOptions{Policy: &pare.Policy{}})
		for i := 1; i < 10; i++ { // the task stays
			if strings.Contains(body, fmt.Sprintf("answer %d\"", i)) {
				t.Errorf("turn %d is sent beside the summary that stands for it", i)
			}
		}
		if !strings.Contains(body, "they talked") || compaction.Messages < 30 {
			t.Errorf("%+v: %.500s", compaction, body)
		}
	})
}

// TestCompactionIncludesEarlierSummary checks that a compaction includes the previous summary.
func TestCompactionIncludesEarlierSummary(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		key := create(t, st, "a")
		n := 0
		for round := range 5 {
			for range 5 {
				turn(t, st, key, n)
				n++
			}
			compact(t, st, key, fmt.Sprintf("fact %d", round))
		}
		put(t, st, key, user("what do you know?"))
		body := window(t, st, key, store.WindowOptions{})
		for round := range 5 {
			if !strings.Contains(body, fmt.Sprintf("fact %d", round)) {
				t.Errorf("fact %d is lost", round)
			}
		}
		checkStore(t, st, key)
	})
}

// TestNewestPageOfLongSession checks that the last page has the newest turns of a long session.
func TestNewestPageOfLongSession(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		key := create(t, st, "a")
		var list []store.Entry
		for i := range 1500 {
			list = append(list, store.Message(fmt.Sprintf("m%d", i), user(fmt.Sprintf("word %d.", i))))
		}
		if _, err := st.Append(ctx, key, store.Exactly(0), list...); err != nil {
			t.Fatal(err)
		}
		page, err := st.Page(ctx, key, store.Page{Last: true, Limit: 10})
		if err != nil || len(page.Entries) != 10 || page.Entries[9].ID != "m1499" {
			t.Errorf("%v: %+v", err, page)
		}
		if body := window(t, st, key, store.WindowOptions{}); !strings.Contains(body, "word 1499.") {
			t.Error("the newest turn is not sent")
		}
		if n := len(texts(t, st, key)); n != 1500 {
			t.Errorf("%d messages", n)
		}
	})
}

// TestRevertKeepsPreviousTurn checks that reverting a turn keeps the answer of the turn before it.
func TestRevertKeepsPreviousTurn(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		key := create(t, st, "a")
		for i := range 3 {
			turn(t, st, key, i)
		}
		if n, err := st.RevertTurns(ctx, key, store.Anywhere, 1); err != nil || n != 4 {
			t.Fatal(n, err)
		}
		got := texts(t, st, key)
		if last := got[len(got)-1]; last != string(assistant("answer 1")) {
			t.Errorf("the last message is %s", last)
		}
		put(t, st, key, user("instead"))
		body := window(t, st, key, store.WindowOptions{})
		if strings.Contains(body, "turn 2,") || !strings.Contains(body, "answer 1") {
			t.Errorf("%s", body)
		}
		// One turn is all there is: nothing is left, and that is no error.
		one := create(t, st, "b")
		turn(t, st, one, 0)
		if n, err := st.RevertTurns(ctx, one, store.Anywhere, 1); err != nil || n != 4 {
			t.Error(n, err)
		}
		checkStore(t, st, key)
	})
}

// TestRevertRemovesLaterSummary checks that a revert removes summaries of reverted turns.
func TestRevertRemovesLaterSummary(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		key := create(t, st, "a")
		for i := range 8 {
			turn(t, st, key, i)
		}
		compact(t, st, key, "fact of turn 5")
		turn(t, st, key, 8)
		if _, err := st.RevertTurns(ctx, key, store.Anywhere, 5); err != nil {
			t.Fatal(err)
		}
		put(t, st, key, user("instead"))
		body := window(t, st, key, store.WindowOptions{})
		if strings.Contains(body, "fact of turn 5") || !strings.Contains(body, "turn 3,") || strings.Contains(body, "turn 4,") {
			t.Errorf("%s", body)
		}
		checkStore(t, st, key)
	})
}

// TestStaleCompactionIsRefused checks that a compaction of a list that has changed since is
// refused.
func TestStaleCompactionIsRefused(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		key := create(t, st, "a")
		for i := range 8 {
			turn(t, st, key, i)
		}
		_, err := st.Compact(ctx, key, &pare.Compactor{MinKeep: 6, Summarize: func(context.Context, pare.Removed) (pare.Summary, error) {
			if _, err := st.RevertTurns(ctx, key, store.Anywhere, 6); err != nil {
				t.Error(err)
			}
			return pare.Summary{Text: "of turns that are reverted"}, nil
		}})
		if err == nil || !strings.Contains(err.Error(), "while the summary was written") {
			t.Errorf("got %v", err)
		}
		if body := window(t, st, key, store.WindowOptions{}); strings.Contains(body, "of turns that are reverted") {
			t.Error(body)
		}
		checkStore(t, st, key)
	})
}

// TestOneLongTurnIsCompacted checks that a single long turn can be compacted.
func TestOneLongTurnIsCompacted(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		key := create(t, st, "a")
		put(t, st, key, user("do it all"))
		for i := range 40 {
			id := fmt.Sprintf("toolu_%d", i)
			put(t, st, key, call(id), result(id, strings.Repeat("line of output ", 100)))
		}
		compaction, err := st.Compact(ctx, key, &pare.Compactor{MinKeep: 6, Inside: true, Summarize: says("much was done")})
		if err != nil || compaction == nil {
			t.Fatal(compaction, err)
		}
		body := window(t, st, key, store.WindowOptions{Policy: &pare.Policy{Window: &pare.Window{Tokens: 3000}}})
		if !strings.Contains(body, "do it all") || !strings.Contains(body, "toolu_39") {
			t.Errorf("%s", body)
		}
		checkStore(t, st, key)
	})
}

// TestNoCutBeforeResults checks that no page or window begins with results, also where they are
// messages of the user.
func TestNoCutBeforeResults(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		key := create(t, st, "a")
		for i := range 10 {
			turn(t, st, key, i)
		}
		compaction := compact(t, st, key, "short")
		if (compaction.To+1)%4 != 1 {
			t.Errorf("the summary ends with entry %d, inside of a turn", compaction.To)
		}
		for n := 1; n <= 10; n++ {
			page, err := st.Page(ctx, key, store.Page{Last: true, Limit: n})
			if err != nil || len(page.Entries[0].Answers) > 0 {
				t.Errorf("%v: a page of %d begins with a result", err, n)
			}
			first := true
			err = st.Export(ctx, key, store.Export{LastTurns: n}, func(e store.Entry) error {
				if first && !e.Begins {
					t.Errorf("the last %d turns begin with %s", n, e.Raw)
				}
				first = false
				return nil
			})
			if err != nil || first {
				t.Errorf("%v: the last %d turns are empty", err, n)
			}
		}
	})
}

// TestOrderAndBytesStay checks that messages keep their order and bytes, including thinking
// signatures.
func TestOrderAndBytesStay(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		key := create(t, st, "a")
		raws := []string{
			`{"role":"user","content":[ {"type":"text","text":"a <b> \u00e9 ü & c"} ] }`,
			`{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"c2ln"},{"type":"text","text":"First."},{"type":"tool_use","id":"s1","name":"run","input":{"n":1.0}}]}`,
			string(result("s1", "1")),
			`{"role":"assistant","content":[{"type":"text","text":"Then."},{"type":"tool_use","id":"s2","name":"run","input":{"n":1e2}}]}`,
			string(result("s2", "2")),
			`{"content":[{"text":"Last.","type":"text"}],"role":"assistant"}`,
			string(user("thanks")),
		}
		for _, raw := range raws {
			put(t, st, key, []byte(raw))
		}
		if body := window(t, st, key, store.WindowOptions{}); !strings.Contains(body, `"messages":[`+strings.Join(raws, ",")+`]`) {
			t.Errorf("%s", body)
		}
		if got := texts(t, st, key); strings.Join(got, ",") != strings.Join(raws, ",") {
			t.Errorf("%s", got)
		}
	})
}

// TestStoredMessagesCanBeSent checks that windows are valid in every dialect, with empty messages,
// open calls and summaries.
func TestStoredMessagesCanBeSent(t *testing.T) {
	type raw = string
	all := map[string]struct {
		create store.Create
		raws   []raw
	}{
		"anthropic": {anthropic, []raw{`{"role":"user","content":""}`, `{"role":"assistant","content":[]}`, `{"role":"user","content":"go"}`, string(call("c1"))}},
		"chat": {store.Create{Dialect: "openai-chat", Model: "mistral-large-latest"}, []raw{`{"role":"user","content":"a"}`, `{"role":"assistant","content":""}`, `{"role":"user","content":"b"}`,
			`{"role":"assistant","tool_calls":[{"id":"abcdefghi","type":"function","function":{"name":"run","arguments":"{}"}}]}`}},
		"responses": {store.Create{Dialect: "openai-responses", Model: "gpt-5"}, []raw{`{"role":"user","content":"a"}`, `{"type":"function_call","call_id":"c1","name":"run","arguments":"{}"}`}},
		"gemini":    {store.Create{Dialect: "gemini"}, []raw{`{"role":"user","parts":[{"text":"a"}]}`, `{"role":"model","parts":[]}`, `{"role":"user","parts":[{"text":"b"}]}`, `{"role":"model","parts":[{"functionCall":{"name":"run","args":{}}}]}`}},
		"bedrock":   {store.Create{Dialect: "bedrock"}, []raw{`{"role":"user","content":[{"text":"a"}]}`, `{"role":"user","content":[{"text":"b"}]}`, `{"role":"assistant","content":[{"toolUse":{"toolUseId":"t1","name":"run","input":{}}}]}`}},
	}
	both(t, func(t *testing.T, st *store.Store) {
		for name, x := range all {
			t.Run(name, func(t *testing.T) {
				key := store.ID(name)
				if _, err := st.Create(ctx, key, x.create); err != nil {
					t.Fatal(err)
				}
				for _, raw := range x.raws {
					put(t, st, key, []byte(raw))
				}
				w, err := st.Window(ctx, key, store.WindowOptions{})
				if err != nil {
					t.Fatal(err)
				}
				d, err := wire.ParseDialect(x.create.Dialect)
				if err != nil {
					t.Fatal(err)
				}
				r, err := wire.Parse(w.Body, wire.Options{Dialect: d, Model: x.create.Model})
				if err != nil {
					t.Fatal(err)
				}
				for _, f := range r.Check(wire.CheckOptions{}) {
					t.Errorf("%s at %s: %s", f.Rule, f.Path, w.Body)
				}
				if got := texts(t, st, key); strings.Join(got, "") != strings.Join(x.raws, "") {
					t.Error("a window changed what is stored")
				}
			})
		}
	})
}

// TestWeightsGrowLinearly checks that entries are weighed separately: adding up the usage of
// replies would grow with the square of the history.
func TestWeightsGrowLinearly(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		key := create(t, st, "a")
		for i := range 40 {
			turn(t, st, key, i)
		}
		body := window(t, st, key, store.WindowOptions{Policy: &pare.Policy{}})
		r, err := wire.Parse([]byte(body), wire.Options{})
		if err != nil {
			t.Fatal(err)
		}
		whole := int64(r.Tokens(tokens.For("claude-sonnet-4-5")))
		session, err := st.Session(ctx, key)
		if err != nil {
			t.Fatal(err)
		}
		if w := store.Weight(session); w > whole || w < whole/2 {
			t.Errorf("the session weighs %d, its request %d", w, whole)
		}
	})
}

// TestInterruptedTurnKeepsCalls checks that a turn that is interrupted keeps its completed calls.
func TestInterruptedTurnKeepsCalls(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		key := create(t, st, "a")
		put(t, st, key, user("go"), call("c1"), result("c1", "the build is green"), call("c2"))
		// The next process continues the turn.
		body := window(t, st, key, store.WindowOptions{})
		if !strings.Contains(body, "the build is green") || !strings.Contains(body, "c2") {
			t.Error(body)
		}
		put(t, st, key, result("c2", "late"), assistant("done"), user("good"))
		if body := window(t, st, key, store.WindowOptions{}); !strings.Contains(body, "late") || strings.Contains(body, "unknown") {
			t.Error(body)
		}
		checkStore(t, st, key)
	})
}
