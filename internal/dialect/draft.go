package dialect

import (
	"slices"
	"sort"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
)

// A draft collects changes to a request and writes them in one splice. Lists are
// changed by element, so that commas and white space come out right; everything
// else is an edit of a span. What nobody touches leaves byte for byte.
type draft struct {
	*Request
	pen      pen
	messages list
	inner    map[listKey]*list
	opened   []listKey // of inner, in the order they came
	edits    editSet
	left     []int               // by message: how many of its blocks stay
	turns    []int               // by turn: its first message
	answers  map[int]*answer     // by turn: a message for results that have none to go to
	gone     []bool              // by block: dropped or moved
	settled  []bool              // by block: changed in place; leave alone in this round
	taken    []bool              // by message: a change has claimed it whole
	touched  []bool              // by message: a list of it, or where its content is from, is in inner or contents
	joined   map[origin][]origin // what else is in a place now
	contents map[int][]origin    // by message: where the parts of its content are from, if that was written anew
	made     int                 // how many new things there are
	object   knownObject         // the one that a member was removed from last
	room     []byte              // where texts lie that were quoted, many in one piece
	body     bodyDraft
}

// A knownObject is an object that has been looked through. An object may have very many
// members that have to go.
type knownObject struct {
	at      transcript.Span
	members []jsonspan.Member
	names   map[string]int // nil: not asked for so far
}

// Find returns the last member of that name, which is the one that counts.
func (o *knownObject) find(raw []byte, name string) (int, bool) {
	if o.names == nil {
		o.names = make(map[string]int, len(o.members))
		for i, e := range o.members {
			o.names[string(jsonspan.Decode(nil, raw[e.Key.Start:e.Key.End]))] = i
		}
	}
	i, ok := o.names[name]
	return i, ok
}

// An answer is a message that is made to hold results.
type answer struct {
	before int // the message it goes in front of
	blocks []item
	behind item // another message behind it, if it has bytes
}

func newDraft(r *Request) *draft {
	d := &draft{Request: r, pen: pens[r.Dialect], turns: make([]int, 0, r.t.Turns())}
	ms, blocks := r.t.Messages(), len(r.t.Blocks())
	flags := make([]bool, 2*blocks+3*len(ms)) // one array for all of them
	of := func(n int) (part []bool) { part, flags = flags[:n:n], flags[n:]; return part }
	d.gone, d.settled, d.taken, d.touched, d.left = of(blocks), of(blocks), of(len(ms)), of(len(ms)), make([]int, len(ms))
	d.messages = list{span: r.list, of: r, drop: of(len(ms))}
	for i := range ms {
		d.left[i] = int(ms[i].End - ms[i].First)
		if ms[i].Turn == len(d.turns) {
			d.turns = append(d.turns, i)
		}
	}
	return d
}

// turnBlocks returns the blocks of a turn as a range; none if there is no such.
func (d *draft) turnBlocks(turn int) (first, end transcript.BlockID) {
	if turn < 0 || turn >= len(d.turns) {
		return 0, 0
	}
	ms := d.t.Messages()
	last := len(ms)
	if turn+1 < len(d.turns) {
		last = d.turns[turn+1]
	}
	return ms[d.turns[turn]].First, ms[last-1].End
}

// listOf returns the list that holds the blocks of a message in one container,
// ready to be changed.
func (d *draft) listOf(message int, in container) *list {
	if in == inString {
		in = inContent
	}
	k := listKey{message, in}
	if l := d.inner[k]; l != nil {
		return l
	}
	l := &list{span: d.frame[message].content}
	if in == inCalls {
		l.span = d.frame[message].calls
	}
	m := &d.t.Messages()[message]
	l.elems = make([]transcript.Span, 0, m.End-m.First)
	for b := m.First; b < m.End; b++ {
		switch d.where[b].in {
		case in:
			l.elems = append(l.elems, d.t.Block(b).Span)
		case inString:
			if in == inContent {
				l.elems, l.text = append(l.elems, d.t.Block(b).Span), true
			}
		}
	}
	l.drop = make([]bool, len(l.elems))
	if l.span.Len() > 0 && d.raw[l.span.Start] == '"' {
		l.text = true
	}
	if d.inner == nil {
		d.inner = make(map[listKey]*list)
	}
	d.inner[k], d.opened, d.touched[message] = l, append(d.opened, k), true
	return l
}

// dropMessage takes a message out of the list.
func (d *draft) dropMessage(i int) {
	d.messages.drop[i] = true
	d.taken[i] = true
	m := d.t.Messages()[i]
	for b := m.First; b < m.End; b++ {
		d.gone[b] = true
	}
}

