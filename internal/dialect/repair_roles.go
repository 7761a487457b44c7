package dialect

import (
	"slices"
	"strings"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/internal/wording"
	"github.com/pare-llm/pare/transcript"
)

// roleRepairs repair the order of roles.
var roleRepairs = map[fault]repairFunc{
	lastRole:           (*repairer).goOn,
	lastRoleThinking:   (*repairer).goOn,
	firstRole:          (*repairer).begin,
	firstCall:          (*repairer).begin,
	loneMessage:        (*repairer).begin,
	nobodySpeaks:       (*repairer).begin,
	roleRepeats:        (*repairer).mergeUp,
	roleOrder:          (*repairer).asUser,
	systemLater:        (*repairer).asUser,
	systemUnsupported:  (*repairer).asUser,
	systemFirst:        (*repairer).asUser,
	systemPlacement:    (*repairer).slide,
	userAfterTool:      (*repairer).bridge,
	contentBesideCalls: (*repairer).textBefore,
	unknownRole:        (*repairer).mapRole,
	roleMissing:        (*repairer).guessRole,
	turnList:           (*repairer).asSteps,
}

// goOn adds a minimal turn of the user, so that the model has something to answer.
func (m *repairer) goOn(f *Finding) {
	n := len(m.t.Messages())
	if slices.ContainsFunc(m.t.Exchanges(), func(x transcript.Exchange) bool { return x.State == transcript.Open && !x.Server }) {
		return // the stub will end it; what the provider runs gets none
	}
	last := m.t.Messages()[n-1].Role
	if last == transcript.System && m.strict {
		return // the user will say it, for those who let the system begin only
	}
	raw := m.g.textMessage(transcript.User, wording.GoOn)
	m.insertMessage(n, raw, m.fresh())
	m.log(f, ActionInsert, transcript.NoBlock, f.Index, len(raw), "the history ended with the %s: %s", last, wording.GoOn)
}

// begin puts a minimal turn of the user in front.
func (m *repairer) begin(f *Finding) {
	at := 0
	for at < len(m.t.Messages()) && m.t.Messages()[at].Role == transcript.System {
		at++
	}
	raw := m.g.textMessage(transcript.User, wording.Beginning)
	m.insertMessage(at, raw, m.fresh())
	why := "the history began with the assistant"
	if f.fault == nobodySpeaks {
		why = "nobody speaks to the model in this history"
	}
	m.log(f, ActionInsert, transcript.NoBlock, f.Index, len(raw), "%s: %s", why, wording.Beginning)
}

// mergeUp merges a message into the one of the same role before it.
func (m *repairer) mergeUp(f *Finding) {
	i := f.Index
	up := i - 1
	for up >= 0 && m.t.Messages()[up].Role == transcript.System {
		up--
	}
	if up < 0 || !m.untouched(up) || !m.untouched(i) || m.t.Messages()[up].Role != m.t.Messages()[i].Role || m.speaker(up) != m.speaker(i) {
		return
	}
	gone, stays := i, up
	var done bool
	switch {
	case m.g.nested:
		done = m.mergeLists(up, i)
	case m.extra[i]&hasCalls != 0: // calls stay where their results are looked for
		gone, stays = up, i
		done = m.mergeChat(up, i, i)
	default:
		done = m.mergeChat(up, i, up)
	}
	if done {
		m.join(atMessage(stays), atMessage(gone))
		for b := m.t.Messages()[gone].First; b < m.t.Messages()[gone].End; b++ {
			if m.where[b].in == inMember && m.t.Block(b).Kind == transcript.Thinking {
				m.log(f, ActionDrop, b, gone, -m.t.Block(b).Span.Len(), "reasoning of a message that is joined to another")
			}
		}
		m.dropMessage(gone)
		m.taken[stays] = true
		m.log(f, ActionMerge, transcript.NoBlock, gone, 0, "two messages of one role in a row, joined")
	}
}

// speaker is the type of a message, if that is a name of somebody who speaks.
func (m *repairer) speaker(i int) string {
	t := m.text(m.t.Messages()[i].Span, "type")
	if !speakerTypes[strings.ToLower(t)] {
		return ""
	}
	return t
}

// mergeLists moves the blocks of message i behind those of up.
func (m *repairer) mergeLists(up, i int) bool {
	if !m.listable(up) || !m.listable(i) || m.text(m.t.Messages()[up].Span, "role") != m.text(m.t.Messages()[i].Span, "role") {
		return false
	}
	l := m.listOf(up, m.g.blocks)
	msg := m.t.Messages()[i]
	for b := msg.First; b < msg.End; b++ {
		raw := m.t.Bytes(m.t.Block(b).Span)
		if m.where[b].in == inString {
			raw = m.g.textBlock(transcript.User, raw)
		}
		l.insert(len(l.elems), item{raw: raw, from: m.at(b)})
	}
	return true
}

