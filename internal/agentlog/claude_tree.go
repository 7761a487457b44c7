package agentlog

import (
	"slices"
	"time"
)

// A claudeTree sorts the lines of a file into threads.
type claudeTree struct {
	file    *Log
	entries []claudeEntry
	index   map[string]int
	callers map[string]int // by call id: the unit with the call
	used    []bool
	roots   map[int]int // by unit: the root of its chain; rootOf adds to it
	parents []int       // by unit: the parent unit, or -1
	// By unit of a result line whose call and parent are lost: the id of the message that it
	// follows.
	orphanResults map[int]string
	strays        []bool // by unit: belongs to another session; nil if none does
	// marks holds scratch marks by unit. Every user resets its own marks.
	marks []bool
}

func newClaudeTree(l *Log, entries []claudeEntry, index map[string]int) *claudeTree {
	return &claudeTree{
		file: l, entries: entries, index: index, callers: callersOf(entries), parents: parentsOf(l, entries, index),
		roots: make(map[int]int), orphanResults: make(map[int]string), used: make([]bool, len(entries)), marks: make([]bool, len(entries)),
	}
}

// parentsOf returns the parent unit of each line, or -1. Most parents are the line before.
func parentsOf(l *Log, entries []claudeEntry, index map[string]int) []int {
	up := make([]int, len(entries))
	sole := len(l.duplicates) == 0 // every uuid occurs once
	for _, f := range l.damage {
		sole = sole && f.Rule != "duplicate-uuid"
	}
	for i := range entries {
		up[i] = -1
		parent := entries[i].parent
		if parent == "" {
			continue
		}
		if sole && i > 0 && entries[i-1].uuid == parent {
			up[i] = i - 1
		} else if p, ok := index[parent]; ok {
			up[i] = p
		}
	}
	return up
}

// rootOf returns the root of a line's chain. A link to a missing line ends the chain.
func (t *claudeTree) rootOf(i int) int {
	var walked []int
	seen := make(map[int]bool)
	for {
		if r, ok := t.roots[i]; ok {
			i = r
			break
		}
		seen[i] = true
		walked = append(walked, i)
		p := t.parents[i]
		if p < 0 || seen[p] {
			break
		}
		i = p
	}
	for _, w := range walked {
		t.roots[w] = i
	}
	return i
}

// leafOf returns the newest message without a following message, as the agent does: by time, or by
// position if times are equal or missing.
func (t *claudeTree) leafOf(candidates []int) int {
	inner := t.marks
	above := make(map[int]int) // by line without a message: its nearest ancestor with one, or -1
	for _, i := range candidates {
		p := t.parents[i]
		if p >= 0 && p != i && !t.entries[p].hasMessage() {
			p = t.messageAbove(i, above)
		}
		if p >= 0 && p != i {
			inner[p] = true
		}
	}
	leaf, newest := -1, int64(0)
	for _, i := range candidates {
		if inner[i] || !t.entries[i].inTree {
			continue
		}
		if leaf < 0 {
			leaf, newest = i, -1
			continue
		}
		if newest < 0 {
			newest = millis(t.entries[leaf].timestamp)
		}
		if at := millis(t.entries[i].timestamp); at >= newest {
			leaf, newest = i, at
		}
	}
	clear(inner)
	if leaf < 0 {
		leaf = candidates[len(candidates)-1]
	}
	return leaf
}

// resumePoint returns the line from which the agent resumes if a last-prompt line selects one, and
// that last-prompt line. The last such line counts if its leaf exists, unless the newest leaf
// descends from that leaf and the line is not explicit or not the last word. Otherwise it returns
// leaf and -1.
func (t *claudeTree) resumePoint(leaf int) (at, named int) {
	name, explicit := "", false
	named = -1
	for i := range t.entries {
		switch e := &t.entries[i]; {
		case e.leafUUID != "":
			explicit = e.isExplicit || explicit && e.leafUUID == name
			name, named = e.leafUUID, i
		case e.subtype == "compact_boundary" && !e.isSide:
			name, explicit = "", false
		case e.inTree && !e.isSide:
			explicit = false
		}
	}
	at, ok := t.index[name]
	if name == "" || !ok || t.entries[at].isSide || !t.entries[leaf].inTree {
		return leaf, -1
	}
	if !explicit && t.follows(leaf, at) {
		return leaf, -1
	}
	if !t.entries[at].hasMessage() {
		at = t.messageAbove(at, make(map[int]int))
	}
	if at < 0 {
		return leaf, -1
	}
	return at, named
}

