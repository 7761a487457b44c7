package agentlog

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/wire"
)

// pi reads the sessions of pi: JSON lines, one entry in each, with calls in the
// assistant's content and a message for each result. It goes the way of the program
// itself: lines that are no JSON are passed over and not counted; files of the first
// version have no links; later ones are a tree by id and parentId, and what is sent is
// the path from the last line. Behind a compaction that is its summary, what it kept and
// what came after it. pi writes its requests anew for whatever provider is used, so only
// pairs are checked.
type pi struct{}

var piRow = formatSpec{
	format: Pi, name: "pi", maker: "pi", dialect: wire.Anthropic, form: pi{}, lineEvidence: piLine, lenientUTF8: true,
	unitUsage: usageAt("message.usage", []string{"input", "cacheRead", "cacheWrite"}, []string{"output"}),
}

func piLine(o object) evidence {
	switch kind := o.Kind(); {
	case kind == "session" && o.Has("cwd") && o.Has("id"):
		return strongEvidence
	case kind == "message" && o.Has("message") && o.Has("timestamp") && (o.Has("parentId") || o.Object("message").Has("role")):
		return strongEvidence
	}
	return noEvidence
}

// A piEntry is what a line of pi says.
type piEntry struct {
	kind, id, parent string
	timestamp        string // its time
	isMessage        bool
	sharesLine       bool // something else stands on its line, so that pi does not see it
	seq              int  // its number as pi counts; -1: pi does not see the line
}

// A piTree is the file as pi sees it.
type piTree struct {
	entries            []piEntry      // by unit
	index              map[string]int // the last unit of an id
	lines              []int          // the units that are no header, and no copies
	path               []int          // from the root to where pi is to go on
	foreignHeads       []int          // heads of other sessions
	leaf               int            // place in flat of the line to go on from; -1: no line has an id
	lastLine           int            // the last line, copies included; a copy is the line that it is one of
	endsInOtherSession bool           // a line of another session stands behind it, which pi does not see yet
	extraLines         []int          // offsets of lines that are counted and are no units
	unitBySeq          map[int]int    // units by their numbers
	linked             bool           // lines have ids and hang on each other
	lostFirstKept      map[int]int    // compactions whose first kept line is lost, to the line behind it
}

func (p pi) read(l *Log) {
	l.readLines()
	t := p.tree(l)
	l.pi = t
	all, n := newPairCounts(), 0
	for _, i := range t.lines {
		if t.entries[i].isMessage {
			n++
			p.countPairs(l, l.units[i].span, all)
		}
	}
	if n == 0 {
		return
	}
	l.addToTally(all, n)
	if first, ok := t.unitBySeq[0]; !ok || t.entries[first].kind != "session" || l.object(first).Text("id") == "" {
		l.reportLostHead() // whatever is JSON and stands in front of it
	}
	t.path = t.lines
	if t.linked {
		t.path = p.pathToLeaf(l, t)
		p.reportLateLines(l, t)
	}
	b := l.newBodyBuilder(wire.Anthropic, p.model(l, t))
	sent := p.appendSent(l, t, b)
	l.addPairsThread("main", Main, p.model(l, t), b, all)
	b = l.newBodyBuilder(wire.Anthropic, "")
	for _, i := range t.lines {
		if t.entries[i].isMessage && !sent[i] {
			p.appendMessage(l, b, i, jsonspan.Span{})
		}
	}
	l.addPairsThread("dormant", Dormant, "", b, all)
}

// tree looks at all lines.
func (p pi) tree(l *Log) *piTree {
	t := &piTree{entries: make([]piEntry, len(l.units)), index: make(map[string]int)}
	version, header, named := 0, false, "" // named: the session of the last head
	var early []int                        // copies in front of the lines they are copies of
	for i, u := range l.units {
		o := objectAt(l.raw, u.span)
		e := &t.entries[i]
		*e = piEntry{kind: o.Text("type"), id: o.Text("id"), parent: o.Text("parentId"), timestamp: o.Text("timestamp"), sharesLine: !u.alone, seq: -1}
		e.isMessage = e.kind == "message" && o.Object("message").Has("role")
		if e.kind == "session" {
			if !header {
				header = true
				version, _ = strconv.Atoi(string(o.Value("version")))
			}
			if named != "" && e.id != named {
				t.foreignHeads = append(t.foreignHeads, i)
			}
			named, e.id = e.id, ""
			continue
		}
		if e.id != "" {
			if first, ok := t.index[e.id]; ok {
				l.repeatedUUID(first, i)
				if n := len(l.duplicates); n > 0 && l.duplicates[n-1] == i {
					if parent, ok := t.index[e.parent]; !ok || parent < first {
						e.isMessage = false
						continue
					}
					// The one behind what it hangs on stays: from there the agent goes on.
					l.duplicates[n-1], l.damage = first, l.damage[:len(l.damage)-1]
					l.damageUnit(first, "duplicate-line")
					t.entries[first].isMessage = false
					early = append(early, first)
				}
			}
			t.index[e.id] = i
			t.linked = true
		}
		t.lines = append(t.lines, i)
	}
	if early != nil {
		slices.Sort(early)
		t.lines = slices.DeleteFunc(t.lines, func(u int) bool {
			_, found := slices.BinarySearch(early, u)
			return found
		})
	}
	if header && version < 2 { // whatever ids there are, pi gives new ones in the order of the lines
		t.linked = false
	}
	if t.linked {
		t.findLeaf()
	}
	if n := len(l.duplicates); n > 0 && l.duplicates[n-1] == len(l.units)-1 && t.linked && t.lastLine != t.lines[t.leaf] {
		l.markHarmful("the agent goes on from the first one, and forgets what came behind it")
	}
	p.number(l, t)
	return t
}

