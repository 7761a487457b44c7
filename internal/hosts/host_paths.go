package hosts

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/internal/plain"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// Check reports broken pairs and unknown elements, with paths in the host's document.
func (l *List) Check(o wire.CheckOptions) []wire.Finding {
	return l.Findings(l.Request, l.Request.Check(o))
}

// Findings converts findings of a request made from the list to paths in the host's document. The
// findings of unknown elements come first.
func (l *List) Findings(r *wire.Request, all []wire.Finding) []wire.Finding {
	out := append([]wire.Finding{}, l.unknownFindings...)
	for _, f := range all {
		path := f.Path
		if f.Block != transcript.NoBlock {
			path = dialect.PathIn(r, l.Request, f.Block)
		} else if f.Index >= 0 {
			path = dialect.MessagePathIn(r, l.Request, f.Index)
		}
		f.Path = l.HostPath(path)
		f.Message = withoutPath(f.Message)
		out = append(out, f)
	}
	return out
}

// withoutPath removes the request path at the start of a provider's sentence.
func withoutPath(message string) string {
	if rest, ok := strings.CutPrefix(message, "messages."); ok {
		if _, says, ok := strings.Cut(rest, ": "); ok {
			return says
		}
	}
	return message
}

// Changes converts the changes of a plan to paths in the host's document. The removed JSON is the
// host's.
func (l *List) Changes(all []wire.Change) []wire.Change {
	out := make([]wire.Change, 0, len(all))
	left := make(map[int]int) // by element: the number of units that stay
	for i := range l.elements {
		left[i] = len(l.elements[i].units)
	}
	gone := make(map[int]bool) // by unit
	for _, c := range all {
		if u := l.unitAt(c.Path); c.Removed != "" && u >= 0 {
			c.Removed = ""
			if !gone[u] {
				left[l.units[u].element]--
				c.Removed = l.removed(u, left[l.units[u].element] == 0)
			}
			gone[u] = true
		}
		c.Path = l.HostPath(c.Path)
		out = append(out, c)
	}
	return out
}

// removed returns the JSON of a unit at all of its places, or the JSON of the whole element if
// whole is true.
func (l *List) removed(u int, whole bool) string {
	x := &l.units[u]
	e := &l.elements[x.element]
	if whole {
		return string(l.raw[e.Span.Start:e.Span.End])
	}
	all := string(l.raw[x.span.Start:x.span.End])
	for _, p := range x.places {
		if at := e.lists[p.list].items[p.item]; at != x.span {
			all += "\n" + string(l.raw[at.Start:at.End])
		}
	}
	return all
}

// unitAt returns the unit that contains a path of the request, or -1.
func (l *List) unitAt(path string) int {
	for path != "" {
		if h, ok := l.blockOrigins[path]; ok && h.unit >= 0 {
			return h.unit
		}
		path = path[:max(0, strings.LastIndexByte(path, '.'))]
	}
	return -1
}

// HostPath converts a path of the request to one of the host's document.
func (l *List) HostPath(path string) string {
	if u := l.unitAt(path); u >= 0 {
		return jsonspan.PathAt(l.raw, l.units[u].span.Start)
	}
	if rest, ok := strings.CutPrefix(path, "messages."); ok {
		n, _, _ := strings.Cut(rest, ".")
		if i, err := strconv.Atoi(n); err == nil && i < len(l.firstElements) {
			return jsonspan.PathAt(l.raw, l.elementSpans[l.firstElements[i]].Start)
		}
	}
	return path
}

// Report returns a report about the request as one about the list: it sets the name of the shape,
// and the member name to value, which has the host's paths.
func (l *List) Report(report any, name string, value any) ([]byte, error) {
	out, err := plain.Marshal(report)
	if err != nil {
		return nil, err
	}
	out = setPath(out, "dialect", quote(l.Shape))
	if name == "" {
		return out, nil
	}
	text, err := plain.Marshal(value)
	if err != nil {
		return nil, err
	}
	return setPath(out, name, text), nil
}

// PlanReport returns the report of a plan as JSON. now is the result of [List.Rewrite].
func (l *List) PlanReport(plan *pare.Plan, now []byte) ([]byte, error) {
	after := List{raw: l.raw, elementSpans: l.elementSpans}
	if now != nil {
		after.raw = now
		after.findList(topObject(now), l.Shape)
	}
	out, err := l.Report(plan, "changes", l.Changes(plan.Changes()))
	if err != nil {
		return nil, err
	}
	out = setPath(out, "messages", fmt.Appendf(nil, "[%d,%d]", len(l.elementSpans), len(after.elementSpans)))
	out = setPath(out, "bytes", fmt.Appendf(nil, "[%d,%d]", len(l.raw), len(after.raw)))
	return l.Report(json.RawMessage(out), "left", l.Findings(plan.Result(), plan.Remaining()))
}

// Len returns the number of elements.
func (l *List) Len() int { return len(l.elements) }

// ElementOf returns the element from which message i of the request comes. first is true if the
// message is the first one of its element.
func (l *List) ElementOf(i int) (element int, first bool) {
	if i >= len(l.firstElements) {
		return len(l.elements), true
	}
	return l.firstElements[i], i == 0 || l.firstElements[i-1] != l.firstElements[i]
}

// Slice returns the document with only the elements from from up to to.
func (l *List) Slice(from, to int) []byte {
	items := make([]newItem, 0, to-from)
	for i := from; i < to; i++ {
		items = append(items, newItem{i, l.raw[l.elementSpans[i].Start:l.elementSpans[i].End]})
	}
	out, err := jsonspan.Splice(l.raw, []jsonspan.Edit{{Span: l.listSpan, New: rewriteList(l.raw, l.listSpan, l.elementSpans, items)}})
	if err != nil {
		panic(err) // a single edit inside of raw
	}
	return out
}
