package proxy_test

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/benchdata"
	"github.com/pare-llm/pare/internal/trial"
	"github.com/pare-llm/pare/proxy"
)

// A seen is a request as an upstream got it.
type seen struct {
	method, uri, host string
	header            http.Header
	body              []byte
	length            int64
	coding            []string
}

// An upstream answers what it is told to and remembers what it got.
type upstream struct {
	*httptest.Server
	mu     sync.Mutex
	got    []seen
	answer func(w http.ResponseWriter, r *http.Request, body []byte, n int)
}

func newUpstream(t testing.TB, answer func(w http.ResponseWriter, r *http.Request, body []byte, n int)) *upstream {
	u := &upstream{answer: answer}
	u.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the client went away
		}
		u.mu.Lock()
		u.got = append(u.got, seen{r.Method, r.RequestURI, r.Host, r.Header.Clone(), body, r.ContentLength, r.TransferEncoding})
		n := len(u.got)
		u.mu.Unlock()
		if u.answer == nil {
			io.WriteString(w, `{"ok":true}`)
			return
		}
		u.answer(w, r, body, n)
	}))
	t.Cleanup(u.Close)
	return u
}

func (u *upstream) all() []seen {
	u.mu.Lock()
	defer u.mu.Unlock()
	return append([]seen(nil), u.got...)
}

func (u *upstream) last(t testing.TB) seen {
	t.Helper()
	all := u.all()
	if len(all) == 0 {
		t.Fatal("nothing reached the upstream")
	}
	return all[len(all)-1]
}

// front is a proxy before an upstream, for all vendors.
func front(t testing.TB, u *upstream, change ...func(*proxy.Config)) *httptest.Server {
	t.Helper()
	c := proxy.Config{Upstreams: map[string]proxy.Upstream{}, PlanTime: -1}
	for _, name := range []string{"anthropic", "openai", "gemini", "bedrock", "mine"} {
		up, err := proxy.ParseUpstream(name + "=" + u.URL)
		if err != nil {
			t.Fatal(err)
		}
		c.Upstreams[name] = up
	}
	for _, f := range change {
		f(&c)
	}
	h := proxy.New(c)
	s := httptest.NewServer(h)
	t.Cleanup(func() { s.Close(); h.CloseIdle() })
	return s
}