// number counts the lines as pi does: those that are JSON, and one value alone.
func (pi) number(l *Log, t *piTree) {
	for _, f := range l.damage {
		if f.Rule != "foreign-line" {
			continue
		}
		line, _, _ := bytes.Cut(l.raw[f.Offset:], []byte{'\n'})
		switch string(bytes.TrimSpace(line)) {
		case "null", "false", "0", "-0", `""`: // nothing, to JavaScript
		default:
			t.extraLines = append(t.extraLines, f.Offset)
		}
	}
	t.unitBySeq = make(map[int]int, len(l.units))
	n, k := 0, 0
	for i, u := range l.units {
		for k < len(t.extraLines) && t.extraLines[k] < u.span.Start {
			n, k = n+1, k+1
		}
		if u.alone {
			t.entries[i].seq = n
			t.unitBySeq[n] = i
			n++
		}
	}
}

// model is what the last line that names one says.
func (pi) model(l *Log, t *piTree) string {
	model := ""
	for i := range t.entries {
		if t.entries[i].kind == "session" {
			o := l.object(i)
			model = cmp.Or(o.Text("modelId"), o.Text("model"), model)
			break
		}
	}
	for _, i := range t.path {
		switch t.entries[i].kind {
		case "model_change":
			model = cmp.Or(l.object(i).Text("modelId"), model)
		case "message":
			if m := l.object(i).Object("message"); m.Text("role") == "assistant" {
				model = cmp.Or(m.Text("model"), model)
			}
		}
	}
	return model
}

func (pi) countPairs(l *Log, at jsonspan.Span, all *pairCounts) {
	m := objectAt(l.raw, at)
	m = m.Object("message")
	if m.Text("role") == "toolResult" {
		all.results[m.Text("toolCallId")]++
		return
	}
	for _, b := range m.List("content") {
		if o := objectAt(l.raw, b); o.Text("type") == "toolCall" {
			all.calls[o.Text("id")]++
		}
	}
}

// walk returns the lines that are on the way from the leaf to the root. A link
// that leads nowhere is followed to the line in front.
func (pi) pathToLeaf(l *Log, t *piTree) []int {
	es, index, flat := t.entries, t.index, t.lines
	var path []int
	seen := make(map[int]bool)
	at := make(map[int]int, len(flat))
	for k, i := range flat {
		at[i] = k
	}
	for k := t.leaf; k >= 0; {
		i := flat[k]
		seen[i] = true
		path = append(path, i)
		if es[i].parent == "" {
			break
		}
		if next, ok := index[es[i].parent]; ok && !seen[next] {
			k = at[next]
			continue
		}
		for k--; k >= 0 && (seen[flat[k]] || es[flat[k]].id == "" || index[es[flat[k]].id] != flat[k]); k-- {
		}
		if k >= 0 {
			l.damageUnit(i, "dangling-parent", es[i].parent)
			l.setNewParent(i, flat[k])
		}
	}
	slices.Reverse(path)
	return path
}

// send adds to a body what pi sends, and returns the units of it.
func (p pi) appendSent(l *Log, t *piTree, b *bodyBuilder) map[int]bool {
	path := t.path
	n := 0
	for _, i := range path {
		if t.entries[i].isMessage {
			n += l.units[i].span.Len()
		}
	}
	b.reserve(n)
	kept, before := p.appendCompaction(l, t, b)
	edits := make(map[string]object) // by id of the entry
	for _, i := range kept {
		if t.entries[i].kind == "context_edit" {
			o := l.object(i)
			edits[o.Text("targetId")] = o
		}
	}
	sent := make(map[int]bool, len(kept))
	var held []int // system messages do not come between calls and their results
	open := false
	for k, i := range kept {
		sent[i] = true
		e := &t.entries[i]
		var content jsonspan.Span
		if edit, ok := edits[e.id]; ok && e.id != "" {
			o := edit.Object("replacement")
			if content, ok = o.Get("content"); !ok { // taken out
				continue
			}
		}
		switch e.kind {
		case "branch_summary":
			p.appendSummary(l, b, i, "summary")
			open = false
			continue
		case "custom_message":
			p.appendCustom(l, b, i)
			open = false
			continue
		}
		if !e.isMessage {
			continue
		}
		m := l.object(i).Object("message")
		role := m.Text("role")
		switch {
		case role == "system" && k < before:
			continue
		case role == "system" && open:
			held = append(held, i)
			continue
		}
		if role == "assistant" || role == "user" {
			for _, h := range held {
				p.appendMessage(l, b, h, jsonspan.Span{})
			}
			held, open = nil, false
		}
		if !p.isSent(m) {
			sent[i] = false
			continue
		}
		open = open || role == "assistant"
		p.appendMessage(l, b, i, content)
	}
	for _, h := range held {
		p.appendMessage(l, b, h, jsonspan.Span{})
	}
	return sent
}

