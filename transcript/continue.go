package transcript

import "slices"

// kept is what is paired already: the first messages, up to where a turn begins. No call in
// front of that can be answered behind it.
type kept struct {
	message   int
	block     BlockID
	exchanges int
}

// NewAfter is [New] for an index whose first messages, so many, hold the blocks of those of another
// transcript: what is paired in them is not paired again.
func NewAfter(x Index, before *Transcript, messages int) *Transcript {
	b := Builder{t: before}
	k := b.keep(x, messages)
	if k.exchanges == 0 {
		return New(x)
	}
	rest := len(x.Blocks) - int(k.block)
	t := &Transcript{
		raw: x.Raw, messages: x.Messages, blocks: x.Blocks, given: x.Ties,
		exchanges: append(make([]Exchange, 0, k.exchanges+rest/2+1), before.exchanges[:k.exchanges]...),
		exchange:  append(make([]ExchangeID, 0, len(x.Blocks)), before.exchange[:k.block]...),
	}
	p := pairers.Get().(*pairer)
	p.results = make([]BlockID, 0, k.exchanges+rest)
	p.pair(t, x.Discipline, k)
	p.release()
	return t
}

// quiet reports whether exchange x lies in front of a block and nothing behind that can have to do
// with it: it is whole, of one call and one result.
func (t *Transcript) quiet(x int, end BlockID) bool {
	e := &t.exchanges[x]
	return e.State == Whole && !e.Server && e.Call < end && len(e.Results) == 1 && e.Results[0] < end && !t.blocks[e.Results[0]].Continues
}

// keep finds what of the last transcript is paired as it will be in an index that begins with so
// many of the same messages. Of the last one, nothing but these may be there any more.
func (b *Builder) keep(x Index, messages int) (k kept) {
	t := b.t
	k.message = min(messages, len(t.messages), len(x.Messages))
	if k.message == 0 || b.p.anywhere || x.Discipline == Anywhere || t.start != 0 || t.Compacted() {
		return kept{}
	}
	end := x.Messages[k.message-1].End
	for b.quiet < len(t.exchanges) && t.quiet(b.quiet, end) {
		b.quiet++
	}
	turn := func(m int) int { return x.Messages[m].Turn }
	for ; k.message > 0; k.message-- {
		if k.message < len(x.Messages) && turn(k.message) == turn(k.message-1) {
			continue // not where a turn begins
		}
		k.block = x.Messages[k.message-1].End
		k.exchanges, _ = slices.BinarySearchFunc(t.exchanges[:b.quiet], k.block, func(e Exchange, b BlockID) int { return int(e.Call - b) })
		if k.exchanges == b.quiet && b.quiet < len(t.exchanges) && t.firstOf(b.quiet) < k.block {
			k.message = t.blocks[t.firstOf(b.quiet)].Message + 1
			continue
		}
		if t.answered(t.exchanges[:k.exchanges], k.block, turn(k.message-1)) {
			return k
		}
	}
	return kept{}
}

// answered reports whether the last turn in front of a block asks nothing, and answers what the turn
// before it asks: that turn may have gone on in the last transcript.
func (t *Transcript) answered(quiet []Exchange, end BlockID, turn int) bool {
	for i := len(quiet) - 1; i >= 0; i-- {
		e := &quiet[i]
		switch at := t.messages[t.blocks[e.Call].Message].Turn; {
		case at == turn || e.Results[0] >= end:
			return false
		case at < turn-1:
			return true
		}
	}
	return true
}

// firstOf is the first block of exchange x.
func (t *Transcript) firstOf(x int) BlockID {
	if e := &t.exchanges[x]; e.Call == NoBlock {
		return e.Results[0]
	}
	return t.exchanges[x].Call
}
