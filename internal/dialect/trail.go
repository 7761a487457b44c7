package dialect

import (
	"slices"
	"strings"
	"unsafe"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
)

// at is the origin of a block.
func (d *draft) at(b transcript.BlockID) origin {
	w := d.where[b]
	return origin{d.t.Block(b).Message, w.in, int(w.index)}
}

// atMessage is the origin of a message.
func atMessage(i int) origin { return origin{message: i, in: inMessage} }

// fresh is the origin of something new.
func (d *draft) fresh() origin {
	d.made++
	return origin{message: -1, index: d.made}
}

// join notes that what stood at one place is now a part of what stands at another.
func (d *draft) join(into, from origin) {
	if d.joined == nil {
		d.joined = make(map[origin][]origin)
	}
	d.joined[into] = append(d.joined[into], from)
}

// contentOrigins are the origins of the parts of a message's content.
func (d *draft) contentOrigins(i int) []origin {
	s := d.frame[i].content
	if s.Len() == 0 || d.raw[s.Start] != '[' {
		return []origin{{i, inString, 0}}
	}
	return order(i, inContent, len(jsonspan.Elements(d.raw, jsonspan.Span(s))))
}

// written notes where the parts of a message's content are from that is written anew.
func (d *draft) written(i int, from []origin) {
	if d.contents == nil {
		d.contents = make(map[int][]origin)
	}
	d.contents[i], d.touched[i] = from, true
}

// order lists the places of n elements of a list.
func order(message int, in container, n int) []origin {
	all := make([]origin, n)
	for i := range all {
		all[i] = origin{message, in, i}
	}
	return all
}

// repeat is for several things that were made of one.
func repeat(o origin, n int) []origin {
	all := make([]origin, n)
	for i := range all {
		all[i] = o
	}
	return all
}

// blockMembers are the members of a message that hold its blocks, or that say nothing
// without them.
var blockMembers = func() []string {
	names := []string{"role", "content", "parts", "tool_calls", "function_call", "type"}
	for i := range sideMembers {
		names = append(names, sideMembers[i].name)
	}
	return names
}()

// holdsBlocks reports whether a member is one of them.
func (d *draft) holdsBlocks(e jsonspan.Member) bool {
	return slices.Contains(blockMembers, string(d.raw[e.Key.Start:e.Key.End]))
}

// tellMembers records what stood beside the blocks of messages that go in this round, such as
// annotations. What is one block goes as a whole.
func (m *repairer) tellMembers() {
	if !slices.Contains(m.messages.drop, true) {
		return
	}
	moved := make(map[int]bool)
	for _, put := range m.messages.put {
		for _, it := range put {
			moved[it.from.message] = true // with all that it holds
		}
	}
	whole := make(map[string]bool)
	for _, c := range m.changes {
		whole[c.Path] = whole[c.Path] || c.Action == ActionDrop
	}
	var members []jsonspan.Member
	for i, goes := range m.messages.drop {
		if !goes || moved[i] {
			continue
		}
		msg := m.t.Messages()[i]
		if m.extra[i]&holdsOnly != 0 && len(m.flaws) == 0 || m.g.flat && msg.First < msg.End && m.where[msg.First].in == inMessage {
			continue
		}
		members = members[:0]
		jsonspan.Visit(m.raw, jsonspan.Span(msg.Span), jsonspan.Span(m.frame[i].content), func(e jsonspan.Member) { members = append(members, e) })
		if !slices.ContainsFunc(members, func(e jsonspan.Member) bool { return !m.holdsBlocks(e) }) && len(m.flaws) == 0 {
			continue // as nearly always
		}
		var room [4]origin
		from, _ := m.trace(m.before, atMessage(i), room[:])
		if len(from) == 0 || whole[m.before.pathOf(from[0])] {
			continue
		}
		path := m.before.pathOf(from[0])
		last := make(map[string]int) // of two members with one name the last counts
		for k, member := range members {
			last[string(jsonspan.Decode(nil, m.raw[member.Key.Start:member.Key.End]))] = k
		}
		for k, member := range members {
			name := string(jsonspan.Decode(nil, m.raw[member.Key.Start:member.Key.End]))
			says := m.raw[member.Value.Start]
			isEmpty := 'a' <= says && says <= 'z' || member.Value.Len() == 2 && (says == '"' || says == '[' || says == '{')
			if slices.Contains(blockMembers, name) && last[name] == k || isEmpty {
				continue
			}
			if name == "tool_call_id" && m.holdsResult(msg) {
				continue // the receipt of the result names it
			}
			if from[0].in == inMessage && !m.before.hasMember(from[0].message, name) {
				continue // a repair has given it
			}
			m.changes = append(m.changes, Change{
				Action: ActionDrop, Rule: "empty-content", Path: path + "." + name, IDs: []string{}, Bytes: -member.Value.Len(), Reason: "goes with the message that it stood in" + m.idsIn(tspan(member.Value)),
				Removed: string(m.raw[member.Value.Start:member.Value.End]),
			})
		}
	}
}

