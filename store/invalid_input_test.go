package store_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/store"
	"github.com/pare-llm/pare/store/storehttp"
)

// TestDialectMustFitEarlierMessages checks that a message of a dialect is refused if earlier plain
// messages would be missing from windows.
func TestDialectMustFitEarlierMessages(t *testing.T) {
	parts := []byte(`{"role":"user","parts":[{"text":"later"}]}`)
	both(t, func(t *testing.T, st *store.Store) {
		for _, model := range []string{"", "claude-sonnet-4-5", "gemini-2.5-pro", "gpt-5"} {
			key := store.ID("one by one " + model)
			if _, err := st.Create(ctx, key, store.Create{Model: model}); err != nil {
				t.Fatal(err)
			}
			put(t, st, key, user("said first"))
			var bad *store.EntryError
			if _, err := st.Append(ctx, key, store.Anywhere, store.Message("p", parts)); !errors.As(err, &bad) || !strings.Contains(err.Error(), "gemini") {
				t.Errorf("%s: %v", key, err)
			}
			if body := window(t, st, key, store.WindowOptions{}); !strings.Contains(body, "said first") {
				t.Errorf("%s: %s", key, body)
			}
			// Reverted messages do not count.
			if _, err := st.Revert(ctx, key, store.Anywhere, ""); err != nil {
				t.Fatal(err)
			}
			if _, err := st.Append(ctx, key, store.Anywhere, store.Message("p", parts)); err != nil {
				t.Errorf("%s: %v", key, err)
			}

			key = store.ID("at once " + model)
			if _, err := st.Create(ctx, key, store.Create{Model: model}); err != nil {
				t.Fatal(err)
			}
			if _, err := st.Append(ctx, key, store.Anywhere, store.Message("", user("said first")), store.Message("", parts)); !errors.As(err, &bad) || bad.Index != 1 {
				t.Errorf("%s: %v", key, err)
			}
			if session, err := st.Session(ctx, key); err != nil || session.Head != 0 || session.Dialect != "" {
				t.Errorf("%s: %+v %v", key, session, err)
			}
		}
	})
}

// TestWindowHasModelOfSession checks that a window has the model of the session if the base has
// none, and that unknown models have no limit.
func TestWindowHasModelOfSession(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		for name, tt := range map[string]struct {
			create store.Create
			ask    store.WindowOptions
			want   string
		}{
			"base without a model":   {store.Create{Model: "gpt-5", Base: []byte(`{"temperature":1}`)}, store.WindowOptions{}, `"model":"gpt-5"`},
			"base with another":      {store.Create{Model: "gpt-5", Base: []byte(`{"model":"gpt-4o"}`)}, store.WindowOptions{}, `"model":"gpt-4o"`},
			"asked":                  {store.Create{Base: []byte(`{"temperature":1}`)}, store.WindowOptions{Model: "gpt-5"}, `"model":"gpt-5"`},
			"asked with a base":      {store.Create{Model: "gpt-4o"}, store.WindowOptions{Model: "gpt-5", Base: []byte(`{"temperature":1}`)}, `"model":"gpt-5"`},
			"in the URL":             {store.Create{Dialect: "anthropic", Model: "claude-sonnet-4-5", Base: []byte(`{"anthropic_version":"vertex-2023-10-16"}`)}, store.WindowOptions{}, `{"anthropic_version":"vertex-2023-10-16","messages"`},
			"nobody's window":        {store.Create{}, store.WindowOptions{Policy: &pare.Policy{Window: &pare.Window{ModelTokens: true, LowPercent: 70}}}, `{"messages"`},
			"nobody's, and messages": {store.Create{}, store.WindowOptions{Policy: &pare.Policy{Window: &pare.Window{ModelTokens: true, Messages: 5}}}, `{"messages"`},
		} {
			key := store.ID(name)
			if _, err := st.Create(ctx, key, tt.create); err != nil {
				t.Fatal(err)
			}
			put(t, st, key, user("Hi"))
			w, err := st.Window(ctx, key, tt.ask)
			if err != nil || !strings.Contains(string(w.Body), tt.want) || strings.Count(string(w.Body), `"model"`) > 1 {
				t.Errorf("%s: %s %v", name, w.Body, err)
			}
		}
		for _, base := range []string{`5`, `{bad`, `[]`} {
			if _, err := st.Window(ctx, store.ID("asked"), store.WindowOptions{Base: []byte(base)}); err == nil {
				t.Errorf("base %s", base)
			}
		}
	})
}

