package paretest_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pare-llm/pare/paretest"
	"github.com/pare-llm/pare/wire"
)

// An endpoint is where one API answers, and a small request that it takes.
type endpoint struct{ name, path, stream, body string }

var endpoints = []endpoint{
	{"anthropic", "/v1/messages", "", `{"model":"claude-opus-4-6","max_tokens":99,"messages":[{"role":"user","content":"hello there"}]}`},
	{"vertex", "/v1/projects/p/locations/l/publishers/anthropic/models/claude-opus-4-6:rawPredict", "/v1/projects/p/locations/l/publishers/anthropic/models/claude-opus-4-6:streamRawPredict",
		`{"anthropic_version":"vertex-2023-10-16","max_tokens":99,"messages":[{"role":"user","content":"hello there"}]}`},
	{"chat", "/openai/v1/chat/completions", "", `{"model":"gpt-5.5","messages":[{"role":"user","content":"hello there"}]}`},
	{"azure", "/openai/deployments/mine/chat/completions?api-version=1", "", `{"messages":[{"role":"user","content":"hello there"}]}`},
	{"responses", "/v1/responses", "", `{"model":"gpt-5.5","input":"hello there"}`},
	{"gemini", "/v1beta/models/gemini-3.8-flash:generateContent", "/v1beta/models/gemini-3.8-flash:streamGenerateContent?alt=sse", `{"contents":[{"role":"user","parts":[{"text":"hello there"}]}]}`},
	{"gemini-array", "/v1beta/models/gemini-3.8-flash:generateContent", "/v1beta/models/gemini-3.8-flash:streamGenerateContent", `{"contents":[{"role":"user","parts":[{"text":"hello there"}]}]}`},
	{"interactions", "/v1beta/interactions", "", `{"model":"gemini-3.8-flash","input":"hello there"}`},
	{"bedrock", "/model/amazon.nova-pro-v1:0/converse", "/model/amazon.nova-pro-v1:0/converse-stream", `{"messages":[{"role":"user","content":[{"text":"hello there"}]}]}`},
	{"invoke", "/model/us.anthropic.claude-opus-4-6-v1:0/invoke", "/model/us.anthropic.claude-opus-4-6-v1:0/invoke-with-response-stream",
		`{"anthropic_version":"bedrock-2023-05-31","max_tokens":99,"messages":[{"role":"user","content":"hello there"}]}`},
}

// streaming is the request that asks for a stream.
func (e endpoint) streaming() (path, body string) {
	if e.stream != "" {
		return e.stream, e.body
	}
	return e.path, `{"stream":true,` + e.body[1:]
}

// TestMockAnswers: an answer in one piece and the same answer streamed say the same, and
// the same request gets the same bytes again.
func TestMockAnswers(t *testing.T) {
	reply := func(*wire.Request) paretest.Reply {
		return paretest.Reply{Text: "Let me <see> & look.", Calls: []paretest.ToolCall{{Tool: "read", Arguments: `{"path":"a.go"}`}, {ID: "own_id_1", Tool: "list"}}}
	}
	for _, e := range endpoints {
		t.Run(e.name, func(t *testing.T) {
			m := &paretest.Mock{Reply: reply}
			whole := post(m, e.path, e.body)
			if whole.Code != 200 || !json.Valid(whole.Body.Bytes()) {
				t.Fatalf("status %d: %s", whole.Code, whole.Body)
			}
			if again := post(m, e.path, e.body); again.Body.String() != whole.Body.String() {
				t.Errorf("another answer to the same request:\n%s\n%s", whole.Body, again.Body)
			}
			if e.name == "azure" && !strings.Contains(whole.Body.String(), `"model":"mine"`) {
				t.Errorf("another model than the deployment: %s", whole.Body)
			}
			path, body := e.streaming()
			stream := post(m, path, body)
			if stream.Code != 200 || !stream.Flushed {
				t.Fatalf("stream: status %d, flushed %t: %s", stream.Code, stream.Flushed, stream.Body)
			}
			all := eventsOf(t, stream)
			if len(all) < 4 {
				t.Errorf("only %d events", len(all))
			}
			said := strings.Join(all, "\n")
			for _, want := range []string{"own_id_1", "read", "list", "Let ", "look."} {
				if !strings.Contains(whole.Body.String(), want) || !strings.Contains(said, want) {
					t.Errorf("%q is not in both:\n%s\n%s", want, whole.Body, said)
				}
			}
			if got := textOf(t, all); got != "Let me <see> & look." {
				t.Errorf("streamed %q", got)
			}
		})
	}
}