// holdsResult reports whether a message holds a result.
func (m *repairer) holdsResult(msg transcript.Message) bool {
	return slices.ContainsFunc(m.t.Blocks()[msg.First:msg.End], func(b transcript.Block) bool { return b.Kind == transcript.Result })
}

// hasMember reports whether a message has a member of that name.
func (r *Request) hasMember(message int, name string) bool {
	_, ok := jsonspan.Find(r.raw, jsonspan.Span(r.t.Messages()[message].Span), name)
	return ok
}

func (d *draft) trail() *trail {
	l, n := &d.messages, d.messages.len()
	t := &trail{messages: make([]origin, 0, n+len(l.put)), inner: make(map[listKey][]origin, len(d.inner)), joined: d.joined}
	puts := sortedKeys(l.put)
	for i := 0; i <= n; i++ {
		var put []item
		for len(puts) > 0 && puts[0] <= i {
			put, puts = l.put[i], puts[1:]
		}
		for _, it := range put {
			if it.inner != nil {
				in := d.g.blocks
				if it.calls != 0 {
					in = it.calls
				}
				t.inner[listKey{len(t.messages), in}] = it.inner
			}
			it.from.in = inMessage
			d.origin(t, it.from)
		}
		if i < n && !l.drop[i] {
			d.origin(t, atMessage(i))
		}
	}
	return t
}

// origin adds the next message to a trail, and where its blocks are from.
func (d *draft) origin(t *trail, o origin) {
	i := len(t.messages)
	t.messages = append(t.messages, o)
	if o.message < 0 || !d.touched[o.message] {
		return
	}
	if from := d.contents[o.message]; from != nil {
		t.inner[listKey{i, d.g.blocks}] = from
	}
	for _, in := range []container{inContent, inParts, inCalls} {
		if l := d.inner[listKey{o.message, in}]; l != nil && t.inner[listKey{i, in}] == nil {
			t.inner[listKey{i, in}] = l.order(o.message, in)
		}
	}
}

// order lists where the elements of the changed list come from.
func (l *list) order(message int, in container) []origin {
	var all []origin
	if l.text {
		in = inString
	}
	for i := 0; i <= len(l.elems); i++ {
		for _, it := range l.put[i] {
			all = append(all, it.from)
		}
		if i < len(l.elems) && !l.drop[i] {
			all = append(all, origin{message, in, i})
		}
	}
	return all
}

// back returns where a place of the changed request was before.
func (t *trail) back(o origin) origin {
	if o.message >= len(t.messages) {
		return origin{message: -1}
	}
	m := t.messages[o.message]
	in := o.in
	if in == inString {
		in = inContent
	}
	if o.in == inMessage {
		if m.message < 0 { // a new message around something that is not
			for _, in := range []container{inContent, inParts, inCalls, inFunction} {
				for _, from := range t.inner[listKey{o.message, in}] {
					if from.message >= 0 {
						return from
					}
				}
			}
		}
		return m
	}
	if inner, ok := t.inner[listKey{o.message, in}]; ok {
		if o.index < len(inner) {
			return inner[o.index]
		}
		return origin{message: -1}
	}
	if m.message < 0 {
		return m
	}
	return origin{m.message, o.in, o.index}
}

