package agentlog

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strconv"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// pi reads the sessions of pi: JSON lines, one message in each, with calls in the
// assistant's content and a message for each result. Later versions link their
// lines by id and parentId; what is sent is the path from the last line, and after
// a compaction only what it kept. pi writes its requests anew for whatever provider
// is used, so only pairs are checked.
type pi struct{}

var piRow = row{format: Pi, name: "pi", maker: "pi", dialect: wire.Anthropic, form: pi{}, line: piLine}

func piLine(o object) evidence {
	switch kind := o.text("type"); {
	case kind == "session" && o.has("cwd") && o.has("id"):
		return proof
	case kind == "message" && o.has("message") && o.has("timestamp") && (o.has("parentId") || o.object("message").has("role")):
		return proof
	}
	return silent
}

// A piEntry is what a line of pi says.
type piEntry struct {
	kind, id, parent string
	message          bool
}

func (p pi) read(l *Log) {
	l.readLines()
	es := make([]piEntry, len(l.units))
	index := make(map[string]int)
	var flat []int
	for i, u := range l.units {
		o := objectAt(l.raw, u.span)
		es[i] = piEntry{o.text("type"), o.text("id"), o.text("parentId"), false}
		es[i].message = es[i].kind == "message" && o.object("message").has("role")
		if es[i].kind == "session" {
			es[i].id = ""
			continue
		}
		if es[i].id != "" {
			if first, ok := index[es[i].id]; ok {
				l.repeatedUUID(first, i)
				if n := len(l.copies); n > 0 && l.copies[n-1] == i {
					es[i].message = false
					continue
				}
			}
			index[es[i].id] = i
		}
		flat = append(flat, i)
	}
	all, n := newTalk(), 0
	for _, i := range flat {
		if es[i].message {
			n++
			p.count(l, l.units[i].span, all)
		}
	}
	if n == 0 {
		return
	}
	l.count(all, n)
	path := p.kept(l, es, index, p.walk(l, es, index, flat))
	l.piPath, l.piIDs = path, es
	p.thread(l, "main", Main, es, path, all)
	on := make(map[int]bool)
	for _, i := range path {
		on[i] = true
	}
	var rest []int
	for _, i := range flat {
		if !on[i] {
			rest = append(rest, i)
		}
	}
	p.thread(l, "dormant", Dormant, es, rest, all)
}

func (pi) count(l *Log, at jsonspan.Span, all *talk) {
	m := objectAt(l.raw, at)
	m = m.object("message")
	if m.text("role") == "toolResult" {
		all.results[m.text("toolCallId")]++
		return
	}
	for _, b := range m.list("content") {
		if o := objectAt(l.raw, b); o.text("type") == "toolCall" {
			all.calls[o.text("id")]++
		}
	}
}

// walk returns the lines that are on the way from the last one to the root. A link
// that leads nowhere is followed to the line in front.
func (pi) walk(l *Log, es []piEntry, index map[string]int, flat []int) []int {
	last := -1
	for k := len(flat) - 1; k >= 0 && last < 0; k-- {
		if es[flat[k]].id != "" {
			last = k
		}
	}
	if last < 0 {
		return flat
	}
	var path []int
	seen := make(map[int]bool)
	at := make(map[int]int, len(flat))
	for k, i := range flat {
		at[i] = k
	}
	for k := last; k >= 0; {
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
			l.damageAt(l.units[i].span.Start, l.units[i].line, "dangling-parent", es[i].parent)
			l.links[i] = flat[k]
		}
	}
	for i, j := 0, len(path)-1; i < j; i, j = i+1, j-1 {
		path[i], path[j] = path[j], path[i]
	}
	return path
}

// kept cuts a path to what the last compaction left.
func (pi) kept(l *Log, es []piEntry, index map[string]int, path []int) []int {
	for k := len(path) - 1; k >= 0; k-- {
		if es[path[k]].kind != "compaction" {
			continue
		}
		o := objectAt(l.raw, l.units[path[k]].span)
		first := k
		if id := o.text("firstKeptEntryId"); id != "" {
			for j := range path[:k] {
				if es[path[j]].id == id {
					first = j
				}
			}
		} else if n, err := strconv.Atoi(string(o.value("firstKeptEntryIndex"))); err == nil {
			for j := range path[:k] {
				if path[j] >= n {
					first = j
					break
				}
			}
		}
		return path[first:]
	}
	return path
}

