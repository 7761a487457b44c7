package reply

import (
	"bytes"

	"github.com/pare-llm/pare/internal/jsonedit"
)

// chat is the Chat Completions API.
type chat struct{}

// reasoningMembers are the members in which vendors return the model's reasoning and expect it
// in the next request.
var reasoningMembers = []string{"reasoning_content", "reasoning", "reasoning_details"}

func (chat) readWhole(reply []byte) [][]byte {
	if len(jsonedit.Elements(reply, "choices")) != 1 {
		return nil
	}
	return chatMessage(jsonedit.Get(reply, "choices", 0, "message"))
}

// chatMessage returns a message of a reply as a request contains it. Members that only replies
// have are left out. It returns nil for a message without a text and without calls.
func chatMessage(m []byte) [][]byte {
	calls := jsonedit.Elements(m, "tool_calls")
	if jsonedit.TextAt(m, "content") == "" && len(calls) == 0 {
		return nil
	}
	content := jsonedit.Get(m, "content")
	if content == nil {
		content = []byte("null")
	}
	out := jsonedit.New("role", "assistant", "content", content)
	for _, name := range reasoningMembers {
		if v := jsonedit.Get(m, name); !isNull(v) {
			out = jsonedit.Put(out, v, name)
		}
	}
	if len(calls) > 0 { // the API rejects an empty list
		out = jsonedit.Put(out, jsonedit.List(calls...), "tool_calls")
	}
	return [][]byte{out}
}

// A chatCall is a call that arrives in pieces.
type chatCall struct {
	index     int
	start     []byte
	arguments []byte
}

func (chat) readEvents(events []event) [][]byte {
	var text []byte
	var calls []*chatCall
	reasoning := make(map[string][]byte) // by member
	for _, e := range events {
		delta := jsonedit.Get(e.data, "choices", 0, "delta")
		text = append(text, jsonedit.TextAt(delta, "content")...)
		for _, name := range reasoningMembers {
			reasoning[name] = appendReasoning(reasoning[name], jsonedit.Get(delta, name))
		}
		for i, piece := range jsonedit.Elements(delta, "tool_calls") {
			calls = appendCallPiece(calls, piece, i)
		}
	}
	m := jsonedit.New("content", []byte("null"))
	if len(text) > 0 {
		m = jsonedit.New("content", string(text))
	}
	for _, name := range reasoningMembers {
		switch r := reasoning[name]; {
		case len(r) == 0:
		case name == "reasoning_details":
			m = jsonedit.Put(m, append(append([]byte{'['}, r...), ']'), name)
		default:
			m = jsonedit.Put(m, jsonedit.Quote(string(r)), name)
		}
	}
	var done [][]byte
	for _, c := range calls {
		call := jsonedit.Cut(c.start, "index")
		done = append(done, jsonedit.Put(call, jsonedit.Quote(string(c.arguments)), "function", "arguments"))
	}
	return chatMessage(jsonedit.Put(m, jsonedit.List(done...), "tool_calls"))
}

// appendReasoning appends a piece of reasoning: a string, decoded, or the elements of a list.
func appendReasoning(to, piece []byte) []byte {
	switch {
	case isNull(piece):
	case piece[0] == '"':
		return append(to, jsonedit.TextAt(piece)...)
	case piece[0] == '[':
		elements := bytes.Join(jsonedit.Elements(piece), []byte{','})
		if len(to) > 0 && len(elements) > 0 {
			to = append(to, ',')
		}
		return append(to, elements...)
	}
	return to
}

// appendCallPiece appends a piece to the call with its index, or appends a new call. Some vendors
// give every call index 0; there, each call begins with a name and an id.
func appendCallPiece(calls []*chatCall, piece []byte, position int) []*chatCall {
	index := position
	if jsonedit.Get(piece, "index") != nil {
		index = jsonedit.NumberAt(piece, "index")
	}
	name, id := jsonedit.TextAt(piece, "function", "name"), jsonedit.TextAt(piece, "id")
	arguments := jsonedit.TextAt(piece, "function", "arguments")
	for _, c := range calls {
		isSameCall := name == "" || id == "" || id == jsonedit.TextAt(c.start, "id")
		if c.index == index && isSameCall {
			c.arguments = append(c.arguments, arguments...)
			return calls
		}
	}
	return append(calls, &chatCall{index, piece, []byte(arguments)})
}
