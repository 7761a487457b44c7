package agentlog

import "slices"

// order puts the messages of a path into the order in which they are sent: lines
// of one message together, with their siblings beside the path, then all results.
func (t *ccTree) order(path []int) []int {
	var siblings map[string][]int // by message id, beside the path
	var results map[string][]int  // by parent, beside the path
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
		case e.assistant && e.id != "":
			siblings[e.id] = append(siblings[e.id], i)
		case len(e.results) > 0 && !e.speaks:
			results[e.parent] = append(results[e.parent], i)
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