// dropBlock takes a block out of its message, and the message with its last block.
func (d *draft) dropBlock(b transcript.BlockID) {
	if d.gone[b] {
		return
	}
	d.gone[b] = true
	i := d.t.Blocks()[b].Message
	d.left[i]--
	d.takeOut(b, i)
	d.dropIfEmpty(i)
}

// takeOut takes a block out of its message.
func (d *draft) takeOut(b transcript.BlockID, message int) {
	switch w := d.where[b]; w.in {
	case inMessage:
		d.dropMessage(message)
	case inMember, inFunction:
		d.removeMember(d.t.Messages()[message].Span, w.member())
	default:
		d.listOf(message, w.in).drop[w.index] = true
	}
}

// dropBlocks takes blocks out. Messages of which nothing stays need no look inside.
func (d *draft) dropBlocks(all []transcript.BlockID) {
	blocks := d.t.Blocks()
	for _, b := range all {
		if !d.gone[b] {
			d.gone[b] = true
			d.left[blocks[b].Message]--
		}
	}
	partly, last := 0, -1
	for _, b := range all {
		if i := blocks[b].Message; i != last && d.left[i] > 0 {
			partly, last = partly+1, i
		}
	}
	if d.inner == nil && partly > 0 {
		d.inner, d.opened = make(map[listKey]*list, partly), make([]listKey, 0, partly)
	}
	for _, b := range all {
		if i := blocks[b].Message; d.left[i] == 0 {
			d.messages.drop[i] = true
		} else {
			d.takeOut(b, i)
		}
	}
}

// dropIfEmpty drops a message all of whose blocks are gone. Nothing that was put
// into it may be lost by that.
func (d *draft) dropIfEmpty(i int) {
	if d.left[i] > 0 {
		return
	}
	for _, in := range []container{inContent, inParts, inCalls} {
		if l := d.inner[listKey{i, in}]; l != nil && len(l.put) > 0 {
			return
		}
	}
	d.messages.drop[i] = true
}

// insertMessage puts a message in front of message i. Its blocks are from inner, if that is
// given, and else new or from where the message is from.
func (d *draft) insertMessage(i int, raw []byte, from origin, inner ...origin) {
	d.messages.insert(i, item{raw: raw, from: from, inner: inner})
}

// inQuotes is quote for a text of many that are put in.
func (d *draft) inQuotes(text string) []byte {
	const piece = 4 << 10
	size := len(text) + len(text)/8 + 2
	if size > piece/4 {
		return quote(text)
	}
	if cap(d.room)-len(d.room) < size {
		d.room = make([]byte, 0, piece)
	}
	from := len(d.room)
	d.room = jsonspan.AppendQuote(d.room, text)
	return d.room[from:len(d.room):len(d.room)]
}

// edit replaces a span, unless an earlier edit of this round overlaps it.
func (d *draft) edit(e jsonspan.Edit) bool { return d.edits.insert(e) }

func (d *draft) setMember(object transcript.Span, name string, value []byte) bool {
	return d.edit(jsonspan.SetMember(d.raw, jsonspan.Span(object), name, value))
}

func (d *draft) removeMember(object transcript.Span, name string) bool {
	if d.object.at != object {
		d.object = knownObject{at: object, members: jsonspan.Members(d.raw, jsonspan.Span(object))}
	}
	return d.removeFrom(&d.object, name)
}

// removeFrom takes everything of that name out of an object. It reports whether what counted
// is gone: a copy that says the same may have gone before.
func (d *draft) removeFrom(o *knownObject, name string) bool {
	i, ok := o.find(d.raw, name)
	if !ok {
		return false
	}
	if len(o.names) == len(o.members) { // no copies
		return d.edit(jsonspan.RemoveAt(o.members, i))
	}
	for _, e := range jsonspan.RemoveMembers(o.members, func(m jsonspan.Member) bool { return jsonspan.Says(d.raw, m.Key, name) }) {
		ok = d.edit(e)
	}
	return ok
}

// member returns the value of a member of the object at span.
func (d *draft) member(object transcript.Span, name string) (transcript.Span, bool) {
	m, ok := jsonspan.Find(d.raw, jsonspan.Span(object), name)
	return tspan(m.Value), ok
}

// clean reports whether the draft changes nothing.
func (d *draft) clean() bool {
	return d.edits.empty() && !d.body.added() && len(d.inner) == 0 && len(d.answers) == 0 && len(d.messages.put) == 0 && !slices.Contains(d.messages.drop, true)
}

// render writes the changed request and the trail from it back to this one.
func (d *draft) render() ([]byte, *trail, error) {
	step := d.plan()
	out, err := jsonspan.Splice(d.raw, step.edits)
	return out, step, err
}

