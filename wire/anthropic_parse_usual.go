package wire

import "github.com/pare-llm/pare/internal/jsonspan"

// usualRole reads a message up to its content, if it begins as nearly all do; else the role
// is missing and nothing was read.
func (p *parser) usualRole() field {
	start := p.Offset()
	role := func(n int) field {
		return field{jsonspan.String, jsonspan.Span{Start: start + len(`{"role":"`), End: start + len(`{"role":"`) + n}}
	}
	switch {
	case p.Predict(`{"role":"user","content":`, 3):
		return role(len("user"))
	case p.Predict(`{"role":"assistant","content":`, 3):
		return role(len("assistant"))
	}
	return field{}
}

// usualBlock reads a block and reports whether that was all of it: if it is one of the usual
// ones, as clients write them. Else it has entered the block, and the rest is to be read.
func (p *parser) usualBlock(f *blockFields) bool {
	here, start := p.Here(), p.Offset()
	word := func(name string) field { // of {"type":"name"
		at := start + len(`{"type":"`)
		return field{jsonspan.String, jsonspan.Span{Start: at, End: at + len(name)}}
	}
	ok := false
	switch {
	case p.Predict(`{"type":"tool_result","tool_use_id":`, 3):
		f.typ = word("tool_result")
		if f.useID, ok = p.known(); ok && p.Predict(`,"content":`, 1) {
			if f.content, ok = p.known(); ok && p.Closes() {
				return true
			}
		}
	case p.Predict(`{"type":"text","text":`, 3):
		f.typ = word("text")
		if f.text, ok = p.known(); ok && p.Closes() {
			return true
		}
	case p.Predict(`{"type":"tool_use","id":`, 3):
		f.typ = word("tool_use")
		if f.id, ok = p.known(); !ok || !p.Predict(`,"name":`, 1) {
			break
		}
		if f.name, ok = p.known(); !ok || !p.Predict(`,"input":`, 1) {
			break
		}
		input := p.Offset()
		p.Descend()
		if f.input = p.value(); p.Ascend() {
			return true
		}
		p.Resume(before(f.typ.span.Start, "type"), before(f.id.span.Start, "id"), before(f.name.span.Start, "name"), before(input+1, "input"))
		return false
	}
	*f = blockFields{}
	p.Back(here)
	p.Enter()
	return false
}

// before is the span of a key in front of a string whose content starts there, with nothing
// between them but quotes and a colon.
func before(value int, key string) jsonspan.Span {
	end := value - len(`":"`)
	return jsonspan.Span{Start: end - len(key), End: end}
}

// known reads a string whose end is known.
func (p *parser) known() (field, bool) {
	span, ok := p.Known()
	return field{jsonspan.String, span}, ok
}
