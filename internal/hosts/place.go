package hosts

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/internal/plain"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// Check reports what is wrong with the list: broken pairs, and what is not known, at the places of the host.
func (l *List) Check(o wire.CheckOptions) []wire.Finding {
	return l.Findings(l.Request, l.Request.Check(o))
}

// Findings are findings in a request made of the list, as the host finds them: those of what is not known
// go in front.
func (l *List) Findings(r *wire.Request, all []wire.Finding) []wire.Finding {
	out := append([]wire.Finding{}, l.strange...)
	for _, f := range all {
		path := f.Path
		if f.Block != transcript.NoBlock {
			path = wirex.PathIn(r, l.Request, f.Block)
		} else if f.Index >= 0 {
			path = wirex.MessagePathIn(r, l.Request, f.Index)
		}
		f.Path = l.Place(path)
		f.Message = sayable(f.Message)
		out = append(out, f)
	}
	return out
}

// sayable is a provider's sentence without the place in the request that it begins with.
func sayable(message string) string {
	if rest, ok := strings.CutPrefix(message, "messages."); ok {
		if _, says, ok := strings.Cut(rest, ": "); ok {
			return says
		}
	}
	return message
}

// Changes returns the changes of a plan, at the places of the host. The JSON that is removed is the host's.
func (l *List) Changes(all []wire.Change) []wire.Change {
	out := make([]wire.Change, 0, len(all))
	left := make(map[int]int) // by element: how many of its units stay
	for i := range l.all {
		left[i] = len(l.all[i].units)
	}
	gone := make(map[int]bool) // units
	for _, c := range all {
		if u := l.unitAt(c.Path); c.Removed != "" && u >= 0 {
			c.Removed = ""
			if !gone[u] {
				left[l.units[u].elem]--
				c.Removed = l.removed(u, left[l.units[u].elem] == 0)
			}
			gone[u] = true
		}
		c.Path = l.Place(c.Path)
		out = append(out, c)
	}
	return out
}

// removed returns the JSON of a unit wherever its element has it or, if nothing else of its element stays, that of
// the element.
func (l *List) removed(u int, whole bool) string {
	x := &l.units[u]
	e := &l.all[x.elem]
	if whole {
		return string(l.raw[e.Span.Start:e.Span.End])
	}
	all := string(l.raw[x.at.Start:x.at.End])
	for _, p := range x.places {
		if at := e.lists[p.list].items[p.item]; at != x.at {
			all += "\n" + string(l.raw[at.Start:at.End])
		}
	}
	return all
}

// unitAt returns the unit that a path of the request leads to, or into; -1 if there is none.
func (l *List) unitAt(path string) int {
	for path != "" {
		if h, ok := l.blocks[path]; ok && h.unit >= 0 {
			return h.unit
		}
		path = path[:max(0, strings.LastIndexByte(path, '.'))]
	}
	return -1
}

// Place is the path of the document that a path of the request stands for.
func (l *List) Place(path string) string {
	if u := l.unitAt(path); u >= 0 {
		return jsonspan.PathAt(l.raw, l.units[u].at.Start)
	}
	if rest, ok := strings.CutPrefix(path, "messages."); ok {
		n, _, _ := strings.Cut(rest, ".")
		if i, err := strconv.Atoi(n); err == nil && i < len(l.opens) {
			return jsonspan.PathAt(l.raw, l.spans[l.opens[i]].Start)
		}
	}
	return path
}

// Report is a report about the request, a JSON object, as one about the list: with the name of its shape, and
// a value that speaks of its places.
func (l *List) Report(report any, name string, value any) ([]byte, error) {
	out, err := plain.Marshal(report)
	if err != nil {
		return nil, err
	}
	out = set(out, "dialect", quote(l.Shape))
	if name == "" {
		return out, nil
	}
	text, err := plain.Marshal(value)
	if err != nil {
		return nil, err
	}
	return set(out, name, text), nil
}

// Told is what a plan did, as JSON; now is what [List.Rewrite] has made of it.
func (l *List) Told(plan *pare.Plan, now []byte) ([]byte, error) {
	after := List{raw: l.raw, spans: l.spans}
	if now != nil {
		after.raw = now
		after.find(topOf(now), l.Shape)
	}
	out, err := l.Report(plan, "changes", l.Changes(plan.Changes()))
	if err != nil {
		return nil, err
	}
	out = set(out, "messages", fmt.Appendf(nil, "[%d,%d]", len(l.spans), len(after.spans)))
	out = set(out, "bytes", fmt.Appendf(nil, "[%d,%d]", len(l.raw), len(after.raw)))
	return l.Report(json.RawMessage(out), "left", l.Findings(plan.Result(), plan.Left()))
}

// Len is how many elements the list has.
func (l *List) Len() int { return len(l.all) }

// ElementOf is the number of the element that message i of the request is from, or begins in; first reports
// whether the message is the first one of it.
func (l *List) ElementOf(i int) (element int, first bool) {
	if i >= len(l.opens) {
		return len(l.all), true
	}
	return l.opens[i], i == 0 || l.opens[i-1] != l.opens[i]
}

// Slice is the document with some of its elements.
func (l *List) Slice(from, to int) []byte {
	items := make([]item, 0, to-from)
	for i := from; i < to; i++ {
		items = append(items, item{i, l.raw[l.spans[i].Start:l.spans[i].End]})
	}
	out, err := jsonspan.Splice(l.raw, []jsonspan.Edit{{Span: l.list, New: rewritten(l.raw, l.list, l.spans, items)}})
	if err != nil {
		panic(err) // one edit, inside of raw
	}
	return out
}
