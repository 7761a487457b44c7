package agentlog

import (
	"bytes"
	"strings"

	"github.com/pare-llm/pare/internal/jsonspan"
)

// A claudeReader reads lines of Claude Code in one pass: it validates a line and extracts the
// members of its entry.
type claudeReader struct {
	scanner          *jsonspan.Scanner
	line             []byte
	hasLoneSurrogate bool        // a string contains half of a surrogate pair
	previous         claudeEntry // the previous line, which often has the same values
	message          claudeMessage
}

// A claudeMessage holds the members of a message.
type claudeMessage struct {
	id, model, role string
	at, content     jsonspan.Span // in the line; empty if missing
	hasMembers      bool          // has at least one member
	blocks          []claudeBlock
}

// A claudeBlock holds the members of a content block.
type claudeBlock struct {
	kind, id, resultOf string
	hasText            bool // is a text that is not blank
}

// text reads the next value and returns it if it is a string, else "". It returns one of likes
// without allocating if the value equals it.
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

// read reads a line. ok is false unless the line is exactly one object.
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

// readMessage reads the message of a line. The last member of that name counts.
func (r *claudeReader) readMessage() {
	message := &r.message
	*message = claudeMessage{blocks: message.blocks[:0]}
	if r.scanner.Peek() != jsonspan.Object {
		message.at = r.scanner.Skip()
		return
	}
	message.at.Start = r.scanner.Offset()
	r.scanner.Enter()
	for key, ok := r.scanner.Key(); ok; key, ok = r.scanner.Key() {
		message.hasMembers = true
		switch string(r.line[key.Start:key.End]) {
		case "id":
			message.id = r.text(r.previous.id)
		case "model":
			message.model = r.text(r.previous.model)
		case "role":
			message.role = r.text("user", "assistant")
		case "content":
			message.blocks = message.blocks[:0]
			if r.scanner.Peek() == jsonspan.Array {
				message.content.Start = r.scanner.Offset()
				r.readBlocks()
				message.content.End = r.scanner.Offset()
			} else {
				message.content = r.scanner.Skip()
			}
		default:
			r.scanner.Skip()
		}
	}
	message.at.End = r.scanner.Offset()
}

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

// readHasText reads the next value and reports whether it is a string with more than white space.
func (r *claudeReader) readHasText() bool {
	kind, at := r.scanner.Value()
	if kind != jsonspan.String || at.Len() == 0 {
		return false
	}
	text := r.line[at.Start:at.End]
	if c := text[0]; c > ' ' && c < 0x80 && c != '\\' {
		return true
	}
	return strings.TrimSpace(string(jsonspan.Decode(nil, text))) != ""
}

// fillMessage adds the members of the message to the entry.
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

// readClaude splits a Claude Code file into units and returns the entry of each unit.
func (l *Log) readClaude() []claudeEntry {
	r := claudeReader{scanner: jsonspan.Borrow(nil, jsonspan.Strict)}
	defer r.scanner.Return()
	n := min(bytes.Count(l.raw, []byte{'\n'})+1, len(l.raw)/16+1) // an object has at least 16 bytes
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

// shifted returns the entry with its spans moved by an offset.
func (e claudeEntry) shifted(by int) claudeEntry {
	for _, at := range []*jsonspan.Span{&e.message, &e.content} {
		if at.Len() > 0 {
			at.Start, at.End = at.Start+by, at.End+by
		}
	}
	return e
}
