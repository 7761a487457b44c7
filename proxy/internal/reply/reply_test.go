package reply

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/pare-llm/pare/paretest"
	"github.com/pare-llm/pare/wire"
)

// streams lists every way in which a provider streams: a path, and a body that asks for it.
var streams = []struct {
	name, path, body string
	dialect          wire.Dialect
}{
	{"anthropic", "/v1/messages", `{"model":"claude-opus-4-6","max_tokens":9,"stream":true,"messages":[{"role":"user","content":"hi"}]}`, wire.Anthropic},
	{"anthropic on bedrock", "/model/anthropic.claude-opus-4-6-v1:0/invoke-with-response-stream", `{"anthropic_version":"bedrock-2023-05-31","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}`, wire.Anthropic},
	{"chat", "/v1/chat/completions", `{"model":"gpt-5.2","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"hi"}]}`, wire.OpenAIChat},
	{"responses", "/v1/responses", `{"model":"gpt-5.2","stream":true,"input":[{"role":"user","content":"hi"}]}`, wire.OpenAIResponses},
	{"gemini", "/v1beta/models/gemini-3.8-pro:streamGenerateContent?alt=sse", `{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}`, wire.Gemini},
	{"gemini as a list", "/v1beta/models/gemini-3.8-pro:streamGenerateContent", `{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}`, wire.Gemini},
	{"converse", "/model/us.anthropic.claude-opus-4-6-v1:0/converse-stream", `{"messages":[{"role":"user","content":[{"text":"hi"}]}]}`, wire.Bedrock},
	{"interactions", "/v1beta/interactions", `{"model":"gemini-3.8-flash","store":false,"stream":true,"input":[{"type":"user_input","content":[{"type":"text","text":"hi"}]}]}`, wire.GeminiInteractions},
}

// mockReply returns the content type and the body of a reply of the mock provider.
func mockReply(t *testing.T, path, body string, r paretest.Reply) (contentType string, reply []byte) {
	t.Helper()
	m := &paretest.Mock{Reply: func(*wire.Request) paretest.Reply { return r }}
	w := httptest.NewRecorder()
	m.ServeHTTP(w, httptest.NewRequest(http.MethodPost, path, strings.NewReader(body)))
	if w.Code != http.StatusOK {
		t.Fatalf("%d: %s", w.Code, w.Body)
	}
	return w.Header().Get("Content-Type"), w.Body.Bytes()
}

var readCall = paretest.ToolCall{ID: "call_1", Tool: "Read", Arguments: `{"path":"a"}`}

func TestStreamedReplyHasTextsAndCalls(t *testing.T) {
	for _, s := range streams {
		for _, r := range []paretest.Reply{
			{Text: "One two three."},
			{Calls: []paretest.ToolCall{readCall}},
			{Text: "One two three.", Calls: []paretest.ToolCall{readCall, {ID: "call_2", Tool: "List", Arguments: `{"n":1}`}}},
		} {
			kind, body := mockReply(t, s.path, s.body, r)
			said := string(bytes.Join(Messages(Reply{s.dialect, kind, true, body}), nil))
			plain := strings.ReplaceAll(said, `\"`, `"`)
			if strings.Count(plain, `{"path":"a"}`) != min(len(r.Calls), 1) || strings.Count(plain, `{"n":1}`) != max(len(r.Calls)-1, 0) {
				t.Errorf("%s: calls are missing or repeated: %s", s.name, said)
			}
			text := bytes.ReplaceAll([]byte(said), []byte(`"},{"text":"`), nil) // Gemini's parts
			if strings.Count(string(text), "One two three.") != strings.Count(r.Text, "One") {
				t.Errorf("%s: the text is missing or repeated: %s", s.name, said)
			}
		}
	}
}

