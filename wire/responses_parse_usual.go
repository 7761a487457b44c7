package wire

import (
	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
)

// usualItem reads a call or a result and files it, if it is written as nearly all are and
// nothing about it is to be noted. Else it has read nothing.
func (p *parser) usualItem() bool {
	here, start := p.Here(), p.Offset()
	if n := len(p.blocks); p.asked != nil || n > 0 && p.blocks[n-1].Kind == transcript.Thinking {
		return false // what came before has a say
	}
	add := func(r transcript.Role, k transcript.Kind, body jsonspan.Span, id, tool []byte) bool {
		span := p.since(start)
		p.startMessage(r, start, 0)
		p.messages[len(p.messages)-1].Turn = p.turnOf(r)
		b := p.file(k, tspan(span), tspan(body), place{in: inMessage})
		b.Family, b.CallID = functionFamily, p.copied(id)
		if k == transcript.Call {
			b.Tool = p.copied(tool)
		}
		p.endMessage(span, false)
		return true
	}
	switch {
	case p.Predict(`{"type":"function_call_output","call_id":`, 3):
		id, ok := p.Known()
		if !ok || !p.Predict(`,"output":`, 1) {
			break
		}
		output, ok := p.Known()
		if raw := p.bytes(id); ok && p.Closes() && len(raw) <= 64 && plainID(raw) {
			return add(transcript.Tool, transcript.Result, output, raw, nil)
		}
	case p.Predict(`{"type":"function_call","call_id":`, 3):
		id, ok := p.Known()
		if !ok || !p.Predict(`,"name":`, 1) {
			break
		}
		name, ok := p.Known()
		if !ok || !p.Predict(`,"arguments":`, 1) {
			break
		}
		args, ok := p.Known()
		if raw, tool := p.bytes(id), p.bytes(name); ok && p.Closes() && len(raw) <= 64 && plainID(raw) && plainID(tool) {
			return add(transcript.Assistant, transcript.Call, args, raw, tool)
		}
	}
	p.Back(here)
	return false
}

// beginItem reads an item as far as it is one of the usual ones, and reports whether there
// is more to read of it: calls and results are objects of a few strings, and messages begin
// alike. Of any other it reads the brace.
func (p *parser) beginItem(f *itemFields) (more bool) {
	start := p.Offset()
	if role := p.usualMessage(); role != "" {
		at := start + len(`{"type":"message","role":"`)
		f.typ = str(jsonspan.Span{Start: start + len(`{"type":"`), End: start + len(`{"type":"message`)})
		f.role = str(jsonspan.Span{Start: at, End: at + len(role)})
		p.Descend()
		f.content, f.plain = p.responsesContent()
		if p.Ascend() {
			return false
		}
		content := f.role.span.End + len(`","`)
		p.Resume(before(f.typ.span.Start, "type"), before(at, "role"), jsonspan.Span{Start: content, End: content + len("content")})
		return true
	}
	var room [6]jsonspan.Pair
	pairs := p.Strings(room[:])
	for _, m := range pairs {
		name, value := p.bytes(m.Key), str(m.Value)
		f.others = f.others || !ofMessage(name)
		if slot := f.slot(name); slot != nil {
			*slot = value
		} else if string(name) == "content" {
			f.content, f.plain = value, !value.empty()
		}
	}
	if len(pairs) > 0 {
		return false
	}
	p.Enter()
	return true
}

// usualMessage reads an item up to its content, if it is a message and begins as most do,
// and returns its role.
func (p *parser) usualMessage() (role string) {
	switch {
	case p.Predict(`{"type":"message","role":"assistant","content":`, 5):
		return "assistant"
	case p.Predict(`{"type":"message","role":"user","content":`, 5):
		return "user"
	}
	return ""
}