func (p pi) thread(l *Log, name string, kind Kind, es []piEntry, path []int, all *talk) {
	b := l.newBody(wire.Anthropic, "")
	n := 0
	for _, i := range path {
		if es[i].message {
			n += l.units[i].span.Len()
		}
	}
	b.reserve(n)
	for _, i := range path {
		if es[i].message {
			p.message(l, b, i)
		}
	}
	if len(b.parts) == 0 {
		return
	}
	if t := l.thread(name, kind, wire.Anthropic, "", b, nil); t != nil {
		t.pairs, t.talk = true, all
	}
}

// message adds what a line says to a body.
func (pi) message(l *Log, b *bodyBuilder, i int) {
	o := objectAt(l.raw, l.units[i].span)
	m := o.object("message")
	var blocks [][]byte
	var spans []jsonspan.Span
	add := func(raw []byte, at jsonspan.Span) { blocks, spans = append(blocks, raw), append(spans, at) }
	role := "user"
	content, _ := m.get("content")
	switch m.text("role") {
	case "toolResult":
		add(toolResult(m.text("toolCallId"), textsIn(l.raw, content), m.is("isError")), m.span)
	case "assistant":
		role = "assistant"
		fallthrough
	default:
		if content.Len() > 0 && l.raw[content.Start] == '"' {
			add(write("type", "text", "text", l.raw[content.Start:content.End]), content)
		}
		for _, e := range m.list("content") {
			c := objectAt(l.raw, e)
			switch c.text("type") {
			case "toolCall":
				add(toolUse(c.text("id"), c.text("name"), c.value("arguments")), e)
			case "text":
				add(write("type", "text", "text", stringOr(c.value("text"))), e)
			}
		}
	}
	if len(blocks) == 0 { // a turn that broke off before it said anything
		add(write("type", "text", "text", " "), m.span)
	}
	b.put(i, write("role", role, "content", array(blocks...)), spans)
}

func toolUse(id, name string, input []byte) []byte {
	if len(input) == 0 || input[0] != '{' {
		input = []byte("{}")
	}
	return write("type", "tool_use", "id", id, "name", name, "input", input)
}

func toolResult(id string, content [][]byte, failed bool) []byte {
	var mark []byte
	if failed {
		mark = []byte("true")
	}
	return write("type", "tool_result", "tool_use_id", id, "content", array(content...), "is_error", mark)
}

// stringOr returns a JSON string, or an empty one for anything else.
func stringOr(raw []byte) []byte {
	if len(raw) == 0 || raw[0] != '"' {
		return []byte(`""`)
	}
	return raw
}

// textsIn returns the texts in some content as blocks: a string, or a list of
// objects with a text.
func textsIn(raw []byte, at jsonspan.Span) [][]byte {
	if at.Len() == 0 {
		return nil
	}
	switch raw[at.Start] {
	case '"':
		return [][]byte{write("type", "text", "text", raw[at.Start:at.End])}
	case '[':
		var all [][]byte
		for _, e := range jsonspan.Elements(raw, at) {
			if v := objectAt(raw, e).value("text"); len(v) > 0 && v[0] == '"' {
				all = append(all, write("type", "text", "text", v))
			}
		}
		return all
	}
	return nil
}

func (p pi) mend(e *edits, t *Thread, o Options) error {
	linked := slices.ContainsFunc(e.l.piIDs, func(x piEntry) bool { return x.id != "" })
	if !o.AppendOnly || !linked {
		return mendFlat(p, e, t, o)
	}
	if t.Kind == Main { // what is left of other branches must not become the last line
		changeFlat(p, e, t, o)
	}
	return nil
}

func (p pi) stub(l *Log, t *Thread, call transcript.BlockID, text string) []byte {
	blk := t.Request.Transcript().Block(call)
	unit := t.parts[blk.Message].unit
	o := l.object(unit)
	m := write("role", "toolResult", "toolCallId", blk.CallID, "toolName", blk.Tool,
		"content", array(write("type", "text", "text", text)), "isError", []byte("true"), "timestamp", l.objectIn(unit, "message").value("timestamp"))
	return write("type", "message", "id", p.mint(l, unit, m), "parentId", o.value("id"), "timestamp", o.value("timestamp"), "message", m)
}

