package store_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/pare-llm/pare/store"
	"github.com/pare-llm/pare/store/storehttp"
)

// A client calls the handler and validates every response against the OpenAPI document.
type client struct {
	t     testing.TB
	url   string
	token string
	doc   map[string]any
	seen  map[string]bool // operations that were called
}

func newClient(t *testing.T, st *store.Store, o storehttp.Options) *client {
	t.Helper()
	srv := httptest.NewServer(storehttp.Handler(st, o))
	t.Cleanup(srv.Close)
	c := &client{t: t, url: srv.URL, seen: make(map[string]bool)}
	if err := json.Unmarshal(storehttp.OpenAPI, &c.doc); err != nil {
		t.Fatal(err)
	}
	return c
}

// routes lists the method and path of every operation.
func (c *client) routes() (all [][2]string) {
	for path, operations := range c.doc["paths"].(map[string]any) {
		for method := range operations.(map[string]any) {
			all = append(all, [2]string{strings.ToUpper(method), path})
		}
	}
	return all
}

// do calls an operation; path is written as in the description, with the session in the
// place of {id}.
func (c *client) do(method, template, id, query string, body any, status int) map[string]any {
	c.t.Helper()
	c.seen[method+" "+template] = true
	var in []byte
	if body != nil {
		in, _ = json.Marshal(body)
	}
	path := strings.NewReplacer("{id}", id, "{handle}", id).Replace(template)
	q, err := http.NewRequest(method, c.url+path+query, bytes.NewReader(in))
	if err != nil {
		c.t.Fatal(err)
	}
	if c.token != "" {
		q.Header.Set("Authorization", "Bearer "+c.token)
	}
	resp, err := http.DefaultClient.Do(q)
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, _ := io.ReadAll(resp.Body)
	if resp.StatusCode != status {
		c.t.Fatalf("%s %s: status %d, want %d: %s", method, path, resp.StatusCode, status, raw)
	}
	if len(raw) == 0 {
		return nil
	}
	var out any
	if err := json.Unmarshal(raw, &out); err != nil {
		c.t.Fatalf("%s %s: %v: %s", method, path, err, raw)
	}
	c.validate(method, template, status, out)
	m, _ := out.(map[string]any)
	return m
}

