package pare

import (
	"slices"

	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// A Rung is a step of the ladder that a window climbs: gentle first, harsh last.
type Rung uint8

const (
	RungRules     Rung = iota + 1 // what the rules vote for
	RungClear                     // old results give way to a placeholder
	RungShorten                   // huge results and arguments keep head and tail
	RungExchanges                 // exchanges go, also inside one long run of tool use
	RungTurns                     // turns go, but for what is pinned in them
	RungSqueeze                   // results and arguments that are pinned are shortened, then cleared
)

func (r Rung) String() string {
	return [...]string{"", "rules", "clear-results", "shorten", "drop-exchanges", "drop-turns", "squeeze"}[r]
}

// MarshalText writes the rung's name.
func (r Rung) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// why is the reason that receipts give.
func (r Rung) why() string {
	return [...]string{
		"", "", "an old result, cleared to fit the window", "shortened to fit the window", "an exchange dropped to fit the window",
		"a turn dropped to fit the window", "shortened although it must stay: nothing else is left to fit the window",
	}[r]
}

// A level is how much of a block is left. Steps only ever raise it, so the states of
// a ladder are nested: what a smaller window keeps, a larger one keeps too.
type level uint8

const (
	asIs    level = iota
	byRules       // what the rules put in its place
	atMost16K
	atMost4K
	atMost1K
	isCleared
	isGone level = 255
)

// size is how many bytes of a text a level leaves.
func (v level) size() int {
	return [...]int{atMost16K: 16 << 10, atMost4K: 4 << 10, atMost1K: 1 << 10}[v]
}

// minCleared is the shortest result that is worth a placeholder.
const minCleared = 400

// An op raises the level of one block.
type op struct {
	block transcript.BlockID
	was   level
	to    level
	wasBy Rung
	by    Rung
}

// A step is one state further down: some ops, all on one rung.
type step struct {
	rung     Rung
	from, to int // of ops
}

// A ladder is the chain of states between a mended history and the least that can be
// left of it. The state of a window is the first in the chain that fits. Because the
// chain does not depend on the limit, a larger limit keeps a superset, and the least
// limit that works is exact.
type ladder struct {
	plan   *Plan // mended, and nothing else done
	w      Window
	o      Options
	r      *wire.Request
	t      *transcript.Transcript
	end    int    // the history is that of a request that had so many messages
	stood  int    // what is pinned is so for a history of so many messages
	pinned []bool // by atom: stays
	locked []bool // by atom: every byte stays

	votes     []Decision // of the rules
	ruleEdits map[transcript.BlockID]string
	needs     [][]transcript.AtomID // by atom, those that the rules demand included; nil: there are none
	neededBy  [][]transcript.AtomID
	said      map[transcript.BlockID]string // texts that had to be decoded

	level []level // by block, at the foot of the chain that is being built or climbed
	by    []Rung  // by block: who raised it
	left  []int   // by message: blocks that are not thinking and not gone
	steps []step
	ops   []op
	at    int // how many steps the levels are at

	batches []Batch
	// reserve is room for a summary, taken as soon as anything is lost: blocks that the
	// rungs of exchanges and turns drop.
	reserve int
	losses  int
	trying  bool   // only whether it fits is asked
	costs   []cost // by block: the last that was counted
	frame   int    // tokens around a message
	head    int    // tokens beside the list
}

func newLadder(p *Plan, w Window, o Options) *ladder {
	l := &ladder{plan: p, w: w, o: o, r: p.mended, t: p.mended.Transcript()}
	l.end = len(l.t.Messages())
	if l.o.Counter != nil {
		l.frame, l.head, l.costs = wire.FrameTokens(l.o.Counter), -1, make([]cost, len(l.t.Blocks()))
	}
	return l
}

// fit meets one limit after the other.
func (l *ladder) fit() (*Plan, error) {
	limits := l.w.limits()
	if !slices.ContainsFunc(limits, func(m limit) bool { return !l.within(l.r, m) }) && l.w.Low == 0 {
		return l.attempt()
	}
	if err := l.prepare(); err != nil {
		return nil, err
	}
	var done *Plan
	for i, m := range limits {
		next, err := l.meet(m, limits[:i])
		if err != nil {
			return nil, err
		}
		done = next
	}
	return done, nil
}

// prepare finds what is pinned and lets the rules vote.
func (l *ladder) prepare() error {
	atoms := l.t.Atoms()
	l.pinned, l.locked = make([]bool, len(atoms)), make([]bool, len(atoms))
	l.level, l.by = make([]level, len(l.t.Blocks())), make([]Rung, len(l.t.Blocks()))
	l.left = make([]int, len(l.t.Messages()))
	for _, b := range l.t.Blocks() {
		if b.Kind != transcript.Thinking {
			l.left[b.Message]++
		}
	}
	return l.standAt(l.end)
}

// build lays out the chain for a unit, from the state that is reached.
func (l *ladder) build(u Unit) {
	l.steps, l.ops = l.steps[:0], l.ops[:0]
	if cap(l.ops) == 0 {
		l.ops, l.steps = make([]op, 0, l.blocks()+l.blocks()/4), make([]step, 0, 2*len(l.exchanges())+16)
	}
	l.rulesRung()
	if u == UnitTokens {
		l.clearRung()
		l.shortenRung(atMost16K, false)
		l.shortenRung(atMost4K, false)
	}
	if u != UnitTurns {
		l.exchangeRung()
	}
	if u != UnitExchanges {
		l.turnRung()
	}
	if u == UnitTokens {
		l.shortenRung(atMost1K, true)
		l.squeezeRung()
	}
	l.at = len(l.steps)
}

// raise adds an op to the step under way.
func (l *ladder) raise(b transcript.BlockID, to level, by Rung) {
	was := l.level[b]
	if was >= to {
		return
	}
	l.ops = append(l.ops, op{b, was, to, l.by[b], by})
	l.set(b, to, by)
}

// set gives a block a level.
func (l *ladder) set(b transcript.BlockID, to level, by Rung) {
	if blk := l.t.Block(b); blk.Kind != transcript.Thinking && (l.level[b] == isGone) != (to == isGone) {
		if to == isGone {
			l.left[blk.Message]--
		} else {
			l.left[blk.Message]++
		}
	}
	if l.level[b] == isGone && l.by[b].loses() {
		l.losses--
	}
	if to == isGone && by.loses() {
		l.losses++
	}
	l.level[b], l.by[b] = to, by
}

// loses reports whether a rung takes away what a summary should tell.
func (r Rung) loses() bool { return r == RungExchanges || r == RungTurns }

// move brings the ladder to the state after k steps.
func (l *ladder) move(k int) {
	for ; l.at > k; l.at-- {
		s := l.steps[l.at-1]
		for i := s.to - 1; i >= s.from; i-- {
			l.set(l.ops[i].block, l.ops[i].was, l.ops[i].wasBy)
		}
	}
	for ; l.at < k; l.at++ {
		s := l.steps[l.at]
		for _, o := range l.ops[s.from:s.to] {
			l.set(o.block, o.to, o.by)
		}
	}
}

// close ends the step under way, if anything was done in it.
func (l *ladder) close(by Rung) {
	from := 0
	if n := len(l.steps); n > 0 {
		from = l.steps[n-1].to
	}
	if len(l.ops) > from {
		l.steps = append(l.steps, step{by, from, len(l.ops)})
	}
}

// drop drops an atom, what needs it, and thinking that leads to nothing any more.
func (l *ladder) drop(a transcript.AtomID, by Rung) {
	if l.pinned[a] || l.level[l.t.Atoms()[a].Blocks[0]] == isGone {
		return
	}
	queue := []transcript.AtomID{a}
	for len(queue) > 0 {
		a := queue[0]
		queue = queue[1:]
		for _, b := range l.t.Atoms()[a].Blocks {
			l.raise(b, isGone, by)
		}
		for _, b := range l.t.Atoms()[a].Blocks {
			m := l.t.Block(b).Message
			if l.left[m] > 0 {
				continue
			}
			for b := l.t.Messages()[m].First; b < l.t.Messages()[m].End; b++ {
				if !l.pinned[l.t.AtomOf(b)] && l.level[b] != isGone {
					queue = append(queue, l.t.AtomOf(b))
				}
			}
		}
		if l.neededBy != nil {
			for _, n := range l.neededBy[a] {
				if l.level[l.t.Atoms()[n].Blocks[0]] != isGone {
					queue = append(queue, n)
				}
			}
		}
	}
}