// plan makes the trail, with all edits, of what was collected.
func (d *draft) plan() *trail {
	for _, turn := range sortedKeys(d.answers) {
		a := d.answers[turn]
		raws, inner := make([][]byte, len(a.blocks)), make([]origin, len(a.blocks))
		for i, it := range a.blocks {
			raws[i], inner[i] = it.raw, it.from
		}
		d.messages.insert(a.before, item{raw: d.g.turn(raws), from: d.fresh(), inner: inner})
		if a.behind.raw != nil {
			d.messages.insert(a.before, a.behind)
		}
	}
	edits := d.edits.all()
	if slices.Contains(d.messages.drop, true) {
		edits = slices.DeleteFunc(edits, func(e jsonspan.Edit) bool {
			i := d.messageAround(e.Span)
			return i >= 0 && d.messages.drop[i]
		})
	}
	for _, k := range d.opened {
		if !d.messages.drop[k.message] {
			edits = append(edits, d.listEdits(k, d.inner[k])...)
		}
	}
	edits = append(edits, d.messageEdits()...)
	edits = append(edits, d.bodyEdits()...)
	if !slices.IsSortedFunc(edits, compareEdits) {
		slices.SortStableFunc(edits, compareEdits)
	}
	step := d.trail()
	step.edits = d.withoutInner(edits)
	return step
}

// messageEdits are the edits of the list of messages. What stands in its place by itself
// becomes one when it gets company.
func (d *draft) messageEdits() []jsonspan.Edit {
	l := &d.messages
	if d.raw[l.span.Start] == '[' {
		return l.edits(d.raw)
	}
	if len(l.put) == 0 && !slices.Contains(l.drop, true) {
		return nil
	}
	var all [][]byte
	for i := 0; i <= l.len(); i++ {
		for _, it := range l.put[i] {
			all = append(all, it.raw)
		}
		if i == l.len() || l.drop[i] {
			continue
		}
		raw := d.t.Bytes(l.at(i))
		if raw[0] == '"' {
			raw = d.g.textMessage(transcript.User, string(jsonspan.Decode(nil, raw[1:len(raw)-1])))
		}
		all = append(all, raw)
	}
	return []jsonspan.Edit{{Span: jsonspan.Span(l.span), New: array(all...)}}
}

// withoutInner leaves out edits that lie inside a span that another one replaces:
// the block they are about is gone.
func (d *draft) withoutInner(edits []jsonspan.Edit) []jsonspan.Edit {
	kept := edits[:0]
	end := -1
	for i, e := range edits {
		if e.Start < end {
			continue
		}
		// A removal that begins where an insertion stands comes behind it.
		if i+1 < len(edits) && edits[i+1].Start == e.Start && e.Len() > 0 && edits[i+1].Len() > e.Len() {
			continue
		}
		kept = append(kept, e)
		end = max(end, e.End)
	}
	return kept
}

// messageAround returns the message that holds a span, or -1.
func (d *draft) messageAround(s jsonspan.Span) int {
	l := &d.messages
	i := sort.Search(l.len(), func(i int) bool { return l.at(i).End > s.Start })
	if i == l.len() || l.at(i).Start > s.Start {
		return -1
	}
	return i
}

// listEdits are the edits of a list inside a message. A message of the chat API
// that loses all its calls loses the list too.
func (d *draft) listEdits(k listKey, l *list) []jsonspan.Edit {
	if l.text && (!d.g.nullContent || len(l.put) > 0) {
		return []jsonspan.Edit{{Span: jsonspan.Span(l.span), New: d.textAsList(l)}}
	}
	if k.in == inContent && d.g.nullContent && len(l.put) == 0 && !slices.Contains(l.drop, false) {
		return []jsonspan.Edit{{Span: jsonspan.Span(l.span), New: []byte("null")}} // calls may stand alone
	}
	if k.in == inCalls && len(l.put) == 0 && !slices.Contains(l.drop, false) {
		return d.withoutCalls(d.t.Messages()[k.message].Span, l.span)
	}
	return l.edits(d.raw)
}

// textAsList writes a string that gets company as a list of blocks.
func (d *draft) textAsList(l *list) []byte {
	out := []byte{'['}
	add := func(raw []byte) {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, raw...)
	}
	for i := 0; i <= len(l.elems); i++ {
		for _, it := range l.put[i] {
			add(it.raw)
		}
		if i < len(l.elems) && !l.drop[i] {
			add(d.g.textBlock(transcript.User, d.raw[l.elems[i].Start:l.elems[i].End]))
		}
	}
	return append(out, ']')
}
