package transcript

import "slices"

// newAfter is newTranscript for an index that holds runs of messages of another transcript, in order: what
// is paired in them is not paired again.
func newAfter(x Index, before *Transcript, runs []Run) *Transcript {
	t := &Transcript{raw: x.Raw, messages: x.Messages, blocks: x.Blocks, given: x.Ties}
	p := pairers.Get().(*pairer)
	p.other, p.runs = before, runs
	p.pair(t, x.Discipline)
	p.other, p.runs = nil, nil
	p.release()
	return t
}

// quiet reports whether nothing behind exchange x can have to do with it: it is whole, of one call
// and one result.
func (t *Transcript) quiet(x int) bool {
	e := &t.exchanges[x]
	return e.State == Whole && !e.Server && len(e.Results) == 1 && !t.blocks[e.Results[0]].Continues
}

// unlike reports whether the result of exchange x names a tool that its call does not: where answers
// may stand anywhere, a call of that name may be found far in front.
func (t *Transcript) unlike(x int) bool {
	e := &t.exchanges[x]
	tool := t.blocks[e.Results[0]].Tool
	return tool != "" && tool != e.Tool
}

// firstOf is the first block of exchange x.
func (t *Transcript) firstOf(x int) BlockID { return t.exchanges[x].first() }

func (e *Exchange) first() BlockID {
	if e.Call == NoBlock {
		return e.Results[0]
	}
	return e.Call
}

// A Run is messages of an index that hold, block by block, those of another transcript: N of them,
// which are Now here and Was there. It is a value that many goroutines may use.
type Run struct{ Now, Was, N int }

// takeOver takes over what is paired in the run that message m stands in, which begins a turn, and
// returns where that ends; m if nothing was. From a turn without results up to one without calls,
// between which all is quiet, nothing has to do with what stands around, if no call waits; where
// answers may stand anywhere, from any turn up to any other.
func (p *pairer) takeOver(m int) (next int) {
	for len(p.runs) > 0 && p.runs[0].Now+p.runs[0].N <= m {
		p.runs = p.runs[1:]
	}
	if len(p.runs) == 0 || p.runs[0].Now > m || p.waits() {
		return m
	}
	t, o, r := p.t, p.other, p.runs[0]
	older, end := r.Was-r.Now, r.Now+r.N
	if at := m + older; at > 0 && o.messages[at-1].Turn == o.messages[at].Turn || !p.anywhere && t.turnHas(m, Result) {
		return m
	}
	first := t.messages[m].First
	by := first - o.messages[m+older].First
	x, from := o.exchangesIn(first-by), len(t.exchanges)
	for tries := 4; ; tries-- {
		for end > m && (end < len(t.messages) && t.messages[end].Turn == t.messages[end-1].Turn || !p.anywhere && t.turnHas(end-1, Call)) {
			end--
		}
		if end <= m+1 || tries == 0 {
			p.runs = p.runs[1:]
			return m
		}
		hinders := p.takeExchanges(x, t.messages[end-1].End-by, by)
		if hinders < 0 {
			break
		}
		end = o.blocks[o.firstOf(hinders)].Message - older // which may part others
	}
	last := t.messages[end-1].End
	if !renumber(t.exchange[first:last], o.exchange[first-by:last-by], ExchangeID(x), ExchangeID(from)) {
		p.results = p.results[:len(p.results)-len(t.exchanges)+from]
		t.exchanges, p.runs = t.exchanges[:from], p.runs[1:]
		return m // one is of a call in front
	}
	p.asked.reset()
	p.fresh.reset()
	p.open.listed = false // these are not
	return end
}

// takeExchanges takes over those of the other transcript from x on that begin in front of a block.
// If one of them is odd, or answered behind that, it takes none and returns which, else -1.
func (p *pairer) takeExchanges(x int, end, by BlockID) (hinders int) {
	t, o := p.t, p.other
	to, from, n := o.exchangesIn(end), len(t.exchanges), len(p.results)
	if i, _ := slices.BinarySearch(o.odd, ExchangeID(x)); i < len(o.odd) && int(o.odd[i]) < to {
		return int(o.odd[i])
	}
	t.exchanges = append(t.exchanges, o.exchanges[x:to]...)
	p.results = slices.Grow(p.results, to-x)[:n+to-x]
	results := p.results[n:]
	taken := t.exchanges[from:][:len(results)]
	for i := range taken {
		e := &taken[i]
		r := e.Results[0]
		if r >= end {
			t.exchanges, p.results = t.exchanges[:from], p.results[:n]
			return x + i
		}
		results[i] = r + by
		e.Call, e.Results = e.Call+by, results[i:i+1:i+1]
	}
	return -1
}

// renumber copies the exchanges of blocks, of which the first is now another, and reports whether
// none is in front of that.
func renumber(to, from []ExchangeID, first, now ExchangeID) bool {
	front, by, to := ExchangeID(0), now-first, to[:len(from)]
	for i, x := range from {
		none := x >> 63 // all bits of NoExchange, no bit of others
		front |= (x - first) ^ none
		to[i] = (x + by) | none
	}
	return front >= 0
}

// waits reports whether a call may be waiting for a result.
func (p *pairer) waits() bool {
	for _, x := range p.asked.list {
		if len(p.t.exchanges[x].Results) == 0 {
			return true
		}
	}
	return len(p.late.batches) > 0 || len(p.open.few) > 0 || p.open.many
}

// exchangesIn is how many exchanges begin in front of a block. The last of them is mostly near.
func (t *Transcript) exchangesIn(end BlockID) int {
	for b := end - 1; b >= max(0, end-16); b-- {
		if x := t.exchange[b]; x != NoExchange && t.firstOf(int(x)) == b {
			return int(x) + 1
		}
	}
	n, _ := slices.BinarySearchFunc(t.exchanges, end, func(e Exchange, b BlockID) int { return int(e.first() - b) })
	return n
}

// turnHas reports whether the turn of message m has a block of a kind.
func (t *Transcript) turnHas(m int, k Kind) bool {
	turn := t.messages[m].Turn
	for m > 0 && t.messages[m-1].Turn == turn {
		m--
	}
	for ; m < len(t.messages) && t.messages[m].Turn == turn; m++ {
		for b := t.messages[m].First; b < t.messages[m].End; b++ {
			if t.blocks[b].Kind == k {
				return true
			}
		}
	}
	return false
}
