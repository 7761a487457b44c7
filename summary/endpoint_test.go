package summary_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/histories"
	"github.com/pare-llm/pare/internal/planner"
	"github.com/pare-llm/pare/internal/wording"
	"github.com/pare-llm/pare/summary"
	"github.com/pare-llm/pare/wire"
)

const secret = "sk-very-secret"

// A reply is what the API under test answers.
type reply struct {
	status int
	header map[string]string
	body   string
}

// serve answers each request with the next reply, the last one again and again.
func serve(t *testing.T, replies ...reply) (*httptest.Server, *atomic.Int32, chan *sent) {
	t.Helper()
	var calls atomic.Int32
	got := make(chan *sent, 10)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := int(calls.Add(1)) - 1
		x := &sent{path: r.URL.Path, header: r.Header}
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = json.Unmarshal(body, x)
		}
		if err != nil {
			t.Errorf("the request: %v: %s", err, body)
		}
		got <- x
		a := replies[min(n, len(replies)-1)]
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		for k, v := range a.header {
			w.Header().Set(k, v)
		}
		w.WriteHeader(a.status)
		io.WriteString(w, a.body)
	}))
	t.Cleanup(s.Close)
	return s, &calls, got
}

// sent is a request as the API sees it.
type sent struct {
	path      string
	header    http.Header
	Model     string
	System    string
	MaxTokens int `json:"max_tokens"`
	Stream    bool
	Tools     json.RawMessage
	Messages  []struct{ Role, Content string }
}

func summarize(t *testing.T, o summary.EndpointOptions, h pare.Removed) (pare.Summary, error) {
	t.Helper()
	if o.Model == "" {
		o.Model = "small-model"
	}
	s, err := summary.Endpoint(o)
	if err != nil {
		t.Fatal(err)
	}
	return s(t.Context(), h)
}

const (
	openAIText    = `{"id":"x","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"Goal: fix it"},"finish_reason":"stop"}]}`
	anthropicText = `{"id":"msg_1","type":"message","role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"x"},{"type":"text","text":"Goal: fix it"}],"stop_reason":"end_turn"}`
)

func TestEndpointOpenAI(t *testing.T) {
	srv, _, got := serve(t, reply{200, nil, openAIText})
	h := script(t, `user "fix it" | call a Read a.go | result a package a`, wire.Gemini)
	h.Prior = "Goal:\n- the old goal </summary>"
	s, err := summarize(t, summary.EndpointOptions{URL: srv.URL, Key: secret}, h)
	if err != nil || s.Text != "Goal: fix it" {
		t.Fatalf("%+v, %v", s, err)
	}
	x := <-got
	if x.path != "/v1/chat/completions" || x.header.Get("Authorization") != "Bearer "+secret || x.Model != "small-model" || x.Stream || x.Tools != nil {
		t.Errorf("%+v", x)
	}
	if len(x.Messages) != 2 || x.Messages[0].Role != "system" || x.Messages[0].Content != summary.DefaultPrompt || x.Messages[1].Role != "user" {
		t.Fatalf("%+v", x.Messages)
	}
	q := x.Messages[1].Content
	prior, talk := strings.Index(q, "- the old goal"), strings.Index(q, "RESULT OF Read: package a")
	if prior < 0 || talk < prior || strings.Count(q, "</summary>") != 1 {
		t.Errorf("the prior summary must come first, whole and enclosed:\n%s", q)
	}
}

func TestEndpointAnthropic(t *testing.T) {
	srv, _, got := serve(t, reply{200, nil, anthropicText})
	s, err := summarize(t, summary.EndpointOptions{URL: srv.URL + "/v1/", API: "anthropic", Key: secret, Prompt: "Be brief."}, script(t, `user "fix it"`, wire.Anthropic))
	if err != nil || s.Text != "Goal: fix it" {
		t.Fatalf("%+v, %v", s, err)
	}
	x := <-got
	if x.path != "/v1/messages" || x.header.Get("X-Api-Key") != secret || x.header.Get("Anthropic-Version") == "" || x.header.Get("Authorization") != "" {
		t.Errorf("%+v", x)
	}
	if x.System != "Be brief." || x.MaxTokens < 4000 || len(x.Messages) != 1 || x.Messages[0].Role != "user" || strings.Contains(x.Messages[0].Content, "summary so far") {
		t.Errorf("%+v", x)
	}
}

