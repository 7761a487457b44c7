package planner

import (
	"slices"

	"github.com/pare-llm/pare/transcript"
)

// A windowStep is a step that a window takes to make a request fit.
type windowStep uint8

const (
	stepNone          windowStep = iota
	stepRules                    // the rules of the window vote
	stepClear                    // a placeholder replaces an old result
	stepShorten                  // long results and arguments keep their beginning and end
	stepDropExchanges            // exchanges are dropped, also inside one long run of tool use
	stepDropTurns                // turns are dropped, except for pinned content
	stepSqueeze                  // pinned results and arguments are shortened, then cleared
	windowStepCount
)

// losesContent reports whether a step drops content that a summary should replace.
func (s windowStep) losesContent() bool { return s == stepDropExchanges || s == stepDropTurns }

// A level is how much of a block remains. Along a chain, levels only rise.
type level uint8

const (
	levelFull    level = iota
	levelEdited        // the text of a rule
	level16K           // at most 16 KB
	level4K            // at most 4 KB
	level1K            // at most 1 KB
	levelCleared       // a placeholder
	levelGone    level = 255
)

// maxBytes returns how many bytes of a text a level keeps.
func (v level) maxBytes() int {
	switch v {
	case level16K:
		return 16 << 10
	case level4K:
		return 4 << 10
	}
	return 1 << 10
}

// A levelChange raises the level of one block.
type levelChange struct {
	block            transcript.BlockID
	from, to         level
	fromStep, toStep windowStep
}

// A transition leads from one state of a chain to the next. It is a range of changes.
type transition struct {
	step       windowStep
	first, end int
}

// livingAtoms lists the first atoms that are not gone, in order.
type livingAtoms struct {
	list  []transcript.AtomID
	known transcript.AtomID // list was made of so many atoms
}

// A chain is a sequence of states from the repaired history to the least that can remain of it, and
// the current state. Each state removes more than the one before. The chain does not depend on any
// limit, so a larger limit keeps everything that a smaller one keeps, and the smallest limit that
// works is exact.
type chain struct {
	t     *transcript.Transcript
	facts []blockFact // by block

	levels []level      // by block
	steps  []windowStep // by block: the step that raised its level last

	changedBy     [windowStepCount]int // blocks
	goneBlocks    int
	lostBlocks    int   // dropped by steps that lose content
	remaining     []int // by message: blocks that are neither thinking nor gone
	goneExchanges int   // the number of first exchanges that are known to be gone

	living livingAtoms // at the first state

	transitions []transition
	changes     []levelChange
	position    int                        // the number of transitions taken
	postponed   map[transcript.AtomID]bool // see dropUnlessNeeded
}

func newChain(t *transcript.Transcript, facts []blockFact) *chain {
	c := &chain{
		t:         t,
		facts:     facts,
		levels:    make([]level, len(t.Blocks())),
		steps:     make([]windowStep, len(t.Blocks())),
		remaining: make([]int, len(t.Messages())),
		postponed: make(map[transcript.AtomID]bool),
	}
	for _, f := range facts {
		if f.kind != transcript.Thinking {
			c.remaining[f.message]++
		}
	}
	return c
}

// begin starts a new chain at the current state of a history with the first atoms.
func (c *chain) begin(atoms transcript.AtomID) {
	c.living.list = slices.DeleteFunc(c.living.list, c.isGone)
	for ; c.living.known < atoms; c.living.known++ {
		if !c.isGone(c.living.known) {
			c.living.list = append(c.living.list, c.living.known)
		}
	}
	exchanges := c.t.Exchanges()
	for c.goneExchanges < len(exchanges) && c.levels[firstBlock(&exchanges[c.goneExchanges])] == levelGone {
		c.goneExchanges++
	}
	c.transitions, c.changes = c.transitions[:0], c.changes[:0]
	clear(c.postponed)
}

// revive brings an atom back that was gone at the first state.
func (c *chain) revive(a transcript.AtomID) {
	for _, b := range c.t.Atoms()[a].Blocks {
		c.set(b, levelFull, stepNone)
	}
	c.living = livingAtoms{}
}

