package recall

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/pare-llm/pare/paretest"
	"github.com/pare-llm/pare/wire"
)

// streams are all ways in which providers stream: a path, and a body that asks for it.
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

// answers streams a reply of the stand-in.
func answers(t *testing.T, path, body string, r paretest.Reply) (contentType, reply string) {
	t.Helper()
	m := &paretest.Mock{Reply: func(*wire.Request) paretest.Reply { return r }}
	w := httptest.NewRecorder()
	m.ServeHTTP(w, httptest.NewRequest(http.MethodPost, path, strings.NewReader(body)))
	if w.Code != 200 {
		t.Fatalf("%d: %s", w.Code, w.Body)
	}
	return w.Header().Get("Content-Type"), w.Body.String()
}

// through passes the replies of rounds through a filter.
func through(t *testing.T, f Filter, framing Framing, replies ...string) (out []byte, turns []*Turn) {
	t.Helper()
	for i, reply := range replies {
		framing.Read(iotest.OneByteReader(strings.NewReader(reply)))
		for {
			e, err := framing.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range f.Take(e) {
				out = framing.Append(out, e)
			}
		}
		turns = append(turns, f.Turn())
		switch {
		case i < len(replies)-1:
			f.Next()
		case f.Turn().Alone():
			for _, e := range f.Close() {
				out = framing.Append(out, e)
			}
		}
	}
	return out, turns
}

// TestStreamsPass: a stream without a call of the tool passes byte for byte, however it is cut,
// and what the model said is understood as in a reply of one piece.
func TestStreamsPass(t *testing.T) {
	said := paretest.Reply{Thinking: "Hm.", Text: "Größe “x” \n\n now", Calls: []paretest.ToolCall{{ID: "a", Tool: "Read", Arguments: `{"path":"a"}`}, {ID: "b", Tool: "Read", Arguments: `{"path":"{\"}b"}`}}}
	for _, s := range streams {
		for _, reply := range []paretest.Reply{said, {Text: "Only words."}, {Calls: said.Calls}} {
			kind, text := answers(t, s.path, s.body, reply)
			tongue := For(s.dialect)
			framing := Frame(tongue, kind, true)
			if framing == nil {
				t.Fatalf("%s: no framing for %s", s.name, kind)
			}
			out, turns := through(t, tongue.Stream(), framing, text)
			if string(out) != text {
				t.Errorf("%s:\n%q\nwas\n%q", s.name, out, text)
			}
			if got := turns[0]; len(got.Others) != len(reply.Calls) || len(got.Calls) != 0 {
				t.Errorf("%s: %+v", s.name, got)
			}
		}
	}
}

// TestRoundsAreOne: what several rounds say is one stream, which is the same as that of a model
// that has said all of it at once but for names and figures, and is cut in the same framing.
func TestRoundsAreOne(t *testing.T) {
	ours := paretest.ToolCall{ID: "ours", Tool: Tool, Arguments: `{"handle":"pare-0123","offset":7}`}
	read := paretest.ToolCall{ID: "theirs", Tool: "Read", Arguments: `{"path":"a"}`}
	for _, s := range streams {
		tongue := For(s.dialect)
		kind, first := answers(t, s.path, s.body, paretest.Reply{Text: "One.", Calls: []paretest.ToolCall{ours}})
		_, second := answers(t, s.path, s.body, paretest.Reply{Calls: []paretest.ToolCall{ours, ours}})
		for _, last := range []paretest.Reply{{Text: "Two."}, {Text: "Two.", Calls: []paretest.ToolCall{read}}, {Text: "Two.", Calls: []paretest.ToolCall{read, ours}}, {Calls: []paretest.ToolCall{ours}}} {
			_, third := answers(t, s.path, s.body, last)
			out, turns := through(t, tongue.Stream(), Frame(tongue, kind, true), first, second, third)
			if bytes.Contains(out, []byte(Tool)) || len(turns) != 3 {
				t.Errorf("%s: %d turns, %s", s.name, len(turns), out)
			}
			if got := turns[0]; !got.Alone() || got.Calls[0].Handle != "pare-0123" || got.Calls[0].Offset != 7 || got.Output == 0 || len(turns[1].Calls) != 2 {
				t.Errorf("%s: %+v", s.name, got)
			}
			if got := turns[2]; got.Alone() != (last.Text == "") || len(got.Others) != strings.Count(fmt.Sprint(last.Calls), "Read") {
				t.Errorf("%s: %+v", s.name, got)
			}
			// A filter has nothing against what comes out: all of it is there, once, and in order.
			again, whole := through(t, tongue.Stream(), Frame(tongue, kind, true), string(out))
			if !bytes.Equal(again, out) || len(whole[0].Calls) != 0 || len(whole[0].Others) != len(turns[2].Others) {
				t.Errorf("%s: %q\n%q", s.name, out, again)
			}
			text := string(bytes.Join(whole[0].Said, nil))
			if n := strings.Count(text, "One."); n != 1 || strings.Count(text, "Two.") != strings.Count(last.Text, "Two.") || last.Text != "" && strings.Index(text, "One.") > strings.Index(text, "Two.") {
				t.Errorf("%s: %s", s.name, text)
			}
		}
	}
}