// mint makes an id for a new line; none if the lines of the file have none.
func (pi) mint(l *Log, unit int, message []byte) []byte {
	if l.taken == nil {
		l.taken = make(map[string]bool, len(l.piIDs))
		for i := range l.piIDs {
			l.taken[l.piIDs[i].id] = true
		}
		delete(l.taken, "")
	}
	if len(l.taken) == 0 {
		return nil
	}
	for n := 0; ; n++ {
		sum := sha256.Sum256(fmt.Appendf(nil, "pare\x00%d\x00%d\x00%s", n, unit, message))
		if id := fmt.Sprintf("%x", sum[:4]); !l.taken[id] {
			return quote(id)
		}
	}
}

func (pi) quote(l *Log, t *Thread, result transcript.BlockID, text string) []byte {
	unit := t.parts[t.Request.Transcript().Block(result).Message].unit
	stamp := objectAt(l.raw, l.units[unit].span).object("message").value("timestamp")
	m := write("role", "user", "content", array(write("type", "text", "text", text)), "timestamp", stamp)
	return setMembers(l.raw, l.units[unit].span, "message", m)
}

func (pi) without(l *Log, t *Thread, call transcript.BlockID) []byte {
	return withoutElement(l, t, call, func(o object) []jsonspan.Span { return o.object("message").list("content") })
}

// withoutElement writes the unit of a block without the element of a list that it
// comes from; nil if that was the only one.
func withoutElement(l *Log, t *Thread, b transcript.BlockID, list func(object) []jsonspan.Span) []byte {
	tr := t.Request.Transcript()
	blk := tr.Block(b)
	p := t.parts[blk.Message]
	u := l.units[p.unit].span
	at := p.blocks[b-tr.Messages()[blk.Message].First]
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

// branch writes what the path has become behind everything, from its first change
// on, with ids of its own: the last line is what pi goes on from.
func (p pi) branch(e *edits) {
	es, parent, begun := e.l.piIDs, "", false
	add := func(line []byte) {
		whole := jsonspan.Span{Start: 0, End: len(line)}
		id := p.mint(e.l, len(e.end), append(quote(parent), line...))
		line = setMembers(line, whole, "id", id, "parentId", uuidValue(parent))
		parent = textAt(id, jsonspan.Span{Start: 0, End: len(id)})
		e.end = append(e.end, line)
	}
	for _, i := range e.l.piPath {
		x := e.units[i]
		begun = begun || x != nil && (x.drop || x.body != nil)
		switch {
		case x != nil && x.drop:
		case begun:
			add(e.body(i))
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

// finish links the lines of the path in their new order.
func (p pi) finish(e *edits) {
	es := e.l.piIDs
	if e.appendOnly {
		p.branch(e)
		return
	}
	prev, moved := "", false // id of the line before; whether it is another one than was
	for k, i := range e.l.piPath {
		if es[i].id == "" {
			continue
		}
		x := e.units[i]
		if to, ok := e.l.links[i]; ok && !e.appendOnly && !moved {
			moved, prev = true, es[to].id
		}
		if x != nil && x.drop {
			if !moved {
				moved, prev = true, es[i].parent
			}
			continue
		}
		if moved && (k > 0 || e.l.links[i] > 0) {
			var parent []byte = []byte("null")
			if prev != "" {
				parent = quote(prev)
			}
			if prev != es[i].parent {
				e.set(i, "parentId", parent)
				e.log(Change{Line: e.l.units[i].line}, "edit", "relink", nil, 0, "hangs on the line that is in front of it now")
			}
		}
		prev, moved = es[i].id, false
		if x == nil {
			continue
		}
		for j, line := range x.after {
			whole := jsonspan.Span{Start: 0, End: len(line)}
			line = setMembers(line, whole, "parentId", prev)
			x.after[j] = line
			o := objectAt(line, jsonspan.Span{Start: 0, End: len(line)})
			prev, moved = o.text("id"), true
		}
	}
}
