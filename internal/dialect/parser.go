package dialect

import (
	"bytes"
	"slices"
	"strings"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
)

// A parser walks one request. Each dialect has its own file of methods; this one
// has what they share.
type parser struct {
	jsonspan.Scanner
	raw     []byte
	dialect Dialect
	g       *grammar
	head    head
	list    jsonspan.Span
	bare    bool
	pages
	servers map[string]transcript.BlockID // the latest server call of each id
	asked   map[string]*askers            // by call id; see ask
	shells  map[string]string             // call ids of local shells, by the id of the item
	// listNotes is how many notes are about what stands in front of the list.
	listNotes int
	turn      int
	thought   int      // behind the last thought of a run of steps; 0: there is none
	plain     bool     // detection: the list may be one of messages
	firm      bool     // detection: an element of the list tells by itself
	faint     bool     // detection: an element has no more than a hint
	texts     bool     // detection: an element has blocks of type text, which Responses do not have
	led       bool     // detection: the list begins with what the system says
	hurry     bool     // detection: which is enough
	items     bool     // detection: the list may be one of items, which messages is not
	input     bool     // detection: the body has an input
	clue      clue     // detection: what it goes by
	scan      struct { // detection: what the members have told so far
		body    bodyScan
		element elementScan
	}
	names strings.Builder // the buffer for ids and names, see cut
	last  string          // the name cut last; tools repeat
}

// Pages are the index that a parser writes.
type pages struct {
	messages []transcript.Message
	blocks   []transcript.Block
	where    []place
	extra    []facts
	frame    []frame
	ties     []transcript.Tie
	notes    []note
}

// reset makes p ready for another body, in the same memory.
func (p *parser) reset(raw []byte, d Dialect, m jsonspan.Mode) {
	p.raw, p.dialect, p.g = raw, d, grammars[d]
	p.head = head{}
	p.list, p.bare, p.plain, p.input, p.clue, p.last = jsonspan.Span{}, false, false, false, clue{}, ""
	p.notes, p.listNotes = nil, 0
	p.clearList()
	p.Reset(raw, m)
	p.ReadAhead()
}

// A field is a member's value: its kind and span. Kind Invalid means that it is
// missing. The span of a string leaves out the quotes.
type field struct {
	kind jsonspan.Kind
	span jsonspan.Span
}

func (f field) given() bool { return f.kind != jsonspan.Invalid }

func (f field) isNull() bool { return f.kind == jsonspan.Null }

// absent reports whether the member is missing or null.
func (f field) absent() bool { return f.kind == jsonspan.Invalid || f.kind == jsonspan.Null }

// value reads the next value without looking into it.
func (p *parser) value() field {
	k, span := p.Value()
	return field{k, span}
}

// bytes returns the raw bytes of a span.
func (p *parser) bytes(s jsonspan.Span) []byte { return p.raw[s.Start:s.End] }

// key returns the next key of the entered object, decoded if need be.
func (p *parser) key() ([]byte, bool) {
	span, ok := p.Key()
	if !ok {
		return nil, false
	}
	k := p.bytes(span)
	if p.KeyEscaped() {
		k = jsonspan.Decode(nil, k)
	}
	return k, true
}

// is reports whether f is the string word.
func (p *parser) is(f field, word string) bool {
	if f.kind != jsonspan.String {
		return false
	}
	b := p.bytes(f.span)
	if bytes.IndexByte(b, '\\') >= 0 {
		b = jsonspan.Decode(nil, b)
	}
	return string(b) == word
}

// text returns the decoded text of a string field. It is for short things.
func (p *parser) text(f field) string {
	if f.kind != jsonspan.String {
		return ""
	}
	return p.cut(f.span)
}

// symbol is text for a string that is nearly always one of a few words: those
// are not copied.
func (p *parser) symbol(f field) string {
	if f.kind != jsonspan.String {
		return ""
	}
	switch b := p.bytes(f.span); string(b) {
	case "user":
		return "user"
	case "assistant":
		return "assistant"
	case "tool":
		return "tool"
	case "model":
		return "model"
	case "system":
		return "system"
	case "text":
		return "text"
	case "tool_use":
		return "tool_use"
	case "tool_result":
		return "tool_result"
	case "thinking":
		return "thinking"
	case "image":
		return "image"
	case "function":
		return "function"
	case "message":
		return "message"
	case "reasoning":
		return "reasoning"
	case "function_call":
		return "function_call"
	case "function_call_output":
		return "function_call_output"
	case "input_text":
		return "input_text"
	case "output_text":
		return "output_text"
	}
	return p.text(f)
}

