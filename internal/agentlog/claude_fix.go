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
func (w *threadWriter) write(pieces []piece) {
	t := w.thread
	for _, u := range w.edits.dropUnused(t, pieces) {
		w.edits.links.removed[u] = true
	}
	leaf := w.lastUUID
	inPlace := longestIncreasing(pieces)
	// A line whose parent was lost together with its call has no valid place yet.
	for k, p := range pieces {
		if p.message >= 0 && t.claude.orphanResults[t.sources[p.message].unit] != "" {
			inPlace[k] = false
		}
	}
	// next holds, by piece, the next unit of the path that stays. Results remain children of their
	// calls, where the agent looks for them, so no line is inserted before a result.
	next := make([]int, len(pieces))
	for k, ahead := len(pieces)-1, -1; k >= 0; k-- {
		next[k] = ahead
		if !inPlace[k] {
			continue
		}
		if u := t.sources[pieces[k].message].unit; w.onPath[u] && (t.claude.entries[u].isAssistant || t.claude.entries[u].hasNonResult) {
			ahead = u
		}
	}
	neighbor := t.sources[0].unit // the previous line, whose members new lines copy
	for k, p := range pieces {
		if p.message >= 0 {
			neighbor = t.sources[p.message].unit
			if p.raw != nil {
				w.edits.setMembers(neighbor, "message", w.edits.file.withContent(t.claude.entries[neighbor].message, p.raw))
			}
		}
		switch {
		case inPlace[k]:
		case p.offPath:
			w.attachToCall(p)
		case p.message < 0:
			w.insertNew(p, neighbor, next[k])
		default:
			w.moveLine(neighbor, next[k])
		}
	}
	// Otherwise the agent would resume before the new lines.
	if c := t.claude; c.leafNamer >= 0 && w.lastUUID != leaf {
		w.edits.setMembers(c.leafNamer, "leafUuid", w.lastUUID)
		w.edits.addChange(Change{Line: w.edits.file.units[c.leafNamer].line, Change: wire.Change{Action: wire.ActionEdit, Rule: "relink"}}, "names the line that is the last one now")
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
	following := make(map[int][][]byte) // by piece: the results to insert after it
	var at map[int]int                  // pieces by unit
	for index, p := range pieces {
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
				if call, ok := at[unit]; ok && call < index {
					end = messageEnd(t, pieces, call)
				}
			}
			if end < index {
				following[end] = append(following[end], raw)
			} else {
				stay = append(stay, raw)
			}
		}
		if len(stay) < len(m.List("content")) {
			pieces[index].raw = nil
			if len(stay) > 0 {
				pieces[index].raw = m.With("content", array(stay...))
			}
		}
	}
	if len(following) == 0 {
		return pieces
	}
	out := make([]piece, 0, len(pieces)+len(following))
	for index, p := range pieces {
		if p.message >= 0 || p.raw != nil {
			out = append(out, p)
		}
		if following[index] != nil {
			out = append(out, piece{message: -1, raw: write("role", "user", "content", array(following[index]...)), role: transcript.User})
		}
	}
	return out
}

