package dialect

import (
	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
)

// members enters the object that comes next and yields its keys; the body of the
// loop reads the value of each.
func (p *parser) members(yield func(key []byte) bool) {
	p.Enter()
	for {
		k, ok := p.key()
		if !ok || !yield(k) {
			return
		}
	}
}

// object is members, or skips what comes next if it is no object.
func (p *parser) object(yield func(key []byte) bool) {
	if p.Peek() != jsonspan.Object {
		p.Skip()
		return
	}
	p.members(yield)
}

// elements enters the list that comes next and counts its elements; the body of the loop
// reads each. What is no list is skipped.
func (p *parser) elements(yield func(i int) bool) {
	if p.Peek() != jsonspan.Array {
		p.Skip()
		return
	}
	p.Enter()
	for i := 0; p.Element() && yield(i); i++ {
	}
}

// objects is elements, but for those that are no objects: these are skipped.
func (p *parser) objects(yield func() bool) {
	for range p.elements {
		if p.Peek() != jsonspan.Object {
			p.Skip()
		} else if !yield() {
			return
		}
	}
}

// member reads the next value and returns one of its members, if it is an object.
func (p *parser) member(name string) (f field) {
	if p.Peek() != jsonspan.Object {
		p.Skip()
		return f
	}
	p.Enter()
	for k, ok := p.key(); ok; k, ok = p.key() {
		if string(k) == name {
			f = p.value()
			continue
		}
		p.Skip()
	}
	return f
}

// since is what has been read from start on.
func (p *parser) since(start int) jsonspan.Span { return jsonspan.Span{Start: start, End: p.Offset()} }

// isTrue reports whether f is the word true.
func (p *parser) isTrue(f field) bool { return f.kind == jsonspan.Bool && p.raw[f.span.Start] == 't' }

// outcome reads an object and reports whether it holds an error.
func (p *parser) outcome() (f field, failed bool) {
	start := p.Offset()
	e := p.member("error")
	failed = e.given() && !noError(p.raw[e.whole().Start:e.whole().End])
	return field{jsonspan.Object, p.since(start)}, failed
}

// parts reads the content of a message: what is in a list is read by part.
func (p *parser) parts(in container, part func(*parser, place)) field {
	if p.Peek() != jsonspan.Array {
		return p.value()
	}
	start := p.Offset()
	p.Enter()
	for j := 0; p.Element(); j++ {
		part(p, place{in, int32(j)})
	}
	return field{jsonspan.Array, p.since(start)}
}

// stray files what comes next as a block if it is no object, as it should be, and notes
// that; otherwise it reads nothing and returns false.
func (p *parser) stray(w place) bool {
	k := p.Peek()
	if k != jsonspan.Object {
		at := p.Offset()
		p.value()
		p.block(transcript.Block{Kind: transcript.Other, Span: tspan(p.since(at))}, w)
		p.noteBlock(wrongType, "", "expected an object, found "+k.String())
	}
	return k != jsonspan.Object
}

// typedPart reads a part of a message that says its type, and its text where it has one. It
// returns false, and has noted that, for what is no object.
func (p *parser) typedPart(w place) (t string, text field, b transcript.Block, ok bool) {
	at := p.Offset()
	if p.stray(w) {
		return "", text, b, false
	}
	var typ field
	for k := range p.members {
		switch string(k) {
		case "type":
			typ = p.value()
		case "text", "refusal":
			text = p.value()
		default:
			p.Skip()
		}
	}
	span := tspan(p.since(at))
	return p.symbol(typ), text, transcript.Block{Span: span, Body: span}, true
}

// textBody is the span of a text, or other if it is none.
func textBody(text field, other transcript.Span) transcript.Span {
	if text.kind == jsonspan.String {
		return tspan(text.span)
	}
	return other
}

// closeList files the content of a message that must be a list, the member called name.
func (p *parser) closeList(i int, content field, name string) {
	m := &p.messages[i]
	m.Turn = p.turnOf(m.Role)
	p.frame[i].content = content.whole()
	switch {
	case content.absent(), content.kind == jsonspan.Array && m.First == transcript.BlockID(len(p.blocks)):
		p.extra[i] |= emptyList
	case content.kind != jsonspan.Array:
		p.note(wrongType, -1, name, "expected a list, found "+content.kind.String())
	}
}

// itemHead are the members that items of Responses and steps of Interactions share.
type itemHead struct{ typ, role, id, callID, name field }

// slot is where the value of one of them is kept; nil for any other.
func (f *itemHead) slot(name []byte) *field {
	switch string(name) {
	case "type":
		return &f.typ
	case "role":
		return &f.role
	case "id":
		return &f.id
	case "call_id":
		return &f.callID
	case "name":
		return &f.name
	}
	return nil
}
