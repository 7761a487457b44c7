package serve_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pare-llm/pare/cmd/internal/serve"
	"github.com/pare-llm/pare/internal/config"
	"github.com/pare-llm/pare/internal/trial"
	"github.com/pare-llm/pare/proxy"
	"github.com/pare-llm/pare/store"
	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/wire"
)

const broken = `{"model":"claude-sonnet-4-5","max_tokens":100,"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"ls","input":{}}]},{"role":"user","content":"and?"}]}`

// start runs a server on a port of this machine; the function ends it and returns what
// Serve returned.
func start(t *testing.T, o serve.Options) (address string, s *serve.Server, end func() error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	o.PlanTime = -1
	s = serve.New(o)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l, time.Hour, nil) }()
	ended := false
	end = func() error {
		if ended {
			return nil
		}
		ended = true
		cancel()
		return <-done
	}
	t.Cleanup(func() { end() })
	if _, token, ok := strings.Cut(s.Page(), "="); ok {
		runs.Store(l.Addr().String(), token)
	}
	return "http://" + l.Addr().String(), s, end
}

// watch listens to the events of a server.
func watch(t *testing.T, at string) (*http.Response, error) {
	t.Helper()
	req, err := http.NewRequest("GET", at+"/pare/v1/events", nil)
	if err != nil {
		return nil, err
	}
	token, _ := runs.Load(req.URL.Host)
	req.Header.Set("Pare-Token", token.(string))
	return http.DefaultClient.Do(req)
}

// runs are the tokens of servers without tokens, by address; send sends them.
var runs sync.Map

// to are the options for a server before an upstream.
func to(t *testing.T, h http.HandlerFunc) serve.Options {
	t.Helper()
	up := httptest.NewServer(h)
	t.Cleanup(up.Close)
	u, err := proxy.ParseUpstream("anthropic=" + up.URL)
	if err != nil {
		t.Fatal(err)
	}
	return serve.Options{Upstreams: map[string]proxy.Upstream{"anthropic": u}}
}

