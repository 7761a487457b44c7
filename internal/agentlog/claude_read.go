package agentlog

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"strings"

	"github.com/pare-llm/pare/internal/jsonspan"
)

// A ccReader reads the lines of Claude Code, each in one pass: it checks that a line
// is JSON and picks what an entry holds of it on the way. Most of what stands beside
// the messages is short and plain, and is read here; the rest is the scanner's.
type ccReader struct {
	raw    []byte
	s      *jsonspan.Scanner
	lone   bool // a string holds half of a surrogate pair
	ids    []string
	names  strings.Builder // chunk that ids are cut from
	kept   bool            // the rest of it is for the file behind
	uuid   string          // cut last; lines mostly hang on the line before
	agent  string
	from   string // the session
	model  string
	id     string
	line   ccLineSpans
	blocks []ccBlock
	before [3]ccShape // of lines, and of the messages of the user and of the assistant
	known  jsonspan.Span
}

// A ccShape is how the object before was written. Lines have mostly the same members in the
// same order, and many have the same values: nothing of these has to be looked at again.
type ccShape [16]ccMember

// A ccMember is where a member stands that was read: its key, its value and its end.
type ccMember struct{ at, key, value, end int }

// ccLineSpans are the members of a line and of its message; no bytes: missing.
type ccLineSpans struct {
	kind, subtype, uuid, parent, agent, stamp, side, leaf, explicit, session, message jsonspan.Span

	id, model, role, content jsonspan.Span // of the message
	full                     bool          // it has members
}

// A ccBlock is what counts of a block of a message's list.
type ccBlock struct{ kind, id, of, text jsonspan.Span }

// object reads the object whose bracket stands at i and returns the offset behind it,
// or -1. It calls member with each key, which returns the offset behind the value. It is
// likely written as before; nil: nothing is known of that.
func (r *ccReader) object(i, end int, before *ccShape, member func(r *ccReader, key []byte, at, end int) int) int {
	raw := r.raw
	for k := 0; ; k++ {
		i = skipSpace(raw[:end], i+1) // behind the bracket or the comma
		if i >= end {
			return -1
		}
		if k == 0 && raw[i] == '}' {
			return i + 1
		}
		if raw[i] != '"' {
			return -1
		}
		m := ccMember{at: i}
		if before == nil || k >= len(before) || !r.again(&m, &before[k], end) {
			if m.key = r.skip(i, end); m.key < 0 {
				return -1
			}
			if i = skipSpace(raw[:end], m.key); i >= end || raw[i] != ':' {
				return -1
			}
			if m.value = skipSpace(raw[:end], i+1); m.value >= end {
				return -1
			}
		}
		if i = member(r, raw[m.at+1:m.key-1], m.value, end); i < 0 {
			return -1
		}
		if before != nil && k < len(before) {
			m.end = i
			before[k] = m
		}
		if i = skipSpace(raw[:end], i); i >= end {
			return -1
		}
		if raw[i] == '}' {
			return i + 1
		}
		if raw[i] != ',' {
			return -1
		}
	}
}

// again reports whether the member at m has the key that stood in its place before, and says
// where its value is. If that is the same, too, it is known where it ends.
func (r *ccReader) again(m, was *ccMember, end int) bool {
	raw, n := r.raw, was.value-was.at
	if n == 0 || m.at+n >= end || string(raw[m.at:m.at+n]) != string(raw[was.at:was.value]) {
		return false
	}
	if m.key, m.value = m.at+was.key-was.at, skipSpace(raw[:end], m.at+n); m.value >= end {
		return false
	}
	to := m.value + was.end - was.value
	if to < end && (raw[to] == ',' || raw[to] == '}') && string(raw[m.value:to]) == string(raw[was.value:was.end]) {
		r.known = jsonspan.Span{Start: m.value, End: to}
	}
	return true
}

// skip returns the offset behind the value at i, or -1 if it is no JSON.
func (r *ccReader) skip(i, end int) int {
	if i == r.known.Start && i < r.known.End && r.known.End <= end {
		return r.known.End
	}
	raw := r.raw
	switch raw[i] {
	case '"':
		if j := plainEnd(raw[:end], i+1); j >= 0 {
			return j + 1
		}
	case 't', 'n':
		if w := raw[i:min(end, i+4)]; string(w) == "true" || string(w) == "null" {
			return i + 4
		}
	case 'f':
		if string(raw[i:min(end, i+5)]) == "false" {
			return i + 5
		}
	}
	r.s.Reset(raw[i:end], jsonspan.Strict)
	v := r.s.Skip()
	if r.s.Failed() {
		return -1
	}
	for _, f := range r.s.Flaws() {
		r.lone = r.lone || f.Kind == jsonspan.LoneSurrogate
	}
	return i + v.End
}

