package agentlog

// pi goes on from the last line, and appends every line behind the one that it hangs on. So the
// last line is one that nothing hangs on, or it has come there by an accident.

// findLeaf finds the line that the session is to go on from: the last one that nothing hangs on.
// Where several sessions stand in the file, it is one of the session that the last line is of.
func (t *piTree) findLeaf() {
	up := make([]int, len(t.entries)) // by unit: the unit it hangs on; -1: it hangs on none, -2: on one that is not there
	for i := range t.entries {
		up[i] = -1
		if e := &t.entries[i]; e.parent != "" {
			up[i] = -2
			if p, ok := t.index[e.parent]; ok {
				up[i] = p
			}
		}
	}
	roots := piRoots(up)
	parent := make([]bool, len(t.entries))
	for _, i := range t.flat {
		if up[i] >= 0 && roots[i] != i { // in a circle each line hangs on every other one
			parent[up[i]] = true
		}
	}
	t.last, t.leaf = -1, -1
	for i := len(t.entries) - 1; i >= 0 && t.last < 0; i-- {
		if e := &t.entries[i]; e.id != "" {
			t.last = t.index[e.id]
		}
	}
	apart := func(i int) bool { // another session: both begin in the file
		a, b := roots[i], roots[t.last]
		return a != b && up[a] == -1 && up[b] == -1
	}
	for k := len(t.flat) - 1; k >= 0; k-- {
		e, i := &t.entries[t.flat[k]], t.flat[k]
		if e.id == "" || t.index[e.id] != i {
			continue
		}
		if !parent[i] && !apart(i) {
			t.leaf = k
			return
		}
		if t.leaf < 0 {
			t.leaf = k
		}
	}
}

// piRoots follows the links of all lines up, each once. A line in a circle is its own root.
func piRoots(up []int) []int {
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
func (pi) tellLate(l *Log, t *piTree) {
	if t.leaf < 0 {
		return
	}
	for k := len(t.flat) - 1; k > t.leaf; k-- {
		u := t.flat[k]
		switch at := l.units[u]; {
		case t.entries[u].id == "":
			l.damageAt(at.span.Start, at.line, "idless-line")
		case u == t.last:
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
func (pi) bringUp(e *edits, t *piTree) {
	end := len(t.flat) - 1
	if t.leaf < 0 || t.leaf == end {
		return
	}
	u, rule := t.flat[t.leaf], lateRule
	switch {
	case t.entries[t.flat[end]].id == "":
		rule = "idless-line"
	case t.last == u:
		rule = "duplicate-line"
	}
	x, home := e.unit(u), e.unit(t.flat[end])
	home.after = append(home.after, x.before...)
	if !x.drop {
		home.after = append(home.after, e.body(u))
	}
	home.after = append(home.after, x.after...)
	x.before, x.after, x.drop = nil, nil, true
	e.log(Change{Line: e.l.units[u].line}, "move", rule, nil, 0, "moved to the end: the agent goes on from the last line")
}

// ends reports whether pi goes on from the leaf as the file is.
func (t *piTree) ends() bool {
	end := len(t.entries) - 1
	for end >= 0 && t.entries[end].kind == "session" {
		end--
	}
	return end >= 0 && t.entries[end].id != "" && t.last == t.flat[t.leaf]
}
