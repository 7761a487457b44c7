package wire

import (
	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
)

// str is the field of a string.
func str(s jsonspan.Span) field { return field{jsonspan.String, s} }

// usualText reads a part that begins with so much and then has nothing but its text, and files
// it. Else it has read nothing.
func (p *parser) usualText(begin string, w place) bool {
	here, start := p.Here(), p.Offset()
	if !p.Predict(begin, 3) {
		return false
	}
	text, ok := p.Known()
	if !ok || !p.Closes() {
		p.Back(here)
		return false
	}
	p.file(transcript.Text, tspan(p.since(start)), tspan(text), w)
	return true
}

// usualResult reads a message of a tool and files it, if it is written as nearly all are. Else
// it has read nothing.
func (p *parser) usualResult() bool {
	here, start := p.Here(), p.Offset()
	if !p.Predict(`{"role":"tool","tool_call_id":`, 3) {
		return false
	}
	if id, ok := p.Known(); ok && p.Predict(`,"content":`, 1) {
		content, ok := p.Known()
		if raw := p.bytes(id); ok && p.Closes() && plainID(raw) {
			span := p.since(start)
			p.startMessage(transcript.Tool, start, 0)
			i := len(p.messages) - 1
			p.messages[i].Turn = p.turnOf(transcript.Tool)
			p.frame[i].content = quoted(content)
			p.extra[i] = holdsOnly
			b := p.file(transcript.Result, tspan(span), tspan(content), place{in: inMessage})
			b.CallID = p.copied(raw)
			p.chatID(b.CallID)
			p.endMessage(span, false)
			return true
		}
	}
	p.Back(here)
	return false
}

// beginChat reads a message as far as it is one of the usual ones, and reports whether there
// is more to read of it. Of any other it reads the brace.
func (p *parser) beginChat(f *chatFields) (more bool) {
	here, start := p.Here(), p.Offset()
	if p.Predict(`{"role":"assistant","content":`, 3) {
		content, ok := p.Known()
		if f.content = str(content); !ok {
			at := p.Offset()
			ok = p.Predict("null", 0)
			f.content = field{jsonspan.Null, jsonspan.Span{Start: at, End: p.Offset()}}
		}
		if ok && p.Predict(`,"tool_calls":`, 1) {
			f.role = str(jsonspan.Span{Start: start + len(`{"role":"`), End: start + len(`{"role":"assistant`)})
			calls := p.Offset() - len(`tool_calls":`)
			p.Descend()
			f.calls = p.chatCalls(f)
			if p.Ascend() {
				return false
			}
			p.Resume(before(f.role.span.Start, "role"), jsonspan.Span{Start: f.role.span.End + 3, End: f.role.span.End + 10}, jsonspan.Span{Start: calls, End: calls + len("tool_calls")})
			return true
		}
		*f = chatFields{}
		p.Back(here)
	}
	var room [4]jsonspan.Pair
	pairs := p.Strings(room[:])
	for _, m := range pairs {
		switch string(p.bytes(m.Key)) {
		case "role":
			f.role = str(m.Value)
		case "content":
			f.content = str(m.Value)
		case "tool_call_id":
			f.callID = str(m.Value)
		case "name":
			f.name = str(m.Value)
		default:
			*f = chatFields{}
			p.Back(here)
			p.Enter()
			return true
		}
	}
	if len(pairs) > 0 {
		return false
	}
	p.Enter()
	return true
}

// usualCall reads a call if it is written as nearly all are; else it has read nothing.
func (p *parser) usualCall() (id, typ, name, args field, ok bool) {
	here := p.Here()
	if p.Predict(`{"id":`, 1) {
		i, known := p.Known()
		at := p.Offset() + len(`,"type":"`)
		if known && p.Predict(`,"type":"function","function":{"name":`, 4) {
			n, known := p.Known()
			if known && p.Predict(`,"arguments":`, 1) {
				if a, known := p.Known(); known && p.Closes() && p.Closes() {
					return str(i), str(jsonspan.Span{Start: at, End: at + len("function")}), str(n), str(a), true
				}
			}
		}
		p.Back(here)
	}
	return id, typ, name, args, false
}
