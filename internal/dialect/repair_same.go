package dialect

import (
	"slices"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
)

// said is all that a result says, in one spelling: every member but those that only say which
// call it answers and how it is cached. Two results are copies if they agree in all of it.
func (m *repairer) said(r transcript.BlockID) string {
	said, known := m.spoken[r]
	if known {
		return said
	}
	var text []byte
	add := func(object transcript.Span, inner string) {
		members := jsonspan.Members(m.raw, jsonspan.Span(object))
		names := make(map[string][]byte, len(members))
		for _, e := range members { // of a name that stands twice, the last counts
			names[string(jsonspan.Decode(nil, m.raw[e.Key.Start:e.Key.End]))] = m.raw[e.Value.Start:e.Value.End]
		}
		for _, name := range sortedKeys(names) {
			if value := names[name]; name != inner && !slices.Contains(addresses, name) && !saysNothing(value) && !unremarkable(name, value) {
				text = append(append(append(append(text, name...), ':'), Canonical(value)...), ' ')
			}
		}
	}
	object, inner := m.pen.resultObject(m.draft, r)
	add(object, "")
	if whole := m.t.Block(r).Span; whole != object {
		add(whole, inner)
	}
	if m.spoken == nil {
		m.spoken = make(map[transcript.BlockID]string)
	}
	m.spoken[r] = string(text)
	return m.spoken[r]
}

// addresses are the members of a result that say which call it answers, or how it is cached.
var addresses = []string{"type", "role", "id", "tool_use_id", "toolUseId", "tool_call_id", "call_id", "approval_request_id", "cache_control"}

// unremarkable reports whether a member of a result says what is meant without it, too.
func unremarkable(name string, value []byte) bool {
	switch name {
	case "is_error", "willContinue", "will_continue":
		return string(value) == "false"
	case "status":
		return statusRank(value) == 0
	case "content", "output":
		return string(value) == `""`
	}
	return false
}

// differs reports whether two results say different things.
func (m *repairer) differs(a, b transcript.BlockID) bool { return m.said(a) != m.said(b) }

// sameCall reports whether two calls are the same but for white space.
func (m *repairer) sameCall(a, b transcript.BlockID) bool {
	return m.t.Block(a).Tool == m.t.Block(b).Tool && m.arguments(a) == m.arguments(b) && !m.doubled(a) && !m.doubled(b)
}

// arguments are those of a call in one spelling.
func (m *repairer) arguments(call transcript.BlockID) string {
	return m.spell(m.t.Block(call).Body, m.canonical)
}

// spelledAt is a value in one spelling.
func (m *repairer) spelledAt(at transcript.Span) string {
	return m.spell(at, func(at transcript.Span) string { return string(Canonical(m.t.Bytes(at))) })
}

func (m *repairer) spell(at transcript.Span, how func(transcript.Span) string) string {
	text, known := m.spelled[at]
	if !known {
		if m.spelled == nil {
			m.spelled = make(map[transcript.Span]string)
		}
		text = how(at)
		m.spelled[at] = text
	}
	return text
}

// elements are the items of what a block says.
func (m *repairer) elements(b transcript.BlockID) []jsonspan.Span {
	all, known := m.items[b]
	if !known {
		if m.items == nil {
			m.items = make(map[transcript.BlockID][]jsonspan.Span)
		}
		all = jsonspan.Elements(m.raw, jsonspan.Span(m.t.Block(b).Body))
		m.items[b] = all
	}
	return all
}
