package recall

import (
	"bytes"
	"strings"
)

// chat is the Chat Completions API.
type chat struct{}

func (chat) list() string  { return "messages" }
func (chat) wrapped() bool { return false }

func (chat) Offer(body []byte) ([]byte, bool) {
	// The old form of tools cannot stand beside the new one, and of several choices each
	// would go on by itself.
	if !absent(at(body, "functions")) || number(body, "n") > 1 {
		return body, false
	}
	tool := object("type", "function", "function", object("name", Tool, "description", about, "parameters", []byte(schema)))
	return offerIn(body, "messages", "tools", tool)
}

func (chat) Hear(reply []byte) *Turn {
	if !readable(reply) || len(elements(reply, "choices")) != 1 {
		return nil
	}
	message := at(reply, "choices", 0, "message")
	if len(message) == 0 || message[0] != '{' {
		return nil
	}
	t := &Turn{Ready: chatReady(text(reply, "choices", 0, "finish_reason")), Output: number(reply, "usage", "completion_tokens")}
	for _, c := range elements(message, "tool_calls") {
		t.chatCall(c)
	}
	if s := text(message, "content"); s != "" {
		t.Shown = [][]byte{quote(s)}
	}
	t.Said = [][]byte{chatMessage(message)}
	return t
}

// chatReady reports whether a reply ended for the sake of its calls. Some vendors say that
// it just stopped.
func chatReady(finish string) bool { return finish == "tool_calls" || finish == "stop" }

func (t *Turn) chatCall(c []byte) {
	arguments := []byte(text(c, "function", "arguments"))
	if name := text(c, "function", "name"); name == Tool {
		t.Calls = append(t.Calls, newCall(text(c, "id"), arguments, c, len(t.Others)))
	} else {
		t.Others = append(t.Others, Other{text(c, "id"), name, arguments})
	}
}

// chatMessage is a message of a reply as it stands in a request: what only replies have is
// left out.
func chatMessage(message []byte) []byte {
	out := object("role", "assistant")
	content := at(message, "content")
	if content == nil {
		content = []byte("null")
	}
	out = set(out, content, "content")
	for _, name := range reasonings {
		if v := at(message, name); !absent(v) {
			out = set(out, v, name)
		}
	}
	if calls := elements(message, "tool_calls"); len(calls) > 0 { // an empty list is refused
		out = set(out, array(calls...), "tool_calls")
	}
	return out
}

// reasonings are the members in which vendors put what the model thinks, and want it back.
var reasonings = []string{"reasoning_content", "reasoning", "reasoning_details"}

func (chat) Reply(last []byte, before []*Turn, now *Turn) []byte {
	var calls [][]byte
	for _, c := range elements(last, "choices", 0, "message", "tool_calls") {
		if text(c, "function", "name") != Tool {
			calls = append(calls, c)
		}
	}
	if len(now.Calls) > 0 {
		if calls == nil {
			last = unset(last, "tool_calls", "choices", 0, "message")
		} else {
			last = set(last, array(calls...), "choices", 0, "message", "tool_calls")
		}
	}
	said := ""
	for _, s := range shown(before, now) {
		said = joined(said, text(s))
	}
	if said != "" {
		last = set(last, quote(said), "choices", 0, "message", "content")
	}
	if now.Alone() {
		last = set(last, quote("stop"), "choices", 0, "finish_reason")
	}
	last = plus(last, outputs(before), "usage", "completion_tokens")
	return plus(last, outputs(before), "usage", "total_tokens")
}

// joined puts what was said in another round behind a text, in a paragraph of its own:
// here a reply has one text only.
func joined(before, behind string) string { return before + seam(before, behind) + behind }

func seam(before, behind string) string {
	const space = " \t\r\n"
	if before == "" || behind == "" || strings.ContainsAny(before[len(before)-1:], space) || strings.ContainsAny(behind[:1], space) {
		return ""
	}
	return "\n\n"
}

func (chat) Result(c Call, text string) []byte {
	return object("role", "tool", "tool_call_id", c.ID, "content", text)
}

func (chat) asked(results [][]byte) [][]byte { return results }

func (chat) Stream() Filter { f := &chatFilter{}; f.Next(); return f }

// A chatFilter passes on a stream of chunks.
type chatFilter struct {
	round  int
	id     string // of the reply, in all rounds
	said   string // shown in the rounds before
	output int
	now    *Turn
	text   []byte
	other  map[string][]byte // reasoning by member
	calls  []*chatGrowing    // in order
	held   []Event
}

// A chatGrowing is a call that comes in pieces.
type chatGrowing struct {
	index     int
	place     int // the client's number; less than zero: it does not see it
	start     []byte
	arguments []byte
}

func (f *chatFilter) Next() {
	if f.now != nil {
		f.round++
		f.output += f.now.Output
		f.said = joined(f.said, string(f.text))
	}
	f.now, f.text, f.other, f.calls, f.held = &Turn{}, nil, make(map[string][]byte), nil, nil
}

func (f *chatFilter) Take(e Event) []Event {
	if string(bytes.TrimSpace(e.Data)) == "[DONE]" {
		return f.last(e)
	}
	if !readable(e.Data) {
		return []Event{e}
	}
	if n := number(e.Data, "usage", "completion_tokens"); n > 0 {
		f.now.Output = n
	}
	was := e.Data
	data := f.calling(was)
	delta := at(data, "choices", 0, "delta")
	data = f.words(data, delta)
	finish := text(data, "choices", 0, "finish_reason")
	if finish != "" {
		f.now.Ready = chatReady(finish)
		f.readCalls()
	}
	if f.round == 0 {
		f.id = text(data, "id")
	} else if f.id != "" && text(data, "id") != f.id {
		data = set(data, quote(f.id), "id")
	}
	if f.output > 0 {
		data = plus(plus(data, f.output, "usage", "completion_tokens"), f.output, "usage", "total_tokens")
	}
	if !bytes.Equal(data, was) {
		e = e.changed(data)
	}
	switch empty := f.empty(data); {
	case f.now.Alone() && (finish != "" || len(elements(data, "choices")) == 0):
		return f.ending(e, empty)
	case len(data) < len(was) && empty && finish == "":
		return nil // there was nothing in it but a call of the tool
	}
	return []Event{e}
}