// splitSideResults makes separate pieces of new results whose calls are not on the path. The agent
// sends a parallel call from a side branch if a result is a child of its line.
func splitSideResults(t *Thread, pieces []piece) []piece {
	var path map[int]bool
	var out []piece // nil if nothing has changed
	for index, p := range pieces {
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
			out = append(make([]piece, 0, len(pieces)+len(moved)), pieces[:index]...)
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
func (w *threadWriter) parentBefore(next int) string {
	c := w.thread.claude
	if next < 0 {
		return w.edits.nearestKept(c, w.lastUUID)
	}
	p := w.edits.nearestKept(c, w.edits.parentOf(c.entries, next))
	if to, ok := w.edits.file.newParents[next]; ok {
		if _, set := w.edits.links.newParents[next]; !set {
			p = c.entries[to].uuid
		}
	}
	return p
}

// insert puts a line before next, or after the end of the path if next is negative.
func (w *threadWriter) insert(line []byte, uuid string, next int) {
	if next >= 0 {
		w.edits.links.newParents[next] = uuid
		w.edits.links.insertedBefore[next] = append(w.edits.links.insertedBefore[next], uuid)
		x := w.edits.unit(next)
		x.before = append(x.before, line)
		return
	}
	w.lastUUID = uuid
	x := w.edits.unit(w.thread.claude.path[len(w.thread.claude.path)-1])
	x.after = append(x.after, line)
}

// attachToCall writes a result directly after the line of its call, as its child. The call is not
// on the path.
func (w *threadWriter) attachToCall(p piece) {
	c := w.thread.claude
	call := c.index[w.edits.callLine(c, p.raw)]
	line, _ := w.edits.newLine(c, p, call, c.entries[call].uuid, c.entries[call].timestamp)
	x := w.edits.unit(call)
	x.after = append(x.after, line)
}

func (w *threadWriter) insertNew(p piece, neighbor, next int) {
	parent := w.parentBefore(next)
	stamp := w.thread.claude.entries[neighbor].timestamp
	if next < 0 {
		stamp = w.lastTimestamp
	}
	line, uuid := w.edits.newLine(w.thread.claude, p, neighbor, parent, stamp)
	if next < 0 {
		w.lastTimestamp = nextMillisecond(stamp)
	}
	w.insert(line, uuid, next)
}

// moveLine moves a line before next. Its children become children of its old parent.
func (w *threadWriter) moveLine(unit, next int) {
	tree := w.thread.claude
	up := w.edits.parentOf(tree.entries, unit)
	for _, i := range w.children[tree.entries[unit].uuid] {
		if w.edits.parentOf(tree.entries, i) == tree.entries[unit].uuid {
			w.edits.links.newParents[i] = up
		}
	}
	if w.lastUUID == tree.entries[unit].uuid {
		w.lastUUID = up
	}
	parent := w.parentBefore(next)
	delete(w.edits.links.newParents, unit)
	w.edits.setMembers(unit, "parentUuid", uuidOrNull(parent))
	if next < 0 { // the agent resumes from the newest line
		if millis(tree.entries[unit].timestamp) <= millis(w.lastTimestamp) {
			w.lastTimestamp = nextMillisecond(w.lastTimestamp)
			w.edits.setMembers(unit, "timestamp", w.lastTimestamp)
		} else {
			w.lastTimestamp = tree.entries[unit].timestamp
		}
	}
	w.insert(w.edits.unitBytes(unit), tree.entries[unit].uuid, next)
	w.edits.unit(unit).drop = true
}

// finish updates parentUuid on every line whose parent was moved or removed, so that it points to
// the nearest ancestor that still exists.
func (claude) finish(e *edits) {
	var tree *claudeThread
	for _, t := range e.file.Threads {
		if t.claude != nil {
			tree = t.claude
		}
	}
	if tree == nil {
		return
	}
	for _, t := range e.file.Threads {
		if t.claude != nil && t.claude.preserved != nil && !e.appendOnly {
			t.claude.preserved.rewrite(e, tree)
		}
	}
	if !e.appendOnly {
		e.file.skipStrays(e)
	}
	known := make(map[string]string) // by uuid of a removed line: its nearest kept ancestor
	for u := range tree.entries {
		en := &tree.entries[u]
		if !en.inTree || e.dropped(u) {
			continue
		}
		if to, ok := e.file.newParents[u]; ok && !e.appendOnly {
			if _, set := e.links.newParents[u]; !set {
				e.links.newParents[u] = tree.entries[to].uuid
			}
		}
		p := e.parentOf(tree.entries, u)
		if g, ok := tree.index[p]; ok && e.links.removed[g] {
			if _, ok := known[p]; !ok {
				known[p] = e.nearestKept(tree, p)
			}
			p = known[p]
		}
		if p != en.parent {
			e.setMembers(u, "parentUuid", uuidOrNull(p))
			e.addChange(Change{Line: e.file.units[u].line, Change: wire.Change{Action: wire.ActionEdit, Rule: "relink"}}, "now linked to the previous line")
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
