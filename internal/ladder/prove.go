package ladder

import (
	"fmt"
	"slices"

	"github.com/pare-llm/pare/wire"
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

// prove panics unless the docket of a roster is that of the state that the ladder is at.
func (r *roster) prove(l *Ladder) {
	if d := l.todo(wire.Docket{}); !slices.Equal(d.Drop, r.docket.Drop) || !slices.Equal(d.Edits, r.docket.Edits) {
		panic(fmt.Sprintf("%d blocks go and %d are edited, a roster says %d and %d", len(d.Drop), len(d.Edits), len(r.docket.Drop), len(r.docket.Edits)))
	}
	proveTrail()
}

type unsound struct{ Outcome }

func (unsound) Sound() bool { return false }
