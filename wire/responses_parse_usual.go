package wire

import "github.com/pare-llm/pare/internal/jsonspan"

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
