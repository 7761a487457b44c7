package agentlog

import (
	"bytes"
	"strings"

	"github.com/pare-llm/pare/internal/jsonspan"
)

// A ccReader reads the lines of Claude Code, each in one pass: it checks that a line is JSON and
// picks what an entry holds of it on the way.
type claudeReader struct {
	scanner          *jsonspan.Scanner
	line             []byte
	hasLoneSurrogate bool        // a string holds half of a surrogate pair
	previous         claudeEntry // the line before, which this one says much like
	message          claudeMessage
}

// A ccMessage is what counts of a line's message.
type claudeMessage struct {
	id, model, role string
	at, content     jsonspan.Span // in the line; no bytes: missing
	hasMembers      bool          // it has members
	blocks          []claudeBlock
}

// A ccBlock is what counts of a block of a message's list.
type claudeBlock struct {
	kind, id, resultOf string
	hasText            bool // a text that is not blank
}

// text reads the next value and returns what it says, if it is a string. Many lines say the same:
// what is like one of these is not copied.
func (r *claudeReader) text(likes ...string) string {
	kind, at := r.scanner.Value()
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
func (r *claudeReader) isTrue() bool {
	at := r.scanner.Skip()
	return string(r.line[at.Start:at.End]) == "true"
}

// read reads the object that a line is; false: it is none, or not the only thing there.
func (r *claudeReader) read(line []byte) (e claudeEntry, at jsonspan.Span, ok bool) {
	r.line, r.message = line, claudeMessage{blocks: r.message.blocks[:0]}
	r.scanner.Reset(line, jsonspan.Strict)
	if r.scanner.Peek() != jsonspan.Object {
		return e, at, false
	}
	at.Start = r.scanner.Offset()
	var leaf string
	var explicit bool
	r.scanner.Enter()
	for key, ok := r.scanner.Key(); ok; key, ok = r.scanner.Key() {
		switch string(line[key.Start:key.End]) {
		case "type":
			e.kind = r.text("user", "assistant", r.previous.kind)
		case "subtype":
			e.subtype = r.text("compact_boundary")
		case "uuid":
			e.uuid = r.text()
		case "parentUuid":
			e.parent = r.text(r.previous.uuid)
		case "agentId":
			e.agent = r.text(r.previous.agent)
		case "timestamp":
			e.timestamp = r.text()
		case "isSidechain":
			e.isSide = r.isTrue()
		case "sessionId":
			e.session = r.text(r.previous.session)
		case "leafUuid":
			leaf = r.text()
		case "explicit":
			explicit = r.isTrue()
		case "message":
			r.readMessage()
		default:
			r.scanner.Skip()
		}
	}
	at.End = r.scanner.Offset()
	if r.scanner.End(); r.scanner.Failed() {
		return e, at, false
	}
	for _, f := range r.scanner.Flaws() {
		r.hasLoneSurrogate = r.hasLoneSurrogate || f.Kind == jsonspan.LoneSurrogate
	}
	if e.inTree = e.uuid != ""; e.kind == "last-prompt" {
		e.leafUUID, e.isExplicit = leaf, explicit
	}
	r.fillMessage(&e)
	r.previous = e
	return e, at, true
}

// readMessage reads the message of a line; the last one counts.
func (r *claudeReader) readMessage() {
	m := &r.message
	*m = claudeMessage{blocks: m.blocks[:0]}
	if r.scanner.Peek() != jsonspan.Object {
		m.at = r.scanner.Skip()
		return
	}
	m.at.Start = r.scanner.Offset()
	r.scanner.Enter()
	for key, ok := r.scanner.Key(); ok; key, ok = r.scanner.Key() {
		m.hasMembers = true
		switch string(r.line[key.Start:key.End]) {
		case "id":
			m.id = r.text(r.previous.id)
		case "model":
			m.model = r.text(r.previous.model)
		case "role":
			m.role = r.text("user", "assistant")
		case "content":
			m.blocks = m.blocks[:0]
			if r.scanner.Peek() == jsonspan.Array {
				m.content.Start = r.scanner.Offset()
				r.readBlocks()
				m.content.End = r.scanner.Offset()
			} else {
				m.content = r.scanner.Skip()
			}
		default:
			r.scanner.Skip()
		}
	}
	m.at.End = r.scanner.Offset()
}

// readBlocks reads the list of blocks of a message.
func (r *claudeReader) readBlocks() {
	r.scanner.Enter()
	for r.scanner.Element() {
		var b claudeBlock
		if r.scanner.Peek() != jsonspan.Object {
			r.scanner.Skip()
		} else {
			r.scanner.Enter()
			for key, ok := r.scanner.Key(); ok; key, ok = r.scanner.Key() {
				switch string(r.line[key.Start:key.End]) {
				case "type":
					b.kind = r.text("tool_use", "tool_result", "text", "thinking")
				case "id":
					b.id = r.text()
				case "tool_use_id":
					b.resultOf = r.text()
				case "text":
					b.hasText = r.readHasText()
				default:
					r.scanner.Skip()
				}
			}
		}
		r.message.blocks = append(r.message.blocks, b)
	}
}

// says reads the next value and reports whether it is a string of more than white space.
func (r *claudeReader) readHasText() bool {
	kind, at := r.scanner.Value()
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
func (r *claudeReader) fillMessage(e *claudeEntry) {
	m := &r.message
	if e.kind != "user" && e.kind != "assistant" {
		return
	}
	e.isMessage, e.id, e.model = m.hasMembers, m.id, m.model
	e.isAssistant = e.kind == "assistant"
	if m.content.Len() == 0 || m.role != "assistant" && m.role != "user" || r.line[m.content.Start] != '"' && r.line[m.content.Start] != '[' {
		return
	}
	e.message, e.content, e.isAssistant = m.at, m.content, m.role == "assistant"
	if r.line[m.content.Start] == '"' {
		e.hasNonResult = true
		return
	}
	blank := true
	for _, b := range m.blocks {
		switch b.kind {
		case "tool_use":
			e.calls = append(e.calls, b.id)
		case "tool_result":
			e.results = append(e.results, b.resultOf)
		}
		e.hasNonResult = e.hasNonResult || b.kind != "tool_result"
		blank = blank && b.kind == "text" && !b.hasText
	}
	e.isBlank = blank && e.isAssistant && e.hasNonResult
}

// readClaude cuts a file of Claude Code into units and says what each holds.
func (l *Log) readClaude() []claudeEntry {
	r := claudeReader{scanner: jsonspan.Borrow(nil, jsonspan.Strict)}
	defer r.scanner.Return()
	n := min(bytes.Count(l.raw, []byte{'\n'})+1, len(l.raw)/16+1) // more are no objects worth the room
	es := make([]claudeEntry, 0, n)
	l.units = make([]unit, 0, n)
	line := 0
	for at, end := range lines(l.raw) {
		line++
		if e, span, ok := r.read(l.raw[at:end]); ok {
			es = append(es, e.shifted(at))
			l.units = append(l.units, unit{jsonspan.Span{Start: at + span.Start, End: at + span.End}, line, true})
			continue
		}
		l.readLine(at, end, line)
		for _, u := range l.units[len(es):] {
			e, _, _ := r.read(l.raw[u.span.Start:u.span.End])
			es = append(es, e.shifted(u.span.Start))
		}
	}
	l.readEnd(line)
	l.hasValidStrings = !r.hasLoneSurrogate
	return es
}

// moved is the entry of a line that begins at an offset of the file.
func (e claudeEntry) shifted(by int) claudeEntry {
	for _, at := range []*jsonspan.Span{&e.message, &e.content} {
		if at.Len() > 0 {
			at.Start, at.End = at.Start+by, at.End+by
		}
	}
	return e
}
