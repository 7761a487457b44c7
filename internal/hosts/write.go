package hosts

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// ErrWrite is returned if the shape of the list cannot hold the plan's result.
var ErrWrite = errors.New("this cannot be written in the shape of the list")

// A unitAction is the plan's decision about a unit.
type unitAction struct {
	kept     bool
	newText  *string // nil keeps the text or output
	newInput []byte  // nil keeps the input
	newID    string  // "" keeps the id
	newTool  string  // for a result: the tool of the call that it answers now
	stub     *string // the result to add to a call without one
}

// A slot is an element of the rewritten list.
type slot struct {
	element int   // -1 for a new element
	units   []int // the remaining units
	raw     []byte
	// call, role and text describe a new element: the result of a call, or a text if call is -1.
	call int
	role role
	text string
}

// Rewrite returns the document with the plan applied to the list, or nil if nothing changes. It
// reads the result again and returns [ErrWrite] unless it matches the plan.
func (l *List) Rewrite(plan *pare.Plan) ([]byte, error) {
	if plan.Empty() {
		return nil, nil
	}
	out, err := l.write(plan.Result(), false)
	// Matched by name alone, a result may now belong to another call.
	if errors.Is(err, ErrWrite) && l.shape.matchesByName {
		return l.write(plan.Result(), true)
	}
	return out, err
}

// write returns the document with the messages of a request. If named is true, every call gets an
// id.
func (l *List) write(after *wire.Request, named bool) ([]byte, error) {
	actions := make([]unitAction, len(l.units))
	slots, err := l.arrange(after, actions)
	if err != nil {
		return nil, err
	}
	for i := range l.units {
		if id := cmp.Or(actions[i].newID, l.units[i].id); named && strings.HasPrefix(id, madeUpPrefix) {
			actions[i].newID = newID(id, nil)
		}
	}
	slots = l.addSilentElements(slots)
	items := make([]newItem, 0, len(slots))
	split := l.splitElements(slots)
	for i := range slots {
		shape := &slots[i]
		if shape.element < 0 {
			items = append(items, newItem{-1, l.newElement(slots, i, actions)})
			continue
		}
		if split[shape.element] && l.elements[shape.element].role != roleUser {
			return nil, fmt.Errorf("%w: something was put in between of what %s says", ErrWrite, jsonspan.PathAt(l.raw, l.elementSpans[shape.element].Start))
		}
		raw, err := l.render(shape, actions)
		if err != nil {
			return nil, err
		}
		old := shape.element
		if split[shape.element] {
			old = -1
		}
		items = append(items, newItem{old, raw})
	}
	out, err := jsonspan.Splice(l.raw, []jsonspan.Edit{{Span: l.listSpan, New: rewriteList(l.raw, l.listSpan, l.elementSpans, items)}})
	if err != nil {
		return nil, err
	}
	return out, l.checkWritten(out, after)
}

// arrange returns the new order of the units and fills in actions.
func (l *List) arrange(after *wire.Request, actions []unitAction) (slots []slot, err error) {
	t, old := after.Transcript(), l.Request.Transcript()
	was := make(map[string]transcript.BlockID, len(old.Blocks()))
	for b := range old.Blocks() {
		was[l.Request.Path(transcript.BlockID(b))] = transcript.BlockID(b)
	}
	calls := make(map[string]int) // units by their new ids
	for _, m := range t.Messages() {
		for b := m.First; b < m.End; b++ {
			blk := t.Block(b)
			path := dialect.PathIn(after, l.Request, b)
			h, ok := l.blockOrigins[path]
			if ok && h.unit < 0 {
				continue
			}
			if ok {
				before := was[path]
				if ok = old.Block(before).Kind == blk.Kind; ok {
					l.decideUnit(after, b, before, h, &actions[h.unit])
				}
			}
			if blk.Kind == transcript.Call && ok {
				calls[blk.CallID] = h.unit
			}
			switch {
			case ok && h.isResult: // in the part of its call
			case ok:
				slots = appendUnit(slots, l.units[h.unit].element, h.unit)
			case blk.Kind == transcript.Result:
				c, known := calls[blk.CallID]
				if !known {
					return nil, fmt.Errorf("%w: a result whose call is not there", ErrWrite)
				}
				text := after.Text(b)
				if l.shape.endCall != nil {
					actions[c].stub = &text
					continue
				}
				slots = append(slots, slot{element: -1, call: c, text: text})
			case blk.Kind == transcript.Text:
				who := roleUser
				if m.Role == transcript.Assistant {
					who = roleAssistant
				}
				slots = append(slots, slot{element: -1, call: -1, text: after.Text(b), role: who})
			default:
				return nil, fmt.Errorf("%w: a new %s", ErrWrite, blk.Kind)
			}
		}
	}
	return slots, nil
}

// appendUnit appends a unit of an element.
func appendUnit(slots []slot, elem, u int) []slot {
	if n := len(slots); n > 0 && slots[n-1].element == elem {
		slots[n-1].units = append(slots[n-1].units, u)
		return slots
	}
	return append(slots, slot{element: elem, units: []int{u}})
}

