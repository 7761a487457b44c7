package store_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/store"
	"github.com/pare-llm/pare/wire"
)

// What the user said last stays in a window, as it does when the whole history is trimmed,
// however much the model has done about it since.
func TestNewestWordsOfTheUserStay(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		key := create(t, st, "s")
		put(t, st, key, user("the task"), assistant("done"), user("the question of now"))
		for i := range 120 {
			id := fmt.Sprintf("c%d", i)
			put(t, st, key, call(id), result(id, strings.Repeat("words of a result ", 20)))
		}
		for _, w := range []pare.Window{{Tokens: 1500}, {Tokens: 3000}, {Tokens: 3000, Low: 1500}, {Messages: 20}, {Tokens: 4000, MinKeep: 4}} {
			body := window(t, st, key, store.Ask{Policy: &pare.Policy{Window: &w}})
			for _, said := range []string{"the task", "the question of now", `"c119"`} {
				if !strings.Contains(body, said) {
					t.Errorf("%+v: without %q", w, said)
				}
			}
			clean(t, []byte(body))
			r, _, err := st.Request(ctx, key)
			if err != nil {
				t.Fatal(err)
			}
			r, err = wire.Parse(r.Raw(), wire.Options{})
			if err != nil {
				t.Fatal(err)
			}
			plan, err := (&pare.Policy{Window: &w}).Plan(ctx, r)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(plan.Result().Raw()), "the question of now") {
				t.Errorf("%+v: the engine does not keep it, either", w)
			}
		}
	})
}