// mergeChat joins what two messages of the chat API say in one of them. A refusal of the other becomes a
// text; a recording cannot be moved.
func (m *repairer) mergeChat(up, i, into int) bool {
	if m.extra[up]&hasCalls != 0 {
		return false
	}
	gone := up + i - into
	var values [][]byte
	var from []origin
	moved := 0 // how much of it is the other's
	for _, at := range []int{up, i} {
		before := len(values)
		if s := m.frame[at].content; s.Len() > 0 && m.raw[s.Start] != 'n' {
			values, from = append(values, m.t.Bytes(s)), append(from, m.contentOrigins(at)...)
		}
		msg := m.t.Messages()[at]
		for b := msg.First; b < msg.End && at == gone; b++ {
			switch blk := m.t.Block(b); {
			case m.where[b].in != inMember || blk.Kind == transcript.Thinking:
			case blk.Kind == transcript.Text && m.raw[blk.Span.Start] == '"':
				values, from = append(values, m.t.Bytes(blk.Span)), append(from, m.at(b))
			default:
				return false
			}
		}
		if at == gone {
			moved = len(values) - before
		}
	}
	if moved == 0 {
		return false
	}
	joined, whole := joinContents(values)
	if whole {
		for _, o := range from[1:] {
			m.join(from[0], o)
		}
		from = from[:1]
	}
	m.written(into, from)
	return m.setMember(m.t.Messages()[into].Span, "content", joined)
}

// joinContents joins contents of the chat API: strings to a string, which is whole then, and lists and
// strings to a list.
func joinContents(values [][]byte) (joined []byte, whole bool) {
	if !slices.ContainsFunc(values, func(v []byte) bool { return v[0] != '"' }) {
		return joinStrings(closeQuotations(values), paragraph), true
	}
	var parts [][]byte
	for _, v := range values {
		if v[0] == '"' {
			parts = append(parts, object("type", "text", "text", v))
			continue
		}
		for _, e := range jsonspan.Elements(v, jsonspan.Span{End: len(v)}) {
			parts = append(parts, v[e.Start:e.End])
		}
	}
	return array(parts...), false
}

// asUser lets the user say what the system may not say here, marked as such.
func (m *repairer) asUser(f *Finding) {
	ms := m.t.Messages()
	end := f.Index + 1
	if f.fault == systemUnsupported { // found once for all messages of a turn
		for end < len(ms) && ms[end].Turn == ms[f.Index].Turn && ms[end].Role == transcript.System {
			end++
		}
	}
	for i := f.Index; i < end; i++ {
		each := *f
		each.Index = i
		m.remind(&each)
	}
}

// remind makes a reminder in the user's turn of a message of the system.
func (m *repairer) remind(f *Finding) {
	i := f.Index
	if !m.untouched(i) || m.changesTools(i) && m.anchor(f) {
		return
	}
	text := allText(m.raw, m.frame[i].content, 0)
	for b := m.t.Messages()[i].First; b < m.t.Messages()[i].End; b++ {
		if m.where[b].in == inMember {
			text += "\n" + allText(m.raw, m.t.Block(b).Span, 0)
			m.join(atMessage(i), m.at(b))
		}
	}
	text = "<system-reminder>\n" + text + "\n</system-reminder>"
	m.dropMessage(i)
	m.insertMessage(i, m.g.textMessage(transcript.User, text), m.fresh(), atMessage(i))
	m.log(f, ActionEdit, transcript.NoBlock, i, 0, "a system message that may not stand here becomes a reminder in the user's turn")
}

// slide moves a system message behind the user's turn that follows, where the API
// takes it; where none follows it becomes a reminder.
func (m *repairer) slide(f *Finding) {
	ms := m.t.Messages()
	from := f.Index
	end := from
	for end < len(ms) && ms[end].Role == transcript.System {
		end++
	}
	to := end
	for to < len(ms) && ms[to].Role == transcript.User {
		to++
	}
	if to == end {
		m.asUser(f)
		return
	}
	for i := from; i < end; i++ {
		if !m.untouched(i) {
			return
		}
	}
	for i := from; i < end; i++ {
		raw := m.t.Bytes(ms[i].Span)
		m.dropMessage(i)
		m.insertMessage(to, raw, atMessage(i))
		m.log(f, ActionMove, transcript.NoBlock, i, 0, "a system message goes behind the user's turn")
	}
}

// bridge puts a short turn of the assistant between results and the user.
func (m *repairer) bridge(f *Finding) {
	raw := m.g.textMessage(transcript.Assistant, wording.Understood)
	m.insertMessage(f.Index, raw, m.fresh())
	m.log(f, ActionInsert, transcript.NoBlock, f.Index, len(raw), "the user may not speak right behind a result: %s", wording.Understood)
}

