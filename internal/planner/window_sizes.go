package planner

import "github.com/pare-llm/pare/transcript"

// stateSizes are the sizes of the states of a chain in one unit, from the last state on. A size is
// exact if carrying out the state adds and removes nothing else. Sizes fall along the chain. They
// are added up from its end, so that content which does not fit is never counted.
type stateSizes struct {
	s     *windowSearch
	unit  unit
	sizes []int // by state, from the last one on; with the reserve for a summary

	bare       int   // the size of the first state in sizes, without the reserve
	lostBlocks int   // of that state
	alive      []int // by message: the blocks that remain in that state
	spoken     []int // by message: the remaining blocks that are not results
}

func (s *windowSearch) newStateSizes(u unit) *stateSizes {
	z := &stateSizes{
		s: s, unit: u, lostBlocks: s.chain.lostBlocks,
		alive: make([]int, len(s.t.Messages())), spoken: make([]int, len(s.t.Messages())),
	}
	if u == unitTokens {
		z.bare = s.meter.headTokens()
	}
	for _, i := range numbersBefore(s.index.empty, s.limits.end) {
		z.bare += z.messageSize(i) + z.turnSize(i)
	}
	end := transcript.BlockID(s.limits.blocks())
	for _, a := range s.chain.living.list {
		for _, b := range s.t.Atoms()[a].Blocks {
			if v := s.chain.levels[b]; b < end && v != levelGone {
				z.bare += z.sizeOfRaise(b, levelGone, v)
			}
		}
	}
	if u == unitExchanges {
		for _, x := range s.limits.readExchanges() {
			if s.chain.levels[firstBlock(&x)] != levelGone {
				z.bare++
			}
		}
	}
	z.sizes = append(z.sizes, z.bare+z.reserve())
	return z
}

// reserve returns the room for a summary in the first known state.
func (z *stateSizes) reserve() int {
	if z.unit == unitTokens && z.lostBlocks > 0 {
		return z.s.reserve
	}
	return 0
}

// at returns the size of state k.
func (z *stateSizes) at(k int) int {
	c := z.s.chain
	for len(z.sizes) <= c.end()-k {
		next := c.transitions[c.end()-len(z.sizes)]
		for _, change := range c.changes[next.first:next.end] {
			z.undo(change)
		}
		z.sizes = append(z.sizes, max(z.bare+z.reserve(), z.sizes[len(z.sizes)-1]))
	}
	return z.sizes[c.end()-k]
}

// undo adds the size that a change has removed.
func (z *stateSizes) undo(change levelChange) {
	z.bare += z.sizeOfRaise(change.block, change.to, change.from)
	if change.to != levelGone {
		return
	}
	if change.toStep.losesContent() {
		z.lostBlocks--
	}
	x := z.s.t.ExchangeOf(change.block)
	isExchangeBack := x != transcript.NoExchange && firstBlock(&z.s.t.Exchanges()[x]) == change.block
	if z.unit == unitExchanges && isExchangeBack {
		z.bare++
	}
}

// sizeOfRaise returns the size that a block adds when its level goes back from one to another.
func (z *stateSizes) sizeOfRaise(b transcript.BlockID, from, to level) int {
	size := 0
	if z.unit == unitTokens {
		size = z.s.meter.tokensAt(b, to)
		if from != levelGone {
			size -= z.s.meter.tokensAt(b, from)
		}
	}
	if from != levelGone {
		return size
	}
	fact := &z.s.chain.facts[b]
	i := int(fact.message)
	z.alive[i]++
	if z.alive[i] == 1 {
		size += z.messageSize(i)
	}
	isResult := fact.kind == transcript.Result || fact.kind == transcript.ServerResult
	if isResult {
		return size
	}
	z.spoken[i]++
	if z.spoken[i] == 1 {
		size += z.turnSize(i)
	}
	return size
}

// messageSize returns the size of a message without its blocks.
func (z *stateSizes) messageSize(i int) int {
	switch {
	case i < z.s.t.StartMessage():
		return 0 // the provider does not read it
	case z.unit == unitMessages:
		return 1
	case z.unit == unitTokens:
		return z.s.meter.frame
	}
	return 0
}

// turnSize returns 1 if turns are counted and the user speaks in a message.
func (z *stateSizes) turnSize(i int) int {
	if z.unit == unitTurns && i >= z.s.t.StartMessage() && z.s.userSpeaks(i) {
		return 1
	}
	return 0
}

// firstWithin returns the first state whose size is within a limit, or the last state.
func (z *stateSizes) firstWithin(most int) int {
	k := z.s.chain.end()
	for k > 0 && z.at(k-1) <= most {
		k--
	}
	return k
}

// isSmaller reports whether state k is smaller than the one before it.
func (z *stateSizes) isSmaller(k int) bool { return k == 0 || z.at(k) < z.at(k-1) }
