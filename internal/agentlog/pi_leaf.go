package agentlog

import (
	"slices"

	"github.com/pare-llm/pare/wire"
)

// pi resumes from the last line, and appends each line after its parent. So the last line has no
// children unless it got there by accident.

// findLeaf finds the line to resume from: the last line if it has no children. Otherwise it is the
// newest childless descendant of the last line, so that everything that was sent still is. If the
// last line is a copy, which is certainly an accident, it is the newest childless line of the
// session.
func (t *piTree) findLeaf() {
	up, hasChild := t.linkLines()
	copied := t.findLastLine(up)
	apart := t.apartFromLast(up, hasChild[t.lastLine] && !copied)
	t.leaf = -1
	newest := ""
	for k, i := range t.lines {
		e := &t.entries[i]
		if e.id == "" || t.index[e.id] != i {
			continue
		}
		if i == t.lastLine && !copied && !hasChild[i] {
			t.leaf = k
			return
		}
		if !hasChild[i] && !apart(i) && (e.timestamp >= newest || t.leaf < 0) {
			t.leaf, newest = k, e.timestamp
		}
	}
	for k := len(t.lines) - 1; t.leaf < 0; k-- {
		if t.entries[t.lines[k]].id != "" {
			t.leaf = k
		}
	}
}

// noParent and missingParent take the place of a unit in a list of parents.
const (
	noParent      = -1
	missingParent = -2
)

// linkLines returns the parent of each unit, and whether it has children. A line with a missing
// parent gets the preceding line as its parent.
func (t *piTree) linkLines() (up []int, hasChild []bool) {
	up, hasChild = make([]int, len(t.entries)), make([]bool, len(t.entries))
	for i := range t.entries {
		up[i] = noParent
		if e := &t.entries[i]; e.parent != "" {
			up[i] = missingParent
			if p, ok := t.index[e.parent]; ok {
				up[i] = p
			}
		}
	}
	roots := rootsOf(up)
	preceding, heads := noParent, t.foreignHeads
	for _, i := range t.lines {
		for len(heads) > 0 && heads[0] < i { // another session begins
			preceding, heads = noParent, heads[1:]
		}
		switch {
		case up[i] >= 0 && roots[i] != i: // in a cycle, each line is an ancestor of every other one
			hasChild[up[i]] = true
		case up[i] == missingParent:
			up[i] = preceding
		}
		if t.entries[i].id != "" {
			preceding = i
		}
	}
	return up, hasChild
}

// findLastLine finds the last line and reports whether it is a copy. It ignores lines of other
// sessions after the last line that pi can parse.
func (t *piTree) findLastLine(up []int) (copied bool) {
	roots, seen := rootsOf(up), t.lastSeen()
	for i := len(t.entries) - 1; i >= 0; i-- {
		e := &t.entries[i]
		if e.id == "" {
			continue
		}
		t.lastLine = t.index[e.id]
		if !areDifferentSessions(up, roots[t.lastLine], roots[seen]) {
			return t.lastLine != i
		}
		// A line that pi cannot parse must not lead it into another session after a repair.
		t.endsInOtherSession = true
	}
	return false
}

// areDifferentSessions reports whether two roots are different beginnings in the file.
func areDifferentSessions(up []int, a, b int) bool {
	return a != b && up[a] == noParent && up[b] == noParent
}

// apartFromLast returns a function that reports whether a line is not in the session of the last
// line or, if onlyBelow is set, not a descendant of it.
func (t *piTree) apartFromLast(up []int, onlyBelow bool) func(int) bool {
	last := t.lastLine
	if onlyBelow {
		below := slices.Clone(up)
		below[last] = noParent
		roots := rootsOf(below)
		return func(i int) bool { return roots[i] != last }
	}
	roots := rootsOf(up)
	return func(i int) bool { return areDifferentSessions(up, roots[i], roots[last]) }
}

// lastSeen returns the last line that pi can parse, or else the last line, or -1.
func (t *piTree) lastSeen() int {
	last := -1
	for i := len(t.entries) - 1; i >= 0; i-- {
		e := &t.entries[i]
		switch {
		case e.id == "":
		case !e.sharesLine:
			return t.index[e.id]
		case last < 0:
			last = t.index[e.id]
		}
	}
	return last
}

// rootsOf returns the root of each line. A line in a cycle is its own root.
func rootsOf(up []int) []int {
	const unknown = -1
	// Walk: the number of the walk that reached a line.
	roots, walk := make([]int, len(up)), make([]int, len(up))
	for i := range roots {
		roots[i] = unknown
	}
	for i := range up {
		var walked []int
		at := i
		for roots[at] == unknown && walk[at] != i+1 {
			walk[at] = i + 1
			walked = append(walked, at)
			if up[at] < 0 {
				roots[at] = at
				break
			}
			at = up[at]
		}
		if roots[at] == unknown { // along the cycle
			for c := at; roots[c] == unknown; c = up[c] {
				roots[c] = c
			}
		}
		for _, w := range walked {
			if roots[w] == unknown {
				roots[w] = roots[at]
			}
		}
	}
	return roots
}

// reportLateLines reports lines after the leaf from which pi would resume.
func (pi) reportLateLines(l *Log, t *piTree) {
	if t.leaf < 0 {
		return
	}
	for k := len(t.lines) - 1; k > t.leaf; k-- {
		u := t.lines[k]
		switch at := l.units[u]; {
		case t.entries[u].id == "":
			l.damageAt(at.span.Start, at.line, "idless-line")
		case u == t.lastLine:
			l.damageAt(at.span.Start, at.line, lateRule, t.entries[u].id)
			return
		default:
			return
		}
	}
}

// lateRule is the damage of a last line with children.
const lateRule = "late-line"

// moveLeafToEnd moves the leaf, with the lines inserted around it, to the end of the file.
func (pi) moveLeafToEnd(e *edits, t *piTree) {
	end := len(t.lines) - 1
	if t.leaf < 0 || t.leaf == end {
		return
	}
	u, rule := t.lines[t.leaf], lateRule
	switch {
	case t.endsInOtherSession:
		rule = "broken-line"
	case t.entries[t.lines[end]].id == "":
		rule = "idless-line"
	case t.lastLine == u:
		rule = "duplicate-line"
	}
	x, home := e.unit(u), e.unit(t.lines[end])
	home.after = append(home.after, x.before...)
	if !x.drop {
		home.after = append(home.after, e.unitBytes(u))
	}
	home.after = append(home.after, x.after...)
	x.before, x.after, x.drop = nil, nil, true
	e.addChange(Change{Line: e.file.units[u].line, Change: wire.Change{Action: wire.ActionMove, Rule: rule}}, "moved to the end: the agent goes on from the last line")
}

// resumesAtLeaf reports whether pi resumes from the leaf without a repair.
func (t *piTree) resumesAtLeaf() bool {
	end := len(t.entries) - 1
	for end >= 0 && t.entries[end].kind == "session" {
		end--
	}
	return end >= 0 && t.entries[end].id != "" && t.lastLine == t.lines[t.leaf]
}