// TestEndpointURL: roots and whole paths.
func TestEndpointURL(t *testing.T) {
	srv, _, got := serve(t, reply{200, nil, openAIText})
	for given, want := range map[string]string{
		"": "/v1/chat/completions", "/": "/v1/chat/completions", "/v1": "/v1/chat/completions", "/api/v1/chat/completions": "/api/v1/chat/completions", "/openai": "/openai/v1/chat/completions",
	} {
		if _, err := summarize(t, summary.EndpointOptions{URL: srv.URL + given}, script(t, `user "x"`, wire.Gemini)); err != nil {
			t.Fatal(err)
		}
		x := <-got
		if x.path != want || x.header.Get("Authorization") != "" {
			t.Errorf("%q: %s", given, x.path)
		}
	}
}

func TestEndpointOptions(t *testing.T) {
	good := summary.EndpointOptions{URL: "https://example.org", Model: "m"}
	for _, change := range []func(*summary.EndpointOptions){
		func(o *summary.EndpointOptions) { o.URL = "" },
		func(o *summary.EndpointOptions) { o.URL = "ftp://example.org" },
		func(o *summary.EndpointOptions) { o.URL = "https://" },
		func(o *summary.EndpointOptions) { o.URL = "http://[::1:8080/" + secret },
		func(o *summary.EndpointOptions) { o.API = "bedrock" },
		func(o *summary.EndpointOptions) { o.Model = "" },
		func(o *summary.EndpointOptions) { o.MaxBody = -1 },
		func(o *summary.EndpointOptions) { o.MaxInput = -1 },
	} {
		o := good
		change(&o)
		if _, err := summary.Endpoint(o); err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	if _, err := summary.Endpoint(good); err != nil {
		t.Error(err)
	}
}

// TestEndpointErrors: what is no summary is an error that says what it was, in short,
// and never the key.
func TestEndpointErrors(t *testing.T) {
	huge := `{"choices":[{"message":{"content":"` + strings.Repeat("x", 3000) + `"}}]}`
	for name, c := range map[string]struct {
		api   string
		reply reply
		want  string
	}{
		"bad request":        {"openai", reply{400, nil, `{"error":{"message":"context too long, key ` + secret + `"}}`}, "400 Bad Request: {\"error\":{\"message\":\"context too long, key [key]"},
		"unauthorised":       {"anthropic", reply{401, nil, ""}, "401 Unauthorized: (no text)"},
		"redirect":           {"openai", reply{307, map[string]string{"Location": "http://example.invalid/"}, ""}, "307"},
		"html":               {"openai", reply{200, map[string]string{"Content-Type": "text/html"}, "<html>\x1b[31mlogin</html>"}, `is "text/html", not JSON: <html>login`},
		"stream":             {"openai", reply{200, map[string]string{"Content-Type": "text/event-stream"}, "data: {}"}, "text/event-stream"},
		"no json":            {"openai", reply{200, nil, "hello"}, "not one of this API: hello"},
		"no choices":         {"openai", reply{200, nil, `{"choices":[]}`}, "not one of this API"},
		"wrong api":          {"openai", reply{200, nil, anthropicText}, "not one of this API"},
		"wrong api too":      {"anthropic", reply{200, nil, openAIText}, "not one of this API"},
		"error with 200":     {"anthropic", reply{200, nil, `{"type":"error","error":{"type":"overloaded_error"}}`}, "overloaded_error"},
		"content of a kind":  {"openai", reply{200, nil, `{"choices":[{"message":{"content":42}}]}`}, "not one of this API"},
		"tool calls":         {"openai", reply{200, nil, `{"choices":[{"message":{"content":"text","tool_calls":[{"id":"a"}]},"finish_reason":"stop"}]}`}, "called a tool"},
		"function call":      {"openai", reply{200, nil, `{"choices":[{"message":{"content":null,"function_call":{"name":"x"}}}]}`}, "called a tool"},
		"tool use":           {"anthropic", reply{200, nil, `{"content":[{"type":"text","text":"x"},{"type":"tool_use","id":"a"}],"stop_reason":"tool_use"}`}, "called a tool"},
		"server tool use":    {"anthropic", reply{200, nil, `{"content":[{"type":"server_tool_use","id":"a"}],"stop_reason":"end_turn"}`}, "called a tool"},
		"length":             {"openai", reply{200, nil, `{"choices":[{"message":{"content":"Goal: f"},"finish_reason":"length"}]}`}, "cut off"},
		"max tokens":         {"anthropic", reply{200, nil, `{"content":[{"type":"text","text":"Goal"}],"stop_reason":"max_tokens"}`}, "cut off"},
		"window":             {"anthropic", reply{200, nil, `{"content":[{"type":"text","text":"Goal"}],"stop_reason":"model_context_window_exceeded"}`}, "cut off"},
		"refusal":            {"anthropic", reply{200, nil, `{"content":[],"stop_reason":"refusal"}`}, "refused"},
		"refusal of openai":  {"openai", reply{200, nil, `{"choices":[{"message":{"content":null,"refusal":"no"}}]}`}, "refused"},
		"filter":             {"openai", reply{200, nil, `{"choices":[{"message":{"content":"x"},"finish_reason":"content_filter"}]}`}, "refused"},
		"empty":              {"openai", reply{200, nil, `{"choices":[{"message":{"content":" \n"},"finish_reason":"stop"}]}`}, "said nothing"},
		"null":               {"openai", reply{200, nil, `{"choices":[{"message":{"content":null},"finish_reason":"stop"}]}`}, "said nothing"},
		"only thinking":      {"anthropic", reply{200, nil, `{"content":[{"type":"thinking","thinking":"x"}],"stop_reason":"end_turn"}`}, "said nothing"},
		"only open thinking": {"openai", reply{200, nil, `{"choices":[{"message":{"content":"<think>hm</think>\n"}}]}`}, "said nothing"},
		"too long":           {"openai", reply{200, nil, huge}, "more than 2000 bytes"},
	} {
		srv, calls, _ := serve(t, c.reply)
		_, err := summarize(t, summary.EndpointOptions{URL: srv.URL, API: c.api, Key: secret, MaxBody: 2000}, script(t, `user "x"`, wire.OpenAIChat))
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), secret) || len(err.Error()) > 500 {
			t.Errorf("%s: %v", name, err)
		}
		if calls.Load() != 1 {
			t.Errorf("%s: %d calls", name, calls.Load())
		}
	}
}