// decideUnit sets the action for the unit of a block.
func (l *List) decideUnit(after *wire.Request, b, before transcript.BlockID, h blockOrigin, action *unitAction) {
	now, then := after.Transcript().Block(b), l.Request.Transcript().Block(before)
	action.kept = true
	switch now.Kind {
	case transcript.Call:
		if now.CallID != then.CallID {
			action.newID = now.CallID
		}
		if in := after.Transcript().Bytes(now.Body); !bytes.Equal(in, l.Request.Transcript().Bytes(then.Body)) {
			action.newInput = in
		}
	case transcript.Result:
		if now.CallID != then.CallID && !h.isResult {
			action.newID = now.CallID
			if x := after.Transcript().ExchangeOf(b); x != transcript.NoExchange {
				action.newTool = after.Transcript().Exchanges()[x].Tool
			}
		}
		fallthrough
	default:
		if text := after.Text(b); text != l.Request.Text(before) {
			action.newText = &text
		}
	}
}

// splitElements returns the elements that occupy several slots.
func (l *List) splitElements(slots []slot) map[int]bool {
	seen, split := make(map[int]bool), make(map[int]bool)
	for _, shape := range slots {
		if shape.element >= 0 {
			split[shape.element] = seen[shape.element]
			seen[shape.element] = true
		}
	}
	return split
}

// addSilentElements inserts the elements without units after the elements that they followed.
func (l *List) addSilentElements(slots []slot) (all []slot) {
	following := make(map[int][]int) // by slot; -1 for the front
	last := make(map[int]int)
	for i, shape := range slots {
		if shape.element >= 0 {
			last[shape.element] = i
		}
	}
	at := -1
	for e := range l.elements {
		if i, ok := last[e]; ok {
			at = i
		} else if len(l.elements[e].units) == 0 {
			following[at] = append(following[at], e)
		}
	}
	for _, e := range following[-1] {
		all = append(all, slot{element: e})
	}
	for i, shape := range slots {
		all = append(all, shape)
		for _, e := range following[i] {
			all = append(all, slot{element: e})
		}
	}
	return all
}

// newElement returns a new element.
func (l *List) newElement(slots []slot, i int, actions []unitAction) []byte {
	s := &slots[i]
	if s.call >= 0 {
		c := l.units[s.call]
		c.id = cmp.Or(actions[s.call].newID, c.id)
		e := &l.elements[c.element]
		return l.shape.newResult(e.object, e.messageMember, &c, quote(s.text))
	}
	neighbor := -1
	for k := range slots { // find the nearest element of the same role as a template
		if e := slots[k].element; e >= 0 && len(l.elements[e].units) > 0 {
			if neighbor < 0 || l.elements[e].role == s.role && (l.elements[neighbor].role != s.role || abs(k-i) < abs(neighbor-i)) {
				neighbor = e
			}
		}
	}
	if neighbor < 0 {
		neighbor = 0
	}
	e := &l.elements[neighbor]
	return l.shape.newMessage(e.object, e.messageMember, s.role, quote(s.text))
}

func abs(n int) int { return max(n, -n) }

// render returns an element with its remaining units.
func (l *List) render(shape *slot, actions []unitAction) ([]byte, error) {
	e := &l.elements[shape.element]
	raw := l.raw[e.Span.Start:e.Span.End]
	if len(e.units) == 0 {
		return raw, nil
	}
	left := make(map[int]bool, len(shape.units))
	same := slices.Equal(shape.units, e.units)
	for _, u := range shape.units {
		left[u] = true
		f := &actions[u]
		same = same && f.newText == nil && f.newInput == nil && f.newID == "" && f.stub == nil
	}
	if same {
		return raw, nil
	}
	if !slices.IsSorted(shape.units) {
		return nil, fmt.Errorf("%w: the parts of %s in another order", ErrWrite, jsonspan.PathAt(l.raw, e.Span.Start))
	}
	edits, err := l.contentEdits(e, left, actions)
	if err != nil {
		return nil, err
	}
	listEdits, err := l.listEdits(e, left, actions)
	if err != nil {
		return nil, err
	}
	edits = append(edits, listEdits...)
	slices.SortFunc(edits, func(a, b jsonspan.Edit) int { return a.Start - b.Start })
	for i := range edits {
		edits[i].Start, edits[i].End = edits[i].Start-e.Span.Start, edits[i].End-e.Span.Start
	}
	return jsonspan.Splice(raw, edits)
}

// contentEdits returns the edits of units that are the content of an element or its whole message.
func (l *List) contentEdits(e *element, left map[int]bool, actions []unitAction) (edits []jsonspan.Edit, err error) {
	for _, u := range e.units {
		x := &l.units[u]
		switch {
		case len(x.places) > 0:
		case x.isContent && !left[u]:
			edits = append(edits, jsonspan.Edit{Span: x.span, New: []byte(`""`)})
		case x.isContent && actions[u].newText != nil:
			edits = append(edits, jsonspan.Edit{Span: x.span, New: quote(*actions[u].newText)})
		case !x.isContent:
			now, err := l.editPart(u, l.raw[x.span.Start:x.span.End], &actions[u], x.spec)
			if err != nil {
				return nil, err
			}
			edits = append(edits, jsonspan.Edit{Span: x.span, New: now})
		}
	}
	return edits, nil
}

