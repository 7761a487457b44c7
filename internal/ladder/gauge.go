package ladder

import "github.com/pare-llm/pare/transcript"

// A gauge knows, for each state of a chain, the sum of what is left: exactly what it
// would measure if carrying it out added nothing and took nothing more. The sums fall
// along the chain. They are found from its end on, so that what does not fit is never
// counted.
type gauge struct {
	l     *Ladder
	unit  Unit
	bare  int   // the sum of the last state that was looked at, without room for a summary
	lost  int   // how much it has lost that a summary should tell
	sums  []int // by state, from the last one on
	alive []int // by message: blocks that are left
	heard []int // by message: blocks of a person that are left, for turns
}

func newGauge(l *Ladder, u Unit) *gauge {
	g := &gauge{l: l, unit: u, alive: cleared(&l.scratch.alive, len(l.t.Messages()))}
	if u == Turns {
		g.heard = cleared(&l.scratch.heard, len(l.t.Messages()))
	}
	sum := 0
	if u == Tokens {
		sum = l.meter.headTokens()
	}
	for i, m := range l.t.Messages()[:l.scene.end] {
		if m.First == m.End {
			sum += g.born(i, true) // nothing in it that could go
		}
	}
	for b, v := range l.chain.level[:l.scene.blocks()] {
		if v != isGone {
			sum += g.back(transcript.BlockID(b), isGone, v)
		}
	}
	if u == Exchanges {
		for _, x := range l.scene.read() {
			if l.chain.level[firstBlock(&x)] != isGone {
				sum++
			}
		}
	}
	g.bare, g.lost = sum, l.chain.losses
	g.sums = append(cleared(&l.scratch.sums, len(l.chain.steps)+1)[:0], sum+g.reserve())
	return g
}

// reserve is the room that a summary takes in the state that was looked at last.
func (g *gauge) reserve() int {
	if g.unit == Tokens && g.lost > 0 {
		return g.l.Reserve
	}
	return 0
}

// at returns the sum of state k.
func (g *gauge) at(k int) int {
	c := g.l.chain
	n := len(c.steps)
	for len(g.sums) <= n-k {
		s := c.steps[n-len(g.sums)]
		for _, o := range c.ops[s.from:s.to] {
			g.bare += g.back(o.block, o.to, o.was)
			if o.to == isGone && o.by.Loses() {
				g.lost--
			}
			if g.unit != Exchanges || o.to != isGone {
				continue
			}
			if x := g.l.t.ExchangeOf(o.block); x != transcript.NoExchange && firstBlock(&g.l.t.Exchanges()[x]) == o.block {
				g.bare++
			}
		}
		g.sums = append(g.sums, max(g.bare+g.reserve(), g.sums[len(g.sums)-1]))
	}
	return g.sums[n-k]
}

// first returns the first state whose sum is within a limit; the last one's is.
func (g *gauge) first(most int) int {
	k := len(g.l.chain.steps)
	for k > 0 && g.at(k-1) <= most {
		k--
	}
	return k
}

// falls reports whether state k has less than the one before it.
func (g *gauge) falls(k int) bool { return k == 0 || g.at(k) < g.at(k-1) }

// back is what it adds to the sum when a block goes back from one level to another.
func (g *gauge) back(b transcript.BlockID, from, to level) int {
	sum := 0
	f := &g.l.chain.facts[b]
	i := int(f.message)
	if g.unit == Tokens {
		sum = g.l.meter.of(b, to)
	}
	if from != isGone {
		if g.unit == Tokens {
			sum -= g.l.meter.of(b, from)
		}
		return sum
	}
	if g.alive[i]++; g.alive[i] == 1 {
		sum += g.born(i, false)
	}
	if spoken := f.kind != transcript.Result && f.kind != transcript.ServerResult; spoken && g.unit == Turns {
		if g.heard[i]++; g.heard[i] == 1 && i >= g.l.t.StartMessage() && Speaks(g.l.t.Messages()[i]) {
			sum++
		}
	}
	return sum
}

// born is what a message adds that is there again.
func (g *gauge) born(i int, empty bool) int {
	switch {
	case i < g.l.t.StartMessage():
		return 0 // not read
	case g.unit == Messages:
		return 1
	case g.unit == Tokens:
		return g.l.meter.frame
	case g.unit == Turns && empty && Speaks(g.l.t.Messages()[i]):
		return 1
	}
	return 0
}