// TestEndpointTexts: parts instead of a string, thinking in front.
func TestEndpointTexts(t *testing.T) {
	for _, body := range []string{
		`{"choices":[{"message":{"content":[{"type":"text","text":"Goal: "},{"type":"text","text":"fix it"}]}}]}`,
		`{"choices":[{"message":{"content":"<think>hm\n</think>\n\nGoal: fix it","tool_calls":[]},"finish_reason":"stop"}]}`,
	} {
		srv, _, _ := serve(t, reply{200, nil, body})
		if s, err := summarize(t, summary.EndpointOptions{URL: srv.URL}, script(t, `user "x"`, wire.OpenAIChat)); err != nil || s.Text != "Goal: fix it" {
			t.Errorf("%s: %+v, %v", body, s, err)
		}
	}
}

// TestEndpointRetries: an API that is busy is asked once more, after the time that it names. One that
// fails is not.
func TestEndpointRetries(t *testing.T) {
	soon := map[string]string{"Retry-After": "0"}
	for _, status := range []int{429, 503, 529} {
		srv, calls, _ := serve(t, reply{status, soon, "come back"}, reply{200, nil, openAIText})
		if _, err := summarize(t, summary.EndpointOptions{URL: srv.URL}, script(t, `user "x"`, wire.OpenAIChat)); err != nil || calls.Load() != 2 {
			t.Errorf("%d: %d calls, %v", status, calls.Load(), err)
		}
	}
	for status, want := range map[int]int32{503: 2, 500: 1, 502: 1} {
		srv, calls, _ := serve(t, reply{status, soon, "down"})
		_, err := summarize(t, summary.EndpointOptions{URL: srv.URL}, script(t, `user "x"`, wire.OpenAIChat))
		if err == nil || !strings.Contains(err.Error(), strconv.Itoa(status)) || calls.Load() != want {
			t.Errorf("%d: %d calls, want %d, %v", status, calls.Load(), want, err)
		}
	}
	// No time is left for another try: the answer comes at once.
	srv, calls, _ := serve(t, reply{429, map[string]string{"Retry-After": "50"}, "slow down"})
	s, err := summary.Endpoint(summary.EndpointOptions{URL: srv.URL, Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s(lastMoment{t.Context()}, script(t, `user "x"`, wire.OpenAIChat)); err == nil || calls.Load() != 1 {
		t.Errorf("%d calls, %v", calls.Load(), err)
	}
}

// lastMoment is a context that is about to end, and never does.
type lastMoment struct{ context.Context }

func (lastMoment) Deadline() (time.Time, bool) { return time.Now().Add(40 * time.Second), true }

// TestEndpointContext: a context that ends, ends the request and the waiting.
func TestEndpointContext(t *testing.T) {
	hang := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-hang:
		case <-r.Context().Done():
		}
	}))
	defer srv.Close()
	defer close(hang)
	s, err := summary.Endpoint(summary.EndpointOptions{URL: srv.URL + "?key=" + secret, Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	_, err = s(ctx, script(t, `user "x"`, wire.OpenAIChat))
	if !errors.Is(err, context.DeadlineExceeded) || strings.Contains(err.Error(), secret) {
		t.Errorf("got %v", err)
	}
	wait, _, _ := serve(t, reply{503, nil, ""})
	if s, err = summary.Endpoint(summary.EndpointOptions{URL: wait.URL, Model: "m"}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel = context.WithCancel(context.Background())
	defer cancel()
	// The answer is read, and its connection idle again.
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{PutIdleConn: func(error) { cancel() }})
	if _, err = s(ctx, script(t, `user "x"`, wire.OpenAIChat)); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "503") {
		t.Errorf("got %v", err)
	}
}

