package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// A standIn plays the model, on the paths of all APIs. It follows the orders of the last
// prompt and records its requests.
type standIn struct {
	url    string
	client *client
	cwd    string
	server *http.Server
	window int // window of the model: longer requests are refused and tokens counted; 0: neither

	mu     sync.Mutex
	bodies [][]byte
	asked  chan string // orders, as they are answered
}

func newStandIn(c *client, cwd string) (*standIn, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &standIn{url: "http://" + l.Addr().String(), client: c, cwd: cwd, asked: make(chan string, 100)}
	s.server = &http.Server{Handler: s}
	go s.server.Serve(l)
	return s, nil
}

var prompts = regexp.MustCompile(`prompt (\d+): ([a-z]+)`)

func (s *standIn) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(io.LimitReader(r.Body, 64<<20))
	path := r.URL.Path
	switch {
	case strings.Contains(path, "count"):
		fmt.Fprint(w, `{"input_tokens":10,"totalTokens":10}`)
		return
	case r.Method != http.MethodPost:
		fmt.Fprint(w, `{"data":[],"models":[],"has_more":false}`)
		return
	}
	req, err := wire.Parse(body, wire.Options{Dialect: s.client.dialect})
	if err != nil || !strings.Contains(string(body), `"tools"`) && !strings.Contains(string(body), `"toolConfig"`) || strings.Contains(path, ":generateContent") {
		if s.window > 0 && err == nil && req.Tokens(tokens.For(req.Model())) > s.window { // a request for a summary
			s.mu.Lock()
			s.bodies = append(s.bodies, body) // it may be all that the client sends
			s.mu.Unlock()
			s.refuse(w)
			return
		}
		a := answer{text: "A title", tokens: 2} // not the conversation
		if summaries.Match(body) {
			a.text = "summary of what was said"
		}
		a.whole = strings.Contains(path, ":generateContent")
		s.client.say(w, a)
		return
	}
	s.mu.Lock()
	s.bodies = append(s.bodies, body)
	s.mu.Unlock()
	all := prompts.FindAllStringSubmatch(string(body), -1)
	if all == nil { // a sub-agent, or a request for a summary
		a := answer{text: "summary of what was said", tokens: 2}
		if strings.Contains(string(body), `"complete_task"`) { // Gemini CLI's have to say so
			a.calls = []call{{id: "1", tool: "complete_task", args: object{"result": a.text}}}
		}
		s.client.say(w, a)
		return
	}
	last := all[len(all)-1]
	number, order := last[1], last[2]
	t := req.Transcript()
	results := map[string]bool{} // of the calls of this prompt
	for _, b := range t.Blocks() {
		id := strings.TrimRight(b.CallID, "ab")
		if b.Kind == transcript.Result && (strings.HasSuffix(id, "_"+number) || strings.HasSuffix(id, "-"+number)) {
			results[b.CallID] = true
		}
	}
	answered := len(results) > 0
	defer func() {
		select {
		case s.asked <- order:
		default:
		}
	}()
	if summaries.Match(lastOf(t)) {
		s.client.say(w, answer{text: "summary of what was said", tokens: 2})
		return
	}
	calls := s.client.calls(order, number, s.cwd)
	if order == "chain" || order == "many" {
		answered = len(results) >= len(calls)
		calls = calls[min(len(results), len(calls)-1):][:1]
	}
	said := 2
	if s.window > 0 {
		if said = req.Tokens(tokens.For(req.Model())); said > s.window {
			order, calls = "overflow", nil
		}
	}
	a := answer{text: "reply " + number + ": done", tokens: said, thinks: thinks.Match(body)}
	switch {
	case order == "overflow":
		s.refuse(w)
	case order == "slow" && !answered:
		s.asked <- order
		<-r.Context().Done()
	case calls != nil && !answered:
		a.calls = calls
		if order == "large" {
			a.tokens = s.client.large
		}
		s.client.say(w, a)
	default:
		if order == "large" && s.client.gains {
			a.text += " " + filler(3000)
		}
		if order == "large" && s.client.late {
			a.tokens = s.client.large
		}
		s.client.say(w, a)
	}
}

// refuse answers that a request is too long, as the client's API does.
func (s *standIn) refuse(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusBadRequest)
	fmt.Fprint(w, s.client.overflow)
}

// summaries matches requests for a summary in the newest message.
var summaries = regexp.MustCompile(`(?i)\b(create|write|provide|generate)\b.{0,60}\b(summary|snapshot)|<state_snapshot>`)

// lastOf are the bytes of the newest message.
func lastOf(t *transcript.Transcript) []byte {
	n := len(t.Messages())
	if n == 0 {
		return nil
	}
	return t.Bytes(t.Messages()[n-1].Span)
}

// sent are the requests so far.
func (s *standIn) sent() [][]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bodies
}

// thinks matches requests with thinking.
var thinks = regexp.MustCompile(`"thinking":\s*\{[^}]*"type":\s*"(enabled|adaptive)"`)