func post(t testing.TB, address, body string, header ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequest("POST", address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	return trial.RoundTrip(t, req)
}

const (
	clean = `{"model":"claude-sonnet-4-5","max_tokens":100, "messages":[{"role":"user","content":"h\u0069"}]}`
	// An errorReader fails with an error.
	errorReader = `{"model":"claude-sonnet-4-5","max_tokens":100,"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"ls","input":{}}]},{"role":"user","content":"and?"}]}`
)

func TestCleanPassesByteForByte(t *testing.T) {
	u := newUpstream(t, nil)
	s := front(t, u)
	resp, body := post(t, s.URL+"/v1/messages?beta=true&x=%zz", clean, "X-Api-Key", "sk-secret", "Anthropic-Version", "2023-06-01", "X-Forwarded-For", "10.1.2.3")
	if resp.StatusCode != 200 || body != `{"ok":true}` {
		t.Fatal(resp.Status, body)
	}
	got := u.last(t)
	if string(got.body) != clean || got.length != int64(len(clean)) || got.coding != nil {
		t.Errorf("the upstream got %q, length %d, coding %v", got.body, got.length, got.coding)
	}
	if got.uri != "/v1/messages?beta=true&x=%zz" {
		t.Errorf("URI %q", got.uri)
	}
	want := http.Header{
		"Content-Type": {"application/json"}, "X-Api-Key": {"sk-secret"}, "Anthropic-Version": {"2023-06-01"}, "X-Forwarded-For": {"10.1.2.3"},
		"Content-Length": {fmt.Sprint(len(clean))}, "User-Agent": {"Go-http-client/1.1"}, "Accept-Encoding": {"gzip"},
	}
	for name := range got.header {
		if want[name] == nil {
			t.Errorf("the header %s: %q was added", name, got.header[name])
		}
	}
	for name, v := range want {
		if fmt.Sprint(got.header[name]) != fmt.Sprint(v) {
			t.Errorf("the header %s is %q, not %q", name, got.header[name], v)
		}
	}
	if resp.Header.Get("Pare-Changes") != "0" || resp.Header.Get("Pare-Skipped") != "" || resp.Header.Get("Pare-Receipt") != "" {
		t.Errorf("headers %v", resp.Header)
	}
}

func TestNoHeaderIsMadeUp(t *testing.T) {
	u := newUpstream(t, nil)
	s := front(t, u)
	req, _ := http.NewRequest("POST", s.URL+"/v1/messages", strings.NewReader(clean))
	req.Header["User-Agent"] = nil
	req.Header.Set("Accept-Encoding", "br")
	trial.RoundTrip(t, req)
	got := u.last(t).header
	if len(got) != 2 || got.Get("Accept-Encoding") != "br" || got.Get("Content-Length") == "" {
		t.Errorf("headers %v", got)
	}
}

func TestBrokenIsRepaired(t *testing.T) {
	u := newUpstream(t, nil)
	records := make(chan *proxy.Record, 1)
	s := front(t, u, func(c *proxy.Config) { c.Record = func(r *proxy.Record) { records <- r } })
	resp, _ := post(t, s.URL+"/v1/messages", errorReader)
	if got := u.last(t); !strings.Contains(string(got.body), `"tool_use_id":"toolu_1"`) || got.length != int64(len(got.body)) {
		t.Errorf("the upstream got %s", got.body)
	}
	if resp.Header.Get("Pare-Changes") != "1" || resp.Header.Get("Pare-Rules") != "orphan-call" {
		t.Errorf("headers %v", resp.Header)
	}
	r := <-records
	if r.ID != resp.Header.Get("Pare-Receipt") || len(r.Changes) != 1 || r.Status != 200 || r.Upstream != "anthropic" || r.Reply != 11 || r.BytesIn != int64(len(errorReader)) || r.BytesOut <= r.BytesIn {
		t.Errorf("record %+v", r)
	}
}

func TestRoutes(t *testing.T) {
	for _, tt := range []struct {
		path   string
		header []string
		want   string // upstream, path
	}{
		{"/v1/messages", nil, "anthropic /v1/messages"},
		{"/v1/messages/count_tokens", nil, "anthropic /v1/messages/count_tokens"},
		{"/v1/messages/batches/x/results", nil, "anthropic /v1/messages/batches/x/results"},
		{"/v1/messagesx", nil, ""},
		{"/v1/chat/completions", nil, "openai /v1/chat/completions"},
		{"/v1/chat/completions", []string{"Anthropic-Version", "1", "X-Api-Key", "k"}, "openai /v1/chat/completions"},
		{"/v1/responses/resp_1/cancel", nil, "openai /v1/responses/resp_1/cancel"},
		{"/v1/conversations/c/items", nil, "openai /v1/conversations/c/items"},
		{"/v1beta/models/gemini-3:streamGenerateContent?alt=sse", nil, "gemini /v1beta/models/gemini-3:streamGenerateContent?alt=sse"},
		{"/v1beta/interactions", nil, "gemini /v1beta/interactions"},
		{"/model/us.anthropic.claude-v1%3A0/converse", nil, "bedrock /model/us.anthropic.claude-v1%3A0/converse"},
		{"/model/a%2Fb/invoke-with-response-stream", nil, "bedrock /model/a%2Fb/invoke-with-response-stream"},
		{"/u/mine/api/v1/chat/completions", nil, "mine /api/v1/chat/completions"},
		{"/u/mine", nil, "mine /"},
		{"/u/nobody/v1/messages", nil, ""},
		{"/v1/models", []string{"X-Api-Key", "k", "Anthropic-Version", "1"}, "anthropic /v1/models"},
		{"/v1/models", []string{"Authorization", "Bearer k", "Anthropic-Version", "1"}, "anthropic /v1/models"},
		{"/v1/models", []string{"Authorization", "Bearer k"}, "openai /v1/models"},
		{"/upload/v1/files", []string{"X-Goog-Api-Key", "k"}, "gemini /upload/v1/files"},
		{"/guardrail/g/apply", []string{"Authorization", "AWS4-HMAC-SHA256 Credential=AKIA/x"}, "bedrock /guardrail/g/apply"},
		{"/v1/models", nil, ""},
		{"/v1/messages/../../admin", nil, ""},
		{"/u/mine/%2e%2e/admin", nil, ""},
	} {
		t.Run(tt.path, func(t *testing.T) {
			var to string
			c := proxy.Config{Upstreams: map[string]proxy.Upstream{}, Base: roundTrip(func(r *http.Request) (*http.Response, error) {
				to = strings.TrimSuffix(r.URL.Host, ".test") + " " + r.URL.RequestURI()
				return &http.Response{StatusCode: 204, Header: http.Header{}, Body: http.NoBody}, nil
			})}
			for _, name := range []string{"anthropic", "openai", "gemini", "bedrock", "mine"} {
				c.Upstreams[name] = proxy.Upstream{URL: &url.URL{Scheme: "https", Host: name + ".test"}}
			}
			r := httptest.NewRequest("GET", tt.path, nil)
			for i := 0; i+1 < len(tt.header); i += 2 {
				r.Header.Set(tt.header[i], tt.header[i+1])
			}
			w := httptest.NewRecorder()
			proxy.New(c).ServeHTTP(w, r)
			if to != tt.want || tt.want == "" && w.Code != 404 && w.Code != 400 {
				t.Errorf("went to %q, not %q: %d %s", to, tt.want, w.Code, w.Body)
			}
		})
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestAsides: a history that is to be counted or compacted is refused for what is broken in
// it, too. It is repaired, and never cut; Codex sends whole sessions to be compacted.
func TestAsides(t *testing.T) {
	const items = `{"model":"gpt-5.5","input":[{"role":"user","content":"q"},{"type":"function_call","call_id":"c1","name":"f","arguments":"{}"},{"role":"user","content":"n"}]}`
	for path, body := range map[string]string{
		"/v1/messages/count_tokens": errorReader, "/u/mine/v1/projects/p/locations/l/publishers/anthropic/models/count-tokens:rawPredict": errorReader, "/v1/responses/input_tokens": items, "/v1/responses/compact": items, "/backend-api/codex/responses/compact": items,
	} {
		u := newUpstream(t, func(w http.ResponseWriter, r *http.Request, body []byte, n int) {
			w.WriteHeader(400)
			io.WriteString(w, `{"error":{"message":"Your input exceeds the context window of this model."}}`)
		})
		s := front(t, u, func(c *proxy.Config) { c.Policy = &pare.Policy{Window: &pare.Window{Messages: 1}} })
		resp, _ := post(t, s.URL+path, body, "Authorization", "Bearer k")
		if got := u.all(); len(got) != 1 || !strings.HasSuffix(path, got[0].uri) {
			t.Fatalf("%s: %v reached the upstream", path, got)
		}
		sent := string(u.last(t).body)
		if resp.Header.Get("Pare-Rules") != "orphan-call" || !strings.Contains(sent, "unknown: no result was recorded") {
			t.Errorf("%s: %v, sent %s", path, resp.Header, sent)
		}
	}
}

// TestEnclosedAsides: a request that is to be counted may lie in another one, which stays as it
// is around it.
func TestEnclosedAsides(t *testing.T) {
	const (
		gemini   = `"contents":[{"role":"user","parts":[{"text":"q"}]},{"role":"model","parts":[{"functionCall":{"id":"c1","name":"f","args":{}}}]},{"role":"user","parts":[{"text":"n"}]}]`
		converse = `{ "messages":[{"role":"user","content":[{"text":"q"}]},{"role":"assistant","content":[{"toolUse":{"toolUseId":"c1","name":"f","input":{}}}]},{"role":"user","content":[{"text":"n"}]}]}`
	)
	long := strings.Repeat("word ", 20_000)
	for _, tt := range []struct{ path, before, history, after string }{
		{"/v1beta/models/gemini-3-pro:countTokens", "{", gemini, "}"},
		{"/v1beta/models/gemini-3-pro%3AcountTokens", "{", gemini, "}"},
		{"/v1beta/models/gemini-3-pro:countTokens", `{ "generateContentRequest" : {"model":"models/gemini-3-pro",`, gemini, `, "generationConfig":{}} }`},
		{"/v1beta/models/gemini-3-pro:countTokens", `{"generateContentRequest":{"systemInstruction":{"parts":[{"text":"` + long + `"}]},`, gemini, `}}`},
		{"/model/anthropic.claude-sonnet-4-5-20250929-v1%3A0/count-tokens", `{"input" :{"converse": `, converse, ` } }`},
	} {
		u := newUpstream(t, nil)
		s := front(t, u)
		resp, _ := post(t, s.URL+tt.path, tt.before+tt.history+tt.after)
		sent := string(u.last(t).body)
		if !strings.HasPrefix(resp.Header.Get("Pare-Rules"), "orphan-call") || !strings.Contains(sent, "unknown: no result was recorded") || !json.Valid([]byte(sent)) {
			t.Errorf("%s: %v, sent %.2000s", tt.path, resp.Header, sent)
		}
		if !strings.HasPrefix(sent, tt.before) || !strings.HasSuffix(sent, tt.after) {
			t.Errorf("%s: what is around it has changed: %.2000s", tt.path, sent)
		}
		if u.last(t).uri != tt.path {
			t.Errorf("%s went to %s", tt.path, u.last(t).uri)
		}
		// Now there is nothing to repair.
		resp, _ = post(t, s.URL+tt.path, sent)
		if got := string(u.last(t).body); got != sent || resp.Header.Get("Pare-Changes") != "0" || resp.Header.Get("Pare-Skipped") != "" {
			t.Errorf("%s: a clean one: %v, sent %.2000s", tt.path, resp.Header, got)
		}
	}
	// What is packed into a string is nobody's history.
	u := newUpstream(t, nil)
	s := front(t, u)
	const packed = `{"input":{"invokeModel":{"body":"eyJtZXNzYWdlcyI6W119"}}}`
	if resp, _ := post(t, s.URL+"/model/amazon.nova-lite-v1%3A0/count-tokens", packed); string(u.last(t).body) != packed || resp.Header.Get("Pare-Skipped") != "unknown-shape" {
		t.Errorf("packed: %v, sent %s", resp.Header, u.last(t).body)
	}
}

func TestPathsBelowAnUpstream(t *testing.T) {
	u := newUpstream(t, nil)
	for base, want := range map[string]string{"": "/v1/chat/completions", "/v1": "/v1/chat/completions", "/api/v1/": "/api/v1/chat/completions", "/gate": "/gate/v1/chat/completions"} {
		s := front(t, u, func(c *proxy.Config) {
			up, err := proxy.ParseUpstream("openai=" + u.URL + base)
			if err != nil {
				t.Fatal(err)
			}
			c.Upstreams["openai"] = up
		})
		post(t, s.URL+"/v1/chat/completions", `{"model":"gpt-5","messages":[{"role":"user","content":"hi"}]}`)
		if got := u.last(t).uri; got != want {
			t.Errorf("below %q: %s, not %s", base, got, want)
		}
	}
}

func TestDoubtfulGoesOnAsItCame(t *testing.T) {
	u := newUpstream(t, nil)
	s := front(t, u, func(c *proxy.Config) { c.MaxBody = 10_000 })
	for _, tt := range []struct{ name, path, body, want string }{
		{"delta", "/v1/responses", `{"model":"gpt-5","previous_response_id":"resp_1","input":[{"type":"function_call_output","call_id":"c1","output":"x"}]}`, "server-state"},
		{"conversation", "/v1/responses", `{"model":"gpt-5","conversation":"conv_1","input":[{"type":"function_call_output","call_id":"c1","output":"x"}]}`, "server-state"},
		{"thread", "/v1/messages", `{"model":"claude-opus-5-5","max_tokens":9,"thread":{"type":"continue","previous_message_id":"msg_1"},"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"x"}]}]}`, "server-state"},
		{"thread, counted", "/v1/messages/count_tokens", `{"model":"claude-opus-5-5","thread":{"type":"continue","previous_message_id":"msg_1"},"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"x"}]}]}`, "server-state"},
		{"interaction", "/v1beta/interactions", `{"model":"gemini-3.8-flash","previous_interaction_id":"v1_x","input":[{"type":"function_result","call_id":"c1","name":"f","result":"x"}]}`, "server-state"},
		{"invented, Anthropic", "/v1/messages", `{"conversation_ref":"c","model":"claude-opus-5-5","max_tokens":9,"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"x"}]}]}`, "server-state"},
		{"invented, Chat", "/v1/chat/completions", `{"conversation_ref":"c","model":"gpt-5","messages":[{"role":"tool","tool_call_id":"c1","content":"x"}]}`, "server-state"},
		{"invented, Gemini", "/v1beta/models/gemini-3-pro:generateContent", `{"conversationRef":"c","contents":[{"role":"user","parts":[{"functionResponse":{"name":"f","response":{}}}]}]}`, "server-state"},
		{"invented, Bedrock", "/model/anthropic.claude-sonnet-4-5/converse", `{"conversationRef":"c","messages":[{"role":"user","content":[{"toolResult":{"toolUseId":"t1","content":[{"text":"x"}]}}]}]}`, "server-state"},
		{"no JSON", "/v1/messages", `{"messages":[`, "invalid-json"},
		{"foreign", "/v1/messages", `{"messages":[{"role":"tool","content":[{"type":"tool-result","toolCallId":"c","toolName":"n","result":1}]},{"role":"user","content":[{"type":"tool-call","toolCallId":"c"}]}]}`, "foreign-shape"},
		{"calls of another dialect", "/v1/messages", `{"model":"gpt-5","messages":[{"role":"user","content":"hi"},{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"user","content":"go on"}]}`, "foreign-shape"},
		{"results of another dialect", "/v1/messages", `{"messages":[{"role":"user","content":[{"text":"hi"}]},{"role":"assistant","content":[{"toolUse":{"toolUseId":"t1","name":"f","input":{}}}]},{"role":"user","content":[{"toolResult":{"toolUseId":"t1","content":[{"text":"x"}]}}]}]}`, "foreign-shape"},
		{"of Anthropic for Bedrock", "/model/anthropic.claude-sonnet-4-5/converse", `{"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"f","input":{}}]},{"role":"user","content":"go on"}]}`, "foreign-shape"},
		{"of Chat for Bedrock", "/model/anthropic.claude-sonnet-4-5/converse", `{"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"user","content":"go on"}]}`, "foreign-shape"},
		{"large", "/v1/messages", `{"model":"claude-sonnet-4-5","messages":[{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"b","input":{}}]},{"role":"user","content":"` + strings.Repeat("x", 10_000) + `"}]}`, "too-large"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			resp, _ := post(t, s.URL+tt.path, tt.body)
			if got := u.last(t); string(got.body) != tt.body {
				t.Errorf("the upstream got %s", got.body)
			}
			if resp.Header.Get("Pare-Skipped") != tt.want || resp.Header.Get("Pare-Changes") != "0" {
				t.Errorf("headers %v", resp.Header)
			}
		})
	}
}

func TestOverflowIsHealed(t *testing.T) {
	for name, said := range map[string]string{
		"figures": `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 9000 tokens > 3000 maximum"}}`,
		"none":    `{"type":"error","error":{"type":"invalid_request_error","message":"Input is too long for requested model."}}`,
		"413":     `<html>413</html>`,
	} {
		t.Run(name, func(t *testing.T) {
			u := newUpstream(t, func(w http.ResponseWriter, r *http.Request, body []byte, n int) {
				if n > 1 {
					io.WriteString(w, "better")
					return
				}
				status := 400
				if name == "413" {
					status = 413
				}
				w.WriteHeader(status)
				io.WriteString(w, said)
			})
			s := front(t, u)
			resp, body := post(t, s.URL+"/v1/messages", long(40))
			if resp.StatusCode != 200 || body != "better" || resp.Header.Get("Pare-Healed") != "overflow" || resp.Header.Get("Pare-Saved-Tokens") == "" {
				t.Error(resp.Status, body, resp.Header)
			}
			all := u.all()
			if len(all) != 2 || string(all[0].body) != long(40) || len(all[1].body) >= len(all[0].body) {
				t.Errorf("%d requests, %d bytes", len(all), len(all[len(all)-1].body))
			}
		})
	}
}

// long is a history of n exchanges.
func long(n int) string { return benchdata.Exchanges(n) }

func TestAHealThatFailsReturnsTheFirstAnswer(t *testing.T) {
	const said = `{"error":{"message":"prompt is too long: 9000 tokens > 3000 maximum"}}`
	packed := map[string]string{}
	for _, coding := range []string{"gzip", "zstd", "deflate", "br"} {
		packed[coding] = string(pack(t, coding, []byte(said)))
	}
	for name, first := range map[string]string{"plain": said, "gzip": packed["gzip"], "zstd": packed["zstd"], "deflate": packed["deflate"], "br": packed["br"], "400": said, "413": said, "429": said} {
		second, err := strconv.Atoi(name)
		if err != nil {
			second = 500
		}
		t.Run(name, func(t *testing.T) {
			u := newUpstream(t, func(w http.ResponseWriter, r *http.Request, body []byte, n int) {
				if n == 1 {
					if packed[name] != "" {
						w.Header().Set("Content-Encoding", name)
					}
					w.Header().Set("Request-Id", "one")
					w.WriteHeader(400)
					io.WriteString(w, first)
					return
				}
				w.Header().Set("Request-Id", "two")
				w.WriteHeader(second)
				io.WriteString(w, "worse")
			})
			s := front(t, u)
			resp, body := post(t, s.URL+"/v1/messages", long(40), "Accept-Encoding", "gzip, deflate, br, zstd")
			if resp.StatusCode != 400 || body != first || resp.Header.Get("Request-Id") != "one" || resp.Header.Get("Pare-Healed") != "" || resp.ContentLength != int64(len(first)) {
				t.Errorf("%s %q %v", resp.Status, body, resp.Header)
			}
			if n := len(u.all()); n != 2 {
				t.Errorf("%d requests", n)
			}
		})
	}
}

// TestDeltaIsNeverSentTwice: whatever the provider objects to, and however often, a request that
// continues a conversation on the server is sent as it came and once. Nothing is learned from it.
func TestDeltaIsNeverSentTwice(t *testing.T) {
	const answered = `{"type":"tool_result","tool_use_id":"toolu_1","content":"x"}`
	bodies := map[string]string{
		"/v1/responses":        `{"model":"gpt-5","previous_response_id":"resp_1","input":"go on"}`,
		"/v1/messages":         `{"model":"claude-opus-5-5","max_tokens":9,"thread":{"type":"continue","previous_message_id":"msg_1"},"messages":[{"role":"user","content":[` + answered + `]}]}`,
		"/v1/chat/completions": `{"model":"gpt-5","conversation_ref":"c","messages":[{"role":"tool","tool_call_id":"c1","content":"x"}]}`,
	}
	for _, said := range []string{
		`{"error":{"message":"No tool output found for function call c1."}}`,
		`{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 9000 tokens > 3000 maximum"}}`,
		`{"type":"error","error":{"type":"invalid_request_error","message":"The thread was changed.","details":{"error_code":"thread_fingerprint_mismatch"}}}`,
	} {
		u := newUpstream(t, func(w http.ResponseWriter, r *http.Request, body []byte, n int) {
			w.WriteHeader(400)
			io.WriteString(w, said)
		})
		s := front(t, u)
		sent := 0
		for path, body := range bodies {
			for range 2 {
				resp, answer := post(t, s.URL+path, body)
				sent++
				if got := u.all(); resp.StatusCode != 400 || answer != said || len(got) != sent || string(got[sent-1].body) != body {
					t.Error(path, resp.Status, answer, len(got))
				}
				if h := resp.Header; h.Get("Pare-Window") != "" || h.Get("Pare-Healed") != "" || h.Get("Pare-Skipped") != "server-state" {
					t.Error(path, h)
				}
			}
		}
	}
}

func TestOtherErrorsPass(t *testing.T) {
	for _, status := range []int{401, 403, 404, 429, 500, 503, 529} {
		u := newUpstream(t, func(w http.ResponseWriter, r *http.Request, body []byte, n int) {
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(status)
			io.WriteString(w, "prompt is too long")
		})
		s := front(t, u)
		resp, body := post(t, s.URL+"/v1/messages", long(3))
		if resp.StatusCode != status || body != "prompt is too long" || resp.Header.Get("Retry-After") != "7" || len(u.all()) != 1 {
			t.Error(resp.Status, body, len(u.all()))
		}
	}
}

// rawDeflate is a deflate without its envelope, which some clients send under that name.
const rawDeflate = "deflate, raw"

func pack(t testing.TB, coding string, body []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	var w io.WriteCloser = gzip.NewWriter(&b)
	var err error
	switch coding {
	case "zstd":
		w, err = zstd.NewWriter(&b)
	case "br":
		w = brotli.NewWriter(&b)
	case "deflate":
		w = zlib.NewWriter(&b)
	case rawDeflate:
		w, err = flate.NewWriter(&b, flate.BestSpeed)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(body); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
