package agentlog

import (
	"crypto/sha256"
	"fmt"
	"slices"

	"github.com/pare-llm/pare/internal/jsonedit"
	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

func (p pi) repair(e *edits, t *Thread, o Options) error {
	if !o.AppendOnly || !e.file.pi.linked {
		return repairFlat(p, e, t, o)
	}
	changeFlat(p, e, t, o)
	return nil
}

func (p pi) stub(l *Log, t *Thread, call transcript.BlockID, text string) []byte {
	blk := t.Request.Transcript().Block(call)
	unit := t.sources[blk.Message].unit
	o := l.object(unit)
	m := write("role", "toolResult", "toolCallId", blk.CallID, "toolName", blk.Tool,
		"content", array(textBlock(text)), "isError", []byte("true"), "timestamp", l.objectIn(unit, "message").Mark("timestamp"))
	return write("type", "message", "id", p.mintID(l, unit, m, nil), "parentId", o.Mark("id"), "timestamp", o.Mark("timestamp"), "message", m)
}

// mintID derives an unused id for a new line. It returns nil if the lines of the file have no ids.
func (pi) mintID(l *Log, unit int, message []byte, made map[string]bool) []byte {
	if len(l.pi.index) == 0 {
		return nil
	}
	for n := 0; ; n++ {
		sum := sha256.Sum256(fmt.Appendf(nil, "pare\x00%d\x00%d\x00%s", n, unit, message))
		id := fmt.Sprintf("%x", sum[:4])
		if _, taken := l.pi.index[id]; !taken && !made[id] {
			return quote(id)
		}
	}
}

func (p pi) quoteUnit(l *Log, t *Thread, result transcript.BlockID, text string) []byte {
	unit := t.unitOf(result)
	stamp := l.object(unit).Object("message").Mark("timestamp")
	content := append([][]byte{textBlock(text)}, p.media(l, t, result)...)
	m := write("role", "user", "content", array(content...), "timestamp", stamp)
	return l.object(unit).With("message", m)
}

// media returns the images of a result. A user message can hold them unchanged.
func (pi) media(l *Log, t *Thread, result transcript.BlockID) (all [][]byte) {
	unit := t.unitOf(result)
	for _, at := range l.object(unit).Object("message").List("content") {
		if objectAt(l.raw, at).Text("type") == "image" {
			all = append(all, l.raw[at.Start:at.End])
		}
	}
	return all
}

// skipped returns the line as an extension entry, which pi does not send.
func (pi) skipped(record []byte) []byte {
	return setMembers(record, "type", "custom", "customType", keptMember)
}

func (pi) withoutBlock(l *Log, t *Thread, call transcript.BlockID) []byte {
	return withoutElement(l, t, call, func(o object) []jsonspan.Span { return o.Object("message").List("content") })
}

// withoutElement returns the unit of a block without the list element that the block was built
// from, or nil if it is the only element.
func withoutElement(l *Log, t *Thread, b transcript.BlockID, list func(object) []jsonspan.Span) []byte {
	tr := t.Request.Transcript()
	blk := tr.Block(b)
	p := t.sources[blk.Message]
	u := l.units[p.unit].span
	i := int(b - tr.Messages()[blk.Message].First)
	if i >= len(p.blockSpans) { // the unit is the block
		return nil
	}
	at := p.blockSpans[i]
	all := list(objectAt(l.raw, u))
	for i, e := range all {
		if e != at || len(all) == 1 {
			continue
		}
		cut := jsonspan.Span{Start: e.Start, End: e.End}
		if i > 0 {
			cut.Start = all[i-1].End
		} else {
			cut.End = all[1].Start
		}
		cut.Start, cut.End = cut.Start-u.Start, cut.End-u.Start
		if out, err := jsonspan.Splice(l.raw[u.Start:u.End], []jsonspan.Edit{{Span: cut}}); err == nil {
			return out
		}
	}
	return nil
}

// piReferences are the members with ids of other entries.
var piReferences = []string{"firstKeptEntryId", "targetId", "fromId"}

// writeBranch appends the path from its first change on, with new ids. pi resumes from the last
// line.
func (p pi) writeBranch(e *edits) {
	es, parent, begun := e.file.pi.entries, "", false
	renamed := make(map[string]string)
	leaf, late := e.file.pi.lines[e.file.pi.leaf], !e.file.pi.resumesAtLeaf()
	add := func(line []byte) {
		was := objectOf(line)
		var pairs []any
		for _, name := range piReferences {
			if to := renamed[was.Text(name)]; to != "" {
				pairs = append(pairs, name, to)
			}
		}
		id := p.mintID(e.file, len(e.appended), append(quote(parent), line...), nil)
		line = setMembers(line, append(pairs, "id", id, "parentId", uuidOrNull(parent))...)
		parent = jsonedit.TextAt(id)
		if old := was.Text("id"); old != "" {
			renamed[old] = parent
		}
		e.appended = append(e.appended, line)
	}
	for _, i := range e.file.pi.path {
		x := e.units[i]
		_, gap := e.file.newParents[i]
		_, lost := e.file.pi.lostFirstKept[i]
		begun = begun || gap || lost || x != nil && (x.drop || x.body != nil) || i == leaf && late
		switch {
		case x != nil && x.drop:
		case begun:
			if u, ok := e.file.pi.lostFirstKept[i]; ok {
				e.setMembers(i, "firstKeptEntryId", es[u].id)
			}
			add(e.unitBytes(i))
		default:
			parent = es[i].id
		}
		if x != nil && len(x.after) > 0 {
			begun = true
			for _, line := range x.after {
				add(line)
			}
		}
	}
	clear(e.units)
}

// finish links the lines of the path in their new order and updates the references of compactions.
func (p pi) finish(e *edits) {
	t := e.file.pi
	if t != nil && !e.appendOnly && e.file.lacksHead() {
		e.prependHead(p.newHead(e.file))
	}
	switch {
	case t == nil:
	case e.appendOnly && t.linked:
		p.writeBranch(e)
	case e.appendOnly: // no line has moved
	case t.linked:
		p.relink(e, t)
		p.moveLeafToEnd(e, t)
	default:
		p.renumber(e, t)
	}
}

// nameFirstKept updates compactions on the path to name the first kept line that exists.
func (p pi) nameFirstKept(e *edits, t *piTree) {
	for at, c := range t.path {
		if t.entries[c].kind != "compaction" || e.dropped(c) {
			continue
		}
		u, lost := t.lostFirstKept[c]
		if !lost {
			u = p.firstKept(e.file, t, c)
		}
		k := slices.Index(t.path[:at], u)
		for old := u; k >= 0 && k < at; k++ {
			if u = t.path[k]; e.dropped(u) || t.entries[u].id == "" {
				continue
			}
			if lost || u != old {
				e.setMembers(c, "firstKeptEntryId", t.entries[u].id)
				e.addChange(Change{Line: e.file.units[c].line, Change: wire.Change{Action: wire.ActionEdit, Rule: "lost-kept-line"}}, "names the first line it keeps that is there")
			}
			break
		}
	}
}

// relink makes every line of the path a child of the preceding one.
func (p pi) relink(e *edits, t *piTree) {
	if len(t.path) == 0 {
		return
	}
	p.nameFirstKept(e, t)
	prev, there := t.entries[t.path[0]].parent, make(map[string]bool)
	for _, i := range t.path {
		x := e.units[i]
		if x == nil || !x.drop {
			p := prev
			prev = t.entries[i].id
			if p != t.entries[i].parent {
				e.setPiParent(i, p)
			}
		}
		if x == nil {
			continue
		}
		for j, line := range x.after {
			line = setMembers(line, "parentId", uuidOrNull(prev))
			x.after[j] = line
			o := objectOf(line)
			prev = o.Text("id")
			there[prev] = true
		}
	}
	// Other branches may begin at a removed line.
	on := make(map[int]bool, len(t.path))
	for _, i := range t.path {
		on[i] = true
	}
	known := make(map[string]string) // by id of a removed line: its nearest kept ancestor
	for _, i := range t.lines {
		p := t.entries[i].parent
		var walked []string
		for len(walked) <= len(t.entries) {
			if to, ok := known[p]; ok {
				p = to
				break
			}
			u, ok := t.index[p]
			if !ok || !e.dropped(u) || there[p] {
				break
			}
			walked = append(walked, p)
			p = t.entries[u].parent
		}
		for _, w := range walked {
			known[w] = p
		}
		if !on[i] && p != t.entries[i].parent && !e.dropped(i) {
			e.setPiParent(i, p)
		}
	}
}

func (e *edits) setPiParent(u int, parent string) {
	e.setMembers(u, "parentId", uuidOrNull(parent))
	e.addChange(Change{Line: e.file.units[u].line, Change: wire.Change{Action: wire.ActionEdit, Rule: "relink"}}, "now linked to the previous line")
}

// renumber updates references by number after lines were added or removed.
func (p pi) renumber(e *edits, t *piTree) {
	now, n, k := make([]int, len(e.file.units)), len(e.prepended), 0
	for i, u := range e.file.units {
		for k < len(t.extraLines) && t.extraLines[k] < u.span.Start {
			n, k = n+1, k+1
		}
		x := e.units[i]
		if x != nil {
			n += len(x.before)
		}
		now[i] = n // for a removed line: the number of the next one
		if x == nil || !x.drop {
			n++
		}
		if x != nil {
			n += len(x.after)
		}
	}
	for i := range t.entries {
		if t.entries[i].kind != "compaction" || e.dropped(i) {
			continue
		}
		u := p.firstKept(e.file, t, i)
		if u < 0 || now[u] == t.entries[u].seq {
			continue
		}
		e.setMembers(i, "firstKeptEntryIndex", now[u])
		e.addChange(Change{Line: e.file.units[i].line, Change: wire.Change{Action: wire.ActionEdit, Rule: "relink"}}, "the number of the first entry it keeps follows that entry")
	}
}
