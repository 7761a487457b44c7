package agentlog

import (
	"strings"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/transcript"
)

// A reviser writes the units of a format in which each message is a unit of its own.
type reviser interface {
	// rewrite writes a unit with what is left of its message; false: it cannot be written so.
	rewrite(l *Log, unit int, now object) ([]byte, bool)
	// says writes a unit with a text, a JSON string, that stands beside another one.
	says(l *Log, unit int, role transcript.Role, text []byte) []byte
}

// shortenUnits makes the units of a thread what a plan has left of them: some go, some say less, and
// a summary stands where something went. It returns the ids of the calls that are gone.
func shortenUnits(w reviser, e *edits, t *Thread, plan *pare.Plan) (gone map[string]bool, err error) {
	pieces := piecesOf(t, t.Request, plan.Result(), false)
	last := -1
	for _, p := range pieces {
		now := objectOf(p.raw)
		if p.message < 0 {
			text, ok := onlyText(p.raw)
			if !ok {
				return nil, ErrShorten
			}
			x := e.unit(t.parts[max(last, 0)].unit)
			if said := w.says(e.l, t.parts[max(last, 0)].unit, p.role, text); last < 0 {
				x.before = append(x.before, said)
			} else {
				x.after = append(x.after, said)
			}
			continue
		}
		if p.message < last {
			return nil, ErrShorten // nothing is moved by a plan for a session that is sound
		}
		last = p.message
		if p.raw == nil {
			continue
		}
		u := t.parts[p.message].unit
		out, ok := w.rewrite(e.l, u, now)
		if !ok {
			return nil, ErrShorten
		}
		e.unit(u).body = out
	}
	e.dropUnused(t, pieces)
	gone = make(map[string]bool)
	for _, x := range t.Request.Transcript().Exchanges() {
		gone[x.CallID] = true
	}
	for _, x := range plan.Result().Transcript().Exchanges() {
		delete(gone, x.CallID)
	}
	return gone, nil
}

// leftOf returns the text of an Anthropic message, and the input of its calls by id.
func leftOf(m object) (text string, calls map[string][]byte) {
	calls = make(map[string][]byte)
	if v, ok := m.Get("content"); ok && m.Raw[v.Start] == '"' {
		return textAt(m.Raw, v), calls
	}
	var all []string
	for _, at := range m.List("content") {
		switch b := objectAt(m.Raw, at); b.Text("type") {
		case "text":
			all = append(all, b.Text("text"))
		case "tool_use":
			calls[b.Text("id")] = b.Value("input")
		}
	}
	return strings.Join(all, "\n\n"), calls
}
