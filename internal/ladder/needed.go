package ladder

import (
	"slices"

	"github.com/pare-llm/pare/transcript"
)

// What later turns need, such as the search that declared a tool they call, is old but not idle:
// to drop it would take all of them along. It is passed over, and goes with the last that needs it.

// dropOld drops an atom whose turn to go has come, unless a later turn needs it.
func (l *Ladder) dropOld(a transcript.AtomID, by Rung) {
	s, c := l.scene, l.chain
	if l.needed(a) {
		if c.passed == nil {
			c.passed = make(map[transcript.AtomID]bool)
		}
		c.passed[a] = true
		return
	}
	mark := len(c.ops)
	c.drop(s, a, by)
	for i := mark; i < len(c.ops) && len(c.passed) > 0; i++ { // the list may grow on the way
		if c.ops[i].to != isGone {
			continue
		}
		for _, n := range s.needs.Of(l.t.AtomOf(c.ops[i].block)) {
			if c.passed[n] && !l.needed(n) {
				c.drop(s, n, by)
			}
		}
	}
}

// needed reports whether something of another turn that is left needs an atom, directly or not.
// What also is needed by it shares its fate and does not count.
func (l *Ladder) needed(a transcript.AtomID) bool {
	s := l.scene
	if s.needs == nil || len(s.needs.By(a)) == 0 {
		return false
	}
	turn := func(a transcript.AtomID) int { return l.t.Messages()[l.t.Atoms()[a].First].Turn }
	left := func(a transcript.AtomID) bool {
		at := &l.t.Atoms()[a]
		return at.First < s.end && l.chain.level[at.Blocks[0]] != isGone
	}
	queue, seen := []transcript.AtomID{a}, map[transcript.AtomID]bool{a: true}
	for i := 0; i < len(queue); i++ {
		for _, n := range slices.Backward(s.needs.By(queue[i])) { // the newest are left longest
			if seen[n] || !left(n) || slices.Contains(s.needs.Of(a), n) {
				continue
			}
			if turn(n) != turn(a) {
				return true
			}
			seen[n], queue = true, append(queue, n)
		}
	}
	return false
}

// dropPassed drops what was passed over and is still there: things that need each other in a circle.
func (l *Ladder) dropPassed(by Rung) {
	for a := range l.t.Atoms() {
		if l.chain.passed[transcript.AtomID(a)] {
			l.chain.drop(l.scene, transcript.AtomID(a), by)
		}
	}
	l.chain.close(by)
}
