package ladder

import (
	"cmp"
	"maps"
	"slices"

	"github.com/pare-llm/pare/transcript"
)

// minCleared is the shortest result that is worth a placeholder.
const minCleared = 400

// build lays out the chain for a unit, from the state that is reached.
func (l *Ladder) build(u Unit) {
	l.begin(u)
	l.goOn(u)
}

// goOn lays out the rungs behind those that drop nothing.
func (l *Ladder) goOn(u Unit) {
	if u != Turns {
		l.exchangeRung()
	}
	if u != Exchanges {
		l.turnRung()
	}
	if u == Tokens {
		l.shortenRung(atMost1K, true)
		l.squeezeRung()
	}
	l.chain.at = len(l.chain.steps)
}

// clearOnly lays out the rungs up to that of clearing results.
func (l *Ladder) clearOnly() {
	l.chain.begin(l.scene.blocks(), len(l.scene.exchanges()))
	l.rulesRung()
	l.clearRung()
	l.chain.at = len(l.chain.steps)
}

// begin lays out the rungs that drop nothing but what rules want to.
func (l *Ladder) begin(u Unit) {
	l.chain.begin(l.scene.blocks(), len(l.scene.exchanges()))
	l.rulesRung()
	if u == Tokens {
		l.clearRung()
		l.shortenRung(atMost16K, false)
		l.shortenRung(atMost4K, false)
		l.clearGuidance()
	}
	l.chain.at = len(l.chain.steps)
}

// gentle reports whether the state that the chain is at, in which nothing was dropped, is within a
// limit of tokens. It counts from the newest message on, which is kept longest, and no further
// than it must.
func (l *Ladder) gentle(most int) bool {
	n, all := l.meter.headTokens(), l.t.Messages()
	for i := l.scene.end - 1; i >= l.t.StartMessage() && n <= most; i-- {
		n += l.meter.frame
		for b := all[i].First; b < all[i].End; b++ {
			n += l.meter.of(b, l.chain.level[b])
		}
	}
	return n <= most
}

// squeezable reports whether what is pinned costs less the more of it is taken away, from where
// the rungs that drop nothing leave it on.
func (l *Ladder) squeezable() bool {
	falls := func(b transcript.BlockID) bool {
		v := l.gentlest(b)
		cost := l.meter.of(b, v)
		for _, to := range [...]level{atMost1K, isCleared} {
			if to <= v || to == atMost1K && !l.shortenable(b, to) || to == isCleared && !l.clearable(b, true) {
				continue
			}
			was := cost
			if cost = l.meter.of(b, to); cost > was {
				return false
			}
		}
		return true
	}
	atoms, blocks := l.t.Atoms(), transcript.BlockID(l.scene.blocks())
	for _, a := range l.scene.pinned.all {
		for _, b := range atoms[a].Blocks {
			if x := l.t.ExchangeOf(b); x != transcript.NoExchange && firstBlock(&l.t.Exchanges()[x]) < blocks && !falls(b) {
				return false
			}
		}
	}
	return true
}

// gentlest is the level of a pinned block behind the rungs that drop nothing.
func (l *Ladder) gentlest(b transcript.BlockID) level {
	v := l.chain.level[b]
	if x := l.t.ExchangeOf(b); x != transcript.NoExchange && l.guides(&l.t.Exchanges()[x]) {
		return v
	}
	if v < atMost4K && l.shortenable(b, atMost4K) {
		return atMost4K
	}
	return v
}

func (l *Ladder) rulesRung() {
	s, c := l.scene, l.chain
	for a, on := range s.votes.Drop {
		if on && l.t.Atoms()[a].First < s.end {
			c.drop(s, transcript.AtomID(a), Rules)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(s.votes.Edits)) {
		if int(id) < s.blocks() && !s.locked.on[l.t.AtomOf(id)] {
			c.raise(id, byRules, Rules)
		}
	}
	c.close(Rules)
}

// ordered sorts exchanges by the window's order; the oldest-first one is theirs, from the first on
// that may not be gone.
func (l *Ladder) ordered(all []transcript.Exchange) []transcript.Exchange {
	if l.oldestFirst() {
		return all[min(l.chain.dead, len(all)):]
	}
	order := sorted(len(all), func(i int) int { return l.rank(l.t.AtomOf(firstBlock(&all[i])), i, len(all)) })
	out := make([]transcript.Exchange, len(all))
	for i, j := range order {
		out[i] = all[j]
	}
	return out
}

func (l *Ladder) oldestFirst() bool { return !l.Window.MiddleOut && l.Window.Priority == nil }

// rank is where thing i of n comes in the order of going.
func (l *Ladder) rank(a transcript.AtomID, i, n int) int {
	if l.Window.MiddleOut {
		return max(2*i-n+1, n-1-2*i) // twice the distance from the middle
	}
	return l.Window.Priority(l.Request, a)
}

func sorted(n int, rank func(int) int) []int {
	ranks, order := make([]int, n), make([]int, n)
	for i := range n {
		ranks[i], order[i] = rank(i), i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(ranks[a], ranks[b]) })
	return order
}

