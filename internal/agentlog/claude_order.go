package agentlog

import (
	"slices"
	"sync"
)

// order puts the messages of a path into the order in which they are sent: lines
// of one message together, with their siblings beside the path, then all results. A
// sibling whose call nothing answers stays out: it is what a kill has left, the session
// went on without it, and no version sends it; unless the model has answered to the
// results, which it does only when it has all of them, or a line is lost behind them: then
// the result was there.
func (t *claudeTree) sendOrder(path []int, all *pairCounts) []int {
	x := t.findSideLines(path, all)
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
		beside := x.siblings[e.id]
		group = t.linesOfMessage(group[:0], path[k:], beside)
		for _, g := range group {
			put(g)
		}
		delete(x.siblings, e.id)
		for _, g := range group {
			for _, r := range x.results[t.entries[g].uuid] {
				if t.entries[r].isSide == e.isSide {
					put(r)
				}
			}
			delete(x.results, t.entries[g].uuid)
			for _, id := range t.entries[g].calls {
				if r, ok := x.unlinkedResults[id]; ok && t.entries[r].isSide == e.isSide && !done[r] {
					t.linkResult(r, g)
					put(r)
				}
			}
		}
		for _, g := range x.unanswered[e.id] {
			for _, r := range x.results[t.entries[g].uuid] {
				if t.entries[r].isSide == e.isSide && t.answersSiblings(r, group, beside) {
					put(r)
				}
			}
		}
		for _, r := range x.lostResults[e.id] {
			put(r)
		}
	}
	for _, i := range out {
		done[i] = false
	}
	return out
}

// A beside is what stands beside a path and may be sent with it.
type sideLines struct {
	siblings        map[string][]int // by message id
	results         map[string][]int // by parent
	unanswered      map[string][]int // siblings that stay out, by message id
	lostResults     map[string][]int // results whose calls are lost, by the message that they stand behind
	unlinkedResults map[string]int   // results that hang on nothing, by the call that they alone answer
}

// beside sorts the lines beside a path.
func (t *claudeTree) findSideLines(path []int, all *pairCounts) sideLines {
	x := sideLines{make(map[string][]int), make(map[string][]int), make(map[string][]int), make(map[string][]int), make(map[string]int)}
	answered := sync.OnceValue(func() map[string]bool { return t.answeredCalls(path) }) // calls that a result on the path answers
	complete := sync.OnceValue(func() map[string]bool { return t.answeredMessages(path) })
	foreign := t.strays != nil && len(path) > 0 && !t.strays[path[len(path)-1]] // strays are
	onPath := t.marks
	for _, i := range path {
		onPath[i] = true
	}
	for i := range t.entries {
		e := &t.entries[i]
		if onPath[i] || t.used[i] || !e.hasMessage() || foreign && t.strays[i] {
			continue
		}
		if e.inTree && t.index[e.uuid] != i { // the agent knows the last line of a uuid only
			continue
		}
		switch {
		case slices.ContainsFunc(e.calls, func(id string) bool { return all.results[id] == 0 }) && !complete()[e.id]:
			x.unanswered[e.id] = append(x.unanswered[e.id], i)
		case e.isAssistant && e.id != "":
			x.siblings[e.id] = append(x.siblings[e.id], i)
		case len(e.results) > 0 && !e.hasNonResult:
			if slices.ContainsFunc(e.results, func(id string) bool { return !answered()[id] || all.calls[id] > 1 }) {
				x.results[e.parent] = append(x.results[e.parent], i)
				if id := t.orphanedMessage(i, all); id != "" {
					x.lostResults[id] = append(x.lostResults[id], i)
				} else if id := e.results[0]; t.isUnlinked(i) && all.calls[id] == 1 && all.results[id] == 1 {
					x.unlinkedResults[id] = i
				}
			}
		}
	}
	for _, i := range path {
		onPath[i] = false
	}
	return x
}

// hangsOnNothing reports whether a line is linked to itself, or to a line that is not there.
func (t *claudeTree) isUnlinked(i int) bool {
	return t.parents[i] == i || t.parents[i] < 0 && t.entries[i].parent != ""
}

// hang links a result that hangs on nothing to its call: the agent finds it nowhere else.
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

// answersBeside reports whether a line of results that hangs on a line that stays out answers
// calls of its siblings: 1.0 hangs the results of all calls on the last line of a message, so
// a kill between the first result and the second leaves one there.
func (t *claudeTree) answersSiblings(result int, group, beside []int) bool {
	return !slices.ContainsFunc(t.entries[result].results, func(id string) bool {
		return !slices.ContainsFunc(beside, func(g int) bool {
			return slices.Contains(t.entries[g].calls, id) && slices.Contains(group, g)
		})
	})
}

// complete says of which messages on a path all calls were answered: the model has gone on
// from the results, or a line is lost behind them.
func (t *claudeTree) answeredMessages(path []int) map[string]bool {
	whole := make(map[string]bool)
	last, results := "", false
	for _, i := range path {
		if _, gap := t.file.newParents[i]; gap {
			whole[last] = true
		}
		switch e := &t.entries[i]; {
		case !e.hasMessage():
		case e.isAssistant:
			if e.id != last && results {
				whole[last] = true
			}
			last, results = e.id, results && e.id == last
		case e.hasNonResult:
			last = ""
		default:
			results = true
		}
	}
	delete(whole, "")
	return whole
}

// astrayOf returns the message that a line of results stands behind, with nothing but other
// results between them, if the calls were lost with the line that it hangs on; else "".
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

// answers are the ids of the calls that the results on a path answer. A second answer
// beside the path is not sent.
func (t *claudeTree) answeredCalls(path []int) map[string]bool {
	all := make(map[string]bool)
	for _, i := range path {
		for _, id := range t.entries[i].results {
			all[id] = true
		}
	}
	return all
}

// groupOf returns the lines of the message that path begins with, in its order.
// Results may stand between them; anything else ends the message.
func (t *claudeTree) linesOfMessage(group, path, beside []int) []int {
	first := &t.entries[path[0]]
	for _, i := range path {
		e := &t.entries[i]
		if !e.hasMessage() || !e.isAssistant && !e.hasNonResult {
			continue
		}
		if !e.isAssistant || e.id != first.id {
			break
		}
		for len(group) > 0 && len(beside) > 0 && beside[0] < i { // they stand in front of it in the file
			group, beside = append(group, beside[0]), beside[1:]
		}
		group = append(group, i)
	}
	group = append(group, beside...)
	return slices.DeleteFunc(group, func(i int) bool {
		return t.entries[i].isSide != first.isSide || t.entries[i].agent != first.agent
	})
}