// raise adds a change to the open transition. It does nothing if the block already has that level.
func (c *chain) raise(b transcript.BlockID, to level, step windowStep) {
	if c.levels[b] >= to {
		return
	}
	c.changes = append(c.changes, levelChange{b, c.levels[b], to, c.steps[b], step})
	c.set(b, to, step)
}

// endTransition ends the open transition, if it has changes.
func (c *chain) endTransition(step windowStep) {
	if first := c.changeCount(len(c.transitions)); len(c.changes) > first {
		c.transitions = append(c.transitions, transition{step, first, len(c.changes)})
	}
}

// changeCount returns how many changes the first k transitions have.
func (c *chain) changeCount(k int) int {
	if k == 0 {
		return 0
	}
	return c.transitions[k-1].end
}

// set gives a block a level.
func (c *chain) set(b transcript.BlockID, to level, step windowStep) {
	if c.levels[b] == levelGone {
		c.countGone(b, c.steps[b], -1)
		if x := c.t.ExchangeOf(b); x != transcript.NoExchange {
			c.goneExchanges = min(c.goneExchanges, int(x))
		}
	}
	if to == levelGone {
		c.countGone(b, step, 1)
	}
	c.changedBy[c.steps[b]]--
	c.changedBy[step]++
	c.levels[b], c.steps[b] = to, step
}

// countGone counts n blocks more as gone, where n is 1 or -1.
func (c *chain) countGone(b transcript.BlockID, step windowStep, n int) {
	c.goneBlocks += n
	if f := &c.facts[b]; f.kind != transcript.Thinking {
		c.remaining[f.message] -= n
	}
	if step.losesContent() {
		c.lostBlocks += n
	}
}

// moveTo goes to the state after k transitions.
func (c *chain) moveTo(k int) {
	for ; c.position > k; c.position-- {
		last := c.transitions[c.position-1]
		for _, change := range slices.Backward(c.changes[last.first:last.end]) {
			c.set(change.block, change.from, change.fromStep)
		}
	}
	for ; c.position < k; c.position++ {
		next := c.transitions[c.position]
		for _, change := range c.changes[next.first:next.end] {
			c.set(change.block, change.to, change.toStep)
		}
	}
}

// end returns the number of the last state.
func (c *chain) end() int { return len(c.transitions) }

// changedBlocks returns how many blocks are not as they came.
func (c *chain) changedBlocks() (n int) {
	for _, count := range c.changedBy[stepNone+1:] {
		n += count
	}
	return n
}

// remainingBlocks returns how many blocks are not gone.
func (c *chain) remainingBlocks() int { return len(c.levels) - c.goneBlocks }

// drop drops an atom, everything that needs it, and the rest of messages in which only thinking
// remains. Pinned atoms stay.
func (c *chain) drop(limits *constraints, a transcript.AtomID, step windowStep) {
	atoms := c.t.Atoms()
	if limits.pinned.has(a) || c.isGone(a) {
		return
	}
	queue := []transcript.AtomID{a}
	for i := 0; i < len(queue); i++ {
		a := queue[i]
		for _, b := range atoms[a].Blocks {
			c.raise(b, levelGone, step)
		}
		for _, b := range atoms[a].Blocks {
			m := c.facts[b].message
			if c.remaining[m] > 0 {
				continue
			}
			for other := c.t.Messages()[m].First; other < c.t.Messages()[m].End; other++ {
				if rest := c.t.AtomOf(other); c.levels[other] != levelGone && !limits.pinned.has(rest) {
					queue = append(queue, rest)
				}
			}
		}
		for _, dependent := range limits.needs.Dependents(a) {
			// Later atoms are not gone yet: they bring back the atoms that they need.
			if atoms[dependent].First < limits.end && !c.isGone(dependent) {
				queue = append(queue, dependent)
			}
		}
	}
}

// isGone reports whether an atom is gone.
func (c *chain) isGone(a transcript.AtomID) bool {
	return c.levels[c.t.Atoms()[a].Blocks[0]] == levelGone
}
