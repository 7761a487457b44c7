package agentlog

import (
	"bytes"
	"strings"

	"github.com/pare-llm/pare/internal/jsonspan"
)

// A ccReader reads the lines of Claude Code, each in one pass: it checks that a line is JSON and
// picks what an entry holds of it on the way.
type ccReader struct {
	s       *jsonspan.Scanner
	line    []byte
	lone    bool  // a string holds half of a surrogate pair
	last    entry // the line before, which this one says much like
	message ccMessage
}

// A ccMessage is what counts of a line's message.
type ccMessage struct {
	id, model, role string
	at, content     jsonspan.Span // in the line; no bytes: missing
	full            bool          // it has members
	blocks          []ccBlock
}

// A ccBlock is what counts of a block of a message's list.
type ccBlock struct {
	kind, id, of string
	says         bool // a text that is not blank
}

// text reads the next value and returns what it says, if it is a string. Many lines say the same:
// what is like one of these is not copied.
func (r *ccReader) text(likes ...string) string {
	kind, at := r.s.Value()
	if kind != jsonspan.String {
		return ""
	}
	said := r.line[at.Start:at.End]
	for _, like := range likes {
		if string(said) == like {
			return like
		}
	}
	if bytes.IndexByte(said, '\\') >= 0 {
		said = jsonspan.Decode(nil, said)
	}
	return string(said)
}

// isTrue reads the next value and reports whether it is true.
func (r *ccReader) isTrue() bool {
	at := r.s.Skip()
	return string(r.line[at.Start:at.End]) == "true"
}

// read reads the object that a line is; false: it is none, or not the only thing there.
func (r *ccReader) read(line []byte) (e entry, at jsonspan.Span, ok bool) {
	r.line, r.message = line, ccMessage{blocks: r.message.blocks[:0]}
	r.s.Reset(line, jsonspan.Strict)
	if r.s.Peek() != jsonspan.Object {
		return e, at, false
	}
	at.Start = r.s.Offset()
	var leaf string
	var explicit bool
	r.s.Enter()
	for key, ok := r.s.Key(); ok; key, ok = r.s.Key() {
		switch string(line[key.Start:key.End]) {
		case "type":
			e.kind = r.text("user", "assistant", r.last.kind)
		case "subtype":
			e.subtype = r.text("compact_boundary")
		case "uuid":
			e.uuid = r.text()
		case "parentUuid":
			e.parent = r.text(r.last.uuid)
		case "agentId":
			e.agent = r.text(r.last.agent)
		case "timestamp":
			e.stamp = r.text()
		case "isSidechain":
			e.side = r.isTrue()
		case "sessionId":
			e.session = r.text(r.last.session)
		case "leafUuid":
			leaf = r.text()
		case "explicit":
			explicit = r.isTrue()
		case "message":
			r.readMessage()
		default:
			r.s.Skip()
		}
	}
	at.End = r.s.Offset()
	if r.s.End(); r.s.Failed() {
		return e, at, false
	}
	for _, f := range r.s.Flaws() {
		r.lone = r.lone || f.Kind == jsonspan.LoneSurrogate
	}
	if e.linked = e.uuid != ""; e.kind == "last-prompt" {
		e.leaf, e.explicit = leaf, explicit
	}
	r.entry(&e)
	r.last = e
	return e, at, true
}

// readMessage reads the message of a line; the last one counts.
func (r *ccReader) readMessage() {
	m := &r.message
	*m = ccMessage{blocks: m.blocks[:0]}
	if r.s.Peek() != jsonspan.Object {
		m.at = r.s.Skip()
		return
	}
	m.at.Start = r.s.Offset()
	r.s.Enter()
	for key, ok := r.s.Key(); ok; key, ok = r.s.Key() {
		m.full = true
		switch string(r.line[key.Start:key.End]) {
		case "id":
			m.id = r.text(r.last.id)
		case "model":
			m.model = r.text(r.last.model)
		case "role":
			m.role = r.text("user", "assistant")
		case "content":
			m.blocks = m.blocks[:0]
			if r.s.Peek() == jsonspan.Array {
				m.content.Start = r.s.Offset()
				r.readBlocks()
				m.content.End = r.s.Offset()
			} else {
				m.content = r.s.Skip()
			}
		default:
			r.s.Skip()
		}
	}
	m.at.End = r.s.Offset()
}