// validate checks a response against its schema.
func (c *client) validate(method, template string, status int, out any) {
	c.t.Helper()
	op := c.doc["paths"].(map[string]any)[template].(map[string]any)[strings.ToLower(method)].(map[string]any)
	responses := op["responses"].(map[string]any)
	r, ok := responses[fmt.Sprint(status)]
	if !ok {
		if r, ok = responses["default"]; !ok || status < 400 {
			c.t.Errorf("%s %s: status %d is not described", method, template, status)
			return
		}
	}
	if name, ok := r.(map[string]any)["$ref"].(string); ok {
		r = c.doc["components"].(map[string]any)["responses"].(map[string]any)[strings.TrimPrefix(name, "#/components/responses/")]
	}
	s := r.(map[string]any)["content"].(map[string]any)["application/json"].(map[string]any)["schema"]
	// References point into the description: make it one schema with definitions.
	text, _ := json.Marshal(map[string]any{"$defs": c.doc["components"].(map[string]any)["schemas"], "allOf": []any{s}})
	var schema jsonschema.Schema
	if err := json.Unmarshal(bytes.ReplaceAll(text, []byte("#/components/schemas/"), []byte("#/$defs/")), &schema); err != nil {
		c.t.Fatal(err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		c.t.Fatal(err)
	}
	if err := resolved.Validate(out); err != nil {
		c.t.Errorf("%s %s: the answer is not as described: %v", method, template, err)
	}
}

func entry(id string, raw []byte) map[string]any {
	return map[string]any{"id": id, "raw": json.RawMessage(raw)}
}

func TestOverHTTP(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		c := newClient(t, st, storehttp.Options{})
		const p = "/pare/v1/sessions"
		c.do("POST", p, "", "", map[string]any{"id": "a", "dialect": "anthropic", "base": anthropic.Base}, 201)
		c.do("POST", p, "", "", map[string]any{"id": "a"}, 409)
		c.do("POST", p, "", "", map[string]any{"id": "b", "dialect": "klingon"}, 400)
		c.do("POST", p, "", "", map[string]any{"idd": "b"}, 400)
		// Two calls: append, window.
		out := c.do("POST", p+"/{id}/entries", "a", "", map[string]any{"head": map[string]any{"exactly": 0}, "entries": []any{entry("e1", user("find the word heron")), entry("e2", call("c1"))}}, 200)
		if out["head"] != 2.0 {
			t.Errorf("%v", out)
		}
		body := c.do("POST", p+"/{id}/window", "a", "", nil, 200)
		if n := len(body["messages"].([]any)); n != 3 {
			t.Errorf("%d messages: the open call is closed for sending", n)
		}
		open := func() (all []string) {
			for _, e := range c.do("GET", p+"/{id}/entries", "a", "", nil, 200)["entries"].([]any) {
				if list, ok := e.(map[string]any)["open"]; ok {
					all = append(all, fmt.Sprint(list))
				}
			}
			return all
		}
		if all := open(); fmt.Sprint(all) != "[[map[id:c1 tool:run]]]" {
			t.Errorf("open calls: %v", all)
		}
		out = c.do("POST", p+"/{id}/entries", "a", "", map[string]any{"head": map[string]any{"exactly": 1}, "entries": []any{entry("e3", user("late"))}}, 409)
		if e := out["error"].(map[string]any); e["type"] != "conflict" || e["head"] != 2.0 || len(e["missed"].([]any)) != 1 {
			t.Errorf("%v", out)
		}
		c.do("POST", p+"/{id}/entries", "a", "", map[string]any{"entries": []any{entry("e1", user("other"))}}, 409)
		c.do("POST", p+"/{id}/entries", "a", "", map[string]any{"head": map[string]any{"disjoint": 2}, "entries": []any{entry("e3", result("c1", "here"))}}, 200)
		if all := open(); len(all) > 0 {
			t.Errorf("answered calls are open: %v", all)
		}
		c.do("POST", p+"/{id}/entries", "a", "", map[string]any{"entries": []any{map[string]any{"id": "x", "kind": "revert", "raw": 1}}}, 422)
		c.do("POST", p+"/{id}/entries", "none", "", map[string]any{"entries": []any{}}, 404)
		c.do("GET", p+"/{id}/entries", "a", "?limit=1", nil, 200)
		c.do("GET", p+"/{id}/entries", "a", "?after=nobody", nil, 404)
		c.do("GET", p+"/{id}/entries", "a", "?limit=x", nil, 400)
		c.do("GET", p+"/{id}", "a", "", nil, 200)
		c.do("GET", p, "", "", nil, 200)
		c.do("PATCH", p+"/{id}", "a", "", map[string]any{"title": "herons", "settings": map[string]any{"thinking": map[string]any{"type": "disabled"}}}, 200)
		body = c.do("POST", p+"/{id}/window", "a", "", map[string]any{"max_tokens": 5000}, 200)
		if fmt.Sprint(body["thinking"]) != "map[type:disabled]" {
			t.Errorf("a setting goes with every request: %v", body)
		}
		c.do("POST", p+"/{id}/window", "a", "", map[string]any{"max_tokens": 1}, 422)
		c.do("POST", p+"/{id}/window", "a", "", map[string]any{"max_turns": 0}, 400)
		c.do("POST", p+"/{id}/window", "a", "", map[string]any{"min_keep": -1}, 400)
		for i := range 12 {
			c.do("POST", p+"/{id}/entries", "a", "", map[string]any{"entries": []any{entry("", assistant("ok")), entry("", user(fmt.Sprintf("more %d %s", i, strings.Repeat("and more ", 40))))}}, 200)
		}
		whole := len(c.do("POST", p+"/{id}/window", "a", "", nil, 200)["messages"].([]any))
		for limit, n := range map[string]int{"max_messages": 6, "max_exchanges": 1, "max_turns": 3} {
			got := len(c.do("POST", p+"/{id}/window", "a", "", map[string]any{limit: n, "min_keep": 2}, 200)["messages"].([]any))
			if limit == "max_messages" && got > n || limit == "max_turns" && got >= whole || got > whole {
				t.Errorf("%s %d: %d of %d messages", limit, n, got, whole)
			}
		}
		made := c.do("POST", p+"/{id}/compact", "a", "", map[string]any{"min_keep": 4}, 200)["compaction"].(map[string]any)
		c.do("GET", "/pare/v1/recall/{handle}", made["archive"].(string), "", nil, 200)
		c.do("GET", "/pare/v1/recall/{handle}", "pare-nothing", "", nil, 404)
		c.do("POST", p+"/{id}/undo", "a", "", nil, 200)
		c.do("POST", p+"/{id}/undo", "a", "", nil, 409)
		c.do("POST", p+"/{id}/revert", "a", "", map[string]any{"turns": 1}, 200)
		c.do("POST", p+"/{id}/revert", "a", "", map[string]any{}, 400)
		c.do("POST", p+"/{id}/revert", "a", "", map[string]any{"turns": 99}, 400)
		c.do("POST", p+"/{id}/fork", "a", "", map[string]any{"id": "f", "at": "e3"}, 201)
		c.do("POST", p+"/{id}/merge", "f", "", map[string]any{"from": "a"}, 200)
		c.do("POST", p+"/{id}/swap", "f", "", map[string]any{"upto": "e3", "messages": []json.RawMessage{user("what the provider made of it")}}, 200)
		hits := c.do("GET", p+"/{id}/search", "a", "?q=heron", nil, 200)["hits"].([]any)
		if len(hits) != 1 {
			t.Errorf("%v", hits)
		}
		c.do("GET", "/pare/v1/search", "", "?q=%22word+heron%22", nil, 200)
		if hits := c.do("GET", "/pare/v1/recall", "", "?q=herons&limit=3", nil, 200)["hits"].([]any); len(hits) == 0 {
			t.Error("a question finds nothing")
		}
		c.do("POST", p, "", "", map[string]any{"id": "a", "path": "sub/one"}, 201)
		c.do("GET", p+"/{id}/paths", "a", "", nil, 200)
		c.do("DELETE", p+"/{id}", "a", "", nil, 204)
		c.do("GET", p+"/{id}", "a", "", nil, 410)
		c.do("GET", p+"/{id}", "a", "?path=sub/one", nil, 410)
		c.stream(st)
		for path, ops := range c.doc["paths"].(map[string]any) {
			for method := range ops.(map[string]any) {
				if !c.seen[strings.ToUpper(method)+" "+path] {
					t.Errorf("%s %s is described and was not called", method, path)
				}
			}
		}
		checkStore(t, st)
	})
}

