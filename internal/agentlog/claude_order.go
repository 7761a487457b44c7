package agentlog

import (
	"slices"
	"sync"
)

// sendOrder returns the messages of a path in the order in which the agent sends them: the lines of
// one message together with their siblings on side branches, then all results.
//
// A sibling with an unanswered call is left out. It remains when the agent is killed: the session
// went on without it, and no version sends it. There are two exceptions, in which the result must
// have existed: the model replied to the results, which it does only when it has all of them, or a
// line is lost after them.
func (t *claudeTree) sendOrder(path []int, all *pairCounts) []int {
	sides := t.findSideLines(path, all)
	out := make([]int, 0, len(path))
	done := t.marks
	put := func(i int) {
		if !done[i] {
			done[i] = true
			out = append(out, i)
		}
	}
	var group []int
	for k, i := range path {
		e := &t.entries[i]
		if done[i] || !e.hasMessage() {
			continue
		}
		if !e.isAssistant || e.id == "" {
			put(i)
			continue
		}
		siblingLines := sides.siblings[e.id]
		group = t.linesOfMessage(group[:0], path[k:], siblingLines)
		for _, g := range group {
			put(g)
		}
		delete(sides.siblings, e.id)
		for _, g := range group {
			for _, r := range sides.results[t.entries[g].uuid] {
				if t.entries[r].isSide == e.isSide {
					put(r)
				}
			}
			delete(sides.results, t.entries[g].uuid)
			for _, id := range t.entries[g].calls {
				if r, ok := sides.unlinkedResults[id]; ok && t.entries[r].isSide == e.isSide && !done[r] {
					t.linkResult(r, g)
					put(r)
				}
			}
		}
		for _, g := range sides.unanswered[e.id] {
			for _, r := range sides.results[t.entries[g].uuid] {
				if t.entries[r].isSide == e.isSide && t.answersSiblings(r, group, siblingLines) {
					put(r)
				}
			}
		}
		for _, r := range sides.lostResults[e.id] {
			put(r)
		}
	}
	for _, i := range out {
		done[i] = false
	}
	return out
}

// sideLines are the lines on side branches of a path that may be sent with it.
type sideLines struct {
	siblings   map[string][]int // by message id
	results    map[string][]int // by parent
	unanswered map[string][]int // siblings that are left out, by message id
	// Results with lost calls, by the id of the message that they follow.
	lostResults map[string][]int
	// Results with a missing or circular parent, by the only call that they answer.
	unlinkedResults map[string]int
}

// findSideLines classifies the lines on side branches of a path.
func (t *claudeTree) findSideLines(path []int, all *pairCounts) sideLines {
	lines := sideLines{make(map[string][]int), make(map[string][]int), make(map[string][]int), make(map[string][]int), make(map[string]int)}
	// Calls that a result on the path answers.
	answered := sync.OnceValue(func() map[string]bool { return t.answeredCalls(path) })
	complete := sync.OnceValue(func() map[string]bool { return t.answeredMessages(path) })
	foreign := t.strays != nil && len(path) > 0 && !t.strays[path[len(path)-1]] // ignore strays
	onPath := t.marks
	for _, i := range path {
		onPath[i] = true
	}
	for i := range t.entries {
		e := &t.entries[i]
		if onPath[i] || t.used[i] || !e.hasMessage() || foreign && t.strays[i] {
			continue
		}
		if e.inTree && t.index[e.uuid] != i { // the agent knows only the last line of a uuid
			continue
		}
		switch {
		case slices.ContainsFunc(e.calls, func(id string) bool { return all.results[id] == 0 }) && !complete()[e.id]:
			lines.unanswered[e.id] = append(lines.unanswered[e.id], i)
		case e.isAssistant && e.id != "":
			lines.siblings[e.id] = append(lines.siblings[e.id], i)
		case len(e.results) > 0 && !e.hasNonResult:
			if slices.ContainsFunc(e.results, func(id string) bool { return !answered()[id] || all.calls[id] > 1 }) {
				lines.results[e.parent] = append(lines.results[e.parent], i)
				if id := t.orphanedMessage(i, all); id != "" {
					lines.lostResults[id] = append(lines.lostResults[id], i)
				} else if id := e.results[0]; t.isUnlinked(i) && all.calls[id] == 1 && all.results[id] == 1 {
					lines.unlinkedResults[id] = i
				}
			}
		}
	}
	for _, i := range path {
		onPath[i] = false
	}
	return lines
}

