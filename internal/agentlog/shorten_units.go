package agentlog

import (
	"iter"
	"strings"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/transcript"
)

// A unitReviser is a format in which each message is one unit.
type unitReviser interface {
	// rewrite returns a unit with the rest of its message, or false if the format cannot hold it.
	rewrite(l *Log, unit int, now object) ([]byte, bool)
	// newText returns a unit with a text, a JSON string, that follows another unit.
	newText(l *Log, unit int, role transcript.Role, text []byte) []byte
}

// shortenUnits applies a plan to the units of a thread: it removes units, shortens others and
// inserts the summary. It returns the ids of the removed calls.
func shortenUnits(reviser unitReviser, e *edits, t *Thread, plan *pare.Plan) (removed map[string]bool, err error) {
	pieces := buildPieces(t, t.Request, plan.Result(), false)
	last := -1
	for _, p := range pieces {
		now := objectOf(p.raw)
		if p.message < 0 {
			text, ok := onlyText(p.raw)
			if !ok {
				return nil, ErrShorten
			}
			e.putBeside(t, last, reviser.newText(e.file, t.sources[max(last, 0)].unit, p.role, text))
			continue
		}
		if p.message < last {
			return nil, ErrShorten // a plan for a valid session moves nothing
		}
		last = p.message
		if p.raw == nil {
			continue
		}
		u := t.sources[p.message].unit
		out, ok := reviser.rewrite(e.file, u, now)
		if !ok {
			return nil, ErrShorten
		}
		e.unit(u).body = out
	}
	e.dropUnused(t, pieces)
	removed = make(map[string]bool)
	for _, x := range t.Request.Transcript().Exchanges() {
		removed[x.CallID] = true
	}
	for _, x := range plan.Result().Transcript().Exchanges() {
		delete(removed, x.CallID)
	}
	return removed, nil
}

// keptPieces returns the remaining messages of a thread, by old message. It adds new texts to e as
// units built by write.
func keptPieces(e *edits, t *Thread, plan *pare.Plan, write func(transcript.Role, []byte) []byte) (map[int]piece, error) {
	kept := make(map[int]piece)
	last := -1
	for _, p := range buildPieces(t, t.Request, plan.Result(), false) {
		if p.message >= 0 {
			kept[p.message], last = p, p.message
			continue
		}
		text, ok := onlyText(p.raw)
		if !ok {
			return nil, ErrShorten
		}
		e.putBeside(t, last, write(p.role, text))
	}
	return kept, nil
}

// putBeside inserts a unit after that of a message, or before the first one if message is -1.
func (e *edits) putBeside(t *Thread, message int, raw []byte) {
	x := e.unit(t.sources[max(message, 0)].unit)
	if message < 0 {
		x.before = append(x.before, raw)
	} else {
		x.after = append(x.after, raw)
	}
}

// A unitGroup holds the messages of one unit, from first up to end, and their remaining pieces.
type unitGroup struct {
	unit, first, end int
	kept             map[int]piece
}

// unitGroups yields the units that a plan has changed and not emptied. It drops the emptied ones.
func (e *edits) unitGroups(t *Thread, kept map[int]piece) iter.Seq[unitGroup] {
	return func(yield func(unitGroup) bool) {
		for first := 0; first < len(t.sources); {
			end, hasKept, same := first, false, true
			for end < len(t.sources) && t.sources[end].unit == t.sources[first].unit {
				p, ok := kept[end]
				hasKept, same = hasKept || ok, same && ok && p.raw == nil
				end++
			}
			g := unitGroup{t.sources[first].unit, first, end, kept}
			first = end
			switch {
			case same:
			case !hasKept:
				e.unit(g.unit).drop = true
			case !yield(g):
				return
			}
		}
	}
}

// leftOf returns the text of an Anthropic message, and the inputs of its calls by id.
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
