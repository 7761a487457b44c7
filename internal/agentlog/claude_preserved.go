package agentlog

import (
	"slices"

	"github.com/pare-llm/pare/wire"
)

// preservedLines are the lines before a compaction boundary that a compaction of Claude Code 2.1
// keeps. The agent sends them after the summary. The boundary names them by the first and last line
// of a linked segment, by a list of uuids, or both. If one of them is missing, the agent forgets
// all of them.
type preservedLines struct {
	boundary int
	lines    []int // units, in order
	hasList  bool  // the boundary has a list of all uuids
	hasEnds  bool  // the boundary names the first and the last line
	oldUUIDs []string
}

// insertPreserved inserts the lines that the boundary at the root of a path preserves after its
// summary.
func (t *claudeTree) insertPreserved(path []int) ([]int, *preservedLines) {
	if len(path) == 0 || t.entries[path[0]].subtype != "compact_boundary" {
		return path, nil
	}
	boundary := path[0]
	o := t.file.object(boundary)
	meta := o.Object("compactMetadata")
	segment, list := meta.Object("preservedSegment"), meta.Object("preservedMessages")
	preserved := &preservedLines{boundary: boundary, hasEnds: segment.Has("headUuid") && segment.Has("tailUuid")}
	on := make(map[int]bool, len(path))
	for _, u := range path {
		on[u] = true
	}
	var lost []string
	for _, v := range list.List("uuids") {
		preserved.hasList = true
		uuid := textAt(t.file.raw, v)
		preserved.oldUUIDs = append(preserved.oldUUIDs, uuid)
		if u, ok := t.index[uuid]; ok && !on[u] {
			on[u] = true // a uuid that occurs twice means one line
			preserved.lines = append(preserved.lines, u)
		} else if !ok {
			lost = append(lost, uuid)
		}
	}
	if !preserved.hasList && preserved.hasEnds {
		preserved.oldUUIDs = []string{segment.Text("headUuid"), segment.Text("tailUuid")}
		preserved.lines, lost = t.preservedSegment(preserved.oldUUIDs[0], preserved.oldUUIDs[1], on)
	}
	if len(preserved.lines) == 0 {
		return path, nil
	}
	if len(lost) > 0 {
		t.file.damageUnit(boundary, "lost-kept-line", lost...)
	}
	for i, u := range preserved.lines[1:] { // a lost line also leaves a gap between the others
		if t.parents[u] < 0 && t.entries[u].parent != "" {
			t.file.damageUnit(u, "dangling-parent", t.entries[u].parent)
			t.file.setNewParent(u, preserved.lines[i])
		}
	}
	return slices.Insert(slices.Clone(path), t.preservedAt(path, segment, list), preserved.lines...), preserved
}

// preservedSegment follows the links from the last preserved line to the first. It also returns the
// uuids of missing lines.
func (t *claudeTree) preservedSegment(head, tail string, on map[int]bool) (lines []int, lost []string) {
	at, ok := t.index[tail]
	if !ok {
		return nil, nil // the end of the segment is unknown
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
		if there && at == first || t.parents[at] < 0 || t.entries[at].subtype == "compact_boundary" {
			break
		}
		at = t.parents[at]
	}
	// Continue with the lines before the gap.
	if there && len(lines) > 0 && lines[len(lines)-1] != first {
		gap := lines[len(lines)-1]
		for i := gap - 1; i >= first; i-- {
			if e := &t.entries[i]; e.inTree && !e.isSide && e.subtype != "compact_boundary" && !on[i] {
				lines = append(lines, i)
			}
		}
	}
	slices.Reverse(lines)
	return lines, lost
}

// preservedAt returns the index in path where the preserved lines belong: after the line that the
// boundary names, or else after the summary.
func (t *claudeTree) preservedAt(path []int, of ...object) int {
	for _, o := range of {
		if u, ok := t.index[o.Text("anchorUuid")]; ok {
			if k := slices.Index(path, u); k >= 0 {
				return k + 1
			}
		}
	}
	for k, u := range path {
		if t.entries[u].hasMessage() {
			return k + 1
		}
	}
	return len(path)
}

// rewrite updates the boundary so that it names the preserved lines as they are after the edits.
func (p *preservedLines) rewrite(e *edits, c *claudeThread) {
	var uuids []string
	for _, u := range p.lines {
		uuids = append(uuids, e.links.insertedBefore[u]...)
		if !e.links.removed[u] {
			uuids = append(uuids, c.entries[u].uuid)
		}
	}
	if len(uuids) == 0 {
		return
	}
	now := uuids
	if !p.hasList {
		now = []string{uuids[0], uuids[len(uuids)-1]}
	}
	if slices.Equal(now, p.oldUUIDs) {
		return
	}
	b := e.unitBytes(p.boundary)
	root := objectOf(b)
	meta := root.Object("compactMetadata")
	raw := b[meta.Span.Start:meta.Span.End]
	set := func(name string, pairs ...any) {
		m := objectOf(raw)
		in := m.Object(name)
		raw = m.With(name, in.With(pairs...))
	}
	if p.hasList {
		var quoted [][]byte
		for _, id := range uuids {
			quoted = append(quoted, quote(id))
		}
		set("preservedMessages", "uuids", array(quoted...))
	}
	if p.hasEnds {
		set("preservedSegment", "headUuid", uuids[0], "tailUuid", uuids[len(uuids)-1])
	}
	e.setMembers(p.boundary, "compactMetadata", raw)
	e.addChange(Change{Line: e.file.units[p.boundary].line, Change: wire.Change{Action: wire.ActionEdit, Rule: "relink"}}, "the compaction names the lines that it keeps as they are now")
}