// isUnlinked reports whether the parent of a line is the line itself or a missing line.
func (t *claudeTree) isUnlinked(i int) bool {
	return t.parents[i] == i || t.parents[i] < 0 && t.entries[i].parent != ""
}

// linkResult makes an unlinked result a child of its call, the only place where the agent looks for
// it.
func (t *claudeTree) linkResult(result, call int) {
	rule := "dangling-parent"
	if t.parents[result] == result {
		rule = "parent-loop"
	}
	at := t.file.units[result]
	t.file.damageAt(at.span.Start, at.line, rule, t.entries[result].parent)
	t.file.damage[len(t.file.damage)-1].Message = "this result is linked to no other line of the file; the agent does not find it"
	t.file.setNewParent(result, call)
}

// answersSiblings reports whether the results of a line, whose parent is left out, answer calls of
// that line's siblings. Claude Code 1.0 makes the results of all calls children of the last line of
// a message, so a kill between two results leaves such a line.
func (t *claudeTree) answersSiblings(result int, group, siblings []int) bool {
	return !slices.ContainsFunc(t.entries[result].results, func(id string) bool {
		return !slices.ContainsFunc(siblings, func(g int) bool {
			return slices.Contains(t.entries[g].calls, id) && slices.Contains(group, g)
		})
	})
}

// answeredMessages returns the ids of the messages on a path whose calls were all answered: the
// model replied to the results, or a line is lost after them.
func (t *claudeTree) answeredMessages(path []int) map[string]bool {
	complete := make(map[string]bool)
	last, results := "", false
	for _, i := range path {
		if _, gap := t.file.newParents[i]; gap {
			complete[last] = true
		}
		switch e := &t.entries[i]; {
		case !e.hasMessage():
		case e.isAssistant:
			if e.id != last && results {
				complete[last] = true
			}
			last, results = e.id, results && e.id == last
		case e.hasNonResult:
			last = ""
		default:
			results = true
		}
	}
	delete(complete, "")
	return complete
}

// orphanedMessage returns the id of the message that a line of results follows directly, if the
// line's calls were lost together with its parent. Only other results may come between. Otherwise
// it returns "".
func (t *claudeTree) orphanedMessage(line int, all *pairCounts) (id string) {
	e := &t.entries[line]
	if t.parents[line] >= 0 || e.parent == "" || slices.ContainsFunc(e.results, func(id string) bool { return all.calls[id] > 0 }) {
		return ""
	}
	for i := line - 1; i >= 0; i-- {
		o := &t.entries[i]
		if !o.hasMessage() || o.isSide != e.isSide || o.agent != e.agent {
			continue
		}
		known, ok := t.orphanResults[i]
		switch {
		case ok:
			id = known
		case o.isAssistant:
			id = o.id
		case !o.hasNonResult:
			continue
		}
		break
	}
	t.orphanResults[line] = id
	return id
}

// answeredCalls returns the ids of the calls that the results on a path answer. The agent does not
// send a second result from a side branch.
func (t *claudeTree) answeredCalls(path []int) map[string]bool {
	all := make(map[string]bool)
	for _, i := range path {
		for _, id := range t.entries[i].results {
			all[id] = true
		}
	}
	return all
}

// linesOfMessage returns the lines of the message at the start of path, in order. Results may come
// between them; any other line ends the message.
func (t *claudeTree) linesOfMessage(group, path, siblings []int) []int {
	first := &t.entries[path[0]]
	for _, i := range path {
		e := &t.entries[i]
		if !e.hasMessage() || !e.isAssistant && !e.hasNonResult {
			continue
		}
		if !e.isAssistant || e.id != first.id {
			break
		}
		for len(group) > 0 && len(siblings) > 0 && siblings[0] < i { // they precede it in the file
			group, siblings = append(group, siblings[0]), siblings[1:]
		}
		group = append(group, i)
	}
	group = append(group, siblings...)
	return slices.DeleteFunc(group, func(i int) bool {
		return t.entries[i].isSide != first.isSide || t.entries[i].agent != first.agent
	})
}