// follows reports whether a line is a descendant of another one. It crosses gaps as a repair would
// close them, and returns true for a line in a cycle or after a gap with no line before it.
func (t *claudeTree) follows(i, other int) bool {
	for range t.entries {
		switch {
		case i == other:
			return true
		case t.parents[i] >= 0:
			i = t.parents[i]
		case t.entries[i].parent == "":
			return false
		default:
			if i = t.nearestBefore(i, t.marks); i < 0 {
				return true
			}
		}
	}
	return true
}

// millis returns a time in milliseconds, or 0 if stamp is invalid.
func millis(stamp string) int64 {
	at, err := time.Parse(time.RFC3339Nano, stamp)
	if err != nil {
		return 0
	}
	return at.UnixMilli()
}

// messageAbove returns the nearest ancestor of a line with a message, or -1. It adds to known.
func (t *claudeTree) messageAbove(i int, known map[int]int) int {
	var walked []int
	found := -1
	seen := map[int]bool{i: true}
	for at := i; ; {
		p := t.parents[at]
		if p < 0 || seen[p] {
			break
		}
		if t.entries[p].hasMessage() {
			found = p
			break
		}
		if k, ok := known[p]; ok {
			found = k
			break
		}
		seen[p] = true
		walked = append(walked, p)
		at = p
	}
	for _, w := range walked {
		known[w] = found
	}
	return found
}

// pathTo returns the lines from the root to leaf; size is a capacity hint. Where a parent is
// missing or the links form a cycle, it continues with the preceding line, which must be where the
// parent was.
func (t *claudeTree) pathTo(leaf, size int) []int {
	if leaf < 0 || !t.entries[leaf].inTree {
		return nil
	}
	seen := t.marks
	path := make([]int, 0, size)
	for at := leaf; at >= 0; {
		seen[at] = true
		path = append(path, at)
		e := &t.entries[at]
		if e.parent == "" {
			next := -1
			if e.subtype != "compact_boundary" && e.hasMessage() {
				next = t.nearestBefore(at, seen)
			}
			if next < 0 {
				break
			}
			if !t.continuesReply(at, next) {
				t.file.damageUnit(at, "second-root")
				break
			}
			t.file.damageUnit(at, "dangling-parent")
			t.file.damage[len(t.file.damage)-1].Message = "this line belongs to the reply before it, and refers to no line; the agent loses everything before it"
			t.file.setNewParent(at, next)
			at = next
			continue
		}
		next := t.parents[at]
		ok := next >= 0
		if ok && !seen[next] {
			at = next
			continue
		}
		rule := "dangling-parent"
		if ok {
			rule = "parent-loop"
		}
		if next = t.nearestBefore(at, seen); next >= 0 {
			t.file.damageUnit(at, rule, e.parent)
			t.file.setNewParent(at, next)
		}
		at = next
	}
	for _, i := range path {
		seen[i] = false
	}
	slices.Reverse(path)
	return path
}

// continuesReply reports whether a line without a parent is not the beginning of a conversation: it
// is part of the same reply as the line before it, or holds only results of that line's calls.
func (t *claudeTree) continuesReply(at, preceding int) bool {
	e, o := &t.entries[at], &t.entries[preceding]
	if e.isAssistant {
		return e.id != "" && o.isAssistant && o.id == e.id
	}
	return !e.hasNonResult && o.isAssistant && len(e.results) > 0 && !slices.ContainsFunc(e.results, func(id string) bool { return !slices.Contains(o.calls, id) })
}

// nearestBefore returns the nearest preceding line that can be the parent of a line, preferably of
// the same session, or -1. A descendant of the line cannot.
func (t *claudeTree) nearestBefore(at int, seen []bool) int {
	e, other := &t.entries[at], -1
	for i := at - 1; i >= 0; i-- {
		o := &t.entries[i]
		if t.strays != nil && t.strays[i] {
			continue
		}
		if o.inTree && o.isChained() && o.isSide == e.isSide && o.agent == e.agent && !seen[i] && t.index[o.uuid] == i && (!e.isSide || o.agent != "") && t.rootOf(i) != t.rootOf(at) {
			if o.session == e.session {
				return i
			}
			other = max(other, i)
		}
	}
	return other
}