// TestMockThinks: where thinking is on, an answer begins with it, signed; the next request
// has to give it back.
func TestMockThinks(t *testing.T) {
	for _, e := range endpoints {
		asks := map[string]string{
			"anthropic": `"thinking":{"type":"enabled","budget_tokens":50},`, "vertex": `"thinking":{"type":"adaptive"},`,
			"invoke": `"thinking":{"type":"enabled"},`, "bedrock": `"additionalModelRequestFields":{"thinking":{"type":"enabled"}},`,
		}[e.name]
		path, body := e.streaming()
		for i, w := range []*httptest.ResponseRecorder{post(&paretest.Mock{}, e.path, "{"+asks+e.body[1:]), post(&paretest.Mock{}, path, "{"+asks+body[1:])} {
			said := w.Body.String()
			if i == 1 {
				said = strings.Join(eventsOf(t, w), "\n")
			}
			if w.Code != 200 || strings.Contains(said, `"signature":"`) != (asks != "") {
				t.Errorf("%s: status %d: %s", e.name, w.Code, said)
			}
		}
	}
}

// eventsOf takes a stream apart into its JSON values.
func eventsOf(t *testing.T, w *httptest.ResponseRecorder) []string {
	t.Helper()
	var all []string
	switch kind, _, _ := strings.Cut(w.Header().Get("Content-Type"), ";"); kind {
	case "text/event-stream":
		for event := range strings.SplitSeq(strings.TrimSpace(w.Body.String()), "\n\n") {
			_, data, ok := strings.Cut("\n"+event, "\ndata: ")
			if !ok {
				t.Fatalf("event without data: %q", event)
			}
			if data != "[DONE]" {
				all = append(all, data)
			}
		}
	case "application/json":
		var list []json.RawMessage
		if err := json.Unmarshal(w.Body.Bytes(), &list); err != nil {
			t.Fatal(err)
		}
		for _, e := range list {
			all = append(all, string(e))
		}
	case "application/vnd.amazon.eventstream":
		for rest := w.Body.Bytes(); len(rest) > 0; {
			n := binary.BigEndian.Uint32(rest)
			head := binary.BigEndian.Uint32(rest[4:])
			if crc32.ChecksumIEEE(rest[:8]) != binary.BigEndian.Uint32(rest[8:]) || crc32.ChecksumIEEE(rest[:n-4]) != binary.BigEndian.Uint32(rest[n-4:]) {
				t.Fatal("checksum")
			}
			payload := rest[12+head : n-4]
			var chunk struct{ Bytes []byte }
			if json.Unmarshal(payload, &chunk) == nil && chunk.Bytes != nil {
				payload = chunk.Bytes
			}
			all = append(all, string(payload))
			rest = rest[n:]
		}
	default:
		t.Fatalf("content type %q", kind)
	}
	for _, e := range all {
		if !json.Valid([]byte(e)) {
			t.Fatalf("not JSON: %s", e)
		}
	}
	return all
}

var delta = regexp.MustCompile(`"(?:text_delta","text|delta":\{"type":"text","text|content|delta|parts":\[\{"text|delta":\{"text)":("(?:[^"\\]|\\.)*")`)

// textOf joins the deltas of text.
func textOf(t *testing.T, events []string) string {
	t.Helper()
	var b strings.Builder
	for _, e := range events {
		if strings.Contains(e, "function_call_arguments") {
			continue
		}
		for _, m := range delta.FindAllStringSubmatch(e, -1) {
			var s string
			if err := json.Unmarshal([]byte(m[1]), &s); err != nil {
				t.Fatal(err)
			}
			b.WriteString(s)
		}
	}
	return b.String()
}

