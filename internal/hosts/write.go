package hosts

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/inside"
	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

var wirex = wire.Internal(inside.Module)

// ErrWrite says that what was planned cannot be said in the shape of the host.
var ErrWrite = errors.New("this cannot be written in the shape of the list")

// What becomes of a unit.
type fate struct {
	kept  bool
	said  *string // another text, or another output
	input []byte  // another input
	id    string  // another id
	name  string  // of a result: the tool of the call that it belongs to now
	ends  *string // the result of a call that had none, in its own part
}

// A slot is an element of the list that is written.
type slot struct {
	elem  int   // -1: it is new
	units []int // what is left of it
	raw   []byte
	// Of a new one: it answers a call, or says a text.
	call int
	who  role
	text string
}

// Rewrite returns the document with what a plan has made of the list; nil if nothing is changed. It is read
// again: unless it says what was planned, the error is [ErrWrite].
func (l *List) Rewrite(plan *pare.Plan) ([]byte, error) {
	if plan.Empty() {
		return nil, nil
	}
	out, err := l.write(plan.Result(), false)
	if errors.Is(err, ErrWrite) && l.shape.nameless { // by its name alone, a result may belong to another call now
		return l.write(plan.Result(), true)
	}
	return out, err
}

// write writes what a request says; named: with an id in every call.
func (l *List) write(after *wire.Request, named bool) ([]byte, error) {
	fates := make([]fate, len(l.units))
	slots, err := l.arrange(after, fates)
	if err != nil {
		return nil, err
	}
	for i := range l.units {
		if id := cmp.Or(fates[i].id, l.units[i].id); named && strings.HasPrefix(id, madeUp) {
			fates[i].id = newID(id, nil)
		}
	}
	slots = l.others(slots)
	items := make([]item, 0, len(slots))
	split := l.splits(slots)
	for i := range slots {
		s := &slots[i]
		if s.elem < 0 {
			items = append(items, item{-1, l.fresh(slots, i, fates)})
			continue
		}
		if split[s.elem] && l.all[s.elem].role != user {
			return nil, fmt.Errorf("%w: something was put in between of what %s says", ErrWrite, jsonspan.PathAt(l.raw, l.spans[s.elem].Start))
		}
		raw, err := l.render(s, fates)
		if err != nil {
			return nil, err
		}
		was := s.elem
		if split[s.elem] {
			was = -1
		}
		items = append(items, item{was, raw})
	}
	out, err := jsonspan.Splice(l.raw, []jsonspan.Edit{{Span: l.list, New: rewritten(l.raw, l.list, l.spans, items)}})
	if err != nil {
		return nil, err
	}
	return out, l.same(out, after)
}

// arrange says what becomes of the units, and in which order they stand.
func (l *List) arrange(after *wire.Request, fates []fate) (slots []slot, err error) {
	t, old := after.Transcript(), l.Request.Transcript()
	was := make(map[string]transcript.BlockID, len(old.Blocks()))
	for b := range old.Blocks() {
		was[l.Request.Path(transcript.BlockID(b))] = transcript.BlockID(b)
	}
	calls := make(map[string]int) // units by the ids that they have now
	for _, m := range t.Messages() {
		for b := m.First; b < m.End; b++ {
			blk := t.Block(b)
			path := wirex.PathIn(after, l.Request, b)
			h, ok := l.blocks[path]
			if ok && h.unit < 0 {
				continue
			}
			if ok {
				before := was[path]
				if ok = old.Block(before).Kind == blk.Kind; ok {
					l.decide(after, b, before, h, &fates[h.unit])
				}
			}
			if blk.Kind == transcript.Call && ok {
				calls[blk.CallID] = h.unit
			}
			switch {
			case ok && h.result: // it lies in the part of its call
			case ok:
				slots = put(slots, l.units[h.unit].elem, h.unit)
			case blk.Kind == transcript.Result:
				c, known := calls[blk.CallID]
				if !known {
					return nil, fmt.Errorf("%w: a result whose call is not there", ErrWrite)
				}
				text := after.Text(b)
				if l.shape.end != nil {
					fates[c].ends = &text
					continue
				}
				slots = append(slots, slot{elem: -1, call: c, text: text})
			case blk.Kind == transcript.Text:
				who := user
				if m.Role == transcript.Assistant {
					who = assistant
				}
				slots = append(slots, slot{elem: -1, call: -1, text: after.Text(b), who: who})
			default:
				return nil, fmt.Errorf("%w: a new %s", ErrWrite, blk.Kind)
			}
		}
	}
	return slots, nil
}

