package agentlog

import (
	"crypto/sha256"
	"fmt"

	"github.com/pare-llm/pare"
)

// shorten hides messages from the model, as goose does when it compacts a session; the user still
// sees them. A shortened message is hidden and followed by its new version. Versions of goose
// without metadata send every message, so nothing can be hidden there.
func (g goose) shorten(e *edits, t *Thread, plan *pare.Plan) error {
	if len(e.file.lists) != 1 { // lines or recordings
		return ErrShorten
	}
	pieces := buildPieces(t, t.Request, plan.Result(), false)
	now := make([][]byte, len(t.sources)) // by message: its replacement; nil hides the message
	unchanged := make([]bool, len(t.sources))
	last := -1
	for _, p := range pieces {
		var u int
		switch {
		case p.message >= 0 && p.raw == nil:
			unchanged[p.message], last = true, p.message
			continue
		case p.message >= 0:
			u, last = t.sources[p.message].unit, p.message
		default:
			u = t.sources[max(last, 0)].unit
		}
		text, ok := g.newMessage(e.file, u, p)
		if !ok {
			return ErrShorten
		}
		if p.message >= 0 {
			now[p.message] = text
		} else if last < 0 {
			e.unit(u).before = append(e.unit(u).before, text)
		} else {
			e.unit(u).after = append(e.unit(u).after, text)
		}
	}
	for i, p := range t.sources {
		if unchanged[i] {
			continue
		}
		x := e.unit(p.unit)
		x.body = g.skipped(e.unitBytes(p.unit))
		if now[i] != nil {
			x.after = append([][]byte{now[i]}, x.after...)
		}
	}
	return nil
}

// newMessage returns a message that only the model sees: a shorter version of unit u, or a new
// message.
func (g goose) newMessage(l *Log, unit int, piece piece) ([]byte, bool) {
	o := l.object(unit)
	was := make(map[string]object) // calls and results by type and id
	for _, c := range o.List("content") {
		if m := objectAt(l.raw, c); m.Has("id") {
			was[m.Text("type")+" "+m.Text("id")] = m
		}
	}
	m := objectOf(piece.raw)
	var content [][]byte
	if text := m.Value("content"); len(text) > 0 && text[0] == '"' {
		content = append(content, textBlock(text))
	}
	for _, at := range m.List("content") {
		b := objectAt(piece.raw, at)
		switch b.Text("type") {
		case "text":
			content = append(content, textBlock(b.Value("text")))
		case "tool_use":
			old, ok := was["toolRequest "+b.Text("id")]
			if !ok {
				return nil, false
			}
			call := old.Object("toolCall")
			value := call.Object("value")
			in := value.With("arguments", b.Value("input"))
			content = append(content, old.With("toolCall", call.With("value", in)))
		case "tool_result":
			old, ok := was["toolResponse "+b.Text("tool_use_id")]
			if !ok {
				return nil, false
			}
			content = append(content, old.With("toolResult", g.withShorterText(old.Object("toolResult"), resultText(piece.raw, b))))
		default:
			return nil, false
		}
	}
	sum := sha256.Sum256(piece.raw)
	var id []byte
	if old := o.Text("id"); old != "" {
		id = quote(fmt.Sprintf("%s_pare_%x", old, sum[:4]))
	}
	return write("id", id, "role", piece.role.String(), "created", o.Mark("created"), "content", array(content...),
		"metadata", write("userVisible", []byte("false"), "agentVisible", []byte("true"))), true
}

// withShorterText returns a tool result with another text in the same structure.
func (goose) withShorterText(r object, text string) []byte {
	said := array(textBlock(text))
	if r.Text("status") == "error" || r.Has("error") {
		return r.With("error", quote(text))
	}
	v, _ := r.Get("value")
	if in := objectAt(r.Raw, v); in.Has("content") {
		return r.With("value", in.With("content", said))
	}
	return r.With("value", said)
}
