package ladder

import (
	"fmt"
	"slices"
)

// proveTrail, if it is not nil, lets every state that a trail leads to be found a second time, by a
// whole climb, and everything that a roster says be looked up in the whole state. It is told of
// each; for tests.
var proveTrail func()

// prove panics unless a whole climb comes to the state that the trail is at, which was the last of
// so many that were tried, and makes the same of it.
func (t *trail) prove(l *Ladder, out Outcome, tries int) {
	s, c := l.Setting, t.chain
	s.Memory = nil
	tried, there := make(map[int]bool), false
	s.Try = func(w *Ladder) (Outcome, error) {
		if tried[w.chain.at] = true; !slices.Equal(w.chain.level, c.level) {
			return unsound{out}, nil // one of those before, or there will be too many
		}
		there = w.chain.rungs == c.rungs && w.chain.gone == c.gone && slices.Equal(w.chain.by, c.by) && slices.Equal(w.chain.left, c.left) && w.chain.losses == c.losses &&
			slices.Equal(w.scene.pinned.on, l.scene.pinned.on) && slices.Equal(w.scene.locked.on, l.scene.locked.on) &&
			newGauge(w, Tokens).bare == t.sum
		return out, nil
	}
	if _, err := New(s).Fit(); err != nil || !there || len(tried) != tries {
		panic(fmt.Sprintf("a whole climb leads elsewhere, after %d tries, the trail after %d: %v", len(tried), tries, err))
	}
	proveTrail()
}

// prove panics unless the lists of a roster are those of the state that the ladder is at.
func (r *roster) prove(l *Ladder) {
	if drop, edits := l.todo(nil, nil); !slices.Equal(drop, r.drop[0]) || !slices.Equal(edits, r.edits[0]) {
		panic(fmt.Sprintf("%d blocks go and %d are edited, a roster says %d and %d", len(drop), len(edits), len(r.drop[0]), len(r.edits[0])))
	}
	proveTrail()
}

type unsound struct{ Outcome }

func (unsound) Sound() bool { return false }