func (l *Ladder) clearRung() {
	all := l.ordered(old(l.scene.exchanges(), l.Window.Recent))
	for i := range all {
		if !l.guides(&all[i]) {
			l.clearResults(&all[i], Clear)
		}
	}
}

// clearGuidance clears the results that the agent works by, after everything else was shortened.
func (l *Ladder) clearGuidance() {
	all := l.ordered(old(l.scene.exchanges(), l.Window.Recent))
	for i := range all {
		if l.guides(&all[i]) {
			l.clearResults(&all[i], Clear)
		}
	}
}

// guides reports whether the agent works by the text of an exchange.
func (l *Ladder) guides(x *transcript.Exchange) bool {
	g := l.scratch.outline.guides
	return g != nil && g[l.t.ExchangeOf(firstBlock(x))]
}

// clearResults clears the results of an exchange, a step each.
func (l *Ladder) clearResults(x *transcript.Exchange, by Rung) {
	for _, b := range x.Results {
		if l.clearable(b, by == Squeeze) {
			l.chain.raise(b, isCleared, by)
			l.chain.close(by)
		}
	}
}

func (l *Ladder) clearable(b transcript.BlockID, squeeze bool) bool {
	if v := l.chain.level[b]; !l.chain.facts[b].clears || v == byRules || v >= isCleared {
		return false
	}
	a := l.t.AtomOf(b)
	return !l.scene.locked.on[a] && l.scene.pinned.on[a] == squeeze
}

// shortenRung shortens results and arguments that are longer than the level: pinned
// ones too, as they stay, or only them.
func (l *Ladder) shortenRung(to level, pinnedOnly bool) {
	by := Shorten
	if pinnedOnly {
		by = Squeeze
	}
	all := l.scene.exchanges()
	shorten := func(x *transcript.Exchange) {
		if !pinnedOnly && l.guides(x) {
			return // it is cleared as a whole, after the others
		}
		if pinnedOnly && !l.scene.pinned.on[l.t.AtomOf(firstBlock(x))] {
			return // all blocks of an exchange are of one atom
		}
		for i := -1; i < len(x.Results); i++ { // the call, then its results
			b := x.Call
			if i >= 0 {
				b = x.Results[i]
			}
			if b != transcript.NoBlock && l.shortenable(b, to) {
				l.chain.raise(b, to, by)
				l.chain.close(by)
			}
		}
	}
	if l.oldestFirst() && to < atMost1K {
		long := l.long(len(all))
		first, _ := slices.BinarySearch(long, l.chain.dead)
		for _, k := range long[first:] {
			shorten(&all[k])
		}
		return
	}
	all = l.ordered(all)
	for k := range all {
		shorten(&all[k])
	}
}

func (l *Ladder) shortenable(b transcript.BlockID, to level) bool {
	if !l.longer(b, to) {
		return false
	}
	if v := l.chain.level[b]; v == byRules || v >= isCleared || l.scene.locked.on[l.t.AtomOf(b)] {
		return false
	}
	return l.malleable(b)
}

// longer reports whether a block is a call or result that is longer than a level leaves. What is a
// little longer would hardly become shorter.
func (l *Ladder) longer(b transcript.BlockID, than level) bool {
	blk := &l.t.Blocks()[b]
	return blk.Body.Len() > than.size()+than.size()/2 && blk.Body != blk.Span && (blk.Kind == transcript.Call || blk.Kind == transcript.Result)
}