// A birth tells new things apart: the step that made one, and which of it.
type birth struct{ step, index int }

// trace follows a place back to an earlier state: all the places that it was made of, and
// what of it was made since. The places are put into room.
func (r *Request) trace(before *Request, at origin, room []origin) (from []origin, made []birth) {
	if at.message < 0 {
		return nil, nil
	}
	from = append(room[:0], at)
	for i := len(r.steps) - 1; i >= len(before.steps); i-- {
		step := r.steps[i]
		next := from[:0]
		if len(step.joined) > 0 {
			next = nil // it may grow faster than it is read
		}
		for _, o := range from {
			p := step.back(o)
			if p.message < 0 {
				made = append(made, birth{i, p.index})
				continue
			}
			next = append(append(next, p), step.joined[p]...)
		}
		from = next
	}
	return from, made
}

// Paths writes paths, many of them into one piece of memory. The zero value is ready. It is
// for one goroutine.
type Paths struct {
	all  []string
	room []byte // what stands in it stays
}

// in returns the paths in an earlier state of all that a place of a request was made of;
// none if it is new. The slice is good until the next call.
func (p *Paths) in(r, before *Request, at origin) []string {
	p.all = p.all[:0]
	var room [4]origin
	from, _ := r.trace(before, at, room[:])
	for _, o := range from {
		const long = 64
		if cap(p.room)-len(p.room) < long {
			p.room = make([]byte, 0, max(min(4*cap(p.room), 4<<10), 2*long)) // a few paths need little
		}
		start := len(p.room)
		p.room = before.appendPath(p.room, o)
		path := p.room[start:]
		p.all = append(p.all, unsafe.String(unsafe.SliceData(path), len(path)))
	}
	return p.all
}

// pathAt translates the path of something inside message i, at an offset, to what it was
// in the state that changes are told in.
func (m *repairer) pathAt(i, offset int, path string) string {
	if i < 0 {
		return path
	}
	msg := m.t.Messages()[i]
	for b := msg.First; b < msg.End; b++ {
		if s := m.t.Block(b).Span; s.Start <= offset && offset < s.End {
			if rest, ok := strings.CutPrefix(path, m.Path(b)); ok {
				return m.pathIn(m.before, m.at(b)) + rest
			}
		}
	}
	return m.pathIn(m.before, atMessage(i)) + strings.TrimPrefix(path, m.MessagePath(i))
}

func (r *Request) pathIn(before *Request, at origin) string {
	var room [4]origin
	if from, _ := r.trace(before, at, room[:]); len(from) > 0 {
		return before.pathOf(from[0])
	}
	return ""
}

// explain returns the changes that explain how a request was made from an earlier state:
// without those that tell of something new which did not stay, and of what was done to
// something new.
func (r *Request) explain(before *Request, changes []Change) []Change {
	told := func(c *Change) bool { return !c.own || c.Action == ActionInsert }
	first := 0 // that does not go without saying
	for first < len(changes) && told(&changes[first]) && changes[first].born == (birth{}) {
		first++
	}
	if first == len(changes) {
		return changes
	}
	alive := make(map[birth]bool)
	var room [4]origin
	note := func(at origin) {
		_, made := r.trace(before, at, room[:])
		for _, b := range made {
			alive[b] = true
		}
	}
	for i, m := range r.t.Messages() {
		note(atMessage(i))
		for b := m.First; b < m.End; b++ {
			w := r.where[b]
			note(origin{i, w.in, int(w.index)})
		}
	}
	kept := make([]Change, 0, len(changes))
	for _, c := range changes {
		if told(&c) && (c.born == birth{} || alive[c.born]) {
			kept = append(kept, c)
		}
	}
	return kept
}
