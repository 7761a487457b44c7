package agentlog

import (
	"crypto/sha256"
	"fmt"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/jsonspan"
)

// shorten hides messages from the model, as goose does when it compacts a session: people still
// see them. One that says less is hidden, and said anew behind it. Versions that kept no metadata
// send everything, so that nothing can be hidden from the model.
func (g goose) shorten(e *edits, t *Thread, plan *pare.Plan) error {
	if len(e.l.lists) != 1 { // lines, or recordings
		return ErrShorten
	}
	pieces := piecesOf(t, t.Request, plan.Result(), false)
	now := make([][]byte, len(t.parts)) // what becomes of a message; nil: it is hidden
	stays := make([]bool, len(t.parts))
	last := -1
	for _, p := range pieces {
		var u int
		switch {
		case p.message >= 0 && p.raw == nil:
			stays[p.message], last = true, p.message
			continue
		case p.message >= 0:
			u, last = t.parts[p.message].unit, p.message
		default:
			u = t.parts[max(last, 0)].unit
		}
		said, ok := g.say(e.l, u, p)
		if !ok {
			return ErrShorten
		}
		if p.message >= 0 {
			now[p.message] = said
		} else if last < 0 {
			e.unit(u).before = append(e.unit(u).before, said)
		} else {
			e.unit(u).after = append(e.unit(u).after, said)
		}
	}
	for i, p := range t.parts {
		if stays[i] {
			continue
		}
		x := e.unit(p.unit)
		x.body = g.passOver(e.body(p.unit))
		if now[i] != nil {
			x.after = append([][]byte{now[i]}, x.after...)
		}
	}
	return nil
}

// say writes a message for the model alone: one that says less than that of a unit, or a new one
// beside it.
func (g goose) say(l *Log, u int, p piece) ([]byte, bool) {
	o := objectAt(l.raw, l.units[u].span)
	was := make(map[string]object) // its calls and results by id
	for _, c := range o.list("content") {
		if m := objectAt(l.raw, c); m.has("id") {
			was[m.text("type")+" "+m.text("id")] = m
		}
	}
	m := objectAt(p.raw, jsonspan.Span{End: len(p.raw)})
	var content [][]byte
	if text := m.value("content"); len(text) > 0 && text[0] == '"' {
		content = append(content, write("type", "text", "text", text))
	}
	for _, at := range m.list("content") {
		b := objectAt(p.raw, at)
		switch b.text("type") {
		case "text":
			content = append(content, write("type", "text", "text", b.value("text")))
		case "tool_use":
			old, ok := was["toolRequest "+b.text("id")]
			if !ok {
				return nil, false
			}
			call := old.object("toolCall")
			value := call.object("value")
			in := setMembers(l.raw, value.span, "arguments", b.value("input"))
			content = append(content, setMembers(l.raw, old.span, "toolCall", setMembers(l.raw, call.span, "value", in)))
		case "tool_result":
			old, ok := was["toolResponse "+b.text("tool_use_id")]
			if !ok {
				return nil, false
			}
			content = append(content, setMembers(l.raw, old.span, "toolResult", g.shorter(old.object("toolResult"), resultText(p.raw, b))))
		default:
			return nil, false
		}
	}
	sum := sha256.Sum256(p.raw)
	var id []byte
	if old := o.text("id"); old != "" {
		id = quote(fmt.Sprintf("%s_pare_%x", old, sum[:4]))
	}
	return write("id", id, "role", p.role.String(), "created", o.mark("created"), "content", array(content...),
		"metadata", write("userVisible", []byte("false"), "agentVisible", []byte("true"))), true
}

// shorter is the outcome of a tool with another text, in the shape that it has.
func (goose) shorter(r object, text string) []byte {
	said := array(write("type", "text", "text", text))
	if r.text("status") == "error" || r.has("error") {
		return setMembers(r.raw, r.span, "error", quote(text))
	}
	v, _ := r.get("value")
	if in := objectAt(r.raw, v); in.has("content") {
		return setMembers(r.raw, r.span, "value", setMembers(r.raw, in.span, "content", said))
	}
	return setMembers(r.raw, r.span, "value", said)
}