// malleable reports whether less than all of a block can be said.
func (l *Ladder) malleable(b transcript.BlockID) bool {
	return wirex.Editable(l.Request, b) && !hasMedia(l.Request, b)
}

func (l *Ladder) squeezeRung() {
	all := l.scene.exchanges()
	for i := min(l.chain.dead, len(all)); i < len(all); i++ {
		l.clearResults(&all[i], Squeeze)
	}
}

// exchangeRung drops exchanges.
func (l *Ladder) exchangeRung() {
	calls, all := l.callsGone(), l.ordered(l.scene.exchanges())
	for i := range all {
		l.dropExchange(&all[i], calls)
	}
}

// dropExchange drops an exchange, a step. What the model said before it called goes with the last
// call of it in a row: without the call it promises something that never comes. Calls are those
// that are gone, by run.
func (l *Ladder) dropExchange(x *transcript.Exchange, calls []int) {
	c, o := l.chain, &l.scratch.outline
	mark := len(c.ops)
	l.dropOld(l.t.AtomOf(firstBlock(x)), DropExchanges)
	for i := mark; i < len(c.ops); i++ { // the list may grow on the way
		f := &c.facts[c.ops[i].block]
		if c.ops[i].to != isGone || !isCall(f.kind) {
			continue
		}
		run := o.runOf[f.message]
		if calls[run]++; calls[run] == o.runs[run].calls {
			l.dropSaid(o.runs[run].last)
		}
	}
	c.close(DropExchanges)
}

// callsGone counts the calls that are gone from each run, but those of which all exchanges are.
func (l *Ladder) callsGone() []int {
	o, all := &l.scratch.outline, l.t.Exchanges()[l.chain.dead:]
	calls := cleared(&l.scratch.calls, len(o.runs))
	if len(all) == 0 || l.chain.gone == 0 {
		return calls
	}
	first := int(l.chain.facts[firstBlock(&all[0])].message)
	for first > 0 && o.runOf[first-1] == o.runOf[first] {
		first--
	}
	for b := blocksOf(l.t, first); b < len(l.chain.level); b++ {
		if f := &l.chain.facts[b]; l.chain.level[b] == isGone && isCall(f.kind) {
			calls[o.runOf[f.message]]++
		}
	}
	return calls
}

// dropSaid drops what the model said in a row before its last call.
func (l *Ladder) dropSaid(before transcript.BlockID) {
	for b := before - 1; b >= 0; b-- {
		f := &l.chain.facts[b]
		if l.t.Messages()[f.message].Role != transcript.Assistant {
			return
		}
		if f.kind == transcript.Text || f.kind == transcript.Thinking {
			l.chain.drop(l.scene, l.t.AtomOf(b), DropExchanges)
		}
	}
}

// turnRung drops what is left of turns: those that end before the newest one, then
// what is not pinned in it.
func (l *Ladder) turnRung() {
	ends := l.turnEnds()
	n := len(ends) - 1
	if n < 0 {
		return
	}
	from := func(i int) transcript.AtomID {
		if i == 0 {
			return 0
		}
		return ends[i-1]
	}
	order := make([]int, 0, n+1)
	if l.oldestFirst() {
		for i := range n {
			order = append(order, i)
		}
	} else {
		order = append(order, sorted(n, func(i int) int { return l.turnRank(from(i), ends[i], i, n) })...)
	}
	for _, i := range append(order, n) {
		for a := from(i); a < ends[i]; a++ {
			l.dropOld(a, DropTurns)
		}
		l.chain.close(DropTurns)
	}
	l.dropPassed(DropTurns)
}

// turnEnds lists, for each turn of a person, how many atoms begin up to its end.
func (l *Ladder) turnEnds() (ends []transcript.AtomID) {
	atoms, a := l.t.Atoms(), 0
	for i := 1; i <= l.scene.end; i++ {
		if i == l.scene.end || l.speaks(i) && !l.speaks(i-1) {
			for a < len(atoms) && atoms[a].First < i {
				a++
			}
			ends = append(ends, transcript.AtomID(a))
		}
	}
	return ends
}

// turnRank ranks a turn by its highest atom.
func (l *Ladder) turnRank(from, to transcript.AtomID, i, n int) int {
	best := 0
	for a := from; a < to; a++ {
		if r := l.rank(a, i, n); a == from || r > best {
			best = r
		}
	}
	return best
}