// compacted adds the summary of the last compaction to a body, and returns what stands on the path
// beside it, of which so many stand in front of the compaction.
func (p pi) appendCompaction(l *Log, t *piTree, b *bodyBuilder) (kept []int, before int) {
	path := t.path
	at := -1
	for k, i := range path {
		if t.entries[i].kind == "compaction" {
			at = k
		}
	}
	if at < 0 {
		return path, 0
	}
	p.appendSummary(l, b, path[at], "summary")
	first := at
	u := p.firstKept(l, t, path[at])
	if u < 0 {
		u = p.afterLostKept(l, t, at)
	}
	if u >= 0 {
		if k := slices.Index(path[:at], u); k >= 0 {
			first = k
		}
	}
	return slices.Concat(path[first:at], path[at+1:]), at - first
}

// sends reports whether pi sends a message. Turns of the model that broke off are not
// sent again, nor what the user has kept out.
func (pi) isSent(m object) bool {
	switch m.Text("role") {
	case "assistant":
		stop := m.Text("stopReason")
		return stop != "error" && stop != "aborted"
	case "bashExecution":
		return !m.Is("excludeFromContext")
	}
	return true
}

// firstKept returns the unit that a compaction names as the first it keeps, or -1.
func (pi) firstKept(l *Log, t *piTree, compaction int) int {
	o := l.object(compaction)
	if id := o.Text("firstKeptEntryId"); id != "" && t.linked {
		if u, ok := t.index[id]; ok {
			return u
		}
		return -1
	}
	n, err := strconv.Atoi(string(o.Value("firstKeptEntryIndex")))
	if err != nil {
		return -1
	}
	if i, ok := t.unitBySeq[n]; ok && t.entries[i].kind != "session" {
		return i
	}
	return -1
}

// behindLost returns the line behind the gap on the path that a line must have stood in which
// the compaction there keeps as its first one, or -1. Without it pi forgets all that is kept.
func (pi) afterLostKept(l *Log, t *piTree, at int) int {
	id := l.object(t.path[at]).Text("firstKeptEntryId")
	if _, there := t.index[id]; id == "" || there || !t.linked {
		return -1
	}
	for k, i := range t.path[:at] {
		_, gap := l.newParents[i]
		if _, there := t.index[t.entries[i].parent]; !gap && (k > 0 || there || t.entries[i].parent == "") {
			continue
		}
		l.damageUnit(t.path[at], "lost-kept-line", id)
		t.lostFirstKept = map[int]int{t.path[at]: i}
		return i
	}
	return -1
}

// summary adds the words of a compaction or of a branch that was left.
func (pi) appendSummary(l *Log, b *bodyBuilder, i int, name string) {
	o, t := l.object(i), messageBuilder{}
	if v, ok := o.Get(name); ok && v.Len() > 2 {
		t.addText(l.raw[v.Start:v.End], v)
	}
	t.appendTo(b, i, "user")
}

// custom adds what an extension says to the model.
func (pi) appendCustom(l *Log, b *bodyBuilder, i int) {
	o := l.object(i)
	if v, ok := o.Get("content"); ok {
		t := messageBuilder{blocks: textBlocks(l.raw, v)}
		t.appendTo(b, i, "user")
	}
}

// message adds what a line says to a body; content replaces what it says, if there is
// any.
func (pi) appendMessage(l *Log, b *bodyBuilder, i int, content jsonspan.Span) {
	m, t := l.object(i).Object("message"), messageBuilder{}
	role := m.Text("role")
	if content.Len() == 0 {
		content, _ = m.Get("content")
	}
	switch {
	case role == "toolResult":
		t.addResult(m.Text("toolCallId"), textBlocks(l.raw, content), m.Is("isError"), m.Span)
	case role == "bashExecution":
		for _, name := range []string{"command", "output"} {
			if v, ok := m.Get(name); ok && v.Len() > 2 && l.raw[v.Start] == '"' {
				t.addText(l.raw[v.Start:v.End], v)
			}
		}
	case content.Len() == 0:
	case l.raw[content.Start] == '"':
		t.addText(l.raw[content.Start:content.End], content)
	case l.raw[content.Start] == '[':
		for _, e := range jsonspan.Elements(l.raw, content) {
			c := objectAt(l.raw, e)
			switch c.Text("type") {
			case "toolCall":
				t.addCall(c.Text("id"), c.Text("name"), c.Value("arguments"), e)
			case "text":
				t.addText(c.Value("text"), e)
			}
		}
	}
	if len(t.blocks) == 0 { // a turn that broke off before it said anything
		t.addText(quote(" "), m.Span)
	}
	if role != "assistant" {
		role = "user"
	}
	t.appendTo(b, i, role)
}