// An answer is a reply of the stand-in: a text, or calls.
type answer struct {
	text   string
	calls  []call
	tokens int // reported size of the request
	thinks bool
	whole  bool // it is not streamed; Gemini's summaries are not
}

// A call is a call that the stand-in makes.
type call struct {
	id, tool string
	space    string // that the tool is in; Codex has such
	args     any
}

func raw(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

type object = map[string]any

func stream(w http.ResponseWriter, named bool, events ...object) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, e := range events {
		if named {
			fmt.Fprintf(w, "event: %s\n", e["type"])
		}
		fmt.Fprintf(w, "data: %s\n\n", raw(e))
	}
}

func sayAnthropic(w http.ResponseWriter, a answer) {
	stop := "end_turn"
	events := []object{{"type": "message_start", "message": object{"id": fmt.Sprintf("msg_%x", time.Now().UnixNano()), "type": "message", "role": "assistant", "model": "claude-sonnet-4-5", "content": []any{}, "stop_reason": nil, "stop_sequence": nil, "usage": object{"input_tokens": a.tokens, "output_tokens": 1}}}}
	block := func(i int, start object, deltas ...object) {
		events = append(events, object{"type": "content_block_start", "index": i, "content_block": start})
		for _, d := range deltas {
			events = append(events, object{"type": "content_block_delta", "index": i, "delta": d})
		}
		events = append(events, object{"type": "content_block_stop", "index": i})
	}
	n := 0
	if a.thinks {
		block(n, object{"type": "thinking", "thinking": "", "signature": ""}, object{"type": "thinking_delta", "thinking": "I think of it."}, object{"type": "signature_delta", "signature": "c2lnbmF0dXJl"})
		n++
	}
	if a.calls == nil {
		block(n, object{"type": "text", "text": ""}, object{"type": "text_delta", "text": a.text})
	}
	for i, c := range a.calls {
		stop = "tool_use"
		block(n+i, object{"type": "tool_use", "id": "toolu_" + c.id, "name": c.tool, "input": object{}}, object{"type": "input_json_delta", "partial_json": string(raw(c.args))})
	}
	stream(w, true, append(events, object{"type": "message_delta", "delta": object{"stop_reason": stop, "stop_sequence": nil}, "usage": object{"output_tokens": 2}}, object{"type": "message_stop"})...)
}

func sayResponses(w http.ResponseWriter, a answer) {
	items := []object{{"type": "message", "role": "assistant", "id": fmt.Sprintf("msg_%x", time.Now().UnixNano()), "content": []any{object{"type": "output_text", "text": a.text}}}}
	if a.calls != nil {
		items = nil
	}
	for _, c := range a.calls {
		item := object{"type": "function_call", "id": "fc_" + c.id, "call_id": "call_" + c.id, "name": c.tool, "arguments": string(raw(c.args))}
		if c.space != "" {
			item["namespace"] = c.space
		}
		items = append(items, item)
	}
	events := []object{{"type": "response.created", "response": object{"id": "resp_1"}}}
	for i, item := range items {
		events = append(events, object{"type": "response.output_item.done", "output_index": i, "item": item})
	}
	usage := object{"input_tokens": a.tokens, "input_tokens_details": nil, "output_tokens": 1, "output_tokens_details": nil, "total_tokens": a.tokens + 1}
	stream(w, true, append(events, object{"type": "response.completed", "response": object{"id": "resp_1", "usage": usage}})...)
}

func sayChat(w http.ResponseWriter, a answer) {
	delta, finish := object{"role": "assistant", "content": a.text}, "stop"
	if a.calls != nil {
		var list []any
		for i, c := range a.calls {
			list = append(list, object{"index": i, "id": "call_" + c.id, "type": "function", "function": object{"name": c.tool, "arguments": string(raw(c.args))}})
		}
		delta, finish = object{"role": "assistant", "content": nil, "tool_calls": list}, "tool_calls"
	}
	chunk := func(delta object, finish any) object {
		return object{"id": "x", "object": "chat.completion.chunk", "model": "m", "choices": []any{object{"index": 0, "delta": delta, "finish_reason": finish}}}
	}
	last := chunk(object{}, finish)
	last["usage"] = object{"prompt_tokens": a.tokens, "completion_tokens": 1, "total_tokens": a.tokens + 1}
	stream(w, false, chunk(delta, nil), last)
	fmt.Fprint(w, "data: [DONE]\n\n")
}

func sayGemini(w http.ResponseWriter, a answer) {
	parts := []any{object{"text": a.text}}
	if a.calls != nil {
		parts = nil
	}
	for _, c := range a.calls {
		parts = append(parts, object{"functionCall": object{"id": "fc-" + c.id, "name": c.tool, "args": c.args}})
	}
	said := object{"candidates": []any{object{"content": object{"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}}, "usageMetadata": object{"promptTokenCount": a.tokens, "candidatesTokenCount": 1, "totalTokenCount": a.tokens + 1}}
	if a.whole {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(raw(said))
		return
	}
	stream(w, false, said)
}