// TestMockSequence: the events come in the order that clients rely on.
func TestMockSequence(t *testing.T) {
	m := &paretest.Mock{Reply: func(*wire.Request) paretest.Reply {
		return paretest.Reply{Text: "Two words", Calls: []paretest.ToolCall{{Tool: "read"}}}
	}}
	kind := regexp.MustCompile(`^\{"(?:type|event_type)":"([^"]*)"`)
	for name, want := range map[string]string{
		"anthropic": "message_start content_block_start ping content_block_delta content_block_delta content_block_stop " +
			"content_block_start content_block_delta content_block_delta content_block_stop message_delta message_stop",
		"interactions": "interaction.created step.start step.delta step.delta step.stop step.start step.delta step.delta step.stop interaction.completed",
		"responses": "response.created response.in_progress response.output_item.added response.content_part.added response.output_text.delta response.output_text.delta " +
			"response.output_text.done response.content_part.done response.output_item.done response.output_item.added response.function_call_arguments.delta " +
			"response.function_call_arguments.delta response.function_call_arguments.done response.output_item.done response.completed",
	} {
		e := endpoints[slices.IndexFunc(endpoints, func(e endpoint) bool { return e.name == name })]
		path, body := e.streaming()
		var got []string
		for _, event := range eventsOf(t, post(m, path, body)) {
			got = append(got, kind.FindStringSubmatch(event)[1])
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestMockOverflow: a history that is too long gets the provider's own words and figures.
func TestMockOverflow(t *testing.T) {
	long := strings.Repeat("many words ", 400)
	says := map[string]string{
		"anthropic": `^prompt is too long: \d+ tokens > 300 maximum$`, "vertex": `^prompt is too long: \d+ tokens > 300 maximum$`, "invoke": `^prompt is too long: \d+ tokens > 300 maximum$`,
		"chat":      `^This model's maximum context length is 300 tokens\. However, your messages resulted in \d+ tokens`,
		"azure":     `^This model's maximum context length is 300 tokens\.`,
		"responses": `^Your input exceeds the context window of this model`,
		"gemini":    `^The input token count \(\d+\) exceeds the maximum number of tokens allowed \(300\)\.$`, "gemini-array": `^The input token count`,
		"interactions": `^The input token count`,
		"bedrock":      `^Input is too long for requested model\.$`,
	}
	for _, e := range endpoints {
		t.Run(e.name, func(t *testing.T) {
			m := &paretest.Mock{MaxTokens: 300}
			if w := post(m, e.path, e.body); w.Code != 200 {
				t.Errorf("short: status %d: %s", w.Code, w.Body)
			}
			path, body := e.streaming()
			w := post(m, path, strings.Replace(body, "hello there", long, 1))
			if got := sentence(t, w.Body.String()); w.Code != 400 || !regexp.MustCompile(says[e.name]).MatchString(got) {
				t.Errorf("status %d, %q", w.Code, got)
			}
		})
	}
	for _, vendor := range []string{"mistral", "deepseek", "template", "minimax", "moonshot", "groq", "xai", "qwen"} {
		body := fmt.Sprintf(`{"model":%q,"messages":[{"role":"user","content":%q}]}`, plainModels[vendor], long)
		w := post(&paretest.Mock{MaxTokens: 300}, "/v1/chat/completions", body)
		if w.Code != 400 || !regexp.MustCompile(`(?i)length|token|context`).MatchString(sentence(t, w.Body.String())) {
			t.Errorf("%s: status %d: %s", vendor, w.Code, w.Body)
		}
	}
}

// TestMockEdge: what is wrong beside the history is refused in the provider's shape, too.
func TestMockEdge(t *testing.T) {
	key := []string{"Authorization", "Bearer k", "Anthropic-Version", "2023-06-01"}
	for _, c := range []struct {
		name, method, path, body string
		header                   []string
		status                   int
		want                     string
	}{
		{"no key", "POST", "/v1/messages", endpoints[0].body, nil, 401, `"type":"authentication_error"`},
		{"no version", "POST", "/v1/messages", endpoints[0].body, key[:2], 400, `anthropic-version: header is required`},
		{"no key", "POST", "/v1/chat/completions", endpoints[2].body, nil, 401, `You didn't provide an API key`},
		{"no key", "POST", "/v1beta/models/gemini-3.8-flash:generateContent", endpoints[5].body, nil, 403, `"status":"PERMISSION_DENIED"`},
		{"key in the query", "POST", "/v1beta/models/gemini-3.8-flash:generateContent?key=k", endpoints[5].body, nil, 200, `"candidates"`},
		{"no key", "POST", "/model/amazon.nova-pro-v1:0/converse", endpoints[8].body, nil, 403, `Missing Authentication Token`},
		{"no model", "POST", "/v1/messages", `{"messages":[{"role":"user","content":"q"}]}`, key, 400, `model: Field required`},
		{"no model", "POST", "/v1/chat/completions", `{"messages":[{"role":"user","content":"q"}]}`, key, 400, `you must provide a model parameter`},
		{"no model", "POST", "/v1/responses", `{"input":"q"}`, key, 400, `"param":"model"`},
		{"no length", "POST", "/v1/messages", `{"model":"claude-opus-4-6","messages":[{"role":"user","content":"q"}]}`, key, 400, `max_tokens: Field required`},
		{"no history", "POST", "/v1/messages", `{"model":"claude-opus-4-6"}`, key, 400, `messages: Field required`},
		{"a delta", "POST", "/v1/responses", `{"model":"gpt-5.5","previous_response_id":"resp_1"}`, key, 200, `"previous_response_id":"resp_1"`},
		{"no JSON", "POST", "/v1/messages", `{"model":`, key, 400, `is not valid JSON`},
		{"no JSON", "POST", "/v1/chat/completions", `nothing`, key, 400, `could not parse the JSON body`},
		{"no JSON", "POST", "/v1beta/models/gemini-3.8-flash:generateContent", ``, key, 400, `Invalid JSON payload`},
		{"no such thing", "POST", "/v1/messages/batches", `{}`, key, 404, `"type":"not_found_error"`},
		{"no such thing", "GET", "/v1/files", ``, key[:2], 404, `"message":"Invalid URL"`},
		{"count", "POST", "/v1/messages/count_tokens", endpoints[0].body, key, 200, `{"input_tokens":`},
		{"count", "POST", "/v1beta/models/gemini-3.8-flash:countTokens", endpoints[5].body, key, 200, `{"totalTokens":`},
		{"models", "GET", "/v1/models", ``, key, 200, `"has_more":false`},
		{"models", "GET", "/v1/models", ``, key[:2], 200, `"object":"list"`},
		{"model", "GET", "/v1/models/gpt-9", ``, key[:2], 200, `"id":"gpt-9"`},
		{"models", "GET", "/v1beta/models", ``, []string{"X-Goog-Api-Key", "k"}, 200, `"name":"models/gemini`},
		{"is it up", "HEAD", "/", ``, key, 200, ``},
	} {
		r := httptest.NewRequest(c.method, c.path, strings.NewReader(c.body))
		for i := 0; i < len(c.header); i += 2 {
			r.Header.Set(c.header[i], c.header[i+1])
		}
		w := httptest.NewRecorder()
		(&paretest.Mock{RequireKey: true}).ServeHTTP(w, r)
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%s %s (%s): status %d, want %d: %s", c.method, c.path, c.name, w.Code, c.status, w.Body)
		}
	}
	overloaded := &paretest.Mock{Reply: func(*wire.Request) paretest.Reply { return paretest.Reply{Status: 529, Text: "Overloaded"} }}
	if w := post(overloaded, "/v1/messages", endpoints[0].body); w.Code != 529 || !strings.Contains(w.Body.String(), `"type":"overloaded_error"`) {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
}

// TestMockSentences: paths are written as the provider writes them, and what is wrong
// with several calls of one message is said at once.
func TestMockSentences(t *testing.T) {
	for _, c := range []struct{ path, body, want string }{
		{"/v1/messages", `{"model":"claude-opus-4-6","max_tokens":9,"messages":[{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"tool_use","id":"toolu_A","name":"f","input":{}},{"type":"tool_use","id":"toolu_B","name":"f","input":{}}]},{"role":"user","content":"n"}]}`,
			"{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_A, toolu_B. Each"},
		{"/v1/chat/completions", `{"model":"gpt-5.5","messages":[{"role":"user","content":"q"},{"role":"assistant","content":"a","tool_calls":[]},{"role":"user","content":"n"}]}`,
			`{"error":{"message":"Invalid 'messages[1].tool_calls': empty array. Expected an array with minimum length 1, but got an empty array instead.","type":"invalid_request_error","param":"messages[1].tool_calls","code":"empty_array"}}`},
		{"/v1/chat/completions", `{"model":"gpt-5.5","messages":[{"role":"user","content":"q"},{"role":"tool","tool_call_id":"c1","content":"x"}]}`,
			`"type":"invalid_request_error","param":"messages.[1].role","code":null}}`},
		{"/v1beta/models/gemini-2.5-flash:generateContent", `{"contents":[{"role":"user","parts":[{"text":"q"},{"text":""}]}]}`,
			`{"error":{"code":400,"message":"GenerateContentRequest.contents[0].parts[1].data: required oneof field 'data' must have one initialized field","status":"INVALID_ARGUMENT"}}`},
		{"/model/anthropic.claude-opus-4-6/converse", `{"toolConfig":{"tools":[{"toolSpec":{"name":"f","inputSchema":{"json":{}}}}]},"messages":[{"role":"user","content":[{"text":"q"}]},{"role":"assistant","content":[{"toolUse":{"toolUseId":"a.b","name":"f","input":{}}}]},{"role":"user","content":[{"toolResult":{"toolUseId":"a.b","content":[{"text":"x"}]}}]}]}`,
			`{"message":"1 validation error detected: Value 'a.b' at 'messages.2.member.content.1.member`},
		{"/v1/chat/completions", `{"model":"mistral-large-latest","messages":[{"role":"user","content":"q"},{"role":"tool","tool_call_id":"abcdefgh1","content":"x"}]}`,
			`{"object":"error","message":"Unexpected role 'tool' after role 'user'","type":"invalid_request_message_order","param":null,"code":"3230"}`},
	} {
		if w := post(&paretest.Mock{}, c.path, c.body); w.Code != 400 || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("status %d\n got %s want %s", w.Code, w.Body, c.want)
		}
	}
}

// TestMockRecord: everything is written down but the keys.
func TestMockRecord(t *testing.T) {
	var out bytes.Buffer
	m := &paretest.Mock{Record: &out}
	post(m, "/v1beta/models/gemini-3.8-flash:generateContent?key=SECRET&alt=json", `{"contents":[]} `, "X-Goog-Api-Key", "SECRET", "Authorization", "Bearer SECRET",
		"X-Api-Key", "SECRET", "Api-Key", "SECRET", "Cookie", "SECRET", "User-Agent", "me")
	if strings.Contains(out.String(), "SECRET") || strings.Count(out.String(), "\n") != 1 {
		t.Errorf("recorded %s", &out)
	}
	var got paretest.Recorded
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if got.Method != http.MethodPost || got.Path != "/v1beta/models/gemini-3.8-flash:generateContent?alt=json" || got.Header.Get("User-Agent") != "me" || string(got.Body) != `{"contents":[]} ` {
		t.Errorf("recorded %+v", got)
	}
	if !strings.Contains(out.String(), base64.StdEncoding.EncodeToString([]byte(`{"contents":[]} `))) {
		t.Errorf("the body is not base64: %s", &out)
	}
}

// TestDefectX11MockSays413: a body of more bytes than the provider takes gets its status, and
// its type of error.
func TestDefectX11MockSays413(t *testing.T) {
	for _, e := range endpoints {
		if e.name != "anthropic" && e.name != "vertex" && e.name != "invoke" {
			continue
		}
		w := post(&paretest.Mock{}, e.path, strings.Replace(e.body, "hello there", strings.Repeat("x", 32<<20), 1))
		if got := sentence(t, w.Body.String()); w.Code != 413 || got != "Request exceeds the maximum size" {
			t.Errorf("%s: status %d, %.200s", e.name, w.Code, w.Body)
		}
		if e.name == "anthropic" && !strings.Contains(w.Body.String(), `"type":"request_too_large"`) {
			t.Errorf("%s", w.Body)
		}
	}
}
