package store_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/store"
	"github.com/pare-llm/pare/wire"
)

// TestSessionChangesModel checks that a session or a window can use another model that speaks the
// dialect, and that others are refused with a list of parts that would need conversion.
func TestSessionChangesModel(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		key := store.ID("chat")
		if _, err := st.Create(ctx, key, store.Create{Dialect: "openai-chat", Model: "gpt-4.1", Base: []byte(`{"model":"gpt-4.1","max_tokens":500}`)}); err != nil {
			t.Fatal(err)
		}
		if err := st.Update(ctx, key, store.Update{Settings: []byte(`{"model":"gpt-4.1","temperature":0}`)}); err != nil {
			t.Fatal(err)
		}
		var list [][]byte
		for i := range 3 {
			id := fmt.Sprintf("call_%024d", i) // Mistral takes nine letters and digits
			list = append(list, user("go on"),
				[]byte(`{"role":"assistant","content":null,"tool_calls":[{"id":"`+id+`","type":"function","function":{"name":"read","arguments":"{}"}}]}`),
				[]byte(`{"role":"tool","tool_call_id":"`+id+`","content":"package a"}`), []byte(`{"role":"assistant","content":"done"}`))
		}
		put(t, st, key, append(list, user("and now?"))...)
		sent := func(ask store.WindowOptions, model string) {
			t.Helper()
			w, err := st.Window(ctx, key, ask)
			if err != nil {
				t.Fatal(err)
			}
			r, err := pare.Parse(w.Body)
			if err != nil {
				t.Fatal(err)
			}
			if found := r.Check(wire.CheckOptions{}); r.Model() != model || len(found) > 0 || strings.Count(string(w.Body), "gpt-4.1") > 0 && model != "gpt-4.1" {
				t.Errorf("%s: %s is sent, %v\n%s", model, r.Model(), found, w.Body)
			}
		}
		sent(store.WindowOptions{}, "gpt-4.1")
		sent(store.WindowOptions{Model: "mistral-large-latest"}, "mistral-large-latest")
		sent(store.WindowOptions{}, "gpt-4.1")
		head := len(list) + 1
		other := "mistral-large-latest"
		if err := st.Update(ctx, key, store.Update{Model: &other}); err != nil {
			t.Fatal(err)
		}
		sent(store.WindowOptions{}, "mistral-large-latest")
		put(t, st, key, []byte(`{"role":"assistant","content":"yes"}`), user("more"))
		sent(store.WindowOptions{}, "mistral-large-latest")
		sent(store.WindowOptions{Head: int64(head)}, "gpt-4.1") // earlier windows do not change

		key = create(t, st, "claude")
		put(t, st, key, user("go"), call("t1"), result("t1", "out"), user("and now?"))
		foreign := "gpt-5"
		before, err := st.Session(ctx, key)
		if err != nil {
			t.Fatal(err)
		}
		_, inWindow := st.Window(ctx, key, store.WindowOptions{Model: foreign})
		for _, err := range []error{st.Update(ctx, key, store.Update{Model: &foreign}), inWindow} {
			if err == nil || !strings.Contains(err.Error(), "gpt-5 does not speak anthropic") || !strings.Contains(err.Error(), "1 calls, 1 results") {
				t.Errorf("%v", err)
			}
		}
		if after, err := st.Session(ctx, key); err != nil || after.Model != before.Model {
			t.Errorf("%q became %q: %v", before.Model, after.Model, err)
		}
		for _, ok := range []string{"claude-opus-4-1", "openai/gpt-5", "kimi-k2"} { // gateways and other makers use the dialect, too
			if err := st.Update(ctx, key, store.Update{Model: &ok}); err != nil {
				t.Error(err)
			}
			sent(store.WindowOptions{}, ok)
		}
	})
}
