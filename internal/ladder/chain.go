package ladder

import (
	"sync"

	"github.com/pare-llm/pare/transcript"
)

// A level is how much of a block is left. Steps only ever raise it, so the states of
// a chain are nested: what a smaller window keeps, a larger one keeps too.
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
	switch v {
	case atMost16K:
		return 16 << 10
	case atMost4K:
		return 4 << 10
	}
	return 1 << 10
}

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

// A chain is the states between a repaired history and the least that can be left of it,
// and the one that it is at. It knows no limit.
type chain struct {
	t      *transcript.Transcript
	facts  []fact           // by block
	level  []level          // by block
	by     []Rung           // by block: who raised it
	rungs  [Squeeze + 1]int // how many blocks each has raised
	gone   int              // blocks that are
	left   []int            // by message: blocks that are not thinking and not gone
	dead   int              // the first exchanges, all of which are gone, as far as anybody has looked
	losses int              // blocks that the rungs of exchanges and turns have dropped
	steps  []step
	ops    []op
	at     int // how many steps have been taken
	queue  []transcript.AtomID
	passed map[transcript.AtomID]bool // see dropOld; nil: none
}

// A scratch is memory that a climb uses and the next one uses again.
type scratch struct {
	steps             []step
	ops               []op
	left, alive, sums []int
	heard, calls      []int
	queue             []transcript.AtomID
	outline           outline
}

var scratchPool = sync.Pool{New: func() any { return new(scratch) }}

// back gives the scratch memory of a climb back, unless it is large.
func (s *scratch) back() {
	const roomy = 1 << 14 // ops
	s.outline.forget()
	if cap(s.ops) <= roomy && cap(s.sums) <= roomy && cap(s.left) <= roomy {
		scratchPool.Put(s)
	}
}

// cleared returns a list of n zeros, in the place of another if that is long enough.
func cleared[T any](in *[]T, n int) []T {
	if cap(*in) < n {
		*in = make([]T, n, n+n/4)
	}
	*in = (*in)[:n]
	clear(*in)
	return *in
}

func newChain(t *transcript.Transcript, s *scratch) *chain {
	c := &chain{
		t: t, facts: s.outline.facts, level: make([]level, len(t.Blocks())), by: make([]Rung, len(t.Blocks())), left: cleared(&s.left, len(t.Messages())),
		steps: s.steps[:0], ops: s.ops[:0], queue: s.queue[:0],
	}
	for _, f := range c.facts[:len(c.level)] {
		if f.kind != transcript.Thinking {
			c.left[f.message]++
		}
	}
	return c
}

// begin forgets the steps; the state that is reached is where new ones begin.
func (c *chain) begin(blocks, exchanges int) {
	for all := c.t.Exchanges(); c.dead < len(all) && c.level[firstBlock(&all[c.dead])] == isGone; {
		c.dead++
	}
	c.steps, c.ops, c.passed = c.steps[:0], c.ops[:0], nil
	if cap(c.ops) == 0 {
		c.ops, c.steps = make([]op, 0, blocks+blocks/2), make([]step, 0, 2*exchanges+16)
	}
}

// raise adds an op to the step under way.
func (c *chain) raise(b transcript.BlockID, to level, by Rung) {
	was := c.level[b]
	if was >= to {
		return
	}
	c.ops = append(c.ops, op{b, was, to, c.by[b], by})
	c.set(b, to, by)
}

// close ends the step under way, if anything was done in it.
func (c *chain) close(by Rung) {
	if from := c.opsOf(len(c.steps)); len(c.ops) > from {
		c.steps = append(c.steps, step{by, from, len(c.ops)})
	}
}

// opsOf is how many ops the first k steps have.
func (c *chain) opsOf(k int) int {
	if k == 0 {
		return 0
	}
	return c.steps[k-1].to
}

// set gives a block a level.
func (c *chain) set(b transcript.BlockID, to level, by Rung) {
	if c.level[b] == isGone {
		c.bury(b, c.by[b], -1)
	}
	if to == isGone {
		c.bury(b, by, 1)
	}
	c.rungs[c.by[b]]--
	c.rungs[by]++
	c.level[b], c.by[b] = to, by
}

// bury counts a block that goes, or comes back if n is -1.
func (c *chain) bury(b transcript.BlockID, by Rung, n int) {
	c.gone += n
	if n < 0 {
		if x := c.t.ExchangeOf(b); x != transcript.NoExchange {
			c.dead = min(c.dead, int(x))
		}
	}
	if f := &c.facts[b]; f.kind != transcript.Thinking {
		c.left[f.message] -= n
	}
	if by.Loses() {
		c.losses += n
	}
}

// move goes to the state after k steps.
func (c *chain) move(k int) {
	for ; c.at > k; c.at-- {
		s := c.steps[c.at-1]
		for i := s.to - 1; i >= s.from; i-- {
			c.set(c.ops[i].block, c.ops[i].was, c.ops[i].wasBy)
		}
	}
	for ; c.at < k; c.at++ {
		s := c.steps[c.at]
		for _, o := range c.ops[s.from:s.to] {
			c.set(o.block, o.to, o.by)
		}
	}
}

// atRest reports whether nothing has been done yet.
func (c *chain) atRest() bool { return c.touched() == 0 }

// touched is how many blocks have been raised.
func (c *chain) touched() (n int) {
	for _, k := range c.rungs[1:] {
		n += k
	}
	return n
}

// blocks is how many blocks are left.
func (c *chain) blocks() int { return len(c.level) - c.gone }

// drop drops an atom, what needs it, and thinking that leads to nothing any more.
func (c *chain) drop(s *scene, a transcript.AtomID, by Rung) {
	atoms := c.t.Atoms()
	if s.pinned.on[a] || c.level[atoms[a].Blocks[0]] == isGone {
		return
	}
	queue := append(c.queue[:0], a)
	for i := 0; i < len(queue); i++ {
		a := queue[i]
		for _, b := range atoms[a].Blocks {
			c.raise(b, isGone, by)
		}
		for _, b := range atoms[a].Blocks {
			m := c.facts[b].message
			if c.left[m] > 0 {
				continue
			}
			all := &c.t.Messages()[m]
			for b := all.First; b < all.End; b++ {
				if c.level[b] != isGone && !s.pinned.on[c.t.AtomOf(b)] {
					queue = append(queue, c.t.AtomOf(b))
				}
			}
		}
		for _, n := range s.needs.By(a) {
			// What came later cannot have gone; what it needs comes back with it.
			if atoms[n].First < s.end && c.level[atoms[n].Blocks[0]] != isGone {
				queue = append(queue, n)
			}
		}
	}
	c.queue = queue
}
