package dialect

import (
	"strings"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
)

// Calls and results in the shape of another API are real all the same, and nobody reads them
// here: what they belong to cannot be told. They go if they are copies of what is read, and
// stay where they are otherwise, to be reported.

// dropForeign drops a part that the chat API does not have, unless it is a call or a result
// that stands nowhere else.
func (m *repairer) dropForeign(f *Finding) {
	at := m.t.Block(f.Block).Span
	switch f.arg {
	case "tool_use":
		if !m.makes(f.Index, m.text(at, "id")) {
			return
		}
		m.isCopyAt(f.Index, at)
	case "tool_result":
		return
	}
	m.dropFound(f)
}

// stripForeign removes a member that messages do not have, unless it holds calls that stand
// nowhere else, or names the one that the message answers.
func (m *repairer) stripForeign(f *Finding) {
	at := m.t.Messages()[f.Index].Span
	switch field := f.Path[strings.LastIndexByte(f.Path, '.')+1:]; field {
	case "tool_calls", "function_call":
		if m.callsIn(f.Index, field) {
			return
		}
		if calls, ok := m.member(at, field); ok && m.raw[calls.Start] != '"' {
			m.isCopyAt(f.Index, calls)
		}
	case "tool_call_id":
		if m.memberIs(at, "role", "tool") {
			return
		}
	}
	m.stripNamed(f)
}

// callsIn reports whether a member of a message holds calls, as the chat API has them, that
// the message does not make otherwise.
func (m *repairer) callsIn(i int, member string) bool {
	at, ok := m.member(m.t.Messages()[i].Span, member)
	if !ok {
		return false
	}
	calls := []jsonspan.Span{jsonspan.Span(at)}
	if m.raw[at.Start] == '[' {
		calls = jsonspan.Elements(m.raw, jsonspan.Span(at))
	}
	for _, c := range calls {
		switch m.raw[c.Start] {
		case '[', '"': // which is no call, but something
			return true
		case '{':
			if !m.makes(i, m.text(tspan(c), "id")) {
				return true
			}
		}
	}
	return false
}

// makes reports whether a message makes a call of this id, where it is read.
func (m *repairer) makes(i int, id string) bool {
	msg := m.t.Messages()[i]
	for b := msg.First; b < msg.End; b++ {
		if blk := m.t.Block(b); blk.Kind == transcript.Call && blk.CallID == id && id != "" {
			return true
		}
	}
	return false
}
