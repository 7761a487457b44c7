package agentlog

import (
	"path"
	"slices"
	"strings"

	"github.com/pare-llm/pare/wire"
)

// skippedType is the type of lines that the agent ignores.
const skippedType = "pare-stray"

// findStrays marks lines of other sessions that got into the file: they lead to a missing line, and
// no line of this session leads to them. A session that was resumed from another one continues in a
// file with its own name and is no stray.
func (t *claudeTree) findStrays() {
	count, other := make(map[string]int), false
	for i := range t.entries {
		e := &t.entries[i]
		if e.inTree && e.session != "" {
			count[e.session]++
			other = other || len(count) > 1
		}
	}
	if !other {
		return
	}
	main, name := "", path.Base(strings.ReplaceAll(t.file.name, `\`, "/"))
	for i := range t.entries { // the session with the most lines; the first one of several
		s := t.entries[i].session
		if strings.HasPrefix(name, s+".") {
			main = s
			break
		}
		if count[s] > count[main] {
			main = s
		}
	}
	ours := make(map[int]bool) // by root
	for i := range t.entries {
		if e := &t.entries[i]; e.inTree && e.session == main {
			ours[t.rootOf(i)] = true
		}
	}
	if at, ok := t.index[t.lastNamedLeaf()]; ok { // a line states that the session continues there
		ours[t.rootOf(at)] = true
	}
	named := strings.HasPrefix(name, main+".")
	last := len(t.entries) - 1
	for last >= 0 && !t.entries[last].inTree {
		last--
	}
	for i := range t.entries {
		e := &t.entries[i]
		if !e.inTree || e.session == "" || e.session == main {
			continue
		}
		root := t.rootOf(i)
		if ours[root] || t.entries[root].parent == "" || t.parents[root] >= 0 {
			continue
		}
		// Without a matching file name, a long end is more likely the continued session.
		if !named && t.entries[last].session == e.session && count[e.session]*4 > count[main] {
			continue
		}
		if t.strays == nil {
			t.strays = make([]bool, len(t.entries))
		}
		t.strays[i] = true
	}
	t.reportStrays()
}

// lastNamedLeaf returns the uuid that the last last-prompt line names.
func (t *claudeTree) lastNamedLeaf() string {
	for i := len(t.entries) - 1; i >= 0; i-- {
		if leaf := t.entries[i].leafUUID; leaf != "" {
			return leaf
		}
	}
	return ""
}

// reportStrays reports the strays that the agent would resume from, because they are newer than the
// end of this session.
func (t *claudeTree) reportStrays() {
	if t.strays == nil {
		return
	}
	var candidates []int
	for i := range t.entries {
		if e := &t.entries[i]; e.inTree && !t.strays[i] && e.hasMessage() && !e.isSide {
			candidates = append(candidates, i)
		}
	}
	newest := int64(0)
	if candidates != nil {
		newest = millis(t.entries[t.leafOf(candidates)].timestamp)
	}
	for i := range t.entries {
		if e := &t.entries[i]; t.strays[i] && e.isChained() && millis(e.timestamp) >= newest {
			t.file.damageUnit(i, "stray-line", e.session)
			t.file.strays = append(t.file.strays, i)
		}
	}
}

// ownLines returns the lines that are not strays, or all lines if every line is one.
func (t *claudeTree) ownLines(candidates []int) []int {
	if t.strays == nil {
		return candidates
	}
	kept := slices.DeleteFunc(slices.Clone(candidates), func(i int) bool { return t.strays[i] })
	if len(kept) == 0 {
		return candidates
	}
	return kept
}

// markSkipped changes the type of a record to one that the agent ignores. Its words stay in the
// file.
func markSkipped(record []byte) []byte {
	return setMembers(record, "type", skippedType)
}

// skipped returns the line as one that Claude Code ignores.
func (claude) skipped(record []byte) []byte { return markSkipped(record) }

// skipStrays makes the agent ignore the strays.
func (l *Log) skipStrays(e *edits) {
	for _, u := range l.strays {
		e.setMembers(u, "type", skippedType)
		e.addChange(Change{Line: l.units[u].line, Change: wire.Change{Action: wire.ActionEdit, Rule: "stray-line"}}, "a line of another session, which the agent now passes over")
	}
}