// cut returns a decoded copy of a short string. It never aliases the caller's buffer.
func (p *parser) cut(s jsonspan.Span) string {
	b := p.bytes(s)
	if bytes.IndexByte(b, '\\') >= 0 {
		b = jsonspan.Decode(nil, b)
	}
	if string(b) == p.last {
		return p.last
	}
	if p.names.Cap()-p.names.Len() < len(b) {
		p.names.Reset()
		p.names.Grow(max(namesChunk, len(b)))
	}
	start := p.names.Len()
	p.names.Write(b)
	p.last = p.names.String()[start:]
	return p.last
}

// namesChunk is the size of the buffers that ids and names share, so that not each of them is an
// allocation.
const namesChunk = 4 << 10

// empty reports whether a string field holds nothing.
func (f field) empty() bool { return f.kind == jsonspan.String && f.span.Len() == 0 }

// isSignature reports whether a field holds what may be one: a string that is not empty.
func (f field) isSignature() bool { return f.kind == jsonspan.String && f.span.Len() > 0 }

// lists reports whether a field is a list that is not empty.
func (p *parser) lists(f field) bool {
	return f.kind == jsonspan.Array && len(bytes.TrimSpace(p.raw[f.span.Start+1:f.span.End-1])) > 0
}

// blank reports whether a string field holds white space only, or nothing.
func (p *parser) blank(f field) bool {
	if f.kind != jsonspan.String {
		return false
	}
	b := p.bytes(f.span)
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case ' ':
		case '\\':
			if i+1 >= len(b) {
				return false
			}
			i++
			switch b[i] {
			case 'n', 't', 'r', 'f':
			default:
				return len(b) < 64 && strings.TrimSpace(string(jsonspan.Decode(nil, b))) == ""
			}
		case 0xC2, 0xE2, 0xE3: // perhaps a wide space
			return len(b) < 64 && strings.TrimSpace(string(jsonspan.Decode(nil, b))) == ""
		default:
			return false
		}
	}
	return true
}

// document reads the whole body.
func (p *parser) document() error {
	switch p.Peek() {
	case jsonspan.Array:
		p.bare = true
		p.readList()
	case jsonspan.Object:
		p.body()
	default:
		p.Skip()
	}
	p.End()
	if err := p.Err(); err != nil {
		return err
	}
	if p.head.listKind == jsonspan.Invalid && !p.head.remote {
		return noList(p.dialect)
	}
	return nil
}

// body reads the top-level object. Keys that several dialects share are read
// here, the list of messages by the dialect.
func (p *parser) body() {
	for k := range p.members {
		if string(k) == p.g.list {
			p.readList()
			continue
		}
		p.Peek() // past white space
		start := p.Offset()
		p.headField(k)
		if kind := said[string(k)]; kind != 0 {
			p.head.said = append(p.head.said, utterance{kind, transcript.Span{Start: start, End: p.Offset()}})
		}
	}
}

// readList reads the list of messages. If its key stands twice, the last one
// wins, so what the first one left is thrown away.
func (p *parser) readList() {
	p.clearList()
	p.notes = p.dropListNotes()
	p.listNotes = len(p.notes)
	k := p.Peek()
	p.head.listKind = k
	p.list.Start = p.Offset()
	if k == jsonspan.Object && p.g.objectList {
		p.element()
		p.list.End = p.Offset()
		return
	}
	if k != jsonspan.Array {
		p.listValue(p.value())
		p.list.End = p.Offset()
		return
	}
	p.Enter()
	for p.Element() {
		p.element()
	}
	p.list.End = p.Offset()
}