// ending holds back the end of a round. What else is in that chunk passes.
func (f *chatFilter) ending(e Event, empty bool) []Event {
	f.held = append(f.held, e.changed(set(e.Data, []byte("{}"), "choices", 0, "delta")))
	if empty {
		return nil
	}
	return []Event{e.changed(set(e.Data, []byte("null"), "choices", 0, "finish_reason"))}
}

// empty reports whether a chunk says nothing.
func (f *chatFilter) empty(data []byte) bool {
	delta := at(data, "choices", 0, "delta")
	for _, name := range append([]string{"content", "refusal"}, reasonings...) {
		if v := at(delta, name); !absent(v) && string(v) != `""` {
			return false
		}
	}
	return len(elements(delta, "tool_calls")) == 0 && absent(at(delta, "function_call")) && (f.round > 0 || absent(at(delta, "role")))
}

// words keeps what a chunk says, and begins a new paragraph where a round does.
func (f *chatFilter) words(data, delta []byte) []byte {
	for _, name := range reasonings {
		switch v := at(delta, name); {
		case absent(v):
		case v[0] == '"':
			f.other[name] = append(f.other[name], text(v)...)
		case v[0] == '[':
			f.other[name] = append(f.other[name], appendList(f.other[name], v)...)
		}
	}
	piece := text(delta, "content")
	if piece == "" {
		return data
	}
	gap := ""
	if len(f.text) == 0 {
		gap = seam(f.said, piece)
	}
	f.text = append(f.text, piece...)
	if gap == "" {
		return data
	}
	return set(data, quote(gap+piece), "choices", 0, "delta", "content")
}

// appendList is what elements of a list add to the elements that are there.
func appendList(to, list []byte) []byte {
	inner := bytes.Join(elements(list), []byte{','})
	if len(to) > 0 && len(inner) > 0 {
		return append([]byte{','}, inner...)
	}
	return inner
}

// calling takes the pieces of calls out of a chunk that belong to the tool.
func (f *chatFilter) calling(data []byte) []byte {
	pieces := elements(data, "choices", 0, "delta", "tool_calls")
	if len(pieces) == 0 {
		return data
	}
	var kept [][]byte
	same := true
	for i, p := range pieces {
		c := f.call(p, i)
		c.arguments = append(c.arguments, text(p, "function", "arguments")...)
		if c.place < 0 {
			same = false
			continue
		}
		if at(p, "index") != nil && number(p, "index") != c.place {
			p, same = Event{Data: p}.numbered(c.place, "index").Data, false
		}
		kept = append(kept, p)
	}
	switch {
	case same:
		return data
	case kept == nil:
		return unset(data, "tool_calls", "choices", 0, "delta")
	}
	return set(data, array(kept...), "choices", 0, "delta", "tool_calls")
}

// call finds the call that a piece belongs to, or begins it.
func (f *chatFilter) call(p []byte, i int) *chatGrowing {
	index := i
	if at(p, "index") != nil {
		index = number(p, "index")
	}
	name := text(p, "function", "name")
	for _, c := range f.calls {
		// Some vendors give every call the same number, and each begins with its name.
		if c.index == index && (name == "" || text(p, "id") == "" || text(p, "id") == text(c.start, "id")) {
			return c
		}
	}
	c := &chatGrowing{index: index, place: -1, start: p}
	if name != Tool {
		c.place = index
		for _, other := range f.calls {
			if other.place < 0 && other.index < index {
				c.place--
			}
		}
	}
	f.calls = append(f.calls, c)
	return c
}

// readCalls reads the calls when all of them are there.
func (f *chatFilter) readCalls() {
	f.now.Calls, f.now.Others = nil, nil
	for _, c := range f.calls {
		f.now.chatCall(c.finish())
	}
}

func (c *chatGrowing) finish() []byte {
	return set(unset(c.start, "index"), quote(string(c.arguments)), "function", "arguments")
}

func (f *chatFilter) last(e Event) []Event {
	if f.now.Alone() {
		f.held = append(f.held, e)
		return nil
	}
	return []Event{e}
}

func (f *chatFilter) Turn() *Turn {
	m := object("content", []byte("null"))
	if len(f.text) > 0 {
		m = object("content", string(f.text))
		f.now.Shown = [][]byte{quote(string(f.text))}
	}
	for _, name := range reasonings {
		switch v := f.other[name]; {
		case len(v) == 0:
		case name == "reasoning_details":
			m = set(m, append(append([]byte{'['}, v...), ']'), name)
		default:
			m = set(m, quote(string(v)), name)
		}
	}
	var calls [][]byte
	for _, c := range f.calls {
		calls = append(calls, c.finish())
	}
	f.now.Said = [][]byte{chatMessage(set(m, array(calls...), "tool_calls"))}
	return f.now
}

func (f *chatFilter) Close() []Event {
	for i, e := range f.held {
		if at(e.Data, "choices", 0, "finish_reason") != nil && readable(e.Data) {
			f.held[i] = e.changed(set(e.Data, quote("stop"), "choices", 0, "finish_reason"))
		}
	}
	return f.held
}
