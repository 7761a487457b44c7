package agentlog

import (
	"context"
	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/internal/planner"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// A threadWriter writes the pieces of a repaired thread into the file and links them in order.
type threadWriter struct {
	edits         *edits
	thread        *Thread
	lastUUID      string // the uuid of the path's last line after the repair
	lastTimestamp string // time of the last inserted line
	onPath        map[int]bool
	children      map[string][]int // units by parent
}

func newThreadWriter(e *edits, t *Thread) *threadWriter {
	leaf := t.claude.entries[t.claude.path[len(t.claude.path)-1]]
	r := &threadWriter{edits: e, thread: t, lastUUID: leaf.uuid, lastTimestamp: leaf.timestamp, onPath: make(map[int]bool, len(t.claude.path)), children: make(map[string][]int)}
	for _, u := range t.claude.path {
		r.onPath[u] = true
	}
	for i := range t.claude.entries {
		parent := t.claude.entries[i].parent
		r.children[parent] = append(r.children[parent], i)
	}
	return r
}

// write puts every piece in its place. Pieces that keep their order stay in their lines. New and
// moved pieces go before the next piece that stays.
func (r *threadWriter) write(pieces []piece) {
	t := r.thread
	for _, u := range r.edits.dropUnused(t, pieces) {
		r.edits.links.removed[u] = true
	}
	leaf := r.lastUUID
	stays := longestIncreasing(pieces)
	for k, p := range pieces { // a line whose parent was lost together with its call has no valid place yet
		if p.message >= 0 && t.claude.orphanResults[t.sources[p.message].unit] != "" {
			stays[k] = false
		}
	}
	// next holds, by piece, the next unit of the path that stays. Results remain children of their
	// calls, where the agent looks for them, so no line is inserted before a result.
	next := make([]int, len(pieces))
	for k, ahead := len(pieces)-1, -1; k >= 0; k-- {
		next[k] = ahead
		if !stays[k] {
			continue
		}
		if u := t.sources[pieces[k].message].unit; r.onPath[u] && (t.claude.entries[u].isAssistant || t.claude.entries[u].hasNonResult) {
			ahead = u
		}
	}
	near := t.sources[0].unit // the previous line, whose members new lines copy
	for k, p := range pieces {
		if p.message >= 0 {
			near = t.sources[p.message].unit
			if p.raw != nil {
				r.edits.setMembers(near, "message", r.edits.file.withContent(t.claude.entries[near].message, p.raw))
			}
		}
		switch {
		case stays[k]:
		case p.offPath:
			r.attachToCall(p)
		case p.message < 0:
			r.insertNew(p, near, next[k])
		default:
			r.moveLine(near, next[k])
		}
	}
	if c := t.claude; c.leafNamer >= 0 && r.lastUUID != leaf { // otherwise the agent would resume before the new lines
		r.edits.setMembers(c.leafNamer, "leafUuid", r.lastUUID)
		r.edits.addChange(Change{Line: r.edits.file.units[c.leafNamer].line}, wire.ActionEdit, "relink", nil, 0, "names the line that is the last one now")
	}
}

// withContent returns the message at span with the content of another message. Its other members
// stay.
func (l *Log) withContent(at jsonspan.Span, message []byte) []byte {
	m := objectOf(message)
	return objectAt(l.raw, at).With("content", m.Value("content"))
}

// moveResultsToCalls moves new results that follow other messages of the assistant to the place
// right after their calls. The provider treats these messages as one turn, but the agent looks for
// results only after the call and omits others.
func moveResultsToCalls(t *Thread, pieces []piece) []piece {
	behind := make(map[int][][]byte) // by piece: the results to insert after it
	var at map[int]int               // pieces by unit
	for k, p := range pieces {
		if p.message >= 0 || p.role != transcript.User {
			continue
		}
		if at == nil {
			at = make(map[int]int, len(pieces))
			for i, p := range pieces {
				if p.message >= 0 {
					at[t.sources[p.message].unit] = i
				}
			}
		}
		m := objectOf(p.raw)
		var stay [][]byte
		for _, b := range m.List("content") {
			raw := p.raw[b.Start:b.End]
			end := len(pieces)
			if unit, ok := t.claude.callers[objectAt(p.raw, b).Text("tool_use_id")]; ok {
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

// splitSideResults makes separate pieces of new results whose calls are not on the path. The agent
// sends a parallel call from a side branch if a result is a child of its line.
func splitSideResults(t *Thread, pieces []piece) []piece {
	var path map[int]bool
	var out []piece // nil if nothing has changed
	for k, p := range pieces {
		var moved, stay [][]byte
		if p.raw != nil && p.role == transcript.User {
			if path == nil {
				path = make(map[int]bool, len(t.claude.path))
				for _, u := range t.claude.path {
					path[u] = true
				}
			}
			m := objectOf(p.raw)
			for _, b := range m.List("content") {
				raw := p.raw[b.Start:b.End]
				id := objectAt(p.raw, b).Text("tool_use_id")
				if u, ok := t.claude.callers[id]; id != "" && ok && !path[u] && t.counts.results[id] == 0 {
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
			out = append(out, piece{message: -1, raw: write("role", "user", "content", array(raw)), role: transcript.User, offPath: true})
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

// messageEnd returns the last piece of the assistant's message at piece k if another message of the
// assistant follows. Otherwise it returns len(pieces).
func messageEnd(t *Thread, pieces []piece, k int) int {
	entryOf := func(k int) *claudeEntry { return &t.claude.entries[t.sources[pieces[k].message].unit] }
	id := entryOf(k).id
	for k++; k < len(pieces) && pieces[k].message >= 0 && entryOf(k).isAssistant; k++ {
		if e := entryOf(k); id == "" || e.id != id {
			return k - 1
		}
	}
	return len(pieces)
}

// parentOf returns the parent of a unit after the edits.
func (e *edits) parentOf(es []claudeEntry, u int) string {
	if p, ok := e.links.newParents[u]; ok {
		return p
	}
	return es[u].parent
}

// nearestKept returns uuid, or its nearest ancestor that is not removed.
func (e *edits) nearestKept(c *claudeThread, uuid string) string {
	for range len(c.entries) {
		u, ok := c.index[uuid]
		if !ok || !e.links.removed[u] {
			break
		}
		uuid = e.parentOf(c.entries, u)
	}
	return uuid
}

// parentBefore returns the parent for a line that is inserted before next, or at the end if next is
// negative.
func (r *threadWriter) parentBefore(next int) string {
	c := r.thread.claude
	if next < 0 {
		return r.edits.nearestKept(c, r.lastUUID)
	}
	p := r.edits.nearestKept(c, r.edits.parentOf(c.entries, next))
	if to, ok := r.edits.file.newParents[next]; ok {
		if _, set := r.edits.links.newParents[next]; !set {
			p = c.entries[to].uuid
		}
	}
	return p
}

// insert puts a line before next, or after the end of the path if next is negative.
func (r *threadWriter) insert(line []byte, uuid string, next int) {
	if next >= 0 {
		r.edits.links.newParents[next] = uuid
		r.edits.links.insertedBefore[next] = append(r.edits.links.insertedBefore[next], uuid)
		x := r.edits.unit(next)
		x.before = append(x.before, line)
		return
	}
	r.lastUUID = uuid
	x := r.edits.unit(r.thread.claude.path[len(r.thread.claude.path)-1])
	x.after = append(x.after, line)
}

// attachToCall writes a result directly after the line of its call, as its child. The call is not
// on the path.
func (r *threadWriter) attachToCall(p piece) {
	c := r.thread.claude
	call := c.index[r.edits.callLine(c, p.raw)]
	line, _ := r.edits.newLine(c, p, call, c.entries[call].uuid, c.entries[call].timestamp)
	x := r.edits.unit(call)
	x.after = append(x.after, line)
}

func (r *threadWriter) insertNew(p piece, near, next int) {
	parent := r.parentBefore(next)
	stamp := r.thread.claude.entries[near].timestamp
	if next < 0 {
		stamp = r.lastTimestamp
	}
	line, uuid := r.edits.newLine(r.thread.claude, p, near, parent, stamp)
	if next < 0 {
		r.lastTimestamp = nextMillisecond(stamp)
	}
	r.insert(line, uuid, next)
}

// moveLine moves a line before next. Its children become children of its old parent.
func (r *threadWriter) moveLine(u, next int) {
	c := r.thread.claude
	up := r.edits.parentOf(c.entries, u)
	for _, i := range r.children[c.entries[u].uuid] {
		if r.edits.parentOf(c.entries, i) == c.entries[u].uuid {
			r.edits.links.newParents[i] = up
		}
	}
	if r.lastUUID == c.entries[u].uuid {
		r.lastUUID = up
	}
	parent := r.parentBefore(next)
	delete(r.edits.links.newParents, u)
	r.edits.setMembers(u, "parentUuid", uuidOrNull(parent))
	if next < 0 { // the agent resumes from the newest line
		if millis(c.entries[u].timestamp) <= millis(r.lastTimestamp) {
			r.lastTimestamp = nextMillisecond(r.lastTimestamp)
			r.edits.setMembers(u, "timestamp", r.lastTimestamp)
		} else {
			r.lastTimestamp = c.entries[u].timestamp
		}
	}
	r.insert(r.edits.unitBytes(u), c.entries[u].uuid, next)
	r.edits.unit(u).drop = true
}

// finish updates parentUuid on every line whose parent was moved or removed, so that it points to
// the nearest ancestor that still exists.
func (claude) finish(e *edits) {
	var c *claudeThread
	for _, t := range e.file.Threads {
		if t.claude != nil {
			c = t.claude
		}
	}
	if c == nil {
		return
	}
	for _, t := range e.file.Threads {
		if t.claude != nil && t.claude.preserved != nil && !e.appendOnly {
			t.claude.preserved.rewrite(e, c)
		}
	}
	if !e.appendOnly {
		e.file.skipStrays(e)
	}
	known := make(map[string]string) // by uuid of a removed line: its nearest kept ancestor
	for u := range c.entries {
		en := &c.entries[u]
		if !en.inTree || e.dropped(u) {
			continue
		}
		if to, ok := e.file.newParents[u]; ok && !e.appendOnly {
			if _, set := e.links.newParents[u]; !set {
				e.links.newParents[u] = c.entries[to].uuid
			}
		}
		p := e.parentOf(c.entries, u)
		if g, ok := c.index[p]; ok && e.links.removed[g] {
			if _, ok := known[p]; !ok {
				known[p] = e.nearestKept(c, p)
			}
			p = known[p]
		}
		if p != en.parent {
			e.setMembers(u, "parentUuid", uuidOrNull(p))
			e.addChange(Change{Line: e.file.units[u].line}, wire.ActionEdit, "relink", nil, 0, "now linked to the previous line")
		}
	}
}

func (claude) repair(e *edits, t *Thread, o Options) error {
	var pieces []piece
	var changes []wire.Change
	if len(e.file.checkThread(t, o.Check)) > 0 {
		plan, err := planner.Repair(context.Background(), t.Request, pare.Options{Repair: o.Repair, Check: o.Check})
		if err != nil {
			return err
		}
		if !plan.Empty() {
			pieces = moveResultsToCalls(t, buildPieces(t, t.Request, plan.Result(), false))
			if !o.AppendOnly {
				pieces = splitSideResults(t, pieces)
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
		e.allowDroppedBlocks(t, changes)
		newThreadWriter(e, t).write(pieces)
	}
	for _, c := range changes {
		e.changes = append(e.changes, Change{Change: c, Thread: t.Name, Line: e.file.lineOfPath(t, c.Path)})
	}
	return nil
}
