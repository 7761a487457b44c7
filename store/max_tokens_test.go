package store_test

import (
	"fmt"
	"testing"

	"github.com/pare-llm/pare/store"
	"github.com/pare-llm/pare/wire"
)

// TestWindowsSetMaxTokens checks that a window has the max_tokens that the Messages API requires:
// more than the thinking budget and at most the output limit of the model.
func TestWindowsSetMaxTokens(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		for i, c := range []struct {
			model, base string
			most        int // 0: none
		}{
			{"claude-sonnet-4-5", "", 16_000},
			{"claude-sonnet-4-5", `{"max_tokens":7}`, 7},
			{"claude-sonnet-4-5", `{"thinking":{"type":"enabled","budget_tokens":20000}}`, 36_000},
			{"claude-3-5-haiku-latest", "", 8192},
			{"a-model-of-ours", "", 4096},
			{"gpt-4.1", "", 0},
		} {
			key := store.Key{ID: fmt.Sprint("s", i)}
			dialect := "anthropic"
			if c.most == 0 {
				dialect = "openai-chat"
			}
			if _, err := st.Create(ctx, key, store.Create{Dialect: dialect, Model: c.model, Base: []byte(c.base)}); err != nil {
				t.Fatal(err)
			}
			put(t, st, key, user("hello"))
			w, err := st.Window(ctx, key, store.WindowOptions{})
			if err != nil {
				t.Fatal(err)
			}
			r, err := wire.Parse(w.Body, wire.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if got := r.MaxOutputTokens(); got != c.most {
				t.Errorf("%s %s: the reply may have %d tokens, want %d: %s", c.model, c.base, got, c.most, w.Body)
			}
		}
	})
}
