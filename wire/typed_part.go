package wire

import (
	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
)

// typedPart reads a part of a message that says its type, and its text where it has one. It
// returns false, and has noted that, for what is no object.
func (p *parser) typedPart(w place) (typ, text field, span transcript.Span, ok bool) {
	k, at := p.Peek(), p.Offset()
	if k != jsonspan.Object {
		p.value()
		p.block(transcript.Block{Kind: transcript.Other, Span: transcript.Span{Start: at, End: p.Offset()}}, w)
		p.noteBlock(wrongType, "", "expected an object, found "+k.String())
		return typ, text, span, false
	}
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
	return typ, text, transcript.Span{Start: at, End: p.Offset()}, true
}