// listEdits returns the edits of the lists of an element, without the items of removed units.
func (l *List) listEdits(e *element, left map[int]bool, actions []unitAction) (edits []jsonspan.Edit, err error) {
	owner := make(map[itemPlace]int)
	for _, u := range e.units {
		for _, p := range l.units[u].places {
			owner[p] = u
		}
	}
	for n, list := range e.lists {
		now := make([]newItem, 0, len(list.items))
		for k, at := range list.items {
			old := l.raw[at.Start:at.End]
			u, owned := owner[itemPlace{n, k}]
			switch {
			case !owned:
				now = append(now, newItem{k, old})
			case left[u]:
				out, err := l.editPart(u, old, &actions[u], l.specAt(u, old))
				if err != nil {
					return nil, err
				}
				now = append(now, newItem{k, out})
			}
		}
		edits = append(edits, jsonspan.Edit{Span: list.at, New: rewriteList(l.raw, list.at, list.items, now)})
	}
	return edits, nil
}

// specAt returns the spec for one place of a unit. A copy of a call may have another structure.
func (l *List) specAt(u int, raw []byte) *partSpec {
	x := &l.units[u]
	if x.kind != kindCall || bytes.Equal(raw, l.raw[x.span.Start:x.span.End]) {
		return x.spec
	}
	o := objectOf(raw)
	if o.get("function").Len() > 0 {
		return &functionCopy
	}
	if row := l.shape.partFor(o.text("type")); row != nil && row.kind == kindCall && o.get(row.inputPath).Len() > 0 {
		return row
	}
	return &l.shape.callPart
}

// functionCopy describes a call in OpenAI's form, in which the input is a string.
var functionCopy = partSpec{kind: kindCall, idPath: "id", namePath: "function.name", inputPath: "function.arguments"}

// editPart returns a part with an action applied.
func (l *List) editPart(u int, raw []byte, action *unitAction, row *partSpec) ([]byte, error) {
	unit := &l.units[u]
	// Made-up ids are not written; names match instead.
	if action.newID != "" && row.idPath != "" && !strings.HasPrefix(action.newID, madeUpPrefix) {
		raw = setPath(raw, row.idPath, quote(action.newID))
	}
	if action.newTool != "" && row.namePath != "" {
		raw = setPath(raw, row.namePath, quote(action.newTool))
	}
	if action.newInput != nil {
		in := action.newInput
		if at := objectOf(raw).bytes(row.inputPath); firstByte(at) == '"' { // a serialized object
			in = quote(string(in))
		}
		raw = setPath(raw, row.inputPath, in)
	}
	if action.stub != nil {
		raw = l.shape.endCall(raw, quote(*action.stub))
	}
	if action.newText == nil {
		return raw, nil
	}
	o := objectOf(raw)
	switch unit.kind {
	case kindText, kindReasoning:
		return setPath(raw, row.textPath, quote(*action.newText)), nil
	case kindResult, kindCallWithResult:
		return setPath(raw, row.outputPath, withText(o.bytes(row.outputPath), *action.newText)), nil
	}
	return nil, fmt.Errorf("%w: another text for %s", ErrWrite, jsonspan.PathAt(l.raw, unit.span.Start))
}

// withText returns an output with another text in the same structure.
func withText(out []byte, said string) []byte {
	o := objectOf(out)
	if kind := o.text("type"); kind != "" && o.get("value").Len() > 0 {
		if value := o.bytes("value"); firstByte(value) == '[' && hasOtherParts(value) {
			return setPath(out, "value", withText(value, said))
		}
		if strings.HasPrefix(kind, "error") {
			kind = "error-text"
		} else {
			kind = "text"
		}
		return setPath(setPath(out, "type", quote(kind)), "value", quote(said))
	}
	if o.text("type") == "text" && o.get("text").Len() > 0 {
		return setPath(out, "text", quote(said))
	}
	if firstByte(out) != '[' {
		return quote(said)
	}
	whole := jsonspan.Span{End: len(out)}
	items := jsonspan.Elements(out, whole)
	var now []newItem
	done, partly := false, hasOtherParts(out)
	for k, at := range items {
		raw := out[at.Start:at.End]
		if o := objectAt(out, at); o.get("text").Len() > 0 {
			if done {
				continue
			}
			raw, done = setPath(raw, "text", quote(said)), true
		} else if !partly && !isMedia(o.text("type")) {
			continue // its words are in the new text
		}
		now = append(now, newItem{k, raw})
	}
	if !done {
		now = append([]newItem{{-1, write("type", "text", "text", said)}}, now...)
	}
	return rewriteList(out, whole, items, now)
}