// TestCutOff: what a reply that breaks off has said passes to its last byte.
func TestCutOff(t *testing.T) {
	for _, s := range streams {
		kind, text := answers(t, s.path, s.body, paretest.Reply{Text: "One two three."})
		for _, n := range []int{1, len(text) / 3, len(text) / 2, len(text) - 1} {
			out, _ := through(t, For(s.dialect).Stream(), Frame(For(s.dialect), kind, true), text[:n])
			if string(out) != text[:n] {
				t.Errorf("%s: %q\nwas %q", s.name, out, text[:n])
			}
		}
	}
}

// TestSpellings: line ends, comments and fields that nobody knows pass as they are.
func TestSpellings(t *testing.T) {
	for _, text := range []string{
		"event: ping\r\ndata: {\"type\":\"ping\"}\r\n\r\n: comment\r\n\r\nid: 7\r\nretry: 9\r\n\r\n", "data: {\ndata: \"type\":\"ping\"}\n\n", "data:{}\n\n\n\n", ":\n\ndata: [DONE]\n\n", "data: broken\n\n",
	} {
		for _, d := range []wire.Dialect{wire.Anthropic, wire.OpenAIChat, wire.OpenAIResponses, wire.Gemini} {
			if out, _ := through(t, For(d).Stream(), Frame(For(d), "text/event-stream", true), text); string(out) != text {
				t.Errorf("%s: %q has become %q", d, text, out)
			}
		}
	}
}

// TestVendors: chunks of vendors that speak the Chat API in ways of their own.
func TestVendors(t *testing.T) {
	for _, c := range []struct {
		name   string
		chunks []string
		said   string // the message that goes back
		out    int    // chunks that pass before the end is known
	}{
		{"all in one chunk", []string{
			`{"id":"1","choices":[{"index":0,"delta":{"role":"assistant","content":"Hm.","tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"pare_recall","arguments":"{\"handle\":\"h\"}"}}]},"finish_reason":"tool_calls"}],"usage":{"completion_tokens":3}}`,
		}, `{"role":"assistant","content":"Hm.","tool_calls":[{"id":"a","type":"function","function":{"name":"pare_recall","arguments":"{\"handle\":\"h\"}"}}]}`, 1},
		{"every call has the number 0", []string{
			`{"id":"1","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"pare_recall","arguments":"{}"}}]},"finish_reason":null}]}`,
			`{"id":"1","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"b","type":"function","function":{"name":"pare_recall","arguments":"{}"}}]},"finish_reason":null}]}`,
			`{"id":"1","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`,
		}, `{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"pare_recall","arguments":"{}"}},{"id":"b","type":"function","function":{"name":"pare_recall","arguments":"{}"}}]}`, 0},
		{"reasoning in front of it, and a signature", []string{
			`{"id":"1","choices":[{"index":0,"delta":{"role":"assistant","reasoning_content":"Let "},"finish_reason":null}]}`,
			`{"id":"1","choices":[{"index":0,"delta":{"reasoning_content":"me."},"finish_reason":null}]}`,
			`{"id":"1","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","type":"function","extra_content":{"google":{"thought_signature":"s"}},"function":{"name":"pare_recall","arguments":""}}]},"finish_reason":null}]}`,
			`{"id":"1","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]},"finish_reason":null}]}`,
			`{"id":"1","choices":[{"index":0,"delta":{"content":""},"finish_reason":"tool_calls"}]}`,
		}, `{"role":"assistant","content":null,"reasoning_content":"Let me.","tool_calls":[{"id":"a","type":"function","extra_content":{"google":{"thought_signature":"s"}},"function":{"name":"pare_recall","arguments":"{}"}}]}`, 2},
	} {
		var reply strings.Builder
		for _, chunk := range c.chunks {
			reply.WriteString("data: " + chunk + "\n\n")
		}
		reply.WriteString("data: [DONE]\n\n")
		f := chat{}.Stream()
		framing := &lines{}
		framing.Read(strings.NewReader(reply.String()))
		var passed []Event
		for {
			e, err := framing.Next()
			if err != nil {
				break
			}
			passed = append(passed, f.Take(e)...)
		}
		turn := f.Turn()
		if !turn.Alone() || string(bytes.Join(turn.Said, nil)) != c.said {
			t.Errorf("%s: alone %v\n%s\nwant\n%s", c.name, turn.Alone(), bytes.Join(turn.Said, nil), c.said)
		}
		if len(passed) != c.out || slices.ContainsFunc(passed, func(e Event) bool { return bytes.Contains(e.Data, []byte("tool_calls")) }) {
			t.Errorf("%s: %d chunks pass, want %d: %s", c.name, len(passed), c.out, fmt.Sprint(passed))
		}
	}
}

// TestNoList: what is said to be a list and is none passes as it is: an error, anything.
func TestNoList(t *testing.T) {
	for _, reply := range []string{`{"error":{"code":503,"message":"overloaded"}}`, "{\"a\":1}\n{\"b\":2}\n", "ck\"}\n\ndata:{\"type\":\"x\"}", " \n", `[{"a":1},{"b":2}] `} {
		tongue := For(wire.Gemini)
		filter, framing := tongue.Stream(), Frame(tongue, "application/json", true)
		framing.Read(strings.NewReader(reply))
		var out []byte
		for {
			e, err := framing.Next()
			if err != nil {
				break
			}
			for _, e := range filter.Take(e) {
				out = framing.Append(out, e)
			}
		}
		if string(out) != reply {
			t.Errorf("%q, want %q", out, reply)
		}
	}
}
