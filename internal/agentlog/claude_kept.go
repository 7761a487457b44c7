package agentlog

import (
	"slices"

	"github.com/pare-llm/pare/wire"
)

// A ccKept is what a compaction of 2.1 keeps of the lines in front of its boundary. They
// are sent behind its summary: by the links from the last to the first of them, and by a
// list of their uuids. If one of them is not there, the agent forgets all of them.
type ccKept struct {
	boundary int
	lines    []int // units, in order
	listed   bool  // the boundary lists all of them
	named    bool  // it names the first and the last
	was      []string
}

// preserved puts what the boundary at the root of a path keeps behind its summary.
func (t *ccTree) preserved(path []int) ([]int, *ccKept) {
	if len(path) == 0 || t.entries[path[0]].subtype != "compact_boundary" {
		return path, nil
	}
	b := path[0]
	o := t.l.object(b)
	meta := o.Object("compactMetadata")
	segment, list := meta.Object("preservedSegment"), meta.Object("preservedMessages")
	k := &ccKept{boundary: b, named: segment.Has("headUuid") && segment.Has("tailUuid")}
	on := make(map[int]bool, len(path))
	for _, u := range path {
		on[u] = true
	}
	var lost []string
	for _, v := range list.List("uuids") {
		k.listed = true
		uuid := textAt(t.l.raw, v)
		k.was = append(k.was, uuid)
		if u, ok := t.index[uuid]; ok && !on[u] {
			on[u] = true // a uuid that stands twice is one line
			k.lines = append(k.lines, u)
		} else if !ok {
			lost = append(lost, uuid)
		}
	}
	if !k.listed && k.named {
		k.was = []string{segment.Text("headUuid"), segment.Text("tailUuid")}
		k.lines, lost = t.segment(k.was[0], k.was[1], on)
	}
	if len(k.lines) == 0 {
		return path, nil
	}
	if len(lost) > 0 {
		t.l.damageUnit(b, "lost-kept-line", lost...)
	}
	for i, u := range k.lines[1:] { // a lost line leaves a gap among the others, too
		if t.up[u] < 0 && t.entries[u].parent != "" {
			t.l.damageUnit(u, "dangling-parent", t.entries[u].parent)
			t.l.link(u, k.lines[i])
		}
	}
	return slices.Insert(slices.Clone(path), t.anchor(path, segment, list), k.lines...), k
}

// segment follows the links from the last line that is kept to the first.
func (t *ccTree) segment(head, tail string, on map[int]bool) (lines []int, lost []string) {
	at, ok := t.index[tail]
	if !ok {
		return nil, nil // where it ended cannot be known
	}
	first, there := t.index[head]
	if !there {
		lost = append(lost, head)
	}
	for range t.entries {
		if on[at] {
			break
		}
		on[at] = true
		lines = append(lines, at)
		if there && at == first || t.up[at] < 0 || t.entries[at].subtype == "compact_boundary" {
			break
		}
		at = t.up[at]
	}
	if there && len(lines) > 0 && lines[len(lines)-1] != first { // a gap: on with the lines in front of it
		gap := lines[len(lines)-1]
		for i := gap - 1; i >= first; i-- {
			if e := &t.entries[i]; e.linked && !e.side && e.subtype != "compact_boundary" && !on[i] {
				lines = append(lines, i)
			}
		}
	}
	slices.Reverse(lines)
	return lines, lost
}

// anchor returns the place in a path behind which the kept lines come: the line that the
// boundary names, or the summary.
func (t *ccTree) anchor(path []int, of ...object) int {
	for _, o := range of {
		if u, ok := t.index[o.Text("anchorUuid")]; ok {
			if k := slices.Index(path, u); k >= 0 {
				return k + 1
			}
		}
	}
	for k, u := range path {
		if t.entries[u].speaking() {
			return k + 1
		}
	}
	return len(path)
}

// rewrite lets a boundary name the lines that it keeps as they are now.
func (k *ccKept) rewrite(e *edits, c *ccChain) {
	var uuids []string
	for _, u := range k.lines {
		uuids = append(uuids, e.links.inFront[u]...)
		if !e.links.gone[u] {
			uuids = append(uuids, c.entries[u].uuid)
		}
	}
	if len(uuids) == 0 {
		return
	}
	now := uuids
	if !k.listed {
		now = []string{uuids[0], uuids[len(uuids)-1]}
	}
	if slices.Equal(now, k.was) {
		return
	}
	b := e.body(k.boundary)
	whole := objectOf(b)
	meta := whole.Object("compactMetadata")
	raw := b[meta.Span.Start:meta.Span.End]
	set := func(name string, pairs ...any) {
		m := objectOf(raw)
		in := m.Object(name)
		raw = m.With(name, in.With(pairs...))
	}
	if k.listed {
		var quoted [][]byte
		for _, id := range uuids {
			quoted = append(quoted, quote(id))
		}
		set("preservedMessages", "uuids", array(quoted...))
	}
	if k.named {
		set("preservedSegment", "headUuid", uuids[0], "tailUuid", uuids[len(uuids)-1])
	}
	e.set(k.boundary, "compactMetadata", raw)
	e.log(Change{Line: e.l.units[k.boundary].line}, wire.ActionEdit, "relink", nil, 0, "the compaction names the lines that it keeps as they are now")
}
