package dialect

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/internal/wording"
	"github.com/pare-llm/pare/transcript"
)

// changesTools reports whether a message of the system adds or removes tools: that cannot be
// said in words.
func (m *repairer) changesTools(i int) bool {
	if m.retools == nil {
		m.retools = make(map[int]bool)
		for _, n := range m.notes {
			if n.fault == toolDefined || n.fault == toolChangeUnknown {
				m.retools[int(n.message)] = true
			}
		}
	}
	return m.retools[i]
}

// anchor lets a message of the system that changes tools stay one: where somebody has to
// speak in front of it, a short turn of the user is put there; where the model takes no
// such messages, the definitions go to the tools of the head. Where the user speaks already, it
// is what follows that has to change.
func (m *repairer) anchor(f *Finding) bool {
	if f.fault == systemUnsupported {
		return m.hoistTools(f)
	}
	if f.Index > 0 && m.t.Messages()[f.Index-1].Role == transcript.User {
		return true
	}
	raw := m.g.textMessage(transcript.User, wording.GoOn)
	if f.Index == 0 {
		raw = m.g.textMessage(transcript.User, wording.Beginning)
	}
	m.insertMessage(f.Index, raw, m.fresh())
	m.log(f, ActionInsert, transcript.NoBlock, f.Index, len(raw), "a message of the system that changes tools follows the user")
	return true
}

// A definition of a tool, and the block that has it.
type definition struct {
	raw []byte
	by  transcript.BlockID
}

// hoistTools declares the tools that a message of the system defines in the head, and lets
// the user say what it says; its other changes go.
func (m *repairer) hoistTools(f *Finding) bool {
	tools := m.bodyList("tools")
	if tools == nil {
		return false
	}
	msg := m.t.Messages()[f.Index]
	if m.strict && len(m.halvesIn(msg.Span)) > 0 {
		return true // in the next round, when they are repaired where they stand
	}
	var texts []string
	var from []origin
	var gone []transcript.BlockID
	defines := make(map[string]definition)
	way := []string{"tool", "definition"}
	for b := msg.First; b < msg.End; b++ {
		blk := m.t.Block(b)
		def, ok := blk.Span, true
		for _, name := range way {
			if ok = ok && m.raw[def.Start] == '{'; ok {
				def, ok = m.member(def, name)
			}
		}
		switch {
		case blk.Kind == transcript.Text:
			texts, from = append(texts, allText(m.raw, blk.Span, 1)), append(from, m.at(b))
		case ok && m.raw[def.Start] == '{' && !m.head.tools[blk.Tool] && !m.hoisted[blk.Tool]:
			if earlier, ok := defines[blk.Tool]; ok { // the last one counts
				gone = append(gone, earlier.by)
			}
			defines[blk.Tool] = definition{m.t.Bytes(def), b}
		default:
			gone = append(gone, b)
		}
	}
	if m.hoisted == nil {
		m.hoisted = make(map[string]bool)
	}
	defined := slices.SortedFunc(maps.Values(defines), func(a, b definition) int { return cmp.Compare(a.by, b.by) })
	for _, d := range defined {
		tools.insert(len(tools.elems), item{raw: d.raw})
		m.hoisted[m.t.Block(d.by).Tool] = true
	}
	m.dropMessage(f.Index)
	m.log(f, ActionMove, transcript.NoBlock, f.Index, 0, "the model takes no such message; what it defines is declared in tools")
	for _, b := range gone {
		m.log(f, ActionDrop, b, f.Index, -m.t.Block(b).Span.Len(), "the model takes no changes of tools in mid-conversation")
	}
	for _, d := range defined {
		m.logBeside(f, d.by, way)
	}
	if len(texts) > 0 {
		text := "<system-reminder>\n" + strings.Join(texts, "\n") + "\n</system-reminder>"
		m.insertMessage(f.Index, m.g.textMessage(transcript.User, text), m.fresh(), from[0])
		for _, o := range from[1:] {
			m.join(from[0], o)
		}
	}
	return true
}

// wrongCall gives a call to the assistant: the whole message if nobody else can say any of
// it, the calls alone where they are a member of their own. Else the call goes.
func (m *repairer) wrongCall(f *Finding) {
	i := f.Index
	in := m.where[f.Block].in
	switch {
	case !m.untouched(i):
	case m.holdsOnly(i, transcript.Call, transcript.ServerCall, transcript.Thinking) && !m.saysBesideCalls(i):
		m.swapRole(f, m.g.assistant)
	case in == inCalls:
		m.moveCalls(f, in, "tool_calls")
	case in == inFunction:
		m.moveCalls(f, in, "function_call")
	default:
		m.dropFound(f) // what answers it is a result without a call then, and is kept as one
	}
}

// saysBesideCalls reports whether a message has reasoning in a member of its own, or words in that of a
// call, beside what it is called with.
func (m *repairer) saysBesideCalls(i int) bool {
	msg := m.t.Messages()[i]
	w := wordsOf(m.raw, jsonspan.Span(msg.Span), jsonspan.Span(m.frame[i].content))
	if slices.ContainsFunc(w.keys, func(k string) bool { return reasoningMembers[k] }) {
		return true
	}
	for b := msg.First; b < msg.End; b++ {
		if m.where[b].in == inMember {
			return true
		}
		blk := m.t.Block(b)
		if blk.Kind != transcript.Call {
			continue
		}
		for s := newStrings(m.raw, blk.Span); s.next(); {
			inside := blk.Body != blk.Span && blk.Body.Start-1 <= s.at.Start && s.at.Start < blk.Body.End
			if !inside && !pairNames[s.top()] && !s.wordless(true) {
				return true
			}
		}
	}
	return false
}

// moveCalls moves the member that holds calls to a message of the assistant, behind; if there
// are copies of it, all of them.
func (m *repairer) moveCalls(f *Finding, in container, member string) {
	var from []origin
	msg := m.t.Messages()[f.Index]
	for b := msg.First; b < msg.End; b++ {
		if m.where[b].in == in {
			from = append(from, m.at(b))
		}
	}
	moved := []any{"role", m.g.assistant, "content", []byte("null")}
	for _, e := range jsonspan.Members(m.raw, jsonspan.Span(msg.Span)) {
		if jsonspan.Says(m.raw, e.Key, member) {
			moved = append(moved, member, m.raw[e.Value.Start:e.Value.End])
		}
	}
	if m.removeMember(msg.Span, member) {
		m.taken[f.Index] = true
		m.messages.insert(f.Index+1, item{raw: object(moved...), from: m.fresh(), inner: from, calls: in})
		m.log(f, ActionMove, f.Block, f.Index, 0, "the calls stand in a message of the assistant")
	}
}

// wrongResult gives a message that holds nothing but answers to calls to the user. Other
// results in the assistant's mouth are strays.
func (m *repairer) wrongResult(f *Finding) {
	x := m.t.Exchanges()[m.t.ExchangeOf(f.Block)]
	if x.Call == transcript.NoBlock || !m.g.nested || !m.untouched(f.Index) || !m.holdsOnly(f.Index, transcript.Result) {
		m.strayResult(f)
		return
	}
	m.swapRole(f, "user")
}
