package agentlog

import "slices"

// order puts the messages of a path into the order in which they are sent: lines
// of one message together, with their siblings beside the path, then all results. A
// sibling whose call nothing answers stays out: it is what a kill has left, the session
// went on without it, and no version sends it.
func (t *ccTree) order(path []int, all *talk) []int {
	var siblings map[string][]int // by message id, beside the path
	var results map[string][]int  // by parent, beside the path
	var answered map[string]bool  // calls that a result on the path answers
	onPath := t.seen
	for _, i := range path {
		onPath[i] = true
	}
	for i := range t.entries {
		e := &t.entries[i]
		if onPath[i] || t.used[i] || !e.speaking() {
			continue
		}
		if siblings == nil {
			siblings, results = make(map[string][]int), make(map[string][]int)
		}
		switch {
		case slices.ContainsFunc(e.calls, func(id string) bool { return all.results[id] == 0 }):
		case e.assistant && e.id != "":
			siblings[e.id] = append(siblings[e.id], i)
		case len(e.results) > 0 && !e.speaks:
			if answered == nil {
				answered = t.answers(path)
			}
			if slices.ContainsFunc(e.results, func(id string) bool { return !answered[id] }) {
				results[e.parent] = append(results[e.parent], i)
			}
		}
	}
	for _, i := range path {
		onPath[i] = false
	}
	out := make([]int, 0, len(path))
	done := t.seen
	put := func(i int) {
		if !done[i] {
			done[i] = true
			out = append(out, i)
		}
	}
	var group []int
	for k, i := range path {
		e := &t.entries[i]
		if done[i] || !e.speaking() {
			continue
		}
		if !e.assistant || e.id == "" {
			put(i)
			continue
		}
		group = t.groupOf(group[:0], path[k:], siblings[e.id])
		for _, g := range group {
			put(g)
		}
		if siblings == nil { // nothing stands beside the path
			continue
		}
		delete(siblings, e.id)
		for _, g := range group {
			for _, r := range results[t.entries[g].uuid] {
				if t.entries[r].side == e.side {
					put(r)
				}
			}
			delete(results, t.entries[g].uuid)
		}
	}
	for _, i := range out {
		done[i] = false
	}
	return out
}

// answers are the ids of the calls that the results on a path answer. A second answer
// beside the path is not sent.
func (t *ccTree) answers(path []int) map[string]bool {
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
func (t *ccTree) groupOf(group, path, beside []int) []int {
	first := &t.entries[path[0]]
	for _, i := range path {
		e := &t.entries[i]
		if !e.speaking() || !e.assistant && !e.speaks {
			continue
		}
		if !e.assistant || e.id != first.id {
			break
		}
		for len(group) > 0 && len(beside) > 0 && beside[0] < i { // they stand in front of it in the file
			group, beside = append(group, beside[0]), beside[1:]
		}
		group = append(group, i)
	}
	group = append(group, beside...)
	return slices.DeleteFunc(group, func(i int) bool {
		return t.entries[i].side != first.side || t.entries[i].agent != first.agent
	})
}