// TestStreamedReplyEqualsWholeReply checks that a streamed reply is read as the same messages as
// the reply in one piece.
func TestStreamedReplyEqualsWholeReply(t *testing.T) {
	for _, s := range []struct {
		path, body string
		dialect    wire.Dialect
	}{
		{"/v1/messages", `{"model":"claude-opus-4-6","max_tokens":9,"stream":%v,"messages":[{"role":"user","content":"hi"}]}`, wire.Anthropic},
		{"/v1/chat/completions", `{"model":"gpt-5.2","stream":%v,"messages":[{"role":"user","content":"hi"}]}`, wire.OpenAIChat},
	} {
		r := paretest.Reply{Text: "One two three.", Calls: []paretest.ToolCall{readCall}}
		kind, body := mockReply(t, s.path, fmt.Sprintf(s.body, true), r)
		streamed := Messages(Reply{s.dialect, kind, true, body})
		kind, body = mockReply(t, s.path, fmt.Sprintf(s.body, false), r)
		whole := Messages(Reply{s.dialect, kind, false, body})
		if len(whole) != 1 || canonical(t, streamed) != canonical(t, whole) {
			t.Errorf("%s: %s\nin one piece %s", s.path, streamed, whole)
		}
	}
}

// canonical returns messages without the order of their members.
func canonical(t *testing.T, messages [][]byte) string {
	t.Helper()
	var all []any
	for _, m := range messages {
		var v any
		if err := json.Unmarshal(m, &v); err != nil {
			t.Fatalf("%v: %s", err, m)
		}
		all = append(all, v)
	}
	out, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// TestVendorChunks covers vendors that extend the Chat API in their own ways.
func TestVendorChunks(t *testing.T) {
	for _, c := range []struct {
		name   string
		chunks []string
		want   string
	}{
		{"all in one chunk", []string{
			`{"id":"1","choices":[{"index":0,"delta":{"role":"assistant","content":"Hm.","tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"read","arguments":"{\"path\":\"h\"}"}}]},"finish_reason":"tool_calls"}],"usage":{"completion_tokens":3}}`,
		}, `{"role":"assistant","content":"Hm.","tool_calls":[{"id":"a","type":"function","function":{"name":"read","arguments":"{\"path\":\"h\"}"}}]}`},
		{"every call has index 0", []string{
			`{"id":"1","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"read","arguments":"{}"}}]},"finish_reason":null}]}`,
			`{"id":"1","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"b","type":"function","function":{"name":"read","arguments":"{}"}}]},"finish_reason":null}]}`,
			`{"id":"1","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`,
		}, `{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"read","arguments":"{}"}},{"id":"b","type":"function","function":{"name":"read","arguments":"{}"}}]}`},
		{"reasoning before the call, and a signature", []string{
			`{"id":"1","choices":[{"index":0,"delta":{"role":"assistant","reasoning_content":"Let "},"finish_reason":null}]}`,
			`{"id":"1","choices":[{"index":0,"delta":{"reasoning_content":"me."},"finish_reason":null}]}`,
			`{"id":"1","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","type":"function","extra_content":{"google":{"thought_signature":"s"}},"function":{"name":"read","arguments":""}}]},"finish_reason":null}]}`,
			`{"id":"1","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]},"finish_reason":null}]}`,
			`{"id":"1","choices":[{"index":0,"delta":{"content":""},"finish_reason":"tool_calls"}]}`,
		}, `{"role":"assistant","content":null,"reasoning_content":"Let me.","tool_calls":[{"id":"a","type":"function","extra_content":{"google":{"thought_signature":"s"}},"function":{"name":"read","arguments":"{}"}}]}`},
	} {
		var body strings.Builder
		for _, chunk := range c.chunks {
			body.WriteString("data: " + chunk + "\n\n")
		}
		body.WriteString("data: [DONE]\n\n")
		got := bytes.Join(Messages(Reply{wire.OpenAIChat, "text/event-stream", true, []byte(body.String())}), nil)
		if string(got) != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}

// TestInteractionSteps checks that steps which arrive in pieces are read as whole steps, with
// thoughts, signatures, media and the provider's own calls.
func TestInteractionSteps(t *testing.T) {
	var stream strings.Builder
	send := func(kind, members string) {
		fmt.Fprintf(&stream, "event: %s\ndata: {\"event_type\":%q,%s}\n\n", kind, kind, members)
	}
	index := 0
	step := func(start string, deltas ...string) {
		send("step.start", fmt.Sprintf(`"index":%d,"step":%s`, index, start))
		for _, d := range deltas {
			send("step.delta", fmt.Sprintf(`"index":%d,"delta":%s`, index, d))
		}
		send("step.stop", fmt.Sprintf(`"index":%d`, index))
		index++
	}
	send("interaction.created", `"interaction":{"id":"one","status":"in_progress"}`)
	send("interaction.status_update", `"interaction_id":"one","status":"in_progress"`)
	step(`{"type":"thought"}`, `{"type":"thought_summary","content":{"type":"text","text":"Hm."}}`, `{"type":"thought_signature","signature":"ab"}`, `{"type":"thought_signature","signature":"cd"}`)
	step(`{"type":"code_execution_call","id":"x"}`, `{"type":"code_execution_call","arguments":{"code":"1+1"},"signature":"s"}`)
	step(`{"type":"model_output"}`, `{"type":"text","text":"One "}`, `{"type":"text","text":"two."}`, `{"type":"text_annotation_delta","annotations":[{"type":"url_citation","url":"u"}]}`, `{"type":"image","data":"AA==","mime_type":"image/png"}`, `{"type":"text","text":"Three."}`)
	step(`{"type":"function_call","id":"c","name":"read","arguments":{}}`, `{"type":"arguments_delta","arguments":"{\"path\":"}`, `{"type":"arguments_delta","arguments":"\"h\"}"}`)
	send("interaction.completed", `"interaction":{"id":"one","status":"requires_action"}`)
	stream.WriteString("event: done\ndata: [DONE]\n\n")

	want := `[{"type":"thought","summary":[{"type":"text","text":"Hm."}],"signature":"abcd"} ` +
		`{"type":"code_execution_call","id":"x","arguments":{"code":"1+1"},"signature":"s"} ` +
		`{"type":"model_output","content":[{"type":"text","text":"One two.","annotations":[{"type":"url_citation","url":"u"}]},{"type":"image","data":"AA==","mime_type":"image/png"},{"type":"text","text":"Three."}]} ` +
		`{"type":"function_call","id":"c","name":"read","arguments":{"path":"h"}}]`
	got := Messages(Reply{wire.GeminiInteractions, "text/event-stream", true, []byte(stream.String())})
	if fmt.Sprintf("%s", got) != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

func TestEmptyReplyHasNoMessages(t *testing.T) {
	for d := range formats {
		for _, body := range []string{"", "{}", "[]", `{"error":{"code":503,"message":"overloaded"}}`, `{"content":[{"type":"text","text":""}]}`} {
			for _, kind := range []string{"application/json", "text/event-stream", "application/vnd.amazon.eventstream"} {
				if got := Messages(Reply{d, kind, false, []byte(body)}); got != nil {
					t.Errorf("%s: %q is read as %s", d, body, got)
				}
			}
		}
	}
}

// FuzzMessages checks that every message of any reply is valid JSON.
func FuzzMessages(f *testing.F) {
	t := &testing.T{}
	for i, s := range streams {
		kind, body := mockReply(t, s.path, s.body, paretest.Reply{Thinking: "Hm.", Text: "One two.", Calls: []paretest.ToolCall{readCall}})
		f.Add(byte(i), kind, body)
		f.Add(byte(i), kind, body[:len(body)/2])
	}
	f.Add(byte(0), "application/json", []byte(`{"content":[{"type":"tool_use","id":"a","name":"read","input":{}}],"stop_reason":"tool_use"}`))
	f.Add(byte(2), "application/json", []byte(`{"choices":[{"message":{"tool_calls":[{"id":"a","function":{"name":"read","arguments":"{}"}}]}}]}`))
	f.Fuzz(func(t *testing.T, which byte, kind string, body []byte) {
		s := streams[int(which)%len(streams)]
		for _, m := range Messages(Reply{s.dialect, kind, true, body}) {
			if !json.Valid(m) {
				t.Fatalf("%s: %q is not JSON", s.name, m)
			}
		}
	})
}