// plainEnd returns the offset of the quote that ends the string whose content starts
// at i, if it is short and nothing in it needs a closer look; -1 otherwise.
func plainEnd(raw []byte, i int) int {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	for to := min(len(raw)-8, i+64); i <= to; i += 8 {
		w := binary.LittleEndian.Uint64(raw[i:])
		quote, slash := w^('"'*ones), w^('\\'*ones)
		// The top bits of bytes that are special; the lowest of them is no mistake.
		if at := ((quote-ones)&^quote | (slash-ones)&^slash | (w-' '*ones)&^w | w) & tops; at != 0 {
			if i += bits.TrailingZeros64(at) / 8; raw[i] == '"' {
				return i
			}
			return -1
		}
	}
	return -1
}

// note reads the value at i and keeps its span.
func (r *ccReader) note(to *jsonspan.Span, i, end int) int {
	next := r.skip(i, end)
	*to = jsonspan.Span{Start: i, End: next}
	return next
}

// member reads a member of a line.
func (r *ccReader) member(key []byte, i, end int) int {
	l := &r.line
	switch string(key) {
	case "type":
		return r.note(&l.kind, i, end)
	case "subtype":
		return r.note(&l.subtype, i, end)
	case "uuid":
		return r.note(&l.uuid, i, end)
	case "parentUuid":
		return r.note(&l.parent, i, end)
	case "agentId":
		return r.note(&l.agent, i, end)
	case "timestamp":
		return r.note(&l.stamp, i, end)
	case "isSidechain":
		return r.note(&l.side, i, end)
	case "sessionId":
		return r.note(&l.session, i, end)
	case "leafUuid":
		return r.note(&l.leaf, i, end)
	case "explicit":
		return r.note(&l.explicit, i, end)
	case "message":
		l.id, l.model, l.role, l.content, l.full = jsonspan.Span{}, jsonspan.Span{}, jsonspan.Span{}, jsonspan.Span{}, false
		if r.raw[i] != '{' {
			return r.note(&l.message, i, end)
		}
		before := &r.before[1]
		if r.is(l.kind, "assistant") {
			before = &r.before[2]
		}
		next := r.object(i, end, before, (*ccReader).messageMember)
		l.message = jsonspan.Span{Start: i, End: next}
		return next
	}
	return r.skip(i, end)
}

// messageMember reads a member of a message.
func (r *ccReader) messageMember(key []byte, i, end int) int {
	l := &r.line
	l.full = true
	switch string(key) {
	case "id":
		return r.note(&l.id, i, end)
	case "model":
		return r.note(&l.model, i, end)
	case "role":
		return r.note(&l.role, i, end)
	case "content":
		if r.raw[i] != '[' {
			return r.note(&l.content, i, end)
		}
		next := r.list(i, end)
		l.content = jsonspan.Span{Start: i, End: next}
		return next
	}
	return r.skip(i, end)
}

// list reads the list of blocks whose bracket stands at i.
func (r *ccReader) list(i, end int) int {
	raw := r.raw
	r.blocks = r.blocks[:0]
	for first := true; ; first = false {
		i = skipSpace(raw[:end], i+1)
		if i >= end {
			return -1
		}
		if first && raw[i] == ']' {
			return i + 1
		}
		r.blocks = append(r.blocks, ccBlock{})
		if raw[i] == '{' {
			i = r.object(i, end, nil, (*ccReader).blockMember)
		} else {
			i = r.skip(i, end)
		}
		if i < 0 {
			return -1
		}
		if i = skipSpace(raw[:end], i); i >= end {
			return -1
		}
		if raw[i] == ']' {
			return i + 1
		}
		if raw[i] != ',' {
			return -1
		}
	}
}

// blockMember reads a member of a block.
func (r *ccReader) blockMember(key []byte, i, end int) int {
	b := &r.blocks[len(r.blocks)-1]
	switch string(key) {
	case "type":
		return r.note(&b.kind, i, end)
	case "id":
		return r.note(&b.id, i, end)
	case "tool_use_id":
		return r.note(&b.of, i, end)
	case "text":
		return r.note(&b.text, i, end)
	}
	return r.skip(i, end)
}

// read reads the object at i, where it must stand, into e, which is empty, and returns
// the offset behind it. It returns -1 if something in it is no JSON, or something
// comes behind it.
func (r *ccReader) read(e *entry, i, end int) int {
	r.line, r.blocks = ccLineSpans{}, r.blocks[:0]
	next := r.object(i, end, &r.before[0], (*ccReader).member)
	if next >= 0 && skipSpace(r.raw[:end], next) == end {
		r.entry(e)
		return next
	}
	return -1
}

// is reports whether the value at span is that string.
func (r *ccReader) is(at jsonspan.Span, word string) bool {
	if at.Len() == len(word)+2 && r.raw[at.Start] == '"' {
		return string(r.raw[at.Start+1:at.End-1]) == word
	}
	return at.Len() > len(word)+2 && bytes.IndexByte(r.raw[at.Start:at.End], '\\') >= 0 && textAt(r.raw, at) == word
}