// put adds a unit of an element at the end.
func put(slots []slot, elem, u int) []slot {
	if n := len(slots); n > 0 && slots[n-1].elem == elem {
		slots[n-1].units = append(slots[n-1].units, u)
		return slots
	}
	return append(slots, slot{elem: elem, units: []int{u}})
}

// decide notes what became of a block.
func (l *List) decide(after *wire.Request, b, before transcript.BlockID, h half, f *fate) {
	now, then := after.Transcript().Block(b), l.Request.Transcript().Block(before)
	f.kept = true
	switch now.Kind {
	case transcript.Call:
		if now.CallID != then.CallID {
			f.id = now.CallID
		}
		if in := after.Transcript().Bytes(now.Body); !bytes.Equal(in, l.Request.Transcript().Bytes(then.Body)) {
			f.input = in
		}
	case transcript.Result:
		if now.CallID != then.CallID && !h.result {
			f.id = now.CallID
			if x := after.Transcript().ExchangeOf(b); x != transcript.NoExchange {
				f.name = after.Transcript().Exchanges()[x].Tool
			}
		}
		fallthrough
	default:
		if text := after.Text(b); text != l.Request.Text(before) {
			f.said = &text
		}
	}
}

// splits are the elements that stand in several slots.
func (l *List) splits(slots []slot) map[int]bool {
	seen, split := make(map[int]bool), make(map[int]bool)
	for _, s := range slots {
		if s.elem >= 0 {
			split[s.elem] = seen[s.elem]
			seen[s.elem] = true
		}
	}
	return split
}

// others puts the elements that say nothing behind those that stood in front of them.
func (l *List) others(slots []slot) (all []slot) {
	behind := make(map[int][]int) // by slot; -1: in front of all
	last := make(map[int]int)
	for i, s := range slots {
		if s.elem >= 0 {
			last[s.elem] = i
		}
	}
	at := -1
	for e := range l.all {
		if i, ok := last[e]; ok {
			at = i
		} else if len(l.all[e].units) == 0 {
			behind[at] = append(behind[at], e)
		}
	}
	for _, e := range behind[-1] {
		all = append(all, slot{elem: e})
	}
	for i, s := range slots {
		all = append(all, s)
		for _, e := range behind[i] {
			all = append(all, slot{elem: e})
		}
	}
	return all
}

// fresh writes an element that is new.
func (l *List) fresh(slots []slot, i int, fates []fate) []byte {
	s := &slots[i]
	if s.call >= 0 {
		c := l.units[s.call]
		c.id = cmp.Or(fates[s.call].id, c.id)
		e := &l.all[c.elem]
		return l.shape.stub(e.object, e.in, &c, quote(s.text))
	}
	near := -1
	for k := range slots { // the nearest of the same role, so that it can be like it
		if e := slots[k].elem; e >= 0 && len(l.all[e].units) > 0 {
			if near < 0 || l.all[e].role == s.who && (l.all[near].role != s.who || abs(k-i) < abs(near-i)) {
				near = e
			}
		}
	}
	if near < 0 {
		near = 0
	}
	e := &l.all[near]
	return l.shape.says(e.object, e.in, s.who, quote(s.text))
}

func abs(n int) int { return max(n, -n) }