func (p *parser) clearList() {
	p.messages, p.blocks, p.where, p.extra, p.frame = p.messages[:0], p.blocks[:0], p.where[:0], p.extra[:0], p.frame[:0]
	p.ties, p.turn, p.thought, p.servers, p.asked, p.shells = p.ties[:0], -1, 0, nil, nil, nil
}

// dropListNotes keeps only the notes that are about the head.
func (p *parser) dropListNotes() []note {
	kept := p.notes[:0]
	for _, n := range p.notes {
		if n.message < 0 {
			kept = append(kept, n)
		}
	}
	return kept
}

// listValue handles a list that is none. Some dialects take a plain string there.
func (p *parser) listValue(f field) {
	if p.g.stringList && f.kind == jsonspan.String {
		p.startMessage(transcript.User, p.list.Start, 0)
		p.block(transcript.Block{Kind: transcript.Text, Span: quoted(f.span), Body: tspan(f.span)}, place{in: inMessage})
		p.endMessage(jsonspan.Span{Start: f.span.Start - 1, End: f.span.End + 1}, true)
		return
	}
	p.noteHead(wrongType, p.g.list, "expected a list, found "+f.kind.String())
}

// element reads one element of the list.
func (p *parser) element() {
	if k := p.Peek(); k != jsonspan.Object {
		start := p.Offset()
		p.startMessage(transcript.Unknown, start, p.turn+1)
		p.value()
		p.note(wrongType, -1, "", "expected an object, found "+k.String())
		p.extra[len(p.extra)-1] |= badRole
		p.endMessage(jsonspan.Span{Start: start, End: p.Offset()}, false)
		return
	}
	p.g.element(p)
}

// whole returns the span of a field with its quotes or brackets.
func (f field) whole() transcript.Span {
	if f.kind == jsonspan.String {
		return quoted(f.span)
	}
	return tspan(f.span)
}

// tieTools ties calls to what declares their tools, where the head does not: the latest
// search that found a tool, or the message that defines it. Where a tool can be taken away,
// a call behind the message that gives it back needs that, too.
func (p *parser) tieTools() {
	declared := make(map[string]transcript.BlockID)
	notes := p.notes
	for b, blk := range p.blocks {
		for ; len(notes) > 0 && int(notes[0].block) <= b; notes = notes[1:] {
			if n := notes[0]; n.declares() {
				declared[n.arg] = transcript.BlockID(n.block)
			}
		}
		by, ok := declared[blk.Tool]
		if blk.Kind != transcript.Call || p.head.tools[blk.Tool] && !p.head.deferred[blk.Tool] && !p.g.addsTools {
			continue
		}
		if ok {
			p.ties = append(p.ties, transcript.Tie{From: transcript.BlockID(b), To: by})
		}
	}
}

// declares reports whether a note is about something that makes a tool known to the model.
func (n note) declares() bool {
	return n.fault == referenceUnknown || n.fault == toolDefined || n.fault == toolAdded
}

// request returns the request that was read.
func (p *parser) request(profile Profile) *Request {
	ties := p.ties
	if slices.ContainsFunc(p.notes, note.declares) {
		p.tieTools()
	}
	if slices.ContainsFunc(p.notes, note.far) {
		p.tieItems()
	}
	if len(p.head.blocking) > 0 {
		for i := range p.blocks {
			b := &p.blocks[i]
			b.Continues = b.Continues && !p.head.blocking[b.Tool]
		}
	}
	return &Request{
		Dialect: p.dialect, Profile: profile, g: p.g, raw: p.raw, list: tspan(p.list), bare: p.bare,
		head: p.head, where: p.where, extra: p.extra, frame: p.frame, notes: p.notes, flaws: p.Flaws(), unlisted: p.Unlisted(),
		listNotes: p.listNotes, ties: ties,
		t: transcript.New(transcript.Index{Raw: p.raw, Messages: p.messages, Blocks: p.blocks, Ties: p.ties, Discipline: p.g.discipline}),
	}
}

func tspan(s jsonspan.Span) transcript.Span { return transcript.Span(s) }

// quoted widens the span of a string's content to its quotes.
func quoted(s jsonspan.Span) transcript.Span {
	return transcript.Span{Start: s.Start - 1, End: s.End + 1}
}
