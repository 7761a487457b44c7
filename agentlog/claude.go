package agentlog

import (
	"fmt"
	"slices"
	"strings"
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
	linked         bool // it has a uuid and takes part in the tree
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
	l.readLines()
	es := make([]entry, len(l.units))
	index := make(map[string]int, len(es))
	for i := range es {
		es[i] = readEntry(l.raw, l.units[i].span)
		if es[i].linked {
			if o, ok := index[es[i].uuid]; ok {
				l.repeatedUUID(o, i)
				if slices.Contains(l.copies, i) {
					es[i] = entry{kind: "copy"}
					continue
				}
			}
			index[es[i].uuid] = i
		}
	}
	t := &ccTree{l: l, entries: es, index: index, used: make([]bool, len(es)), roots: make(map[int]int)}
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

func readEntry(raw []byte, at jsonspan.Span) entry {
	o := objectAt(raw, at)
	e := entry{
		kind: o.text("type"), subtype: o.text("subtype"), uuid: o.text("uuid"), parent: o.text("parentUuid"),
		agent: o.text("agentId"), stamp: o.text("timestamp"), side: o.is("isSidechain"),
	}
	e.linked = e.uuid != ""
	if e.kind != "user" && e.kind != "assistant" {
		return e
	}
	m := o.object("message")
	e.counts = len(m.members) > 0
	e.id, e.model = m.text("id"), m.text("model")
	e.assistant = e.kind == "assistant"
	content, ok := m.get("content")
	if role := m.text("role"); !ok || role != "user" && role != "assistant" || raw[content.Start] != '"' && raw[content.Start] != '[' {
		return e
	}
	e.message, e.assistant = m.span, m.text("role") == "assistant"
	if raw[content.Start] == '"' {
		e.speaks = true
		return e
	}
	blank := true
	for _, b := range jsonspan.Elements(raw, content) {
		block := objectAt(raw, b)
		switch block.text("type") {
		case "tool_use":
			e.calls = append(e.calls, block.text("id"))
			e.speaks = true
		case "tool_result":
			e.results = append(e.results, block.text("tool_use_id"))
		case "text":
			e.speaks = true
			blank = blank && strings.TrimSpace(block.text("text")) == ""
			continue
		default:
			e.speaks = true
		}
		blank = false
	}
	e.blank = blank && e.assistant && e.speaks
	return e
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
}

// threads makes the threads of the main list or of the side chains.
func (t *ccTree) threads(side bool) {
	all, messages := newTalk(), 0
	ids := make(map[string]bool)
	var mine []int
	for i := range t.entries {
		e := &t.entries[i]
		if e.side != side || !e.counts {
			continue
		}
		if e.id == "" || !ids[e.id] {
			messages++
		}
		ids[e.id] = true
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
		p, ok := t.index[t.entries[i].parent]
		if t.entries[i].parent == "" || !ok || seen[p] {
			break
		}
		i = p
	}
	for _, w := range walked {
		t.roots[w] = i
	}
	return i
}

// live makes the thread that is sent when the newest leaf of some lines is resumed.
func (t *ccTree) live(mine []int, name string, kind Kind) {
	leaf := t.leafOf(mine)
	path := t.walk(leaf)
	if path == nil { // lines without links are read as they stand
		path = mine
	}
	onPath := make(map[int]bool, len(path))
	for _, i := range path {
		onPath[i] = true
	}
	b := t.l.newBody(wire.Anthropic, t.modelOf(path))
	order, last := t.order(path, onPath), -1
	t.reserve(b, order, func(i int) bool { return t.entries[i].sent() })
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
		prompt = write("role", "user", "content", promptText)
	}
	if th := t.l.thread(name, kind, wire.Anthropic, t.modelOf(path), b, prompt); th != nil {
		th.tree = &ccChain{entries: t.entries, index: t.index, path: path}
	}
}

