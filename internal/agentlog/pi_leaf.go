package agentlog

import "github.com/pare-llm/pare/wire"

// pi goes on from the last line, and appends every line behind the one that it hangs on. So the
// last line is one that nothing hangs on, or it has come there by an accident.

// findLeaf finds the line that the session is to go on from: the last one, if nothing hangs on it.
// Else it is the newest of those that nothing hangs on and that come after the last one by their
// links, so that all that is sent still is. If the last one is the copy of another, which
// is certainly an accident, the newest of all lines of its session is.
func (t *piTree) findLeaf() {
	up := make([]int, len(t.entries)) // by unit: the unit it hangs on; -1: on none, -2: on one that is not there
	for i := range t.entries {
		up[i] = -1
		if e := &t.entries[i]; e.parent != "" {
			up[i] = -2
			if p, ok := t.index[e.parent]; ok {
				up[i] = p
			}
		}
	}
	roots := rootsOf(up)
	parent := make([]bool, len(t.entries))
	front, heads := -1, t.foreignHeads
	for _, i := range t.lines {
		for len(heads) > 0 && heads[0] < i { // another session begins
			front, heads = -1, heads[1:]
		}
		switch {
		case up[i] >= 0 && roots[i] != i: // in a circle each line hangs on every other one
			parent[up[i]] = true
		case up[i] == -2: // from there the session goes on; or it begins here
			up[i] = front
		}
		if t.entries[i].id != "" {
			front = i
		}
	}
	t.lastLine, t.leaf = -1, -1
	copied := false
	roots = rootsOf(up)
	seen := t.lastSeen()
	for i := len(t.entries) - 1; i >= 0 && t.lastLine < 0; i-- {
		e := &t.entries[i]
		if e.id == "" {
			continue
		}
		last := t.index[e.id]
		if a, b := roots[last], roots[seen]; a != b && up[a] == -1 && up[b] == -1 {
			t.endsInOtherSession = true // what pi does not see must not lead it into another session when it does
			continue
		}
		t.lastLine, copied = last, last != i
	}
	apart := func(i int) bool { // another session: both begin in the file
		a, b := roots[i], roots[t.lastLine]
		return a != b && up[a] == -1 && up[b] == -1
	}
	if last := t.lastLine; !copied && parent[last] {
		was := up[last]
		up[last] = -1
		below := rootsOf(up)
		up[last] = was
		apart = func(i int) bool { return below[i] != last }
	}
	newest := ""
	for k, i := range t.lines {
		e := &t.entries[i]
		if e.id == "" || t.index[e.id] != i {
			continue
		}
		if i == t.lastLine && !copied && !parent[i] {
			t.leaf = k
			return
		}
		if !parent[i] && !apart(i) && (e.timestamp >= newest || t.leaf < 0) {
			t.leaf, newest = k, e.timestamp
		}
	}
	for k := len(t.lines) - 1; t.leaf < 0; k-- {
		if t.entries[t.lines[k]].id != "" {
			t.leaf = k
		}
	}
}

// lastSeen is the last line that pi sees; if it sees none, the last one; -1: there is none.
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

// piRoots follows the links of all lines up, each once. A line in a circle is its own root.
func rootsOf(up []int) []int {
	const unknown = -1
	roots, walk := make([]int, len(up)), make([]int, len(up)) // walk: the number of the walk that a line was met in
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
		if roots[at] == unknown { // round a circle
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

// tellLate notes the lines behind the leaf that pi would go on from.
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

// lateRule is the damage of a last line that others hang on.
const lateRule = "late-line"

// bringUp puts the leaf behind all other lines, with what stands around it now.
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
	e.addChange(Change{Line: e.file.units[u].line}, wire.ActionMove, rule, nil, 0, "moved to the end: the agent goes on from the last line")
}

// ends reports whether pi goes on from the leaf as the file is.
func (t *piTree) resumesAtLeaf() bool {
	end := len(t.entries) - 1
	for end >= 0 && t.entries[end].kind == "session" {
		end--
	}
	return end >= 0 && t.entries[end].id != "" && t.lastLine == t.lines[t.leaf]
}
