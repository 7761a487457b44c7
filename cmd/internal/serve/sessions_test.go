package serve_test

import (
	"bufio"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pare-llm/pare/cmd/internal/serve"
	"github.com/pare-llm/pare/internal/trial"
	"github.com/pare-llm/pare/store"
	"github.com/pare-llm/pare/store/storehttp"
)

// sessionServer serves the sessions of an empty store.
func sessionServer(t *testing.T, tokens ...string) string {
	t.Helper()
	st, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "pare.db"))
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(serve.New(serve.Options{Store: st, Tokens: tokens}))
	t.Cleanup(func() { srv.CloseClientConnections(); srv.Close(); st.Close() })
	return srv.URL + "/pare/v1"
}

func ask(t *testing.T, method, url, token, body string) (int, string) {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		q.Header.Set("Authorization", "Bearer "+token)
	}
	resp, text := trial.RoundTrip(t, q)
	return resp.StatusCode, text
}

// A durable history and a window in two calls, and events as they happen.
func TestSessionsAreServed(t *testing.T) {
	url := sessionServer(t)
	if status, out := ask(t, "POST", url+"/sessions", "", `{"id":"a","dialect":"anthropic","model":"claude-sonnet-4-5"}`); status != 201 {
		t.Fatal(status, out)
	}
	resp, err := http.Get(url + "/sessions/a/events?from=0")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if status, out := ask(t, "POST", url+"/sessions/a/entries", "", `{"head":{"exactly":0},"entries":[{"id":"e1","raw":{ "role":"user","content":"<hi>" }}]}`); status != 200 {
		t.Fatal(status, out)
	}
	status, out := ask(t, "POST", url+"/sessions/a/window", "", `{}`)
	if status != 200 || out != `{"model":"claude-sonnet-4-5","messages":[{ "role":"user","content":"<hi>" }],"max_tokens":16000}` {
		t.Errorf("%d: %s", status, out)
	}
	lines := bufio.NewScanner(resp.Body)
	var got []string
	for len(got) < 3 && lines.Scan() {
		if lines.Text() != "" {
			got = append(got, lines.Text())
		}
	}
	if len(got) != 3 || got[0] != "id: 1" || got[1] != "event: entries_appended" || !strings.Contains(got[2], `"raw":{ "role":"user","content":"<hi>" }`) {
		t.Errorf("%q", got)
	}
	if status, out := ask(t, "GET", url+"/openapi.json", "", ""); status != 200 || out != string(storehttp.OpenAPI) {
		t.Errorf("%d: %.100s", status, out)
	}
	if status, _ := ask(t, "GET", url+"/search?q=hi", "", ""); status != 200 {
		t.Errorf("search: %d", status)
	}
}

// Whoever has another token does not see a session, whatever its id is.
func TestTokensOpenScopes(t *testing.T) {
	const a, b, plain = "alpha:0123456789abcdef", "beta:0123456789abcdef", "0123456789abcdef"
	url := sessionServer(t, a, b, plain)
	if status, _ := ask(t, "GET", url+"/sessions", "", ""); status != 401 {
		t.Errorf("without a token: %d", status)
	}
	if status, out := ask(t, "POST", url+"/sessions", a, `{"id":"s"}`); status != 201 {
		t.Fatal(status, out)
	}
	for token, want := range map[string]int{a: 200, b: 404, plain: 404, "alpha:other": 401, "alpha:": 401} {
		if status, out := ask(t, "GET", url+"/sessions/s", token, ""); status != want {
			t.Errorf("%s: %d, want %d: %s", token, status, want, out)
		}
	}
}

// A session is compacted with a summary, as the configuration says or of lines that are copied
// out, and not merely archived.
func TestSessionsAreSummarized(t *testing.T) {
	url := sessionServer(t)
	ask(t, "POST", url+"/sessions", "", `{"id":"a","dialect":"anthropic","model":"claude-sonnet-4-5"}`)
	var all []string
	for i := range 40 {
		role := [2]string{"user", "assistant"}[i%2]
		all = append(all, fmt.Sprintf(`{"raw":{"role":%q,"content":"We decided to keep flux_%d.go as it is. %s"}}`, role, i, strings.Repeat("More words about it. ", 40)))
	}
	if status, out := ask(t, "POST", url+"/sessions/a/entries", "", `{"entries":[`+strings.Join(all, ",")+`]}`); status != 200 {
		t.Fatal(status, out)
	}
	status, out := ask(t, "POST", url+"/sessions/a/compact", "", `{}`)
	if status != 200 || !strings.Contains(out, "flux_") || strings.Contains(out, "It was not summarized") {
		t.Errorf("%d: %s", status, out)
	}

	// Nothing here is worth a line.
	ask(t, "POST", url+"/sessions", "", `{"id":"b","dialect":"anthropic","model":"claude-sonnet-4-5"}`)
	all = []string{`{"raw":{"role":"user","content":"start"}}`}
	for i := range 30 {
		all = append(all, fmt.Sprintf(`{"raw":{"role":"assistant","content":[{"type":"tool_use","id":"c%d","name":"f","input":{}}]}}`, i),
			fmt.Sprintf(`{"raw":{"role":"user","content":[{"type":"tool_result","tool_use_id":"c%d","content":"%s"}]}}`, i, strings.Repeat("x", 100)))
	}
	if status, out := ask(t, "POST", url+"/sessions/b/entries", "", `{"entries":[`+strings.Join(all, ",")+`]}`); status != 200 {
		t.Fatal(status, out)
	}
	if status, out := ask(t, "POST", url+"/sessions/b/compact", "", `{}`); status != 200 || !strings.Contains(out, "No line was copied") {
		t.Errorf("%d: %s", status, out)
	}
}