// reserve makes room for the messages of some lines.
func (t *ccTree) reserve(b *bodyBuilder, lines []int, wanted func(int) bool) {
	n := 0
	for _, i := range lines {
		if wanted(i) {
			n += t.entries[i].message.Len() + 1
		}
	}
	b.reserve(n)
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
	inner := make(map[int]bool)
	above := make(map[int]int) // nearest message above, or -1
	for _, i := range mine {
		if p := t.messageAbove(i, above); p >= 0 && p != i {
			inner[p] = true
		}
	}
	leaf := -1
	for _, i := range mine {
		if inner[i] || !t.entries[i].linked {
			continue
		}
		if leaf < 0 || millis(t.entries[i].stamp) >= millis(t.entries[leaf].stamp) {
			leaf = i
		}
	}
	if leaf < 0 {
		leaf = mine[len(mine)-1]
	}
	return leaf
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
		p, ok := t.index[t.entries[at].parent]
		if t.entries[at].parent == "" || !ok || seen[p] {
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

// walk goes from a leaf to its root and returns the lines on the way, root first.
// Where a parent is not in the file, or the links go in a circle, it goes on with
// the line in front, which is where the parent must have been.
func (t *ccTree) walk(leaf int) []int {
	if leaf < 0 || !t.entries[leaf].linked {
		return nil
	}
	seen := make(map[int]bool)
	var path []int
	for at := leaf; at >= 0; {
		seen[at] = true
		path = append(path, at)
		e := &t.entries[at]
		if e.parent == "" {
			if e.subtype != "compact_boundary" && t.before(at, seen) >= 0 && e.speaking() {
				t.l.damageAt(t.l.units[at].span.Start, t.l.units[at].line, "second-root")
			}
			break
		}
		next, ok := t.index[e.parent]
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
	slices.Reverse(path)
	return path
}

// before returns the nearest line in front of another one that it could hang on,
// or -1. What hangs on it itself is none.
func (t *ccTree) before(at int, seen map[int]bool) int {
	e := &t.entries[at]
	root := t.rootOf(at)
	for i := at - 1; i >= 0; i-- {
		o := &t.entries[i]
		if o.linked && o.side == e.side && o.agent == e.agent && !seen[i] && t.index[o.uuid] == i && (!e.side || o.agent != "") && t.rootOf(i) != root {
			return i
		}
	}
	return -1
}

// order puts the messages of a path into the order in which they are sent: lines
// of one message together, with their siblings beside the path, then all results.
func (t *ccTree) order(path []int, onPath map[int]bool) []int {
	siblings := make(map[string][]int) // by message id, beside the path
	results := make(map[string][]int)  // by parent, beside the path
	for i := range t.entries {
		e := &t.entries[i]
		if onPath[i] || t.used[i] || !e.speaking() {
			continue
		}
		switch {
		case e.assistant && e.id != "":
			siblings[e.id] = append(siblings[e.id], i)
		case len(e.results) > 0 && !e.speaks:
			results[e.parent] = append(results[e.parent], i)
		}
	}
	var out []int
	done := make(map[int]bool)
	put := func(i int) {
		if !done[i] {
			done[i] = true
			out = append(out, i)
		}
	}
	for k, i := range path {
		e := &t.entries[i]
		if done[i] || !e.speaking() {
			continue
		}
		if !e.assistant || e.id == "" {
			put(i)
			continue
		}
		group := t.groupOf(path[k:], siblings[e.id])
		delete(siblings, e.id)
		for _, g := range group {
			put(g)
		}
		for _, g := range group {
			for _, r := range results[t.entries[g].uuid] {
				if t.entries[r].side == e.side {
					put(r)
				}
			}
			delete(results, t.entries[g].uuid)
		}
	}
	return out
}

// groupOf returns the lines of the message that path begins with, in its order.
// Results may stand between them; anything else ends the message.
func (t *ccTree) groupOf(path []int, beside []int) []int {
	first := &t.entries[path[0]]
	var group []int
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
	b := t.l.newBody(wire.Anthropic, "")
	t.reserve(b, mine, func(i int) bool { return !t.used[i] })
	for _, i := range mine {
		if !t.used[i] {
			b.copy(i, t.l.raw, t.entries[i].message)
		}
	}
	if len(b.parts) == 0 {
		return
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
			pieces = piecesOf(t, t.Request, plan.Result(), false)
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