// stream reads events while entries are appended.
func (c *client) stream(st *store.Store) {
	c.t.Helper()
	c.seen["GET /pare/v1/sessions/{id}/events"] = true
	key := create(c.t, st, "streamed")
	put(c.t, st, key, user("one"))
	resp, err := http.Get(c.url + "/pare/v1/sessions/streamed/events?from=0")
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	next := func() (kind string) {
		for lines.Scan() {
			if kind, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
				return kind
			}
		}
		return "end"
	}
	if kind := next(); kind != "entries_appended" {
		c.t.Errorf("got %s", kind)
	}
	put(c.t, st, key, assistant("two"))
	if kind := next(); kind != "entries_appended" {
		c.t.Errorf("got %s", kind)
	}
	if _, err := st.RevertTurns(ctx, key, store.Anywhere, 1); err != nil {
		c.t.Fatal(err)
	}
	if kind := next(); kind != "session_reverted" {
		c.t.Errorf("got %s", kind)
	}
	if err := st.Delete(ctx, key); err != nil {
		c.t.Fatal(err)
	}
	if kind := next(); kind != "session_deleted" {
		c.t.Errorf("got %s", kind)
	}
	if lines.Scan(); lines.Text() != `data: {"type":"session_deleted","metadata":{"session":{"id":"`+key.ID+`"}}}` {
		c.t.Errorf("got %s", lines.Text())
	}
}

// TestTokens checks that a client cannot read the sessions of another token's scope.
func TestTokens(t *testing.T) {
	st := open(t, filepath.Join(t.TempDir(), "pare.db"))
	c := newClient(t, st, storehttp.Options{Tokens: map[string]string{"alpha": "a", "beta": "b"}})
	const p = "/pare/v1/sessions"
	c.do("POST", p, "", "", map[string]any{"id": "s"}, 401)
	c.token = "wrong"
	c.do("GET", p+"/{id}", "s", "", nil, 401)
	c.token = "alpha"
	c.do("POST", p, "", "", map[string]any{"id": "s"}, 201)
	c.do("GET", p+"/{id}", "s", "", nil, 200)
	c.token = "beta"
	c.do("GET", p+"/{id}", "s", "", nil, 404)
	c.do("POST", p, "", "", map[string]any{"id": "s"}, 201)
}

func TestBodyTooLarge(t *testing.T) {
	st := open(t, filepath.Join(t.TempDir(), "pare.db"))
	c := newClient(t, st, storehttp.Options{MaxBody: 1000})
	c.do("POST", "/pare/v1/sessions", "", "", map[string]any{"id": "s"}, 201)
	c.do("POST", "/pare/v1/sessions/{id}/entries", "s", "", map[string]any{"entries": []any{entry("e", user(strings.Repeat("x", 2000)))}}, 413)
}

// TestBodyErrorsDescribeJSON checks that errors about the body describe the JSON and name no Go
// types.
func TestBodyErrorsDescribeJSON(t *testing.T) {
	h := storehttp.Handler(open(t, filepath.Join(t.TempDir(), "pare.db")), storehttp.Options{})
	for body, want := range map[string]string{
		`[]`:        `the request cannot be read: it is JSON of another kind (array), an object is expected`,
		`{"id":1}`:  `the request cannot be read: id cannot be of this kind (number)`,
		`{"idd":1}`: `the request cannot be read: unknown field \"idd\"`,
		`{"id":`:    `the request cannot be read: it ends in the middle of the JSON`,
	} {
		r := httptest.NewRequest("POST", "/pare/v1/sessions", strings.NewReader(body))
		r.RemoteAddr = "127.0.0.1:1"
		r.Host = "127.0.0.1:1"
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != 400 || !strings.Contains(w.Body.String(), `"`+want+`"`) {
			t.Errorf("%s: %d %s, want %s", body, w.Code, w.Body, want)
		}
	}
}