func send(t *testing.T, method, address, body string, header ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequest(method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if token, ok := runs.Load(req.URL.Host); ok && strings.HasPrefix(req.URL.Path, "/pare/") {
		req.Header.Set("Pare-Token", token.(string))
	}
	for i := 0; i+1 < len(header); i += 2 {
		if header[i] == "Host" {
			req.Host = header[i+1]
			continue
		}
		req.Header.Set(header[i], header[i+1])
	}
	return trial.RoundTrip(t, req)
}

func ok(w http.ResponseWriter, r *http.Request) {
	io.Copy(io.Discard, r.Body)
	io.WriteString(w, "ok")
}

func TestCalls(t *testing.T) {
	at, _, _ := start(t, serve.Options{})
	for _, tt := range []struct {
		path, body string
		status     int
		want       string
		changes    string
	}{
		{"check", broken, 200, `"rule":"orphan-call"`, "0"},
		{"fix", broken, 200, `"tool_use_id":"toolu_1"`, "1"},
		{"fix?orphan_call=drop", broken, 200, `"content":"hi"`, ""},
		{"fix?dry_run", broken, 200, `"rule":"orphan-call"`, "1"},
		{"fix", `{"messages":[`, 400, `"type":"unreadable"`, ""},
		{"fix", `{"x":1}`, 400, `"type":"unreadable"`, ""},
		{"fix?as=cobol", broken, 400, `unknown dialect`, ""},
		{"fix?orphan_call=eat", broken, 400, `orphan_call`, ""},
		{"fix?orphan_call=text", broken, 400, `expected stub or drop`, ""},
		{"fix?orphan_result=stub", broken, 400, `expected text or drop`, ""},
		{"prune?rules=deduplication", broken, 200, `toolu_1`, "1"},
		{"prune?rules=nonsense", broken, 400, `unknown rule`, ""},
		{"trim?max_messages=3", broken, 200, `"and?"`, ""},
		{"trim?max_tokens=1", broken, 422, `"type":"window_too_small"`, ""},
		{"trim?max_tokens=x", broken, 400, `max_tokens is \"x\"`, ""},
		{"trim?model=nobody", strings.Replace(broken, "claude-sonnet-4-5", "", 1), 400, `unknown_model`, ""},
		{"mangle", broken, 404, `not_found`, ""},
		// A limit that is mistyped, empty or doubtful is not none.
		{"trim?max_token=9", broken, 400, `trim has no parameter \"max_token\"; did you mean max_tokens?`, ""},
		{"trim?max_tokens=", broken, 400, `max_tokens is \"\"`, ""},
		{"trim?max_tokens=900&max_tokens=9", broken, 400, `max_tokens is given 2 times`, ""},
		{"trim?max_tokens=9;x", broken, 400, `the parameters cannot be read`, ""},
		{"fix?max_tokens=9", broken, 400, `fix has no parameter`, ""},
		{"check?advice", broken, 200, `findings`, ""},
		// A switch that is off is not on, however it is written.
		{"fix?dry_run=False", broken, 200, `"tool_use_id":"toolu_1"`, "1"},
		{"fix?dry_run=0", broken, 200, `"tool_use_id":"toolu_1"`, "1"},
		{"fix?dry_run=TRUE", broken, 200, `"rule":"orphan-call"`, "1"},
		{"fix?dry_run=no", broken, 400, `dry_run is \"no\": expected true or false`, ""},
		{"check?strict=maybe", broken, 400, `strict is \"maybe\"`, ""},
		{"fix", " \n", 400, `the body is empty`, ""},
	} {
		resp, body := send(t, "POST", at+"/pare/v1/"+tt.path, tt.body)
		if resp.StatusCode != tt.status || !strings.Contains(body, tt.want) || tt.changes != "" && resp.Header.Get("Pare-Changes") != tt.changes {
			t.Errorf("%s: %s %s %v", tt.path, resp.Status, body, resp.Header)
		}
		if !json.Valid([]byte(body)) {
			t.Errorf("%s: no JSON: %s", tt.path, body)
		}
	}
}

// TestCallsHaveReceipts: what a call changed has a receipt, at once, which the store keeps; it
// is no request to a provider, and counted as none.
func TestCallsHaveReceipts(t *testing.T) {
	st, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "pare.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	for name, o := range map[string]serve.Options{"none": {}, "store": {Store: st}} {
		at, _, _ := start(t, o)
		for path, want := range map[string]bool{"fix": true, "prune": true, "trim?max_messages=3": true, "check": false, "fix?dry_run": false} {
			resp, _ := send(t, "POST", at+"/pare/v1/"+path, broken)
			id := resp.Header.Get("Pare-Receipt")
			if (id != "") != want {
				t.Errorf("%s: %s: %v", name, path, resp.Header)
			}
			if !want {
				continue
			}
			resp, body := send(t, "GET", at+"/pare/v1/receipts/"+id, "")
			if resp.StatusCode != 200 || !strings.Contains(body, `"rule":"orphan-call"`) || strings.Contains(body, "and?") {
				t.Errorf("%s: %s: %s %s", name, path, resp.Status, body)
			}
		}
		if _, body := send(t, "GET", at+"/pare/v1/requests", ""); !strings.Contains(body, `"requests":[]`) || !strings.Contains(body, `"requests":0`) {
			t.Errorf("%s: %s", name, body)
		}
	}
}

