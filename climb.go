package pare

import (
	"math"
	"slices"

	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// A Climb is what one rung did.
type Climb struct {
	Rung    Rung `json:"rung"`
	Changes int  `json:"changes"` // blocks cleared, shortened or dropped
}

// meet finds the first state of the chain that is within a limit and still within
// those that were met before.
//
// What a state costs is known for sure only when it has been carried out, finished
// and measured: fillers may be added, stale thinking may go. So a sum over blocks,
// which is cheap and falls along the chain, says where to begin, and measuring says
// where to stop. A limit works if it is at least sum and measure of some state, which
// makes the least one exact.
func (l *ladder) meet(m limit, earlier []limit) (*Plan, error) {
	if m.unit == UnitTokens && l.w.Low > 0 {
		if err := l.replay(m.most); err != nil {
			return nil, err
		}
	}
	if plan, err := l.stay(m, earlier); plan != nil || err != nil {
		return plan, err
	}
	l.build(m.unit)
	g := newGauge(l, m.unit)
	n := len(l.steps)
	tiny := 0
	if !l.w.AllowTiny {
		tiny = l.smallest(m)
	}
	if g.at(n) <= m.most && tiny <= m.most {
		tries := 0
		for k := g.first(m.most); k <= n; k++ {
			if !g.falls(k) {
				continue
			}
			// Sums and measures hardly ever differ. Should they do so everywhere, time must
			// not grow with the square of the history.
			if tries++; tries > 16 {
				k = min(k+1<<min(tries-16, 30), n)
			}
			plan, err := l.attemptAt(k)
			if err != nil {
				return nil, err
			}
			if l.withReserve(m.unit, l.measureOf(plan, m.unit, m.most)) <= m.most && l.all(plan.out, earlier) {
				return plan, nil
			}
		}
	}
	if l.trying {
		return nil, &WindowTooSmall{m.unit, m.most, 0}
	}
	least, err := l.minimum(g, m, earlier)
	if err != nil {
		return nil, err
	}
	least = max(least, tiny)
	if l.w.Low > 0 && m.unit == UnitTokens {
		least = l.stableMinimum(m, least)
	}
	return nil, &WindowTooSmall{m.unit, m.most, least}
}

// stay returns the state that the ladder is at if that is within the limit.
func (l *ladder) stay(m limit, earlier []limit) (*Plan, error) {
	rest := l.atRest()
	if rest && !l.within(l.r, m) {
		return nil, nil
	}
	plan, err := l.attempt()
	if err != nil || rest && len(earlier) == 0 {
		return plan, err
	}
	if l.withReserve(m.unit, l.measureOf(plan, m.unit, m.most)) > m.most || !l.all(plan.out, earlier) {
		return nil, nil
	}
	return plan, nil
}

// minimum is the least limit that works: from the harshest state on, as long as a
// gentler one could need less.
func (l *ladder) minimum(g *gauge, m limit, earlier []limit) (int, error) {
	least := math.MaxInt
	for k := len(l.steps); k >= 0 && g.at(k) < least; k-- {
		if !g.falls(k) {
			continue
		}
		plan, err := l.attemptAt(k)
		if err != nil {
			return 0, err
		}
		if l.all(plan.out, earlier) {
			least = min(least, max(g.at(k), l.withReserve(m.unit, l.measureOf(plan, m.unit, math.MaxInt))))
		}
	}
	// Or the state that the chain begins with, which need not be below a later sum.
	l.move(0)
	if l.atRest() {
		if n := l.measure(l.r, m.unit, least); l.all(l.r, earlier) {
			least = min(least, n)
		}
		return least, nil
	}
	plan, err := l.attempt()
	if err != nil {
		return 0, err
	}
	if n := l.withReserve(m.unit, l.measureOf(plan, m.unit, least)); l.all(plan.out, earlier) {
		least = min(least, n)
	}
	return least, nil
}

// stableMinimum is the least limit with which a stable window works. What was decided
// at earlier requests depends on the limit, so it has to be tried.
func (l *ladder) stableMinimum(m limit, guess int) int {
	works := func(n int) bool {
		w := l.w
		w.Tokens = n
		if w.valid(l.o) != nil {
			return false
		}
		try := newLadder(l.plan, w, l.o)
		try.reserve, try.trying = l.reserve, true
		_, err := try.fit()
		return err == nil
	}
	fails, fits := max(m.most, l.w.Low), max(guess, m.most+1, l.w.Low+1)
	for !works(fits) && fits < math.MaxInt/4 {
		fails, fits = fits, 2*fits
	}
	for fits-fails > 1 {
		if mid := fails + (fits-fails)/2; works(mid) {
			fits = mid
		} else {
			fails = mid
		}
	}
	return fits
}

// atRest reports whether nothing has been done yet.
func (l *ladder) atRest() bool {
	return !slices.ContainsFunc(l.level, func(v level) bool { return v != asIs })
}

func (l *ladder) all(r *wire.Request, limits []limit) bool {
	return !slices.ContainsFunc(limits, func(m limit) bool { return !l.within(r, m) })
}

func (l *ladder) within(r *wire.Request, m limit) bool { return l.measure(r, m.unit, m.most) <= m.most }

// measure counts a request; it may stop once it is above enough.
func (l *ladder) measure(r *wire.Request, u Unit, enough int) int {
	t := r.Transcript()
	switch u {
	case UnitMessages:
		return len(t.Messages())
	case UnitExchanges:
		return len(t.Exchanges())
	case UnitTurns:
		n := 0
		for _, m := range t.Messages() {
			if begins(m) {
				n++
			}
		}
		return n
	}
	n := l.headTokens()
	for i := len(t.Messages()) - 1; i >= 0 && n <= enough; i-- {
		if r != l.r {
			n += r.MessageTokens(l.o.Counter, i)
			continue
		}
		n += l.frame
		for b := t.Messages()[i].First; b < t.Messages()[i].End; b++ {
			n += l.cost(b, asIs)
		}
	}
	return n
}

// withReserve adds the room for a summary, if the state that the ladder is at needs
// one.
func (l *ladder) withReserve(u Unit, n int) int {
	if u == UnitTokens && l.losses > 0 {
		return n + l.reserve
	}
	return n
}

// measureOf measures the outcome of an attempt. If finishing it had nothing to do, its
// blocks are those that the ladder has left, and only edited ones need to be counted.
func (l *ladder) measureOf(p *Plan, u Unit, enough int) int {
	t := p.out.Transcript()
	if u != UnitTokens || !p.asRewritten || l.level == nil {
		return l.measure(p.out, u, enough)
	}
	n, at := l.headTokens()+len(t.Messages())*l.frame, transcript.BlockID(0)
	for b, v := range l.level {
		switch {
		case v == isGone:
			continue
		case int(at) >= len(t.Blocks()):
			return l.measure(p.out, u, enough)
		case v == asIs:
			n += l.cost(transcript.BlockID(b), asIs)
		default:
			n += p.out.BlockTokens(l.o.Counter, at)
		}
		at++
	}
	if int(at) != len(t.Blocks()) {
		return l.measure(p.out, u, enough)
	}
	return n
}

// begins reports whether a person speaks in a message.
func begins(m transcript.Message) bool { return m.Begins && m.Role != transcript.System }

// headTokens counts what no step ever touches.
func (l *ladder) headTokens() int {
	if l.head < 0 {
		l.head = l.r.HeadTokens(l.o.Counter)
	}
	return l.head
}

func (l *ladder) attemptAt(k int) (*Plan, error) {
	l.move(k)
	return l.attempt()
}

// attempt carries out the state that the ladder is at.
func (l *ladder) attempt() (*Plan, error) {
	p := *l.plan
	p.changes = slices.Clone(p.changes)
	p.batches = l.batches
	edits := l.decide(&p)
	if err := p.carryOut(edits, l.o); err != nil {
		return nil, err
	}
	if err := p.finish(l.o); err != nil {
		return nil, err
	}
	return &p, nil
}

// decide writes the state down as one decision per atom.
func (l *ladder) decide(p *Plan) (edits []blockEdit) {
	p.decisions = make([]Decision, len(l.t.Atoms()))
	rungs := make(map[Rung]int)
	for a := range p.decisions {
		d := &p.decisions[a]
		d.Atom = transcript.AtomID(a)
		if l.level == nil {
			continue
		}
		d.Protected = l.locked[a]
		for _, b := range l.t.Atoms()[a].Blocks {
			v, by := l.level[b], l.by[b]
			if v == asIs {
				continue
			}
			rungs[by]++
			reasons := l.reasons(transcript.AtomID(a), by)
			if v == isGone {
				d.Action, d.Reasons = ActionDrop, reasons
				continue
			}
			d.Action, d.Reasons = ActionEdit, append(d.Reasons, reasons...)
			edits = append(edits, blockEdit{wire.BlockEdit{Block: b, Text: l.text(b, v)}, reasons[0]})
		}
	}
	for r := RungRules; r <= RungSqueeze; r++ {
		if rungs[r] > 0 {
			p.rungs = append(p.rungs, Climb{r, rungs[r]})
		}
	}
	slices.SortFunc(edits, func(a, b blockEdit) int { return int(a.Block - b.Block) })
	return edits
}

func (l *ladder) reasons(a transcript.AtomID, by Rung) []Reason {
	if by == RungRules && int(a) < len(l.votes) && len(l.votes[a].Reasons) > 0 {
		return l.votes[a].Reasons
	}
	return []Reason{{by.String(), by.why(), a}}
}

// text is what a block says at a level between all and nothing.
func (l *ladder) text(b transcript.BlockID, v level) string {
	switch v {
	case byRules:
		return l.ruleEdits[b]
	case isCleared:
		return l.cleared(b)
	}
	return l.shortened(b, v.size())
}

// cost is what a block costs at a level, in tokens.
func (l *ladder) cost(b transcript.BlockID, v level) int {
	c := &l.costs[b]
	switch {
	case v == isGone:
		return 0
	case v == asIs && !c.counted:
		c.asIs, c.counted = l.r.BlockTokens(l.o.Counter, b), true
	case v != asIs && c.level != v:
		c.edited, c.level = l.r.SaidTokens(l.o.Counter, b, l.text(b, v)), v
	}
	if v == asIs {
		return c.asIs
	}
	return c.edited
}

// A cost is what a block was found to cost: as it is, and at the level asked for last.
type cost struct {
	asIs, edited int
	level        level
	counted      bool
}

// smallest is what the smallest exchange of the history needs, at its shortest; it
// may be any number up to the limit if one is that small.
func (l *ladder) smallest(m limit) int {
	least := 0
	for _, x := range l.t.Exchanges() {
		n := 1
		switch m.unit {
		case UnitMessages:
			a := l.t.Atoms()[l.t.AtomOf(firstBlock(x))]
			n = min(a.Last-a.First+1, 2)
		case UnitTokens:
			n = l.shortest(x)
		}
		if least == 0 || n < least {
			least = n
		}
		if least <= m.most {
			return least
		}
	}
	return least
}

func (l *ladder) shortest(x transcript.Exchange) int {
	n := 0
	for _, b := range append([]transcript.BlockID{x.Call}, x.Results...) {
		if b == transcript.NoBlock {
			continue
		}
		v := asIs
		switch blk := l.t.Block(b); {
		case !l.r.Editable(b) || blk.Body == blk.Span || l.locked[l.t.AtomOf(b)]:
		case blk.Kind == transcript.Result && blk.Body.Len() >= minCleared:
			v = isCleared
		case blk.Kind == transcript.Call && blk.Body.Len() > 3*atMost1K.size()/2:
			v = atMost1K
		}
		n += l.frame + l.cost(b, v)
	}
	return n
}

// A gauge knows, for each state of a chain, the sum of what is left: exactly what it
// would measure if carrying it out added nothing and took nothing more. The sums fall
// along the chain. They are found from its end on, so that what does not fit is never
// counted.
type gauge struct {
	l     *ladder
	unit  Unit
	bare  int   // the sum of the last state that was looked at, without room for a summary
	lost  int   // how much it has lost that a summary should tell
	sums  []int // by state, from the last one on
	alive []int // by message: blocks that are left
	heard []int // by message: blocks of a person that are left
}

func newGauge(l *ladder, u Unit) *gauge {
	g := &gauge{l: l, unit: u, alive: make([]int, len(l.t.Messages())), heard: make([]int, len(l.t.Messages()))}
	sum := 0
	if u == UnitTokens {
		sum = l.headTokens()
	}
	for i, m := range l.t.Messages()[:l.end] {
		if m.First == m.End {
			sum += g.born(i, true) // nothing in it that could go
		}
	}
	for b := range transcript.BlockID(l.blocks()) {
		if v := l.level[b]; v != isGone {
			sum += g.back(b, isGone, v)
		}
	}
	if u == UnitExchanges {
		for _, x := range l.exchanges() {
			if l.level[firstBlock(x)] != isGone {
				sum++
			}
		}
	}
	g.bare, g.lost = sum, l.losses
	g.sums = []int{sum + g.reserve()}
	return g
}

// reserve is the room that a summary takes in the state that was looked at last.
func (g *gauge) reserve() int {
	if g.unit == UnitTokens && g.lost > 0 {
		return g.l.reserve
	}
	return 0
}

// at returns the sum of state k.
func (g *gauge) at(k int) int {
	n := len(g.l.steps)
	for len(g.sums) <= n-k {
		s := g.l.steps[n-len(g.sums)]
		for _, o := range g.l.ops[s.from:s.to] {
			g.bare += g.back(o.block, o.to, o.was)
			if o.to == isGone && o.by.loses() {
				g.lost--
			}
			if x := g.l.t.ExchangeOf(o.block); g.unit == UnitExchanges && o.to == isGone && x != transcript.NoExchange && firstBlock(g.l.t.Exchanges()[x]) == o.block {
				g.bare++
			}
		}
		g.sums = append(g.sums, max(g.bare+g.reserve(), g.sums[len(g.sums)-1]))
	}
	return g.sums[n-k]
}

// first returns the first state whose sum is within a limit; the last one's is.
func (g *gauge) first(most int) int {
	k := len(g.l.steps)
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
	blk := g.l.t.Block(b)
	if g.unit == UnitTokens {
		sum = g.l.cost(b, to) - g.l.cost(b, from)
	}
	if from != isGone {
		return sum
	}
	if g.alive[blk.Message]++; g.alive[blk.Message] == 1 {
		sum += g.born(blk.Message, false)
	}
	if spoken := blk.Kind != transcript.Result && blk.Kind != transcript.ServerResult; spoken {
		if g.heard[blk.Message]++; g.heard[blk.Message] == 1 && g.unit == UnitTurns && begins(g.l.t.Messages()[blk.Message]) {
			sum++
		}
	}
	return sum
}

// born is what a message adds that is there again.
func (g *gauge) born(i int, empty bool) int {
	switch {
	case g.unit == UnitMessages:
		return 1
	case g.unit == UnitTokens:
		return g.l.frame
	case g.unit == UnitTurns && empty && begins(g.l.t.Messages()[i]):
		return 1
	}
	return 0
}