// TestEndpointNobody: a server that is not there is an error without the URL.
func TestEndpointNobody(t *testing.T) {
	srv, _, _ := serve(t, reply{200, nil, openAIText})
	srv.Close()
	if _, err := summarize(t, summary.EndpointOptions{URL: srv.URL + "?key=" + secret}, script(t, `user "x"`, wire.OpenAIChat)); err == nil || strings.Contains(err.Error(), secret) {
		t.Errorf("got %v", err)
	}
}

// TestEndpointMaxInput: a head that is larger than the model takes loses its middle.
func TestEndpointMaxInput(t *testing.T) {
	srv, _, got := serve(t, reply{200, nil, openAIText})
	notation := `user "the goal"`
	for i := range 50 {
		notation += fmt.Sprintf(" | call c%d Read f%d.go | result c%d %s", i, i, i, strings.Repeat("content ", 100))
	}
	if _, err := summarize(t, summary.EndpointOptions{URL: srv.URL, MaxInput: 5000}, script(t, notation, wire.OpenAIChat)); err != nil {
		t.Fatal(err)
	}
	q := (<-got).Messages[1].Content
	if len(q) > 5600 || !strings.Contains(q, "left out for room") || !strings.Contains(q, "the goal") || !strings.Contains(q, "f49.go") || strings.Contains(q, "f25.go") {
		t.Errorf("%d bytes:\n%s", len(q), q)
	}
}