// TestInvalidTextNamesNothing checks that text that a database cannot store names nothing and
// causes no internal error.
func TestInvalidTextNamesNothing(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		srv := httptest.NewServer(storehttp.Handler(st, storehttp.Options{}))
		defer srv.Close()
		call := func(method, path, body string) {
			t.Helper()
			q, err := http.NewRequest(method, srv.URL+"/pare/v1"+path, bytes.NewReader([]byte(body)))
			if err != nil {
				t.Fatal(err)
			}
			resp, err := http.DefaultClient.Do(q)
			if err != nil {
				t.Fatal(err)
			}
			text, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			if resp.StatusCode >= 500 {
				t.Errorf("%s %s %s: %d %s", method, path, body, resp.StatusCode, text)
			}
		}
		call("POST", "/sessions", `{"id":"a"}`)
		call("POST", "/sessions/a/entries", `{"entries":[{"id":"m","raw":{"role":"user","content":"Hi there"}}]}`)
		entries := `{"entries":[{"raw":{"role":"user","content":"Hi"}}]}`
		for _, x := range []string{"%00", "a%00b", "%FF", "%C3%28", "%ED%A0%80"} {
			for _, op := range []string{
				"GET /sessions/X", "DELETE /sessions/X", "GET /sessions/X/paths", "GET /sessions/X/entries", "GET /sessions/X/search?q=x", "GET /sessions/X/events",
				"POST /sessions/X/undo", "GET /sessions/a/entries?after=X", "GET /sessions/a?path=X", "GET /sessions/a/search?q=X", `GET /sessions/a/search?q=%22X%22`,
				"GET /search?q=X", "GET /recall/X", "GET /sessions?before=X",
			} {
				method, path, _ := strings.Cut(strings.Replace(op, "X", x, 1), " ")
				call(method, path, "")
			}
			call("PATCH", "/sessions/"+x, `{"title":"x"}`)
			call("POST", "/sessions/"+x+"/entries", entries)
			call("POST", "/sessions/a/entries?path="+x, entries)
			call("POST", "/sessions/"+x+"/window", `{}`)
			call("POST", "/sessions/"+x+"/compact", `{}`)
			call("POST", "/sessions/"+x+"/revert", `{"turns":1}`)
			call("POST", "/sessions/"+x+"/fork", `{"id":"f"}`)
			call("POST", "/sessions/"+x+"/merge", `{"from":"a"}`)
		}
		call("POST", "/sessions", `{"id":"b","title":"a\u0000b"}`)
		call("POST", "/sessions", `{"id":"c","model":"a\u0000b"}`)
		call("PATCH", "/sessions/a", `{"title":"a\u0000b"}`)
		call("PATCH", "/sessions/a", `{"model":"a\u0000b"}`)
		call("POST", "/sessions/a/merge", `{"from":"a\u0000b"}`)
		call("POST", "/sessions/a/window", `{"base":5}`)
		call("POST", "/sessions/a/window", `{"base":null}`)
	})
}

// TestSearchInMissingSession checks that a search in a missing session is an error.
func TestSearchInMissingSession(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		if _, err := st.Search(ctx, store.ID("nope"), "x", 0); !errors.Is(err, store.ErrNotFound) {
			t.Error(err)
		}
		if _, err := st.Create(ctx, store.ID("gone"), store.Create{}); err != nil {
			t.Fatal(err)
		}
		if hits, err := st.Search(ctx, store.ID("gone"), "", 0); err != nil || len(hits) > 0 {
			t.Error(hits, err)
		}
		if err := st.Delete(ctx, store.ID("gone")); err != nil {
			t.Fatal(err)
		}
		if _, err := st.Search(ctx, store.ID("gone"), "x", 0); !errors.Is(err, store.ErrDeleted) {
			t.Error(err)
		}
	})
}

// TestNoSessionBelowDeletedOne checks that deleting a session also prevents later sub-sessions.
func TestNoSessionBelowDeletedOne(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		root, agent := store.ID("root"), store.Key{ID: "root", Path: "agents/one"}
		for _, key := range []store.Key{root, agent, store.ID("other")} {
			if _, err := st.Create(ctx, key, store.Create{}); err != nil {
				t.Fatal(err)
			}
			put(t, st, key, user("Hi"))
		}
		below := store.Key{ID: "root", Path: "agents/one/deep/er"}
		if err := st.Delete(ctx, agent); err != nil {
			t.Fatal(err)
		}
		if _, err := st.Create(ctx, below, store.Create{}); !errors.Is(err, store.ErrDeleted) {
			t.Errorf("below a sub-session: %v", err)
		}
		if _, err := st.Create(ctx, store.Key{ID: "root", Path: "agents/two"}, store.Create{}); err != nil {
			t.Error(err)
		}
		if err := st.Delete(ctx, root); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{"agents/two", "new", "a/b/c"} {
			key := store.Key{ID: "root", Path: path}
			if _, err := st.Create(ctx, key, store.Create{}); !errors.Is(err, store.ErrDeleted) {
				t.Errorf("%s: %v", key, err)
			}
			if _, err := st.Fork(ctx, store.ID("other"), "", key); !errors.Is(err, store.ErrDeleted) {
				t.Errorf("fork to %s: %v", key, err)
			}
		}
		if all, err := st.Paths(ctx, root); err != nil || len(all) > 0 {
			t.Error(all, err)
		}
	})
}

// TestSettingsDoNotReplaceMessages checks that a setting with the name of the list of messages does
// not replace it.
func TestSettingsDoNotReplaceMessages(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		key := store.ID("a")
		if _, err := st.Create(ctx, key, store.Create{Model: "claude-sonnet-4-5"}); err != nil {
			t.Fatal(err)
		}
		put(t, st, key, user("said"))
		if err := st.Update(ctx, key, store.Update{Settings: []byte(` {"messages":[],"top_k":5}`)}); err != nil {
			t.Fatal(err)
		}
		if body := window(t, st, key, store.WindowOptions{}); !strings.Contains(body, "said") || !strings.Contains(body, `"top_k":5`) {
			t.Error(body)
		}
	})
}