// render writes what is left of an element.
func (l *List) render(s *slot, fates []fate) ([]byte, error) {
	e := &l.all[s.elem]
	raw := l.raw[e.Span.Start:e.Span.End]
	if len(e.units) == 0 {
		return raw, nil
	}
	left := make(map[int]bool, len(s.units))
	same := slices.Equal(s.units, e.units)
	for _, u := range s.units {
		left[u] = true
		f := &fates[u]
		same = same && f.said == nil && f.input == nil && f.id == "" && f.ends == nil
	}
	if same {
		return raw, nil
	}
	if !slices.IsSorted(s.units) {
		return nil, fmt.Errorf("%w: the parts of %s in another order", ErrWrite, jsonspan.PathAt(l.raw, e.Span.Start))
	}
	owner := make(map[place]int)
	var edits []jsonspan.Edit
	for _, u := range e.units {
		x := &l.units[u]
		for _, p := range x.places {
			owner[p] = u
		}
		switch {
		case len(x.places) > 0:
		case x.inline && !left[u]:
			edits = append(edits, jsonspan.Edit{Span: x.at, New: []byte(`""`)})
		case x.inline && fates[u].said != nil:
			edits = append(edits, jsonspan.Edit{Span: x.at, New: quote(*fates[u].said)})
		case !x.inline: // the message as a whole
			now, err := l.edited(u, l.raw[x.at.Start:x.at.End], &fates[u], x.row)
			if err != nil {
				return nil, err
			}
			edits = append(edits, jsonspan.Edit{Span: x.at, New: now})
		}
	}
	for n, list := range e.lists {
		now := make([]item, 0, len(list.items))
		for k, at := range list.items {
			was := l.raw[at.Start:at.End]
			u, owned := owner[place{n, k}]
			switch {
			case !owned:
				now = append(now, item{k, was})
			case left[u]:
				out, err := l.edited(u, was, &fates[u], l.rowOf(u, was))
				if err != nil {
					return nil, err
				}
				now = append(now, item{k, out})
			}
		}
		edits = append(edits, jsonspan.Edit{Span: list.at, New: rewritten(l.raw, list.at, list.items, now)})
	}
	slices.SortFunc(edits, func(a, b jsonspan.Edit) int { return a.Start - b.Start })
	for i := range edits {
		edits[i].Start, edits[i].End = edits[i].Start-e.Span.Start, edits[i].End-e.Span.Start
	}
	return jsonspan.Splice(raw, edits)
}

// rowOf is the row of a place where a unit stands: a copy of a call may look different.
func (l *List) rowOf(u int, raw []byte) *part {
	x := &l.units[u]
	if x.kind != call || bytes.Equal(raw, l.raw[x.at.Start:x.at.End]) {
		return x.row
	}
	o := openAll(raw)
	if o.get("function").Len() > 0 {
		return &functionCopy
	}
	if row := l.shape.row(o.text("type")); row != nil && row.kind == call && o.get(row.in).Len() > 0 {
		return row
	}
	return &l.shape.call
}

// functionCopy is a call as OpenAI has it: its input is a text.
var functionCopy = part{kind: call, id: "id", name: "function.name", in: "function.arguments"}

// edited is a part with what was decided about it.
func (l *List) edited(u int, raw []byte, f *fate, row *part) ([]byte, error) {
	x := &l.units[u]
	if f.id != "" && row.id != "" && !strings.HasPrefix(f.id, madeUp) { // a made-up id is not written: names pair then
		raw = set(raw, row.id, quote(f.id))
	}
	if f.name != "" && row.name != "" {
		raw = set(raw, row.name, quote(f.name))
	}
	if f.input != nil {
		in := f.input
		if at := openAll(raw).bytes(row.in); first(at) == '"' { // an object, written as a text
			in = quote(string(in))
		}
		raw = set(raw, row.in, in)
	}
	if f.ends != nil {
		raw = l.shape.end(raw, quote(*f.ends))
	}
	if f.said == nil {
		return raw, nil
	}
	o := openAll(raw)
	switch x.kind {
	case text, reasoning:
		return set(raw, row.say, quote(*f.said)), nil
	case result, both:
		return set(raw, row.out, spoken(o.bytes(row.out), *f.said)), nil
	}
	return nil, fmt.Errorf("%w: another text for %s", ErrWrite, jsonspan.PathAt(l.raw, x.at.Start))
}