// readBlocks reads the list of blocks of a message.
func (r *ccReader) readBlocks() {
	r.s.Enter()
	for r.s.Element() {
		var b ccBlock
		if r.s.Peek() != jsonspan.Object {
			r.s.Skip()
		} else {
			r.s.Enter()
			for key, ok := r.s.Key(); ok; key, ok = r.s.Key() {
				switch string(r.line[key.Start:key.End]) {
				case "type":
					b.kind = r.text("tool_use", "tool_result", "text", "thinking")
				case "id":
					b.id = r.text()
				case "tool_use_id":
					b.of = r.text()
				case "text":
					b.says = r.says()
				default:
					r.s.Skip()
				}
			}
		}
		r.message.blocks = append(r.message.blocks, b)
	}
}

// says reads the next value and reports whether it is a string of more than white space.
func (r *ccReader) says() bool {
	kind, at := r.s.Value()
	if kind != jsonspan.String || at.Len() == 0 {
		return false
	}
	said := r.line[at.Start:at.End]
	if c := said[0]; c > ' ' && c < 0x80 && c != '\\' {
		return true
	}
	return strings.TrimSpace(string(jsonspan.Decode(nil, said))) != ""
}

// entry adds what was found in the message of a line.
func (r *ccReader) entry(e *entry) {
	m := &r.message
	if e.kind != "user" && e.kind != "assistant" {
		return
	}
	e.counts, e.id, e.model = m.full, m.id, m.model
	e.assistant = e.kind == "assistant"
	if m.content.Len() == 0 || m.role != "assistant" && m.role != "user" || r.line[m.content.Start] != '"' && r.line[m.content.Start] != '[' {
		return
	}
	e.message, e.content, e.assistant = m.at, m.content, m.role == "assistant"
	if r.line[m.content.Start] == '"' {
		e.speaks = true
		return
	}
	blank := true
	for _, b := range m.blocks {
		switch b.kind {
		case "tool_use":
			e.calls = append(e.calls, b.id)
		case "tool_result":
			e.results = append(e.results, b.of)
		}
		e.speaks = e.speaks || b.kind != "tool_result"
		blank = blank && b.kind == "text" && !b.says
	}
	e.blank = blank && e.assistant && e.speaks
}

// readClaude cuts a file of Claude Code into units and says what each holds.
func (l *Log) readClaude() []entry {
	r := ccReader{s: jsonspan.Borrow(nil, jsonspan.Strict)}
	defer r.s.Return()
	n := min(bytes.Count(l.raw, []byte{'\n'})+1, len(l.raw)/16+1) // more are no objects worth the room
	es := make([]entry, 0, n)
	l.units = make([]unit, 0, n)
	line := 0
	for at, end := range lines(l.raw) {
		line++
		if e, span, ok := r.read(l.raw[at:end]); ok {
			es = append(es, e.moved(at))
			l.units = append(l.units, unit{jsonspan.Span{Start: at + span.Start, End: at + span.End}, line, true})
			continue
		}
		l.readLine(at, end, line)
		for _, u := range l.units[len(es):] {
			e, _, _ := r.read(l.raw[u.span.Start:u.span.End])
			es = append(es, e.moved(u.span.Start))
		}
	}
	l.readEnd(line)
	l.sound = !r.lone
	return es
}

// moved is the entry of a line that begins at an offset of the file.
func (e entry) moved(by int) entry {
	for _, at := range []*jsonspan.Span{&e.message, &e.content} {
		if at.Len() > 0 {
			at.Start, at.End = at.Start+by, at.End+by
		}
	}
	return e
}