// textBefore lets the assistant say its text in a message of its own, in front of
// the one that calls.
func (m *repairer) textBefore(f *Finding) {
	content := m.frame[f.Index].content
	if !m.setMember(m.t.Messages()[f.Index].Span, "content", quote("")) {
		return
	}
	m.insertMessage(f.Index, object("role", "assistant", "content", m.t.Bytes(content)), m.fresh(), m.contentOrigins(f.Index)...)
	m.log(f, ActionMove, transcript.NoBlock, f.Index, 0, "the text stands in a message of its own in front of the calls")
}

// mapRole maps roles of other formats, and those that are spelled in another way.
func (m *repairer) mapRole(f *Finding) {
	to := m.g.roleMeant(f.arg)
	if to == "system" && m.g.role(to) == transcript.Unknown && m.holdsOnly(f.Index, transcript.Text) {
		m.remind(f)
		return
	}
	if to == "" || m.g.role(to) == transcript.Unknown || to == m.g.assistant && m.answersCalls(f.Index) {
		m.guessRole(f)
		return
	}
	if m.setMember(m.t.Messages()[f.Index].Span, "role", quote(to)) {
		m.log(f, ActionEdit, transcript.NoBlock, f.Index, len(to)-len(f.arg), "role %q is %q here", f.arg, to)
	}
}

// guessRole gives a message the only role it can have.
func (m *repairer) guessRole(f *Finding) {
	to := ""
	msg := m.t.Messages()[f.Index]
	if m.unknownMember(f.Index) != "" || m.hasOtherKind(msg.Span) {
		return // it may be said there who speaks
	}
	for b := msg.First; b < msg.End; b++ {
		switch k := m.t.Block(b).Kind; {
		case k == transcript.Call || k == transcript.ServerCall || k == transcript.Thinking && m.where[b].in != inMember:
			to = m.g.assistant
		case k == transcript.Result && m.g.nested && m.holdsOnly(f.Index, transcript.Result, transcript.Media): // whose anything else is, nobody knows
			to = "user"
		}
	}
	if m.extra[f.Index]&saysBeside != 0 {
		to = m.g.assistant // nobody else refuses, or has a recording of what it said
	}
	if m.namesCall(f.Index) {
		to = "tool"
	}
	if to != "" {
		m.swapRole(f, to)
	}
}

// hasOtherKind reports whether a message says what it is, and not that it is a message.
func (m *repairer) hasOtherKind(at transcript.Span) bool {
	for _, name := range []string{"type", "kind"} {
		if v, ok := m.member(at, name); ok && m.raw[v.Start] == '"' && m.text(at, name) != "message" {
			return true
		}
	}
	return false
}

// namesCall reports whether a message has the member that a tool's has: which call it answers.
func (m *repairer) namesCall(i int) bool {
	_, ok := m.member(m.t.Messages()[i].Span, m.g.resultMember)
	return ok && m.g.resultMember != ""
}

// answersCalls reports whether a message holds nothing but results, whatever its role says.
func (m *repairer) answersCalls(i int) bool {
	return m.holdsOnly(i, transcript.Result) || m.holdsOnly(i, transcript.Text) && m.namesCall(i)
}

// holdsOnly reports whether all blocks of a message are of these kinds.
func (m *repairer) holdsOnly(i int, kinds ...transcript.Kind) bool {
	msg := m.t.Messages()[i]
	for b := msg.First; b < msg.End; b++ {
		if !slices.Contains(kinds, m.t.Block(b).Kind) {
			return false
		}
	}
	return msg.First < msg.End
}

// wordsBeside reports whether a message holds words outside of its blocks.
func (m *repairer) wordsBeside(i int) bool {
	msg := m.t.Messages()[i]
	b := msg.First
	for s := newStrings(m.raw, msg.Span); s.next(); {
		for b < msg.End && m.t.Block(b).Span.End <= s.at.Start {
			b++
		}
		if (b == msg.End || s.at.Start < m.t.Block(b).Span.Start) && !s.wordless(true) {
			return true
		}
	}
	return false
}

// swapRole gives a message another role.
func (m *repairer) swapRole(f *Finding, to string) {
	if (to == "user" || m.t.Messages()[f.Index].Role == transcript.User) && m.wordsBeside(f.Index) {
		return // those would be said by somebody else then
	}
	if m.setMember(m.t.Messages()[f.Index].Span, "role", quote(to)) {
		m.taken[f.Index] = true
		m.log(f, ActionEdit, transcript.NoBlock, f.Index, 0, "only %q can say this", to)
	}
}