// spoken is an output with another text, in the form that it has.
func spoken(out []byte, said string) []byte {
	o := openAll(out)
	if kind := o.text("type"); kind != "" && o.get("value").Len() > 0 {
		if value := o.bytes("value"); first(value) == '[' && holdsMore(value) {
			return set(out, "value", spoken(value, said))
		}
		if strings.HasPrefix(kind, "error") {
			kind = "error-text"
		} else {
			kind = "text"
		}
		return set(set(out, "type", quote(kind)), "value", quote(said))
	}
	if o.text("type") == "text" && o.get("text").Len() > 0 {
		return set(out, "text", quote(said))
	}
	if first(out) != '[' {
		return quote(said)
	}
	whole := jsonspan.Span{End: len(out)}
	items := jsonspan.Elements(out, whole)
	var now []item
	done, partly := false, holdsMore(out)
	for k, at := range items {
		raw := out[at.Start:at.End]
		if o := open(out, at); o.get("text").Len() > 0 {
			if done {
				continue
			}
			raw, done = set(raw, "text", quote(said)), true
		} else if !partly && !isMedia(o.text("type")) {
			continue // its words are in what is said
		}
		now = append(now, item{k, raw})
	}
	if !done {
		now = append([]item{{-1, write("type", "text", "text", said)}}, now...)
	}
	return rewritten(out, whole, items, now)
}

// same makes sure that what was written says what was planned.
func (l *List) same(out []byte, want *wire.Request) error {
	again, err := Read(out, Options{As: l.Shape, Model: l.options.Model})
	if err != nil {
		return fmt.Errorf("%w: it could not be read again: %w", ErrWrite, err)
	}
	got, wanted := again.said(again.Request), l.said(want)
	for i := range max(len(got), len(wanted)) {
		if i >= len(got) || i >= len(wanted) || got[i] != wanted[i] {
			return fmt.Errorf("%w: block %d would be another one", ErrWrite, i)
		}
	}
	return nil
}

// A saying is what one block says.
type saying struct {
	role transcript.Role
	kind transcript.Kind
	id   string
	name string
	text string
}

// said is what a request says, block by block. Ids that were made up count in their order. Results of one turn
// have no order, and none at all have one where each lies in the part of its call.
func (l *List) said(r *wire.Request) (all []saying) {
	t := r.Transcript()
	ids := make(map[string]string)
	for i := range t.Blocks() {
		b := t.Block(transcript.BlockID(i))
		if len(all) == 0 && t.Messages()[b.Message].Role == transcript.System {
			continue // in front of everything, instructions are no message
		}
		if h, ok := l.blocks[wirex.PathIn(r, l.Request, transcript.BlockID(i))]; ok && h.unit < 0 {
			continue
		}
		s := saying{t.Messages()[b.Message].Role, b.Kind, b.CallID, b.Tool, ""}
		if strings.HasPrefix(s.id, madeUp) || strings.HasPrefix(s.id, newBegin) {
			if ids[s.id] == "" {
				ids[s.id] = fmt.Sprint(madeUp, len(ids))
			}
			s.id = ids[s.id]
		}
		if s.kind != transcript.Media {
			s.text = r.Text(transcript.BlockID(i))
		}
		if s.kind == transcript.Result {
			s.name = ""
		}
		all = append(all, s)
	}
	byID := func(a, b saying) int { return cmp.Or(strings.Compare(a.id, b.id), strings.Compare(a.text, b.text)) }
	if l.shape.end != nil {
		slices.SortStableFunc(all, func(a, b saying) int {
			switch ra, rb := a.kind == transcript.Result, b.kind == transcript.Result; {
			case ra && rb:
				return byID(a, b)
			case ra:
				return 1
			case rb:
				return -1
			}
			return 0
		})
		return all
	}
	for i := 0; i < len(all); i++ {
		n := i
		for n < len(all) && all[n].kind == transcript.Result {
			n++
		}
		slices.SortStableFunc(all[i:n], byID)
		i = max(i, n-1)
	}
	return all
}
