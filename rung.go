package pare

import (
	"cmp"
	"slices"

	"github.com/pare-llm/pare/transcript"
)

func (l *ladder) rulesRung() {
	for a, d := range l.votes {
		if d.Action == ActionDrop && l.t.Atoms()[a].First < l.end {
			l.drop(transcript.AtomID(a), RungRules)
		}
	}
	for id := range transcript.BlockID(l.blocks()) {
		if len(l.ruleEdits) == 0 {
			break
		}
		if _, ok := l.ruleEdits[id]; ok && !l.locked[l.t.AtomOf(id)] {
			l.raise(id, byRules, RungRules)
		}
	}
	l.close(RungRules)
}

// old lists the exchanges that are not among the recent ones.
func (l *ladder) old() []transcript.Exchange {
	all := l.exchanges()
	return all[:max(len(all)-l.w.recent(), 0)]
}

func firstBlock(x transcript.Exchange) transcript.BlockID {
	if x.Call != transcript.NoBlock {
		return x.Call
	}
	return x.Results[0]
}

// ordered sorts exchanges by the window's order; the oldest-first one is theirs.
func (l *ladder) ordered(all []transcript.Exchange) []transcript.Exchange {
	if l.w.Order == OldestFirst {
		return all
	}
	rank := func(i int) int { return l.rank(l.t.AtomOf(firstBlock(all[i])), i, len(all)) }
	order := sorted(len(all), rank)
	out := make([]transcript.Exchange, len(all))
	for i, j := range order {
		out[i] = all[j]
	}
	return out
}

// rank is where thing i of n comes in the order of going.
func (l *ladder) rank(a transcript.AtomID, i, n int) int {
	if l.w.Order == MiddleOut {
		return max(2*i-n+1, n-1-2*i) // twice the distance from the middle
	}
	return l.w.Priority(l.r, a)
}

func sorted(n int, rank func(int) int) []int {
	ranks, order := make([]int, n), make([]int, n)
	for i := range n {
		ranks[i], order[i] = rank(i), i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(ranks[a], ranks[b]) })
	return order
}

func (l *ladder) clearRung() {
	for _, x := range l.ordered(l.old()) {
		l.clearResults(x, RungClear)
	}
}

// clearResults clears the results of an exchange, a step each.
func (l *ladder) clearResults(x transcript.Exchange, by Rung) {
	for _, b := range x.Results {
		if l.clearable(b, by == RungSqueeze) {
			l.raise(b, isCleared, by)
			l.close(by)
		}
	}
}

func (l *ladder) clearable(b transcript.BlockID, squeeze bool) bool {
	a, blk := l.t.AtomOf(b), l.t.Block(b)
	if l.locked[a] || l.pinned[a] != squeeze || blk.Kind != transcript.Result || blk.Body == blk.Span {
		return false
	}
	if v := l.level[b]; v == byRules || v >= isCleared {
		return false
	}
	return blk.Body.Len() >= minCleared && l.r.Editable(b)
}

// shortenRung shortens results and arguments that are longer than the level: pinned
// ones too, as they stay, or only them.
func (l *ladder) shortenRung(to level, pinnedOnly bool) {
	by := RungShorten
	if pinnedOnly {
		by = RungSqueeze
	}
	for _, x := range l.ordered(l.exchanges()) {
		for i := -1; i < len(x.Results); i++ { // the call, then its results
			b := x.Call
			if i >= 0 {
				b = x.Results[i]
			}
			if b != transcript.NoBlock && l.shortenable(b, to) && (!pinnedOnly || l.pinned[l.t.AtomOf(b)]) {
				l.raise(b, to, by)
				l.close(by)
			}
		}
	}
}

func (l *ladder) shortenable(b transcript.BlockID, to level) bool {
	blk := l.t.Block(b)
	// What is a little longer would hardly become shorter.
	if blk.Body.Len() <= to.size()+to.size()/2 || blk.Body == blk.Span || blk.Kind != transcript.Call && blk.Kind != transcript.Result {
		return false
	}
	if v := l.level[b]; v == byRules || v >= isCleared || l.locked[l.t.AtomOf(b)] {
		return false
	}
	return l.r.Editable(b) && !hasMedia(l.r, b)
}