// TestCallsSaveTokens: what a call says it has saved is what the result has less, and nothing
// where a repair had to add something.
func TestCallsSaveTokens(t *testing.T) {
	at, _, _ := start(t, serve.Options{})
	long := strings.Repeat("All work and no play. ", 200)
	result := func(id, text string) string {
		return `{"type":"tool_result","tool_use_id":"` + id + `","content":"` + text + `"}`
	}
	claude := func(messages ...string) string {
		return `{"model":"claude-sonnet-4-5","max_tokens":100,"messages":[` + strings.Join(messages, ",") + `]}`
	}
	const call = `{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"f","input":{}}]}`
	saves := 0
	for name, c := range map[string]struct{ path, body string }{
		"a stub":                  {"fix", broken},
		"a stub, and a quotation": {"fix", claude(`{"role":"user","content":"q"}`, call, `{"role":"user","content":[`+result("toolu_9", "stray")+`]}`)},
		"an empty block goes":     {"fix", claude(`{"role":"user","content":[{"type":"text","text":"q"},{"type":"text","text":""}]}`, call, `{"role":"user","content":"n"}`)},
		"a copy goes":             {"fix", claude(`{"role":"user","content":"q"}`, call, `{"role":"user","content":[`+result("toolu_1", long)+`,`+result("toolu_1", long)+`]}`)},
		"a quotation goes":        {"fix?orphan_result=drop", claude(`{"role":"user","content":"q"}`, `{"role":"assistant","content":"a"}`, `{"role":"user","content":[`+result("toolu_9", long)+`,{"type":"text","text":"n"}]}`)},
		"a window":                {"trim?max_messages=3", claude(`{"role":"user","content":"q"}`, `{"role":"assistant","content":"`+long+`"}`, `{"role":"user","content":"on"}`, `{"role":"assistant","content":"a"}`, `{"role":"user","content":"n"}`)},
		"nothing to do":           {"fix", claude(`{"role":"user","content":"q"}`)},
	} {
		resp, out := send(t, "POST", at+"/pare/v1/"+c.path, c.body)
		count := func(body string) int {
			r, err := wire.Parse([]byte(body), wire.Options{})
			if err != nil {
				t.Fatal(name, err, body)
			}
			return r.Tokens(tokens.For("claude-sonnet-4-5"))
		}
		want := ""
		if less := count(c.body) - count(out); less > 0 {
			want, saves = strconv.Itoa(less), saves+1
		}
		if got := resp.Header.Get("Pare-Saved-Tokens"); got != want {
			t.Errorf("%s: says that it saves %q, and saves %q", name, got, want)
		}
	}
	if saves < 3 {
		t.Errorf("only %d save anything", saves)
	}
}

// TestCallsSayHow they are to be made.
func TestCallsSayHow(t *testing.T) {
	at, _, _ := start(t, serve.Options{})
	for path, allow := range map[string]string{"v1/check": "POST", "v1/trim": "POST", "v1/requests": "GET", "healthz": "GET", "metrics": "GET"} {
		resp, body := send(t, "PUT", at+"/pare/"+path, broken)
		if resp.StatusCode != 405 || resp.Header.Get("Allow") != allow || !strings.Contains(body, `takes `+allow+`, not PUT`) {
			t.Errorf("%s: %s %s %v", path, resp.Status, body, resp.Header)
		}
	}
	if resp, body := send(t, "POST", at+"/pare/v1/fix", broken, "Content-Encoding", "br"); resp.StatusCode != 415 || !strings.Contains(body, "send it as it is") {
		t.Errorf("%s %s", resp.Status, body)
	}
}

// TestCallsDoNotChangeTheConfiguration of those that come after.
func TestCallsDoNotChangeTheConfiguration(t *testing.T) {
	conf, err := config.Parse("pare.toml", []byte("[rules.deduplication]\n"))
	if err != nil {
		t.Fatal(err)
	}
	set, err := serve.Load(conf, nil)
	if err != nil {
		t.Fatal(err)
	}
	before, _ := json.Marshal(conf)
	at, _, _ := start(t, serve.Options{Settings: set})
	for _, path := range []string{"prune?rules=error-purging&keep_recent=3", "trim?max_messages=3&rules=recency", "fix", "prune"} {
		send(t, "POST", at+"/pare/v1/"+path, broken)
	}
	if after, _ := json.Marshal(conf); string(after) != string(before) {
		t.Errorf("%s became %s", before, after)
	}
}

