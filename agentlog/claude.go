package agentlog

import (
	"fmt"
	"slices"
	"time"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// claude reads the transcripts of Claude Code. Lines with a uuid form a tree by
// parentUuid. What is sent on resume is the path from the newest leaf to its root,
// a compaction boundary being a root, and besides it the parallel calls of the
// messages on it, with their results: these sit on side branches, because each
// line of a message is the parent of its own result.
type claude struct{}

// An entry is what a line of Claude Code says.
type entry struct {
	kind, subtype  string
	uuid, parent   string
	agent, stamp   string
	leaf           string // of a last-prompt: the line to go on at
	explicit       bool   // even if others come after that line
	linked         bool   // it has a uuid and takes part in the tree
	side           bool
	message        jsonspan.Span // empty if it holds none
	assistant      bool
	id, model      string
	calls, results []string
	speaks         bool // holds something that is no result
	counts         bool // has a message, readable or not
	blank          bool // the assistant says nothing but white space
}

// A ccChain is the tree of a Claude Code file.
type ccChain struct {
	entries []entry        // by unit
	index   map[string]int // the last unit of a uuid
	path    []int          // units on the walk from the leaf, root first
	caller  map[string]int // by call id; filled when asked for
}

func (e *entry) speaking() bool { return e.message.Len() > 0 }

func (c claude) read(l *Log) {
	es := l.readClaude()
	index := make(map[string]int, len(es))
	for i := range es {
		if !es[i].linked {
			continue
		}
		if o, ok := index[es[i].uuid]; ok {
			l.repeatedUUID(o, i)
			if n := len(l.copies); n > 0 && l.copies[n-1] == i {
				es[i] = entry{kind: "copy"}
				continue
			}
		}
		index[es[i].uuid] = i
	}
	t := &ccTree{l: l, entries: es, index: index, roots: make(map[int]int)}
	t.link()
	t.threads(false)
	t.threads(true)
	for i := range es {
		if (es[i].kind == "user" || es[i].kind == "assistant") && !es[i].speaking() {
			l.damageAt(l.units[i].span.Start, l.units[i].line, "unreadable")
			l.damage[len(l.damage)-1].Advice = true
		}
	}
}

// repeatedUUID files a line that carries the uuid of an earlier one: a copy, or
// another line.
func (l *Log) repeatedUUID(first, again int) {
	a, b := l.units[first].span, l.units[again].span
	if string(l.raw[a.Start:a.End]) == string(l.raw[b.Start:b.End]) {
		l.copies = append(l.copies, again)
		l.damageAt(b.Start, l.units[again].line, "duplicate-line")
		return
	}
	l.damageAt(b.Start, l.units[again].line, "duplicate-uuid")
}

// sent reports whether the agent sends the message. It keeps its own error notes out
// of requests, and lines of the model that are blank.
func (e *entry) sent() bool { return e.speaking() && e.model != "<synthetic>" && !e.blank }

// A ccTree sorts the lines of a file into threads.
type ccTree struct {
	l       *Log
	entries []entry
	index   map[string]int
	used    []bool
	roots   map[int]int // units to the roots of their chains; filled when asked for
	up      []int       // by unit: the unit it hangs on, or -1
	// Marks by unit, for one walk at a time; whoever sets some takes them off.
	seen []bool
}

// link finds what each line hangs on. Most hang on the line before.
func (t *ccTree) link() {
	marks := make([]bool, 2*len(t.entries))
	t.used, t.seen = marks[:len(t.entries):len(t.entries)], marks[len(t.entries):]
	t.up = make([]int, len(t.entries))
	sole := len(t.l.copies) == 0 // no uuid stands for two lines
	for _, f := range t.l.damage {
		sole = sole && f.Rule != "duplicate-uuid"
	}
	for i := range t.entries {
		t.up[i] = -1
		parent := t.entries[i].parent
		if parent == "" {
			continue
		}
		if sole && i > 0 && t.entries[i-1].uuid == parent {
			t.up[i] = i - 1
		} else if p, ok := t.index[parent]; ok {
			t.up[i] = p
		}
	}
}

// threads makes the threads of the main list or of the side chains.
func (t *ccTree) threads(side bool) {
	n, pairs := 0, 0
	for i := range t.entries {
		if e := &t.entries[i]; e.side == side && e.counts {
			n++
			pairs += len(e.calls)
		}
	}
	if n == 0 {
		return
	}
	all, messages := &talk{make(map[string]int, pairs), make(map[string]int, pairs)}, 0
	ids, last := make(map[string]bool, n/2), ""
	mine := make([]int, 0, n)
	for i := range t.entries {
		e := &t.entries[i]
		if e.side != side || !e.counts {
			continue
		}
		if e.id == "" {
			messages++
		} else if e.id != last { // lines of one message mostly follow each other
			if !ids[e.id] {
				messages++
				ids[e.id] = true
			}
			last = e.id
		}
		if !e.speaking() {
			continue
		}
		mine = append(mine, i)
		for _, id := range e.calls {
			all.calls[id]++
		}
		for _, id := range e.results {
			all.results[id]++
		}
	}
	if len(mine) == 0 {
		return
	}
	t.l.count(all, messages)
	if side {
		for _, group := range t.agents(mine) {
			t.live(group, "side "+t.nameOf(group), Side)
		}
	} else {
		t.live(mine, "main", Main)
	}
	t.dormant(mine, side, all)
}

// nameOf names the talk of a sub-agent after its id or its first line.
func (t *ccTree) nameOf(group []int) string {
	if a := t.entries[group[0]].agent; a != "" {
		return a
	}
	return fmt.Sprintf("line %d", t.l.units[group[0]].line)
}

// agents groups the lines of side chains: by the agent's id, or by their root.
func (t *ccTree) agents(mine []int) [][]int {
	byKey := make(map[string]int)
	var groups [][]int
	for _, i := range mine {
		key := "agent " + t.entries[i].agent
		if t.entries[i].agent == "" {
			key = fmt.Sprint("root ", t.rootOf(i))
		}
		g, ok := byKey[key]
		if !ok {
			g = len(groups)
			byKey[key] = g
			groups = append(groups, nil)
		}
		groups[g] = append(groups[g], i)
	}
	return groups
}

// rootOf follows the links up; a link that leads nowhere ends there.
func (t *ccTree) rootOf(i int) int {
	var walked []int
	seen := make(map[int]bool)
	for {
		if r, ok := t.roots[i]; ok {
			i = r
			break
		}
		seen[i] = true
		walked = append(walked, i)
		p := t.up[i]
		if p < 0 || seen[p] {
			break
		}
		i = p
	}
	for _, w := range walked {
		t.roots[w] = i
	}
	return i
}

// claudePrompt is what a session that ends with the assistant is continued with.
var claudePrompt = write("role", "user", "content", promptText)

// live makes the thread that is sent when the newest leaf of some lines is resumed.
func (t *ccTree) live(mine []int, name string, kind Kind) {
	leaf := t.leafOf(mine)
	if kind == Main {
		leaf = t.checkpoint(leaf)
	}
	path := t.walk(leaf, len(mine)+1)
	if path == nil { // lines without links are read as they stand
		path = mine
	}
	model := t.modelOf(path)
	order, last := t.order(path), -1
	b := t.newBody(model, order, func(i int) bool { return t.entries[i].sent() })
	for _, i := range order {
		t.used[i] = true
		if t.entries[i].sent() {
			b.copy(i, t.l.raw, t.entries[i].message)
			last = i
		}
	}
	if last < 0 {
		return
	}
	var prompt []byte
	if t.entries[last].assistant && !t.callsAtEnd(b.parts) {
		prompt = claudePrompt
	}
	if th := t.l.thread(name, kind, wire.Anthropic, model, b, prompt); th != nil {
		th.tree = &ccChain{entries: t.entries, index: t.index, path: path}
	}
}

// newBody makes room for the messages of some lines.
func (t *ccTree) newBody(model string, lines []int, wanted func(int) bool) *bodyBuilder {
	n, parts := 0, 0
	for _, i := range lines {
		if wanted(i) {
			n += t.entries[i].message.Len() + 1
			parts++
		}
	}
	b := &bodyBuilder{body: make([]byte, 0, n+len(model)+160), parts: make([]part, 0, parts)}
	b.begin(wire.Anthropic, model)
	return b
}

// callsAtEnd reports whether the assistant's last turn makes calls: they are open.
func (t *ccTree) callsAtEnd(parts []part) bool {
	for i := len(parts) - 1; i >= 0; i-- {
		e := &t.entries[parts[i].unit]
		if !e.assistant {
			return false
		}
		if len(e.calls) > 0 {
			return true
		}
	}
	return false
}

func (t *ccTree) modelOf(path []int) string {
	for k := len(path) - 1; k >= 0; k-- {
		if e := &t.entries[path[k]]; e.assistant && e.sent() && e.model != "" {
			return e.model
		}
	}
	return ""
}

// leafOf returns the newest message that no other one comes after, as the agent
// does: by time, and by place where times are equal or missing.
func (t *ccTree) leafOf(mine []int) int {
	inner := t.seen
	var above map[int]int // nearest message above, or -1; of lines that are none
	for _, i := range mine {
		p := t.up[i]
		if p >= 0 && p != i && !t.entries[p].speaking() {
			if above == nil {
				above = make(map[int]int)
			}
			p = t.messageAbove(i, above)
		}
		if p >= 0 && p != i {
			inner[p] = true
		}
	}
	leaf, newest := -1, int64(0)
	for _, i := range mine {
		if inner[i] || !t.entries[i].linked {
			continue
		}
		if leaf < 0 {
			leaf, newest = i, -1
			continue
		}
		if newest < 0 {
			newest = millis(t.entries[leaf].stamp)
		}
		if at := millis(t.entries[i].stamp); at >= newest {
			leaf, newest = i, at
		}
	}
	clear(inner)
	if leaf < 0 {
		leaf = mine[len(mine)-1]
	}
	return leaf
}

// checkpoint returns where the agent goes on if a line of the type last-prompt says so:
// at the line that the last one names, if that is there and the newest leaf does not
// come after it, or the line is explicit and the last word.
func (t *ccTree) checkpoint(leaf int) int {
	name, explicit := "", false
	for i := range t.entries {
		switch e := &t.entries[i]; {
		case e.leaf != "":
			explicit = e.explicit || explicit && e.leaf == name
			name = e.leaf
		case e.subtype == "compact_boundary" && !e.side:
			name, explicit = "", false
		case e.linked && !e.side:
			explicit = false
		}
	}
	at, ok := t.index[name]
	if name == "" || !ok || t.entries[at].side || !t.entries[leaf].linked {
		return leaf
	}
	if !explicit && t.after(leaf, at) {
		return leaf
	}
	if !t.entries[at].speaking() {
		at = t.messageAbove(at, make(map[int]int))
	}
	if at < 0 {
		return leaf
	}
	return at
}

// after reports whether a line comes after another one by its links. One behind a gap
// or in a circle may well do so.
func (t *ccTree) after(i, other int) bool {
	for range t.entries {
		if i == other {
			return true
		}
		if t.up[i] < 0 {
			return t.entries[i].parent != ""
		}
		i = t.up[i]
	}
	return true
}

// millis returns a time in milliseconds; 0 for what is none.
func millis(stamp string) int64 {
	at, err := time.Parse(time.RFC3339Nano, stamp)
	if err != nil {
		return 0
	}
	return at.UnixMilli()
}

// messageAbove climbs from a line to the nearest message above it.
func (t *ccTree) messageAbove(i int, known map[int]int) int {
	var walked []int
	found := -1
	seen := map[int]bool{i: true}
	for at := i; ; {
		p := t.up[at]
		if p < 0 || seen[p] {
			break
		}
		if t.entries[p].speaking() {
			found = p
			break
		}
		if k, ok := known[p]; ok {
			found = k
			break
		}
		seen[p] = true
		walked = append(walked, p)
		at = p
	}
	for _, w := range walked {
		known[w] = found
	}
	return found
}

// walk goes from a leaf to its root and returns the lines on the way, about size of
// them, root first.
// Where a parent is not in the file, or the links go in a circle, it goes on with
// the line in front, which is where the parent must have been.
func (t *ccTree) walk(leaf, size int) []int {
	if leaf < 0 || !t.entries[leaf].linked {
		return nil
	}
	seen := t.seen
	path := make([]int, 0, size)
	for at := leaf; at >= 0; {
		seen[at] = true
		path = append(path, at)
		e := &t.entries[at]
		if e.parent == "" {
			if e.subtype != "compact_boundary" && e.speaking() && t.before(at, seen) >= 0 {
				t.l.damageAt(t.l.units[at].span.Start, t.l.units[at].line, "second-root")
			}
			break
		}
		next := t.up[at]
		ok := next >= 0
		if ok && !seen[next] {
			at = next
			continue
		}
		rule := "dangling-parent"
		if ok {
			rule = "parent-loop"
		}
		if next = t.before(at, seen); next >= 0 {
			t.l.damageAt(t.l.units[at].span.Start, t.l.units[at].line, rule, e.parent)
			t.l.links[at] = next
		}
		at = next
	}
	for _, i := range path {
		seen[i] = false
	}
	slices.Reverse(path)
	return path
}

// before returns the nearest line in front of another one that it could hang on,
// or -1. What hangs on it itself is none.
func (t *ccTree) before(at int, seen []bool) int {
	e := &t.entries[at]
	for i := at - 1; i >= 0; i-- {
		o := &t.entries[i]
		if o.linked && o.side == e.side && o.agent == e.agent && !seen[i] && t.index[o.uuid] == i && (!e.side || o.agent != "") && t.rootOf(i) != t.rootOf(at) {
			return i
		}
	}
	return -1
}

// order puts the messages of a path into the order in which they are sent: lines
// of one message together, with their siblings beside the path, then all results.
func (t *ccTree) order(path []int) []int {
	var siblings map[string][]int // by message id, beside the path
	var results map[string][]int  // by parent, beside the path
	onPath := t.seen
	for _, i := range path {
		onPath[i] = true
	}
	for i := range t.entries {
		e := &t.entries[i]
		if onPath[i] || t.used[i] || !e.speaking() {
			continue
		}
		if siblings == nil {
			siblings, results = make(map[string][]int), make(map[string][]int)
		}
		switch {
		case e.assistant && e.id != "":
			siblings[e.id] = append(siblings[e.id], i)
		case len(e.results) > 0 && !e.speaks:
			results[e.parent] = append(results[e.parent], i)
		}
	}
	for _, i := range path {
		onPath[i] = false
	}
	out := make([]int, 0, len(path))
	done := t.seen
	put := func(i int) {
		if !done[i] {
			done[i] = true
			out = append(out, i)
		}
	}
	var group []int
	for k, i := range path {
		e := &t.entries[i]
		if done[i] || !e.speaking() {
			continue
		}
		if !e.assistant || e.id == "" {
			put(i)
			continue
		}
		group = t.groupOf(group[:0], path[k:], siblings[e.id])
		for _, g := range group {
			put(g)
		}
		if siblings == nil { // nothing stands beside the path
			continue
		}
		delete(siblings, e.id)
		for _, g := range group {
			for _, r := range results[t.entries[g].uuid] {
				if t.entries[r].side == e.side {
					put(r)
				}
			}
			delete(results, t.entries[g].uuid)
		}
	}
	for _, i := range out {
		done[i] = false
	}
	return out
}

// groupOf returns the lines of the message that path begins with, in its order.
// Results may stand between them; anything else ends the message.
func (t *ccTree) groupOf(group, path, beside []int) []int {
	first := &t.entries[path[0]]
	for _, i := range path {
		e := &t.entries[i]
		if !e.speaking() || !e.assistant && !e.speaks {
			continue
		}
		if !e.assistant || e.id != first.id {
			break
		}
		for len(group) > 0 && len(beside) > 0 && beside[0] < i { // they stand in front of it in the file
			group, beside = append(group, beside[0]), beside[1:]
		}
		group = append(group, i)
	}
	group = append(group, beside...)
	return slices.DeleteFunc(group, func(i int) bool {
		return t.entries[i].side != first.side || t.entries[i].agent != first.agent
	})
}

// dormant makes one thread of what no other thread of the list holds.
func (t *ccTree) dormant(mine []int, side bool, all *talk) {
	name := "dormant"
	if side {
		name = "dormant side"
	}
	if !slices.ContainsFunc(mine, func(i int) bool { return !t.used[i] }) {
		return
	}
	b := t.newBody("", mine, func(i int) bool { return !t.used[i] })
	for _, i := range mine {
		if !t.used[i] {
			b.copy(i, t.l.raw, t.entries[i].message)
		}
	}
	if th := t.l.thread(name, Dormant, wire.Anthropic, "", b, nil); th != nil {
		th.tree, th.talk = &ccChain{entries: t.entries, index: t.index}, all
	}
}

// checkDormant reports the halves in a part that is no longer sent whose other half
// is nowhere in the file. Nothing else matters there.
func (l *Log) checkDormant(t *Thread) []Finding {
	var all []Finding
	tr := t.Request.Transcript()
	for b, blk := range tr.Blocks() {
		k := t.talk
		var rule string
		switch {
		case blk.CallID == "": // nothing can be said about it
			continue
		case blk.Kind == transcript.Call && k.results[blk.CallID] == 0:
			rule = "orphan-call"
		case blk.Kind == transcript.Result && k.calls[blk.CallID] == 0:
			rule = "orphan-result"
		default:
			continue
		}
		id := transcript.BlockID(b)
		all = append(all, l.locate(t, wire.Finding{
			Rule: rule, Path: t.Request.Path(id), IDs: []string{blk.CallID}, Message: wire.Slugs()[rule],
			Source: "agentlog/" + rule, Index: blk.Message, Block: id,
		}))
	}
	return all
}

func (claude) mend(e *edits, t *Thread, o Options) error {
	if t.Kind == Dormant {
		mendDormant(e, t, o)
		return nil
	}
	var pieces []piece
	var changes []wire.Change
	if len(e.l.checkThread(t, o.Check)) > 0 {
		plan, err := pare.Repair(t.Request, pare.Options{Repair: o.Repair, Check: o.Check})
		if err != nil {
			return err
		}
		if !plan.Empty() {
			pieces = besideCalls(t, piecesOf(t, t.Request, plan.Result(), false))
		}
		changes = plan.Changes
	}
	switch {
	case o.AppendOnly:
		if !appendBranch(e, t, pieces) {
			return nil
		}
	case pieces != nil:
		(&relay{e: e, t: t}).run(pieces)
	}
	for _, c := range changes {
		e.changes = append(e.changes, Change{Change: c, Thread: t.Name, Line: e.l.lineOfPath(t, c.Path)})
	}
	return nil
}

// lineOfPath returns the line that a path of a thread names, or 0.
func (l *Log) lineOfPath(t *Thread, path string) int {
	var list string
	var i int
	for k := range path {
		if path[k] == '.' {
			list = path[:k]
			break
		}
	}
	if _, err := fmt.Sscanf(path[len(list):], ".%d", &i); err != nil || i < 0 || i >= len(t.parts) {
		return 0
	}
	return l.units[t.parts[i].unit].line
}