func (l *ladder) squeezeRung() {
	for _, x := range l.exchanges() {
		l.clearResults(x, RungSqueeze)
	}
}

// exchangeRung drops exchanges. What the model said before it called goes with the
// last call of its turn: without the call it promises something that never comes.
func (l *ladder) exchangeRung() {
	callsLeft, lastCall := l.callsByTurn()
	for _, x := range l.ordered(l.exchanges()) {
		b := firstBlock(x)
		a := l.t.AtomOf(b)
		if l.pinned[a] || l.level[b] == isGone {
			continue
		}
		mark := len(l.ops)
		l.drop(a, RungExchanges)
		for i := mark; i < len(l.ops); i++ { // the list may grow on the way
			o := l.ops[i]
			blk := l.t.Block(o.block)
			if o.to != isGone || blk.Kind != transcript.Call && blk.Kind != transcript.ServerCall {
				continue
			}
			turn := l.t.Messages()[blk.Message].Turn
			if callsLeft[turn]--; callsLeft[turn] == 0 {
				l.dropSaid(turn, lastCall[turn])
			}
		}
		l.close(RungExchanges)
	}
}

// callsByTurn counts the calls that are left in each turn, and finds the last.
func (l *ladder) callsByTurn() (left []int, last []transcript.BlockID) {
	left, last = make([]int, l.t.Turns()), make([]transcript.BlockID, l.t.Turns())
	for b, blk := range l.t.Blocks() {
		if blk.Kind != transcript.Call && blk.Kind != transcript.ServerCall {
			continue
		}
		turn := l.t.Messages()[blk.Message].Turn
		last[turn] = transcript.BlockID(b)
		if l.level[b] != isGone {
			left[turn]++
		}
	}
	return left, last
}

// dropSaid drops what the model said in a turn before its last call.
func (l *ladder) dropSaid(turn int, before transcript.BlockID) {
	for b := before - 1; b >= 0; b-- {
		blk := l.t.Block(b)
		if m := l.t.Messages()[blk.Message]; m.Turn != turn || m.Role != transcript.Assistant {
			return
		}
		if blk.Kind == transcript.Text || blk.Kind == transcript.Thinking {
			l.drop(l.t.AtomOf(b), RungExchanges)
		}
	}
}

// turnRung drops what is left of turns: those that end before the newest one, then
// what is not pinned in it.
func (l *ladder) turnRung() {
	var starts []int
	for i, m := range l.t.Messages()[:l.end] {
		if i == 0 || m.Begins && !l.t.Messages()[i-1].Begins {
			starts = append(starts, i)
		}
	}
	if len(starts) == 0 {
		return
	}
	of := make([][]transcript.AtomID, len(starts))
	at := 0
	for a, atom := range l.t.Atoms() {
		if atom.First >= l.end {
			break
		}
		for at+1 < len(starts) && starts[at+1] <= atom.First {
			at++
		}
		of[at] = append(of[at], transcript.AtomID(a))
	}
	n := len(starts) - 1
	order := make([]int, 0, n+1)
	if l.w.Order == OldestFirst {
		for i := range n {
			order = append(order, i)
		}
	} else {
		order = append(order, sorted(n, func(i int) int { return l.turnRank(of[i], i, n) })...)
	}
	for _, i := range append(order, n) {
		for _, a := range of[i] {
			l.drop(a, RungTurns)
		}
		l.close(RungTurns)
	}
}

// turnRank ranks a turn by its highest atom.
func (l *ladder) turnRank(atoms []transcript.AtomID, i, n int) int {
	best := 0
	for j, a := range atoms {
		if r := l.rank(a, i, n); j == 0 || r > best {
			best = r
		}
	}
	return best
}