// TestForeignersGetNothing: pages of others, by any name and from any origin.
func TestForeignersGetNothing(t *testing.T) {
	at, _, _ := start(t, to(t, ok))
	port := at[strings.LastIndex(at, ":"):]
	for _, path := range []string{"/pare/", "/pare/healthz", "/pare/metrics", "/pare/v1/requests", "/pare/v1/events", "/pare/v1/receipts/x"} {
		for _, header := range [][]string{
			{"Host", "evil.example"}, {"Host", "evil.example" + port}, {"Host", "localhost.evil.example"}, {"Host", "127.0.0.1.nip.io" + port}, {"Host", "10.0.0.1" + port},
			{"Origin", "https://evil.example"}, {"Origin", "null"}, {"Origin", "http://localhost:1"}, {"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"},
		} {
			resp, body := send(t, "GET", at+path, "", header...)
			if resp.StatusCode != 403 || resp.Header.Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("%s %v: %s %s", path, header, resp.Status, body)
			}
		}
	}
	for _, header := range [][]string{{"Host", "localhost" + port}, {"Host", "[::1]" + port}, {"Origin", at}, {"Sec-Fetch-Site", "same-origin"}, {"Sec-Fetch-Site", "none"}} {
		if resp, _ := send(t, "GET", at+"/pare/healthz", "", header...); resp.StatusCode != 200 {
			t.Errorf("%v: %s", header, resp.Status)
		}
	}
	if resp, _ := send(t, "OPTIONS", at+"/pare/v1/fix", "", "Origin", "https://evil.example", "Access-Control-Request-Method", "POST"); resp.StatusCode != 403 {
		t.Error(resp.Status)
	}
	// Who asks in HTTP/1.0 whether we live, as load balancers do, names no host.
	c, err := net.Dial("tcp", strings.TrimPrefix(at, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	io.WriteString(c, "GET /pare/healthz HTTP/1.0\r\n\r\n")
	if said, _ := io.ReadAll(c); !strings.HasPrefix(string(said), "HTTP/1.0 200 ") {
		t.Errorf("%s", said)
	}
}

// TestRootLeadsToThePage: who opens the address that serve prints sees the live page; nobody
// else gets anything there, and the token of the run is not given away.
func TestRootLeadsToThePage(t *testing.T) {
	at, s, _ := start(t, to(t, ok))
	resp, body := send(t, "GET", at+"/", "", "Accept", "text/html,application/xhtml+xml")
	if resp.StatusCode != 303 || resp.Header.Get("Location") != "/pare/" || strings.Contains(body, strings.TrimPrefix(s.Page(), "/pare/?token=")) {
		t.Errorf("%s to %q: %s", resp.Status, resp.Header.Get("Location"), body)
	}
	if resp, body := send(t, "GET", at+"/", "", "Accept", "application/json"); resp.StatusCode != 404 || !strings.Contains(body, "unknown path") || !strings.Contains(body, "/pare/") {
		t.Errorf("%s: %s", resp.Status, body)
	}
	if resp, body := send(t, "GET", at+"/pare/", "", "Pare-Token", ""); resp.StatusCode != 401 || !strings.Contains(body, "printed at the start") {
		t.Errorf("%s: %s", resp.Status, body)
	}
}

func TestTokens(t *testing.T) {
	const token = "0123456789abcdef"
	var key string
	o := to(t, func(w http.ResponseWriter, r *http.Request) {
		key = fmt.Sprint(r.Header["Pare-Token"], r.Header["Authorization"])
		ok(w, r)
	})
	o.Tokens = []string{"another-token-here", token}
	at, s, _ := start(t, o)
	for _, tt := range []struct {
		path   string
		header []string
		want   int
	}{
		{"/v1/messages", nil, 401}, {"/v1/messages", []string{"Pare-Token", "wrong"}, 401}, {"/v1/messages", []string{"Authorization", "Bearer " + token}, 401},
		{"/v1/messages", []string{"Pare-Token", token, "Authorization", "Bearer vendor"}, 200},
		{"/pare/v1/requests", nil, 401}, {"/pare/v1/requests", []string{"Pare-Token", token}, 200}, {"/pare/v1/requests", []string{"Authorization", "Bearer " + token}, 200},
		{"/pare/v1/requests", []string{"Cookie", "pare-token=" + token}, 200}, {"/pare/v1/requests", []string{"Cookie", "pare-token=x"}, 401},
		{"/pare/?token=" + token, nil, 303}, {"/pare/?token=x", nil, 401}, {"/pare/healthz", nil, 200},
	} {
		method := "GET"
		if tt.path == "/v1/messages" {
			method = "POST"
		}
		resp, body := send(t, method, at+tt.path, "{}", tt.header...)
		if resp.StatusCode != tt.want {
			t.Errorf("%s %v: %s %s", tt.path, tt.header, resp.Status, body)
		}
		if tt.want == 303 && (resp.Header.Get("Location") != "/pare/" || !strings.Contains(resp.Header.Get("Set-Cookie"), "HttpOnly; SameSite=Strict")) {
			t.Error(resp.Header)
		}
	}
	if key != "[] [Bearer vendor]" {
		t.Errorf("the upstream got %s", key)
	}
	// A client shows what its vendor would have said.
	for path, want := range map[string]string{
		"/v1/messages":                              `"authentication_error"`,
		"/v1/chat/completions":                      `"invalid_request_error"`,
		"/v1beta/models/gemini-3:generateContent":   `"UNAUTHENTICATED"`,
		"/model/anthropic.claude-opus-4-8/converse": `{"message":"a token is missing`,
	} {
		resp, body := send(t, "POST", at+path, "{}")
		if resp.StatusCode != 401 || !strings.Contains(body, want) || !strings.Contains(body, "a token is missing") {
			t.Errorf("%s: %s %s", path, resp.Status, body)
		}
	}
	s.SetTokens([]string{"a-new-token-for-all"})
	if resp, _ := send(t, "GET", at+"/pare/v1/requests", "", "Pare-Token", token); resp.StatusCode != 401 {
		t.Error("an old token opens")
	}
}

// TestDrain ends the server while requests are under way: they are answered in full, new
// ones are not taken.
func TestDrain(t *testing.T) {
	const n = 8
	arrived, answer := make(chan bool, n), make(chan bool)
	at, _, end := start(t, to(t, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		io.WriteString(w, "first ")
		http.NewResponseController(w).Flush()
		arrived <- true
		<-answer
		io.WriteString(w, "second")
	}))
	got := make(chan string, n)
	for range n {
		go func() {
			resp, err := http.Post(at+"/v1/messages", "application/json", strings.NewReader(broken))
			if err != nil {
				got <- err.Error()
				return
			}
			defer resp.Body.Close()
			text, err := io.ReadAll(resp.Body)
			got <- fmt.Sprint(string(text), err)
		}()
	}
	for range n {
		<-arrived
	}
	// Somebody watches, too: that must not keep the server from ending.
	watching, err := watch(t, at)
	if err != nil {
		t.Fatal(err)
	}
	defer watching.Body.Close()
	ended := make(chan error, 1)
	go func() { ended <- end() }()
	for { // until it has heard
		c, err := net.Dial("tcp", strings.TrimPrefix(at, "http://"))
		if err != nil {
			break
		}
		c.Close()
	}
	select {
	case err := <-ended:
		t.Fatal("it did not wait", err)
	default:
	}
	close(answer)
	for range n {
		if text := <-got; text != "first second<nil>" {
			t.Error(text)
		}
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestSlowHeaders closes connections that never get to the point.
func TestSlowHeaders(t *testing.T) {
	o := to(t, ok)
	o.HeaderTime = time.Millisecond
	at, _, _ := start(t, o)
	c, err := net.Dial("tcp", strings.TrimPrefix(at, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	io.WriteString(c, "POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nX-Slow: ")
	if text, err := io.ReadAll(c); err != nil && !errors.Is(err, net.ErrClosed) && !strings.Contains(err.Error(), "reset") {
		t.Error(string(text), err)
	}
}

func TestHugeHeaders(t *testing.T) {
	at, _, _ := start(t, to(t, ok))
	c, err := net.Dial("tcp", strings.TrimPrefix(at, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	go func() {
		io.WriteString(c, "GET /v1/messages HTTP/1.1\r\nHost: localhost\r\n")
		for range 1000 {
			if _, err := io.WriteString(c, "X: "+strings.Repeat("x", 1000)+"\r\n"); err != nil {
				return
			}
		}
	}()
	if resp, err := http.ReadResponse(bufio.NewReader(c), nil); err == nil && resp.StatusCode != 431 {
		t.Error(resp.Status)
	}
}

// TestReceiptsAndEvents: a header names the receipt, and whoever listens hears of it.
func TestReceiptsAndEvents(t *testing.T) {
	at, _, _ := start(t, to(t, ok))
	events, err := watch(t, at)
	if err != nil {
		t.Fatal(err)
	}
	defer events.Body.Close()
	in := bufio.NewScanner(events.Body)
	in.Scan() // it listens
	resp, _ := send(t, "POST", at+"/v1/messages", broken)
	id := resp.Header.Get("Pare-Receipt")
	var heard string
	for in.Scan() && !strings.HasPrefix(in.Text(), "data: ") {
	}
	heard = in.Text()
	if !strings.Contains(heard, id) || strings.Contains(heard, "and?") {
		t.Error(heard)
	}
	resp, body := send(t, "GET", at+"/pare/v1/receipts/"+id, "")
	var rec proxy.Record
	if err := json.Unmarshal([]byte(body), &rec); err != nil || resp.StatusCode != 200 || rec.ID != id || len(rec.Changes) != 1 || rec.Changes[0].Rule != "orphan-call" {
		t.Error(resp.Status, body, err)
	}
	if resp, _ := send(t, "GET", at+"/pare/v1/receipts/none", ""); resp.StatusCode != 404 {
		t.Error(resp.Status)
	}
	if _, body := send(t, "GET", at+"/pare/v1/requests?limit=1", ""); !strings.Contains(body, id) {
		t.Error(body)
	}
	_, metrics := send(t, "GET", at+"/pare/metrics", "")
	for _, want := range []string{"pare_requests_total 1\n", "pare_changes_total{rule=\"orphan-call\"} 1\n", "pare_replies_total{status=\"200\"} 1\n", "pare_plan_seconds_count 1\n"} {
		if !strings.Contains(metrics, want) {
			t.Errorf("%q is missing in %s", want, metrics)
		}
	}
}

// reload gives a server another configuration.
func reload(t *testing.T, s *serve.Server, text string) {
	t.Helper()
	conf, err := config.Parse("pare.toml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	set, err := serve.Load(conf, nil)
	if err != nil {
		t.Fatal(err)
	}
	s.Set(set)
}

// TestReload changes the policy of requests that come after.
func TestReload(t *testing.T) {
	at, s, _ := start(t, to(t, ok))
	if resp, _ := send(t, "POST", at+"/v1/messages", broken); resp.Header.Get("Pare-Changes") != "1" {
		t.Error(resp.Header)
	}
	reload(t, s, "enabled = false\n")
	if resp, _ := send(t, "POST", at+"/v1/messages", broken); resp.Header.Get("Pare-Changes") != "" {
		t.Error(resp.Header)
	}
}

// TestReloadReachesSessions: windows of sessions follow a new configuration, too.
func TestReloadReachesSessions(t *testing.T) {
	st, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "pare.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	o := to(t, ok)
	o.Store = st
	at, s, _ := start(t, o)
	send(t, "POST", at+"/pare/v1/sessions", `{"id":"one","dialect":"anthropic","model":"claude-sonnet-4-5"}`)
	send(t, "POST", at+"/pare/v1/sessions/one/entries", `{"head":{"exactly":0},"entries":[{"id":"a","raw":{"role":"user","content":"first"}},{"id":"b","raw":{"role":"assistant","content":"yes"}},{"id":"c","raw":{"role":"user","content":"second"}},{"id":"d","raw":{"role":"assistant","content":"yes"}},{"id":"e","raw":{"role":"user","content":"third"}}]}`)
	if _, body := send(t, "POST", at+"/pare/v1/sessions/one/window", `{}`); strings.Count(body, `"role"`) != 5 {
		t.Fatal(body)
	}
	reload(t, s, "[window]\nmessages = 3\n")
	if _, body := send(t, "POST", at+"/pare/v1/sessions/one/window", `{}`); strings.Count(body, `"role"`) > 3 {
		t.Error(body)
	}
}

// TestStore has sessions where there is a store, and requests go on where it is down.
func TestStore(t *testing.T) {
	st, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "pare.db"))
	if err != nil {
		t.Fatal(err)
	}
	o := to(t, ok)
	o.Store = st
	at, _, end := start(t, o)
	if resp, body := send(t, "POST", at+"/pare/v1/sessions", `{"id":"one","dialect":"anthropic"}`); resp.StatusCode != 201 {
		t.Error(resp.Status, body)
	}
	if resp, body := send(t, "GET", at+"/pare/v1/sessions", ""); resp.StatusCode != 200 || !strings.Contains(body, `"one"`) {
		t.Error(resp.Status, body)
	}
	// Receipts are found by another server, too.
	changed, _ := send(t, "POST", at+"/v1/messages", broken)
	if err := end(); err != nil {
		t.Fatal(err)
	}
	at, _, _ = start(t, o)
	if resp, body := send(t, "GET", at+"/pare/v1/receipts/"+changed.Header.Get("Pare-Receipt"), ""); resp.StatusCode != 200 || !strings.Contains(body, `"rule":"orphan-call"`) || strings.Contains(body, "and?") {
		t.Error(resp.Status, body)
	}
	st.Close() // it is down
	if resp, body := send(t, "POST", at+"/v1/messages", broken); resp.StatusCode != 200 || body != "ok" || resp.Header.Get("Pare-Changes") != "1" {
		t.Error(resp.Status, body)
	}
	if resp, _ := send(t, "GET", at+"/pare/v1/sessions", ""); resp.StatusCode != 500 {
		t.Error(resp.Status)
	}
}
