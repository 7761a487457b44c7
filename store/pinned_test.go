package store_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/wording"
	"github.com/pare-llm/pare/rules"
	"github.com/pare-llm/pare/store"
)

// TestWindowKeepsLastUserMessage checks that a window keeps the last words of the user, however
// much the model has done since, like a trim of the full history.
func TestWindowKeepsLastUserMessage(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		beside := []byte(`{"role":"user","content":[{"type":"tool_result","tool_use_id":"k1","content":"of before"},{"type":"text","text":"the question of now"}]}`)
		for name, raws := range map[string][][]byte{
			"alone":         {assistant("done"), user("the question of now")},
			"beside":        {call("k1"), beside},
			"beside others": {call("k1", "k2"), beside, result("k2", "later")},
			"again":         {call("k1"), beside, call("k2"), result("k2", "later"), user("no, the question of now")},
		} {
			newestStays(t, st, create(t, st, name), append([][]byte{user("the task")}, raws...))
		}
	})
}

func newestStays(t *testing.T, st *store.Store, key store.Key, raws [][]byte) {
	for i := range 120 {
		id := fmt.Sprintf("c%d", i)
		raws = append(raws, call(id), result(id, strings.Repeat("words of a result ", 20)))
	}
	put(t, st, key, raws...)
	r, _, err := st.Request(ctx, key)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range []pare.Window{{Tokens: 1500}, {Tokens: 3000}, {Tokens: 3000, Low: 1500}, {Messages: 20}, {Tokens: 4000, MinKeep: 4}} {
		body := window(t, st, key, store.WindowOptions{Policy: &pare.Policy{Window: &w}})
		plan, err := (&pare.Policy{Window: &w}).Plan(ctx, r)
		if err != nil {
			t.Fatal(err)
		}
		for _, said := range []string{"the task", "the question of now", `"id":"c119"`} {
			if strings.Count(body, said) != 1 {
				t.Errorf("%s: %+v: %q stands there %d times", key, w, said, strings.Count(body, said))
			}
			if !strings.Contains(string(plan.Result().Raw()), said) {
				t.Errorf("%s: %+v: the engine does not keep %q, either", key, w, said)
			}
		}
		if strings.Contains(body, wording.Stub) || strings.Contains(body, "without its call") {
			t.Errorf("%s: %+v: an exchange is parted: %s", key, w, body)
		}
		clean(t, []byte(body))
	}
	checkStore(t, st, key)
}

// TestWindowKeepsProtectedMessages checks that a window keeps messages that rules protect, however
// old they are.
func TestWindowKeepsProtectedMessages(t *testing.T) {
	protect, err := rules.Protect{Selection: rules.Selection{Markers: []string{"never forget"}}}.Rule()
	if err != nil {
		t.Fatal(err)
	}
	both(t, func(t *testing.T, st *store.Store) {
		key := create(t, st, "s")
		raws := [][]byte{user("the task"), call("k1"), result("k1", "never forget this"), assistant("well"), user("go on")}
		for i := range 60 {
			id := fmt.Sprintf("c%d", i)
			raws = append(raws, call(id), result(id, strings.Repeat("words of a result ", 20)))
		}
		put(t, st, key, raws...)
		p, err := pare.Compile(append(rules.Standard(), protect)...)
		if err != nil {
			t.Fatal(err)
		}
		body := window(t, st, key, store.WindowOptions{Policy: &pare.Policy{Rules: p, Window: &pare.Window{Tokens: 1500}}})
		if !strings.Contains(body, "never forget this") {
			t.Errorf("%s", body)
		}
	})
}
