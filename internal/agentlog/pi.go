package agentlog

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/wire"
)

// pi reads the sessions of pi: one JSON entry per line, with calls in the assistant's content and a
// message for each result. It follows the program: lines that are not JSON are ignored and not
// counted. Files of version 1 have no links. Later files are a tree by id and parentId, and pi
// sends the path to the last line. After a compaction it sends the summary, the messages that the
// compaction kept, and all later ones. pi rebuilds its requests for each provider, so only pairs
// are checked.
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

// A piEntry holds the members of one line.
type piEntry struct {
	kind, id, parent string
	timestamp        string
	isMessage        bool
	sharesLine       bool // another value is on its line, so pi cannot parse it
	seq              int  // its number as pi counts; -1 if pi cannot parse the line
}

// A piTree is the file as pi reads it.
type piTree struct {
	entries      []piEntry      // by unit
	index        map[string]int // by id: the last unit
	lines        []int          // units that are neither heads nor copies
	path         []int          // from the root to the leaf
	foreignHeads []int          // heads of other sessions
	// Index in lines of the line to resume from; -1 if no line has an id.
	leaf               int
	lastLine           int         // unit of the last line, or of its original if it is a copy
	endsInOtherSession bool        // a line of another session follows that pi cannot parse yet
	extraLines         []int       // offsets of lines that pi counts and that are not units
	unitBySeq          map[int]int // units by number
	linked             bool        // lines have ids and parents
	lostFirstKept      map[int]int // by compaction whose first kept line is lost: the line after it
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
		l.reportLostHead() // a head elsewhere does not count
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

// tree reads all lines.
func (p pi) tree(l *Log) *piTree {
	t := &piTree{entries: make([]piEntry, len(l.units)), index: make(map[string]int)}
	version, header, named := 0, false, "" // named: the session of the last head
	var early []int                        // copies that precede their parent
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
					// Keep the copy that follows its parent, because pi resumes from there.
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
	if header && version < 2 { // pi assigns new ids in the order of the lines
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

// number numbers the lines as pi does. It counts lines that are a single JSON value.
func (pi) number(l *Log, t *piTree) {
	for _, f := range l.damage {
		if f.Rule != "foreign-line" {
			continue
		}
		line, _, _ := bytes.Cut(l.raw[f.Offset:], []byte{'\n'})
		switch string(bytes.TrimSpace(line)) {
		case "null", "false", "0", "-0", `""`: // false in JavaScript
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

// model returns the last model that a line names.
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

// pathToLeaf returns the lines from the root to the leaf. Instead of a missing parent, it continues
// with the preceding line.
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

// appendSent adds the messages that pi sends and returns their units.
func (p pi) appendSent(l *Log, t *piTree, body *bodyBuilder) map[int]bool {
	size := 0
	for _, i := range t.path {
		if t.entries[i].isMessage {
			size += l.units[i].span.Len()
		}
	}
	body.reserve(size)
	kept, before := p.appendCompaction(l, t, body)
	edits := p.contextEdits(l, t, kept)
	sent := make(map[int]bool, len(kept))
	var held []int // system messages cannot come between calls and their results
	afterReply := false
	release := func() {
		for _, h := range held {
			p.appendMessage(l, body, h, jsonspan.Span{})
		}
		held, afterReply = nil, false
	}
	for k, i := range kept {
		sent[i] = true
		e := &t.entries[i]
		var content jsonspan.Span
		if edit, ok := edits[e.id]; ok && e.id != "" {
			if content, ok = edit.Get("content"); !ok { // removed
				continue
			}
		}
		switch {
		case e.kind == "branch_summary":
			p.appendSummary(l, body, i, "summary")
			afterReply = false
			continue
		case e.kind == "custom_message":
			p.appendCustom(l, body, i)
			afterReply = false
			continue
		case !e.isMessage:
			continue
		}
		m := l.object(i).Object("message")
		switch role := m.Text("role"); {
		case role == "system" && k < before:
			continue
		case role == "system" && afterReply:
			held = append(held, i)
			continue
		case role == "assistant" || role == "user":
			release()
		}
		if !p.isSent(m) {
			sent[i] = false
			continue
		}
		afterReply = afterReply || m.Text("role") == "assistant"
		p.appendMessage(l, body, i, content)
	}
	release()
	return sent
}

// contextEdits returns the replacements of entries by id. An empty one removes its entry.
func (pi) contextEdits(l *Log, t *piTree, kept []int) map[string]object {
	edits := make(map[string]object)
	for _, i := range kept {
		if t.entries[i].kind == "context_edit" {
			o := l.object(i)
			edits[o.Text("targetId")] = o.Object("replacement")
		}
	}
	return edits
}

// appendCompaction adds the summary of the last compaction. It returns the other sent units of the
// path, and how many of them precede the compaction.
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

// isSent reports whether pi sends a message. It omits failed and aborted turns and output that the
// user excluded.
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

// firstKept returns the first unit that a compaction keeps, or -1.
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

// afterLostKept returns the line after the gap in which the first kept line of a compaction was
// lost, or -1. Without that line, pi forgets all kept lines.
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

// appendSummary adds the text of a compaction or of an abandoned branch.
func (pi) appendSummary(l *Log, b *bodyBuilder, i int, name string) {
	o, t := l.object(i), messageBuilder{}
	if v, ok := o.Get(name); ok && v.Len() > 2 {
		t.addText(l.raw[v.Start:v.End], v)
	}
	t.appendTo(b, i, "user")
}

// appendCustom adds a message of an extension.
func (pi) appendCustom(l *Log, b *bodyBuilder, i int) {
	o := l.object(i)
	if v, ok := o.Get("content"); ok {
		t := messageBuilder{blocks: textBlocks(l.raw, v)}
		t.appendTo(b, i, "user")
	}
}

// appendMessage adds the message of a line. A non-empty content replaces the message's own content.
func (pi) appendMessage(l *Log, body *bodyBuilder, unit int, content jsonspan.Span) {
	message, t := l.object(unit).Object("message"), messageBuilder{}
	role := message.Text("role")
	if content.Len() == 0 {
		content, _ = message.Get("content")
	}
	switch {
	case role == "toolResult":
		t.addResult(message.Text("toolCallId"), textBlocks(l.raw, content), message.Is("isError"), message.Span)
	case role == "bashExecution":
		for _, name := range []string{"command", "output"} {
			if v, ok := message.Get(name); ok && v.Len() > 2 && l.raw[v.Start] == '"' {
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
	if len(t.blocks) == 0 { // a turn that stopped before any output
		t.addText(quote(" "), message.Span)
	}
	if role != "assistant" {
		role = "user"
	}
	t.appendTo(body, unit, role)
}
