package agentlog

import (
	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// A relay writes the pieces of a repaired thread into the file and hangs them up in
// their order.
type relay struct {
	e     *edits
	t     *Thread
	tail  string // uuid of the last line of the path, as it will be
	stamp string // time of the last line that was put in
	path  map[int]bool
	child map[string][]int // by parent
}

func newRelay(e *edits, t *Thread) *relay {
	leaf := t.tree.entries[t.tree.path[len(t.tree.path)-1]]
	r := &relay{e: e, t: t, tail: leaf.uuid, stamp: leaf.stamp, path: make(map[int]bool, len(t.tree.path)), child: make(map[string][]int)}
	for _, u := range t.tree.path {
		r.path[u] = true
	}
	for i := range t.tree.entries {
		parent := t.tree.entries[i].parent
		r.child[parent] = append(r.child[parent], i)
	}
	return r
}

// run puts every piece in its place. Pieces that stay in order stay where they are,
// whatever else is new or moved hangs in front of the next of them.
func (r *relay) run(pieces []piece) {
	t := r.t
	for _, u := range r.e.dropUnused(t, pieces) {
		r.e.links.gone[u] = true
	}
	leaf := r.tail
	stays := increasing(pieces)
	for k, p := range pieces { // a line whose parent was lost with its call has no place yet
		if p.message >= 0 && t.tree.astray[t.parts[p.message].unit] != "" {
			stays[k] = false
		}
	}
	// By piece: the next unit of the path that stays behind it. Results keep hanging
	// on their calls, by which the agent finds them, so nothing is put in front of one.
	next := make([]int, len(pieces))
	for k, ahead := len(pieces)-1, -1; k >= 0; k-- {
		next[k] = ahead
		if !stays[k] {
			continue
		}
		if u := t.parts[pieces[k].message].unit; r.path[u] && (t.tree.entries[u].assistant || t.tree.entries[u].speaks) {
			ahead = u
		}
	}
	near := t.parts[0].unit // in whose manner new lines are written: the one before
	for k, p := range pieces {
		if p.message >= 0 {
			near = t.parts[p.message].unit
			if p.raw != nil {
				r.e.set(near, "message", r.e.l.with(t.tree.entries[near].message, p.raw))
			}
		}
		switch {
		case stays[k]:
		case p.beside:
			r.hangBeside(p)
		case p.message < 0:
			r.hangNew(p, near, next[k])
		default:
			r.hangMoved(near, next[k])
		}
	}
	if c := t.tree; c.named >= 0 && r.tail != leaf { // or the agent would go on in front of what is new
		r.e.set(c.named, "leafUuid", r.tail)
		r.e.log(Change{Line: r.e.l.units[c.named].line}, wire.ActionEdit, "relink", nil, 0, "names the line that is the last one now")
	}
}

// with writes the message at span, which has members of its own, with the content of
// another one.
func (l *Log) with(at jsonspan.Span, message []byte) []byte {
	m := objectOf(message)
	return objectAt(l.raw, at).With("content", m.Value("content"))
}

// besideCalls moves new results that stand behind other messages of the assistant in
// front of them, right behind the message that calls: the provider takes all of these
// for one turn, but the agent looks for results there, and leaves others away.
func besideCalls(t *Thread, pieces []piece) []piece {
	behind := make(map[int][][]byte) // by piece: the results to put behind it
	var at map[int]int               // by unit: its piece
	for k, p := range pieces {
		if p.message >= 0 || p.role != transcript.User {
			continue
		}
		if at == nil {
			at = make(map[int]int, len(pieces))
			for i, p := range pieces {
				if p.message >= 0 {
					at[t.parts[p.message].unit] = i
				}
			}
		}
		m := objectOf(p.raw)
		var stay [][]byte
		for _, b := range m.List("content") {
			raw := p.raw[b.Start:b.End]
			end := len(pieces)
			if unit, ok := t.tree.callers[objectAt(p.raw, b).Text("tool_use_id")]; ok {
				if call, ok := at[unit]; ok && call < k {
					end = messageEnd(t, pieces, call)
				}
			}
			if end < k {
				behind[end] = append(behind[end], raw)
			} else {
				stay = append(stay, raw)
			}
		}
		if len(stay) < len(m.List("content")) {
			pieces[k].raw = nil
			if len(stay) > 0 {
				pieces[k].raw = m.With("content", array(stay...))
			}
		}
	}
	if len(behind) == 0 {
		return pieces
	}
	out := make([]piece, 0, len(pieces)+len(behind))
	for k, p := range pieces {
		if p.message >= 0 || p.raw != nil {
			out = append(out, p)
		}
		if behind[k] != nil {
			out = append(out, piece{message: -1, raw: write("role", "user", "content", array(behind[k]...)), role: transcript.User})
		}
	}
	return out
}

// besidePath makes pieces of their own of new results whose calls are not on the path: a
// parallel call beside it is sent if a result hangs on its line.
func besidePath(t *Thread, pieces []piece) []piece {
	var path map[int]bool
	var out []piece // nil: nothing has changed
	for k, p := range pieces {
		var moved, stay [][]byte
		if p.raw != nil && p.role == transcript.User {
			if path == nil {
				path = make(map[int]bool, len(t.tree.path))
				for _, u := range t.tree.path {
					path[u] = true
				}
			}
			m := objectOf(p.raw)
			for _, b := range m.List("content") {
				raw := p.raw[b.Start:b.End]
				id := objectAt(p.raw, b).Text("tool_use_id")
				if u, ok := t.tree.callers[id]; id != "" && ok && !path[u] && t.talk.results[id] == 0 {
					moved = append(moved, raw)
				} else {
					stay = append(stay, raw)
				}
			}
			if moved != nil {
				p.raw = m.With("content", array(stay...))
			}
		}
		if moved == nil {
			if out != nil {
				out = append(out, p)
			}
			continue
		}
		if out == nil {
			out = append(make([]piece, 0, len(pieces)+len(moved)), pieces[:k]...)
		}
		for _, raw := range moved {
			out = append(out, piece{message: -1, raw: write("role", "user", "content", array(raw)), role: transcript.User, beside: true})
		}
		if stay != nil {
			out = append(out, p)
		}
	}
	if out == nil {
		return pieces
	}
	return out
}

// messageEnd returns the last piece of the assistant's message that a piece belongs to,
// if another message of the assistant comes next; else a piece that does not exist.
func messageEnd(t *Thread, pieces []piece, k int) int {
	entryOf := func(k int) *entry { return &t.tree.entries[t.parts[pieces[k].message].unit] }
	id := entryOf(k).id
	for k++; k < len(pieces) && pieces[k].message >= 0 && entryOf(k).assistant; k++ {
		if e := entryOf(k); id == "" || e.id != id {
			return k - 1
		}
	}
	return len(pieces)
}

// parentOf returns what a unit hangs on, as it will be.
func (e *edits) parentOf(es []entry, u int) string {
	if p, ok := e.links.parents[u]; ok {
		return p
	}
	return es[u].parent
}

// firstStaying climbs past lines that go.
func (e *edits) firstStaying(c *ccChain, uuid string) string {
	for range len(c.entries) {
		u, ok := c.index[uuid]
		if !ok || !e.links.gone[u] {
			break
		}
		uuid = e.parentOf(c.entries, u)
	}
	return uuid
}

// front returns the parent for a line that comes in front of next, or at the end.
func (r *relay) front(next int) string {
	c := r.t.tree
	if next < 0 {
		return r.e.firstStaying(c, r.tail)
	}
	p := r.e.firstStaying(c, r.e.parentOf(c.entries, next))
	if to, ok := r.e.l.links[next]; ok {
		if _, set := r.e.links.parents[next]; !set {
			p = c.entries[to].uuid
		}
	}
	return p
}

// put puts a line in front of next, or behind the end of the path.
func (r *relay) put(line []byte, uuid string, next int) {
	if next >= 0 {
		r.e.links.parents[next] = uuid
		r.e.links.inFront[next] = append(r.e.links.inFront[next], uuid)
		x := r.e.unit(next)
		x.before = append(x.before, line)
		return
	}
	r.tail = uuid
	x := r.e.unit(r.t.tree.path[len(r.t.tree.path)-1])
	x.after = append(x.after, line)
}

// hangBeside puts the result of a call that is not on the path where the agent looks for
// it: on the line of the call.
func (r *relay) hangBeside(p piece) {
	c := r.t.tree
	call := c.index[r.e.callLine(c, p.raw)]
	line, _ := r.e.newLine(c, p, call, c.entries[call].uuid, c.entries[call].stamp)
	x := r.e.unit(call)
	x.after = append(x.after, line)
}

func (r *relay) hangNew(p piece, near, next int) {
	parent := r.front(next)
	stamp := r.t.tree.entries[near].stamp
	if next < 0 {
		stamp = r.stamp
	}
	line, uuid := r.e.newLine(r.t.tree, p, near, parent, stamp)
	if next < 0 {
		r.stamp = later(stamp)
	}
	r.put(line, uuid, next)
}

// hangMoved takes a line out of its place and hangs it in front of next. What hung
// on it hangs on what it hung on.
func (r *relay) hangMoved(u, next int) {
	c := r.t.tree
	up := r.e.parentOf(c.entries, u)
	for _, i := range r.child[c.entries[u].uuid] {
		if r.e.parentOf(c.entries, i) == c.entries[u].uuid {
			r.e.links.parents[i] = up
		}
	}
	if r.tail == c.entries[u].uuid {
		r.tail = up
	}
	parent := r.front(next)
	delete(r.e.links.parents, u)
	r.e.set(u, "parentUuid", uuidValue(parent))
	if next < 0 { // the agent goes on from the newest end
		if millis(c.entries[u].stamp) <= millis(r.stamp) {
			r.stamp = later(r.stamp)
			r.e.set(u, "timestamp", r.stamp)
		} else {
			r.stamp = c.entries[u].stamp
		}
	}
	r.put(r.e.body(u), c.entries[u].uuid, next)
	r.e.unit(u).drop = true
}

// finish writes the new parents, past lines that are gone.
func (claude) finish(e *edits) {
	var c *ccChain
	for _, t := range e.l.Threads {
		if t.tree != nil {
			c = t.tree
		}
	}
	if c == nil {
		return
	}
	for _, t := range e.l.Threads {
		if t.tree != nil && t.tree.kept != nil && !e.appendOnly {
			t.tree.kept.rewrite(e, c)
		}
	}
	if !e.appendOnly {
		e.l.retire(e)
	}
	known := make(map[string]string) // where lines that are gone lead to
	for u := range c.entries {
		en := &c.entries[u]
		if !en.linked || e.dropped(u) {
			continue
		}
		if to, ok := e.l.links[u]; ok && !e.appendOnly {
			if _, set := e.links.parents[u]; !set {
				e.links.parents[u] = c.entries[to].uuid
			}
		}
		p := e.parentOf(c.entries, u)
		if g, ok := c.index[p]; ok && e.links.gone[g] {
			if _, ok := known[p]; !ok {
				known[p] = e.firstStaying(c, p)
			}
			p = known[p]
		}
		if p != en.parent {
			e.set(u, "parentUuid", uuidValue(p))
			e.log(Change{Line: e.l.units[u].line}, wire.ActionEdit, "relink", nil, 0, "now linked to the previous line")
		}
	}
}

func (claude) repair(e *edits, t *Thread, o Options) error {
	var pieces []piece
	var changes []wire.Change
	if len(e.l.checkThread(t, o.Check)) > 0 {
		plan, err := parex.Repair(t.Request, pare.Options{Repair: o.Repair, Check: o.Check})
		if err != nil {
			return err
		}
		if !plan.Empty() {
			pieces = besideCalls(t, piecesOf(t, t.Request, plan.Result(), false))
			if !o.AppendOnly {
				pieces = besidePath(t, pieces)
			}
		}
		changes = plan.Changes()
	}
	switch {
	case o.AppendOnly:
		if !appendBranch(e, t, pieces) {
			return nil
		}
	case pieces != nil:
		e.letDropped(t, changes)
		newRelay(e, t).run(pieces)
	}
	for _, c := range changes {
		e.changes = append(e.changes, Change{Change: c, Thread: t.Name, Line: e.l.lineOfPath(t, c.Path)})
	}
	return nil
}
