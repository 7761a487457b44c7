package store_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/store"
	"github.com/pare-llm/pare/store/storehttp"
	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/wire"
)

// TestFullness checks that the fullness of a session has the tokens of its window, and that the
// window is full after the predicted number of turns.
func TestFullness(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		type full struct {
			Tokens, Window, Room int
			Share                float64
			TurnsLeft            *int `json:"turns_left"`
		}
		handler := storehttp.Handler(st, storehttp.Options{Scope: func(*http.Request) (string, bool) { return "", true }})
		ask := func(key store.Key) *full {
			t.Helper()
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, httptest.NewRequest("GET", "/pare/v1/sessions/"+key.ID, nil))
			var got struct {
				ID       string
				Fullness *full
			}
			if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || got.ID != key.ID {
				t.Fatalf("%v: %s", err, w.Body)
			}
			return got.Fullness
		}
		key := create(t, st, "a")
		if f := ask(key); f == nil || f.Window != 200_000 || f.TurnsLeft != nil {
			t.Errorf("empty: %+v", f)
		}
		near := func(what string, got, want int) {
			t.Helper()
			if got < want*95/100 || got > want*105/100 {
				t.Errorf("%s: %d, want about %d", what, got, want)
			}
		}
		check := func(what string) *full {
			t.Helper()
			w, err := st.Window(ctx, key, store.WindowOptions{Policy: &pare.Policy{}})
			if err != nil {
				t.Fatal(err)
			}
			f := ask(key)
			near(what, f.Tokens, tokensOf(t, w.Body))
			near(what+" in permille", int(1000*f.Share), 1000*f.Tokens/f.Room)
			return f
		}
		for i := range 20 {
			turn(t, st, key, i)
		}
		f := check("twenty turns")
		base := f.Tokens
		for i := range 20 {
			turn(t, st, key, 20+i)
		}
		g := check("forty turns")
		near("turns left", *g.TurnsLeft, (g.Room-g.Tokens)*20/(g.Tokens-base))
		compact(t, st, key, "they talked")
		if h := check("compacted"); h.Tokens >= g.Tokens {
			t.Errorf("a summary takes %d tokens, what it stands for %d", h.Tokens, g.Tokens)
		}
		if _, err := st.Create(ctx, store.ID("nobody"), store.Create{Model: "nobody-knows", Dialect: "anthropic"}); err != nil {
			t.Fatal(err)
		}
		if f := ask(store.ID("nobody")); f != nil {
			t.Errorf("of a model that nobody knows: %+v", f)
		}
	})
}

// tokensOf estimates the tokens of a body for its model.
func tokensOf(t testing.TB, body []byte) int {
	t.Helper()
	r, err := wire.Parse(body, wire.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return r.Tokens(tokens.For(r.Model()))
}