// cut returns the string at span, decoded; "" if it is none. If it is like, it is not
// copied; the copies of others share chunks.
func (r *ccReader) cut(at jsonspan.Span, like string) string {
	if at.Len() <= 2 || r.raw[at.Start] != '"' {
		return ""
	}
	b := r.raw[at.Start+1 : at.End-1]
	if string(b) == like {
		return like
	}
	if bytes.IndexByte(b, '\\') >= 0 {
		return textAt(r.raw, at)
	}
	if r.names.Cap()-r.names.Len() < len(b) {
		n := 8192
		if r.names.Cap() == 0 && !r.kept {
			n = min(n, len(r.raw)/8)
		}
		r.names = strings.Builder{}
		r.names.Grow(max(n, len(b)))
	}
	start := r.names.Len()
	r.names.Write(b)
	return r.names.String()[start:]
}

// kindOf returns the type of a line; most are one of two.
func (r *ccReader) kindOf(at jsonspan.Span) string {
	if r.is(at, "user") {
		return "user"
	}
	return r.cut(at, "assistant")
}

// entry makes an entry of what was found in a line.
func (r *ccReader) entry(e *entry) {
	l := &r.line
	e.kind, e.subtype = r.kindOf(l.kind), r.cut(l.subtype, "compact_boundary")
	e.parent = r.cut(l.parent, r.uuid)
	e.uuid = r.cut(l.uuid, "")
	r.uuid = e.uuid
	e.agent, e.stamp = r.cut(l.agent, r.agent), r.cut(l.stamp, "")
	r.agent = e.agent
	e.session = r.cut(l.session, r.from)
	r.from = e.session
	e.side = l.side.Len() == 4 && r.raw[l.side.Start] == 't'
	e.linked = e.uuid != ""
	if e.kind == "last-prompt" {
		e.leaf, e.explicit = r.cut(l.leaf, ""), l.explicit.Len() == 4 && r.raw[l.explicit.Start] == 't'
	}
	if e.kind != "user" && e.kind != "assistant" {
		return
	}
	e.counts = l.full
	e.id, e.model = r.cut(l.id, r.id), r.cut(l.model, r.model)
	r.id, r.model = e.id, e.model
	e.assistant = e.kind == "assistant"
	assistant := r.is(l.role, "assistant")
	if l.content.Len() == 0 || !assistant && !r.is(l.role, "user") || r.raw[l.content.Start] != '"' && r.raw[l.content.Start] != '[' {
		return
	}
	e.message, e.content, e.assistant = l.message, l.content, assistant
	if r.raw[l.content.Start] == '"' {
		e.speaks = true
		return
	}
	r.content(e)
}

// blank reports whether the value at span is a string of white space, or none.
func (r *ccReader) blank(at jsonspan.Span) bool {
	if at.Len() > 2 && r.raw[at.Start] == '"' {
		if c := r.raw[at.Start+1]; c > ' ' && c < 0x80 && c != '\\' {
			return false
		}
	}
	return strings.TrimSpace(textAt(r.raw, at)) == ""
}

// content looks at the blocks of a message.
func (r *ccReader) content(e *entry) {
	blank := true
	calls := len(r.ids)
	for i := range r.blocks {
		b := &r.blocks[i]
		if r.is(b.kind, "tool_use") {
			r.ids = append(r.ids, r.cut(b.id, ""))
		}
	}
	results := len(r.ids)
	for i := range r.blocks {
		switch b := &r.blocks[i]; {
		case r.is(b.kind, "tool_result"):
			r.ids = append(r.ids, r.cut(b.of, ""))
		case r.is(b.kind, "text"):
			e.speaks = true
			blank = blank && e.assistant && r.blank(b.text)
			continue
		default:
			e.speaks = true
		}
		blank = false
	}
	if end := len(r.ids); end > calls {
		e.calls, e.results = r.ids[calls:results:results], r.ids[results:end:end]
	}
	e.blank = blank && e.assistant && e.speaks
}

// readClaude cuts a file of Claude Code into units and says what each holds.
func (l *Log) readClaude() []entry {
	raw := l.raw
	r := l.mem.claude()
	r.raw, r.s = raw, jsonspan.Borrow(nil, jsonspan.Strict)
	defer func() {
		r.s.Return()
		r.raw, r.s = nil, nil
	}()
	var es []entry
	l.units, es = l.mem.lines(raw)
	line := 0
	for at, end := range lines(raw) {
		line++
		es = r.oneLine(l, es, at, end, line)
	}
	l.mem.keepLines(l.units, es)
	l.readEnd(line)
	l.sound = !r.lone
	return es
}

// oneLine adds the entries of a line.
func (r *ccReader) oneLine(l *Log, es []entry, at, end, line int) []entry {
	n := len(es)
	if i := skipSpace(r.raw[:end], at); i < end && r.raw[i] == '{' {
		es = append(es, entry{})
		if next := r.read(&es[n], i, end); next >= 0 {
			l.units = append(l.units, unit{jsonspan.Span{Start: i, End: next}, line, true})
			return es
		}
		es = es[:n]
	}
	l.readLine(at, end, line)
	for _, u := range l.units[n:] {
		es = append(es, entry{})
		r.read(&es[len(es)-1], u.span.Start, u.span.End)
	}
	return es
}