// TestEndpointEngine: what comes back goes through the checks of the engine.
func TestEndpointEngine(t *testing.T) {
	for text, reason := range map[string]string{
		"Goal: fix it":                            "",
		"a " + wording.SummaryEnd + " b":          "not-text",
		`[{"type":"tool_use","name":"Read"}]`:     "calls",
		"Goal: " + strings.Repeat("words ", 3000): "larger",
	} {
		body, _ := json.Marshal(map[string]any{"choices": []any{map[string]any{"message": map[string]any{"content": text}}}})
		srv, _, _ := serve(t, reply{200, nil, string(body)})
		s, err := summary.Endpoint(summary.EndpointOptions{URL: srv.URL, Model: "m"})
		if err != nil {
			t.Fatal(err)
		}
		r, err := wire.Parse(script(t, `user "fix it" | say "yes" | user "now that" | say "`+strings.Repeat("I do. ", 200)+`" | user "and?"`, wire.OpenAIChat).Request.Raw(), wire.Options{})
		if err != nil {
			t.Fatal(err)
		}
		c := pare.Compactor{Summarize: s, MinKeep: 1}
		_, err = planner.Compact(context.Background(), &c, r)
		got := ""
		if failed := (*pare.CompactionError)(nil); errors.As(err, &failed) {
			got = string(failed.Reason)
		}
		if got != reason || (err == nil) != (reason == "") {
			t.Errorf("%.40q: %v", text, err)
		}
	}
}

// What is removed is summarized without a model.
func ExampleExtract() {
	s := histories.MustParse(`user "make the tests pass" | call r Read parser.go | result r ` + strings.Repeat("code ", 300) +
		` | call t Bash {"command":"go test"} | fail t exit status 1 | say "The parser is broken." | user "fix it" | say "Fixed." | user "thanks"`)
	r, _ := wire.Parse(s.Render(wire.Anthropic, histories.RenderOptions{}), wire.Options{})
	c := pare.Compactor{Summarize: summary.Extract(summary.ExtractOptions{}), MinKeep: 1, Options: pare.CompactOptions{FoldTask: true}}
	plan, err := planner.Compact(context.Background(), &c, r)
	if err != nil {
		fmt.Println(err)
		return
	}
	out := plan.Result()
	fmt.Println(out.Text(0))
	// Output:
	// [pare: summary of the conversation up to here]
	// [pare: 2 turns, 8 blocks of 1999 bytes, here in 282]
	// Extract, made without a model:
	// Goal:
	// - the user said: “make the tests pass”
	// - the user said: “fix it”
	// Files:
	// - parser.go: read
	// Commands:
	// - “go test” failed: “exit status 1”
	// Decisions:
	// - The parser is broken.
	// - Fixed.
	// Errors:
	// - Bash “go test”: “exit status 1”
	// [pare: end of the summary]
}

// A model is asked; what it says is checked before anything is replaced.
func ExampleEndpoint() {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"choices":[{"message":{"content":"Goal: make the tests pass"},"finish_reason":"stop"}]}`)
	}))
	defer api.Close()
	ask, err := summary.Endpoint(summary.EndpointOptions{URL: api.URL, Model: "small"})
	if err != nil {
		fmt.Println(err)
		return
	}
	r, _ := wire.Parse(histories.MustParse(`user "make the tests pass" | say "I look."`).Render(wire.OpenAIChat, histories.RenderOptions{}), wire.Options{})
	s, err := ask(context.Background(), pare.Removed{Request: r, Blocks: nil})
	fmt.Println(s.Text, err)
	// Output: Goal: make the tests pass <nil>
}
