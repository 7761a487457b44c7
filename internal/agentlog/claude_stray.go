package agentlog

import (
	"path"
	"slices"
	"strings"

	"github.com/pare-llm/pare/wire"
)

// retired is the type of a line that the agent is to pass over.
const retired = "pare-stray"

// findStrays marks the lines of other sessions that have come into the file: they lead to
// a line that is not in it, and nothing of this session leads to them. A session that was
// resumed from another one goes on in a file of its own name, and is none of them.
func (t *ccTree) findStrays() {
	count, other := make(map[string]int), false
	for i := range t.entries {
		e := &t.entries[i]
		if e.linked && e.session != "" {
			count[e.session]++
			other = other || len(count) > 1
		}
	}
	if !other {
		return
	}
	main, name := "", path.Base(strings.ReplaceAll(t.l.name, `\`, "/"))
	for i := range t.entries { // the one with the most lines, of several the first
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
		if e := &t.entries[i]; e.linked && e.session == main {
			ours[t.rootOf(i)] = true
		}
	}
	if at, ok := t.index[t.lastNamed()]; ok { // a line says that the session goes on there
		ours[t.rootOf(at)] = true
	}
	named := strings.HasPrefix(name, main+".")
	last := len(t.entries) - 1
	for last >= 0 && !t.entries[last].linked {
		last--
	}
	for i := range t.entries {
		e := &t.entries[i]
		if !e.linked || e.session == "" || e.session == main {
			continue
		}
		root := t.rootOf(i)
		if ours[root] || t.entries[root].parent == "" || t.up[root] >= 0 {
			continue
		}
		// Where the name does not tell, a long end is more likely the session gone on.
		if !named && t.entries[last].session == e.session && count[e.session]*4 > count[main] {
			continue
		}
		if t.stray == nil {
			t.stray = make([]bool, len(t.entries))
		}
		t.stray[i] = true
	}
	t.tellStrays()
}

// lastNamed is the line that the last line of the type last-prompt names.
func (t *ccTree) lastNamed() string {
	for i := len(t.entries) - 1; i >= 0; i-- {
		if leaf := t.entries[i].leaf; leaf != "" {
			return leaf
		}
	}
	return ""
}

// tellStrays reports the strays that the agent would go on from: those that are newer than
// the end of what is ours.
func (t *ccTree) tellStrays() {
	if t.stray == nil {
		return
	}
	var mine []int
	for i := range t.entries {
		if e := &t.entries[i]; e.linked && !t.stray[i] && e.speaking() && !e.side {
			mine = append(mine, i)
		}
	}
	newest := int64(0)
	if mine != nil {
		newest = millis(t.entries[t.leafOf(mine)].stamp)
	}
	for i := range t.entries {
		if e := &t.entries[i]; t.stray[i] && e.chained() && millis(e.stamp) >= newest {
			t.l.damageUnit(i, "stray-line", e.session)
			t.l.strays = append(t.l.strays, i)
		}
	}
}

// own returns the lines that are no strays.
func (t *ccTree) own(mine []int) []int {
	if t.stray == nil {
		return mine
	}
	kept := slices.DeleteFunc(slices.Clone(mine), func(i int) bool { return t.stray[i] })
	if len(kept) == 0 {
		return mine
	}
	return kept
}

// retire gives a record a type that the agent passes over; what it says stays in the file.
func retire(record []byte) []byte {
	return setMembers(record, "type", retired)
}

// passOver writes a line that Claude Code passes over.
func (claude) passOver(record []byte) []byte { return retire(record) }

// retire makes the agent pass over strays.
func (l *Log) retire(e *edits) {
	for _, u := range l.strays {
		e.set(u, "type", retired)
		e.log(Change{Line: l.units[u].line}, wire.ActionEdit, "stray-line", []string{}, 0, "a line of another session, which the agent now passes over")
	}
}
