package agentlog

import (
	"crypto/sha256"
	"fmt"
	"sort"
	"time"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// A relay writes the pieces of a mended thread into the file and hangs them up in
// their order.
type relay struct {
	e     *edits
	t     *Thread
	tail  string // uuid of the last line of the path, as it will be
	stamp string // time of the last line that was put in
	path  map[int]bool
	child map[string][]int // by parent
}

// run puts every piece in its place. Pieces that stay in order stay where they are,
// whatever else is new or moved hangs in front of the next of them.
func (r *relay) run(pieces []piece) {
	t := r.t
	kept := make(map[int]bool)
	for _, p := range pieces {
		if p.message >= 0 {
			kept[p.message] = true
		}
	}
	for i, p := range t.parts {
		if !kept[i] {
			r.e.unit(p.unit).drop = true
			r.e.gone[p.unit] = true
		}
	}
	r.path = make(map[int]bool, len(t.tree.path))
	for _, u := range t.tree.path {
		r.path[u] = true
	}
	leaf := t.tree.path[len(t.tree.path)-1]
	r.tail, r.stamp = t.tree.entries[leaf].uuid, t.tree.entries[leaf].stamp
	stays := increasing(pieces)
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
				r.e.set(near, "message", p.raw)
			}
		}
		switch {
		case stays[k]:
		case p.message < 0:
			r.hangNew(p, near, next[k])
		default:
			r.hangMoved(near, next[k])
		}
	}
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
		m := objectAt(p.raw, jsonspan.Span{Start: 0, End: len(p.raw)})
		var stay [][]byte
		for _, b := range m.list("content") {
			raw := p.raw[b.Start:b.End]
			end := len(pieces)
			if unit, ok := t.tree.callers()[objectAt(p.raw, b).text("tool_use_id")]; ok {
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
		if len(stay) < len(m.list("content")) {
			pieces[k].raw = nil
			if len(stay) > 0 {
				pieces[k].raw = setMembers(p.raw, m.span, "content", array(stay...))
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
			out = append(out, piece{-1, write("role", "user", "content", array(behind[k]...)), transcript.User})
		}
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
	if p, ok := e.parents[u]; ok {
		return p
	}
	return es[u].parent
}

// settled climbs past lines that go.
func (e *edits) settled(c *ccChain, uuid string) string {
	for range len(c.entries) {
		u, ok := c.index[uuid]
		if !ok || !e.gone[u] {
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
		return r.e.settled(c, r.tail)
	}
	p := r.e.settled(c, r.e.parentOf(c.entries, next))
	if to, ok := r.e.l.links[next]; ok {
		if _, set := r.e.parents[next]; !set {
			p = c.entries[to].uuid
		}
	}
	return p
}

// put puts a line in front of next, or behind the end of the path.
func (r *relay) put(line []byte, uuid string, next int) {
	if next >= 0 {
		r.e.parents[next] = uuid
		x := r.e.unit(next)
		x.before = append(x.before, line)
		return
	}
	r.tail = uuid
	x := r.e.unit(r.t.tree.path[len(r.t.tree.path)-1])
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
	if r.child == nil {
		r.child = make(map[string][]int)
		for i := range c.entries {
			r.child[c.entries[i].parent] = append(r.child[c.entries[i].parent], i)
		}
	}
	up := r.e.parentOf(c.entries, u)
	for _, i := range r.child[c.entries[u].uuid] {
		if r.e.parentOf(c.entries, i) == c.entries[u].uuid {
			r.e.parents[i] = up
		}
	}
	if r.tail == c.entries[u].uuid {
		r.tail = up
	}
	parent := r.front(next)
	delete(r.e.parents, u)
	r.e.set(u, "parentUuid", uuidValue(parent))
	r.put(r.e.body(u), c.entries[u].uuid, next)
	r.e.unit(u).drop = true
}

// uuidValue writes a parent, which may be none.
func uuidValue(uuid string) []byte {
	if uuid == "" {
		return []byte("null")
	}
	return quote(uuid)
}

// copied are the members that a new line takes over from its neighbour.
var copied = []string{"isSidechain", "userType", "cwd", "sessionId", "version", "gitBranch", "slug", "agentId"}

// newLine writes a line of its own in the manner of a neighbour. All that is in it
// follows from the neighbour and the message.
func (e *edits) newLine(c *ccChain, p piece, near int, parent, stamp string) (line []byte, uuid string) {
	o := objectAt(e.l.raw, e.l.units[near].span)
	if _, ok := c.index[parent]; !ok && !e.minted(parent) {
		parent = ""
	}
	uuid = e.mint(c, parent, p.raw)
	pairs := []any{"parentUuid", uuidValue(parent)}
	for _, name := range copied {
		pairs = append(pairs, name, o.value(name))
	}
	kind := "user"
	if p.role == transcript.Assistant {
		kind = "assistant"
	}
	pairs = append(pairs, "type", kind, "message", p.raw)
	source := e.callLine(c, p.raw)
	if source == "" {
		pairs = append(pairs, "isMeta", []byte("true"))
	}
	pairs = append(pairs, "uuid", uuid, "timestamp", later(stamp))
	if source != "" {
		pairs = append(pairs, "sourceToolAssistantUUID", source)
	}
	return write(pairs...), uuid
}

// callLine returns the uuid of the line whose call the first result of a message
// answers, or "".
func (e *edits) callLine(c *ccChain, message []byte) string {
	m := objectAt(message, jsonspan.Span{Start: 0, End: len(message)})
	for _, b := range m.list("content") {
		id := objectAt(message, b).text("tool_use_id")
		if id == "" {
			continue
		}
		if u, ok := c.callers()[id]; ok {
			return c.entries[u].uuid
		}
	}
	return ""
}

// callers says which unit makes the call of an id; the last one counts.
func (c *ccChain) callers() map[string]int {
	if c.caller == nil {
		c.caller = make(map[string]int)
		for i := range c.entries {
			for _, id := range c.entries[i].calls {
				c.caller[id] = i
			}
		}
	}
	return c.caller
}

// mint makes a uuid out of what a line says and where it hangs.
func (e *edits) mint(c *ccChain, parent string, message []byte) string {
	for n := 0; ; n++ {
		h := sha256.New()
		fmt.Fprintf(h, "pare\x00%s\x00%d\x00", parent, n)
		h.Write(message)
		s := h.Sum(nil)
		s[6], s[8] = s[6]&0x0f|0x80, s[8]&0x3f|0x80 // a custom uuid, version 8
		id := fmt.Sprintf("%x-%x-%x-%x-%x", s[:4], s[4:6], s[6:8], s[8:10], s[10:16])
		if _, taken := c.index[id]; !taken && !e.minted(id) {
			e.ids[id] = true
			return id
		}
	}
}

func (e *edits) minted(id string) bool { return e.ids[id] }

// later returns the time a millisecond after another one; a text that is no time
// stays as it is.
func later(stamp string) string {
	at, err := time.Parse(time.RFC3339Nano, stamp)
	if err != nil {
		return stamp
	}
	return at.Add(time.Millisecond).UTC().Format("2006-01-02T15:04:05.000Z")
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
	known := make(map[string]string) // where lines that are gone lead to
	for u := range c.entries {
		en := &c.entries[u]
		if !en.linked || e.dropped(u) {
			continue
		}
		if to, ok := e.l.links[u]; ok && !e.appendOnly {
			if _, set := e.parents[u]; !set {
				e.parents[u] = c.entries[to].uuid
			}
		}
		p := e.parentOf(c.entries, u)
		if g, ok := c.index[p]; ok && e.gone[g] {
			if _, ok := known[p]; !ok {
				known[p] = e.settled(c, p)
			}
			p = known[p]
		}
		if p != en.parent {
			e.set(u, "parentUuid", uuidValue(p))
			e.log(Change{Line: e.l.units[u].line}, "edit", "relink", nil, 0, "hangs on the line that is in front of it now")
		}
	}
}

// increasing marks the pieces that keep their order: the longest run of old
// messages that ascends.
func increasing(pieces []piece) []bool {
	var tails []int // by length: the piece that ends a run, smallest message first
	back := make([]int, len(pieces))
	for k, p := range pieces {
		if p.message < 0 {
			continue
		}
		n := sort.Search(len(tails), func(i int) bool { return pieces[tails[i]].message >= p.message })
		back[k] = -1
		if n > 0 {
			back[k] = tails[n-1]
		}
		if n == len(tails) {
			tails = append(tails, k)
		} else {
			tails[n] = k
		}
	}
	stays := make([]bool, len(pieces))
	if len(tails) == 0 {
		return stays
	}
	for k := tails[len(tails)-1]; k >= 0; k = back[k] {
		stays[k] = true
	}
	return stays
}

// appendBranch adds the mended thread behind everything: from the first message
// that changes or lies behind a gap on, every line once more, with a uuid of its
// own. It returns false if it adds nothing: a side chain that would begin anew would
// be another one, and the old one stay as it is.
func appendBranch(e *edits, t *Thread, pieces []piece) bool {
	c := t.tree
	gap := behindGap(e.l, t)
	if pieces == nil && gap == len(t.parts) {
		return false
	}
	if pieces == nil {
		for i := range t.parts {
			pieces = append(pieces, piece{message: i})
		}
	}
	from := 0
	for from < min(gap, len(pieces)) && pieces[from].message == from && pieces[from].raw == nil {
		from++
	}
	if from < len(t.parts) {
		from = wholeMessages(t, from)
	}
	if t.Kind == Side && from == 0 {
		return false
	}
	if gap < len(t.parts) {
		e.log(Change{Thread: t.Name, Line: e.l.units[t.parts[gap].unit].line}, "insert", "dangling-parent", nil, 0, "written once more, hanging on what was in front of the gap")
	}
	parent, stamp := "", ""
	before := make(map[int]bool)
	for _, p := range t.parts[:from] {
		before[p.unit] = true
	}
	for _, u := range c.path {
		if before[u] {
			parent = c.entries[u].uuid
		}
		if millis(c.entries[u].stamp) > millis(stamp) {
			stamp = c.entries[u].stamp
		}
	}
	uuids := make(map[string]string) // of the copies
	near := t.parts[max(0, from-1)].unit
	for _, p := range pieces[from:] {
		stamp = later(stamp)
		var line []byte
		if p.message < 0 {
			line, parent = e.newLine(c, p, near, parent, stamp)
		} else {
			near = t.parts[p.message].unit
			line, parent = e.copyLine(c, p, near, parent, stamp, uuids)
		}
		e.end = append(e.end, line)
	}
	if t.Kind == Main {
		e.end = append(e.end, e.lastPrompt(c, near, parent))
	}
	return true
}

// lastPrompt writes the line by which versions from 2.1 on find the leaf, in the manner
// of the last one in the file.
func (e *edits) lastPrompt(c *ccChain, near int, leaf string) []byte {
	var said []byte
	for i := len(c.entries) - 1; i >= 0; i-- {
		if c.entries[i].kind == "last-prompt" {
			said = objectAt(e.l.raw, e.l.units[i].span).value("lastPrompt")
			break
		}
	}
	session := objectAt(e.l.raw, e.l.units[near].span).value("sessionId")
	return write("type", "last-prompt", "lastPrompt", said, "leafUuid", leaf, "sessionId", session)
}

// wholeMessages goes back from a message of a thread until no line in front of it
// has a part behind it: by a message id, or the parent of a result, the agent would
// fetch the originals of the lines behind it once more.
func wholeMessages(t *Thread, from int) int {
	c := t.tree
	first := make(map[string]int) // by message id, and by uuid of assistants' lines
	for i := len(t.parts) - 1; i >= 0; i-- {
		if en := &c.entries[t.parts[i].unit]; en.assistant {
			first["message "+en.id], first["line "+en.uuid] = i, i
		}
	}
	delete(first, "message ")
	for from > 0 && !c.entries[t.parts[from-1].unit].assistant && !c.entries[t.parts[from-1].unit].speaks {
		from--
	}
	for from > 0 && c.entries[t.parts[from-1].unit].assistant {
		from--
	}
	for i := len(t.parts) - 1; i >= from; i-- {
		en := &c.entries[t.parts[i].unit]
		name := "message " + en.id
		if !en.assistant {
			name = "line " + en.parent
		}
		if k, ok := first[name]; ok {
			from = min(from, k)
		}
	}
	return from
}

// behindGap returns the first message of a thread that the agent does not get to: it
// lies behind a line whose parent is not there, or on one with two objects. It is the
// number of messages if there is none.
func behindGap(l *Log, t *Thread) int {
	behind, gap := make(map[int]bool), false
	for _, u := range t.tree.path {
		if _, ok := l.links[u]; ok || !l.units[u].alone {
			gap = true
		}
		behind[u] = gap
	}
	for i, p := range t.parts {
		if behind[p.unit] || !l.units[p.unit].alone {
			return i
		}
	}
	return len(t.parts)
}

// copyLine writes a line once more for another branch. Its message gets an id of its
// own: by the id the agent would take the original for a part of it.
func (e *edits) copyLine(c *ccChain, p piece, u int, parent, stamp string, uuids map[string]string) ([]byte, string) {
	en := &c.entries[u]
	message := p.raw
	if message == nil {
		message = e.l.raw[en.message.Start:en.message.End]
	}
	if en.id != "" {
		sum := sha256.Sum256([]byte("pare\x00" + en.id))
		message = setMembers(message, jsonspan.Span{Start: 0, End: len(message)}, "id", fmt.Sprintf("msg_%x", sum[:12]))
	}
	uuid := e.mint(c, parent, message)
	uuids[en.uuid] = uuid
	line := setMembers(e.l.raw, e.l.units[u].span, "parentUuid", uuidValue(parent), "message", message, "uuid", uuid, "timestamp", stamp)
	whole := jsonspan.Span{Start: 0, End: len(line)}
	if s := uuids[objectAt(line, whole).text("sourceToolAssistantUUID")]; s != "" {
		line = setMembers(line, whole, "sourceToolAssistantUUID", s)
	}
	return line, uuid
}

// mendDormant answers and quotes the halves in a part that is no longer sent: a
// user may go back to it.
func mendDormant(e *edits, t *Thread, o Options) {
	tr := t.Request.Transcript()
	for _, f := range e.l.checkDormant(t) {
		blk := tr.Block(f.Block)
		c := Change{Thread: t.Name, Line: f.Line}
		if f.Rule == "orphan-call" {
			text := stubText(o.Repair, tr, f.Block)
			if blk.CallID == "" || text == "" || o.Repair.OrphanCall == wire.Drop {
				continue
			}
			raw := write("role", "user", "content", array(write("type", "tool_result", "tool_use_id", blk.CallID, "content", text, "is_error", []byte("true"))))
			en := &t.tree.entries[f.unit]
			parent := en.uuid
			if t.tree.index[parent] != f.unit { // another line goes by that uuid
				parent = ""
			}
			line, _ := e.newLine(t.tree, piece{-1, raw, transcript.User}, f.unit, parent, en.stamp)
			if o.AppendOnly {
				e.end = append(e.end, line)
			} else {
				x := e.unit(f.unit)
				x.after = append(x.after, line)
			}
			e.log(c, "insert", f.Rule, f.IDs, len(line), "a stub: %s", text)
			continue
		}
		if o.AppendOnly {
			continue
		}
		said := "[A tool result without its call; quoted, not written by the user]\n" + wire.Text(tr, f.Block)
		e.replaceIn(f.unit, f.Offset, blk.Span.Len(), write("type", "text", "text", said))
		e.log(c, "edit", f.Rule, f.IDs, 0, "a result whose call is not in the file, kept as quoted text")
	}
}

// stubText words the result of a call that nobody answered.
func stubText(p wire.Policy, tr *transcript.Transcript, call transcript.BlockID) string {
	if p.Stub == nil {
		return wire.DefaultStub
	}
	return p.Stub(tr.Exchanges()[tr.ExchangeOf(call)])
}
