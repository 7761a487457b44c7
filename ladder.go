package pare

import (
	"bytes"
	"cmp"
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

// standAt looks at the history as it was when it had so many messages: lets the
// rules vote and finds what is pinned.
func (l *ladder) standAt(end int) error {
	l.end = end
	demands, err := l.poll()
	if err != nil {
		return err
	}
	l.bind(demands)
	l.pin()
	l.stood = end
	return nil
}

// bind collects what each atom needs, and what needs it.
func (l *ladder) bind(demands [][2]transcript.AtomID) {
	atoms := l.t.Atoms()
	l.needs, l.neededBy = nil, nil
	need := func(a, n transcript.AtomID) {
		if l.needs == nil {
			l.needs, l.neededBy = make([][]transcript.AtomID, len(atoms)), make([][]transcript.AtomID, len(atoms))
		}
		l.needs[a], l.neededBy[n] = append(l.needs[a], n), append(l.neededBy[n], a)
	}
	for a := range atoms {
		for _, n := range atoms[a].Needs {
			need(transcript.AtomID(a), n)
		}
	}
	for _, d := range demands {
		need(d[0], d[1])
	}
}

// blocks is how many blocks the history has.
func (l *ladder) blocks() int {
	if l.end == 0 {
		return 0
	}
	return int(l.t.Messages()[l.end-1].End)
}

// exchanges are those of the history.
func (l *ladder) exchanges() []transcript.Exchange {
	all := l.t.Exchanges()
	n := len(all)
	for n > 0 && int(firstBlock(all[n-1])) >= l.blocks() {
		n--
	}
	return all[:n]
}

// poll lets the rules vote on the history. Blocks and atoms of its beginning are
// numbered as in the whole.
func (l *ladder) poll() (demands [][2]transcript.AtomID, err error) {
	if l.w.Rules == nil {
		return nil, nil
	}
	r := l.r
	if l.end < len(l.t.Messages()) {
		var later []transcript.BlockID
		for b := l.blocks(); b < len(l.t.Blocks()); b++ {
			later = append(later, transcript.BlockID(b))
		}
		if r, _, err = l.r.Rewrite(later, nil); err != nil {
			return nil, err
		}
	}
	v, err := l.w.Rules.poll(r)
	if err != nil {
		return nil, err
	}
	decisions, edits := settle(r, v)
	l.votes = decisions
	before := l.ruleEdits
	l.ruleEdits = make(map[transcript.BlockID]string, len(edits))
	for _, e := range edits {
		l.ruleEdits[e.Block] = e.Text
	}
	for b, text := range before {
		if l.level[b] == byRules { // what was said once is said again
			l.ruleEdits[b] = text
		}
	}
	return v.needs, nil
}

// pin marks what stays.
func (l *ladder) pin() {
	clear(l.pinned)
	clear(l.locked)
	all := l.t.Messages()[:l.end]
	if len(all) == 0 {
		return
	}
	hold := func(b transcript.BlockID) { l.pinned[l.t.AtomOf(b)] = true }
	spoken := func(m transcript.Message) { // not the results that stand beside
		for b := m.First; b < m.End; b++ {
			if k := l.t.Block(b).Kind; k != transcript.Result && k != transcript.ServerResult {
				hold(b)
			}
		}
	}
	first, last := -1, -1
	for i, m := range all {
		if m.Role == transcript.System && l.w.Free&PinSystem == 0 {
			spoken(m)
		}
		if m.Role == transcript.User && l.tells(m) {
			spoken(m) // a summary stands for what is gone already
		}
		if m.Begins && m.Role != transcript.System {
			if first < 0 {
				first = i
			}
			last = i
		}
	}
	if first >= 0 && l.w.Free&PinTask == 0 {
		spoken(all[first])
	}
	if n := l.blocks(); n > 0 {
		hold(transcript.BlockID(n - 1)) // a history never becomes empty
	}
	for a, atom := range l.t.Atoms() {
		if atom.Last >= l.end && atom.First < l.end { // not all of it is there yet
			l.pinned[a], l.locked[a] = true, true
		}
	}
	if l.w.Free&PinNewest == 0 {
		if last >= 0 {
			spoken(all[last])
		}
		for i := len(all) - 1; i >= 0 && all[i].Turn == all[len(all)-1].Turn; i-- {
			for b := all[i].First; b < all[i].End; b++ {
				hold(b)
			}
		}
	}
	for i := max(len(all)-l.w.MinKeep, 0); i < len(all); i++ {
		for b := all[i].First; b < all[i].End; b++ {
			hold(b)
			l.locked[l.t.AtomOf(b)] = true
		}
	}
	for a, d := range l.votes {
		if d.Protected && a < len(l.pinned) {
			l.pinned[a], l.locked[a] = true, true
		}
	}
	l.spread(l.pinned)
	l.spread(l.locked)
}

// tells reports whether a message holds a summary of an earlier compaction.
func (l *ladder) tells(m transcript.Message) bool {
	for b := m.First; b < m.End; b++ {
		if blk := l.t.Block(b); blk.Kind == transcript.Text && bytes.Contains(l.t.Bytes(blk.Body), []byte(SummaryBegin)) {
			return true
		}
	}
	return false
}

// spread marks what marked atoms need.
func (l *ladder) spread(marked []bool) {
	if l.needs == nil {
		return
	}
	var queue []transcript.AtomID
	for a, on := range marked {
		if on && len(l.needs[a]) > 0 {
			queue = append(queue, transcript.AtomID(a))
		}
	}
	for len(queue) > 0 {
		a := queue[0]
		queue = queue[1:]
		for _, n := range l.needs[a] {
			if !marked[n] {
				marked[n] = true
				queue = append(queue, n)
			}
		}
	}
}

// build lays out the chain for a unit, from the state that is reached.
func (l *ladder) build(u Unit) {
	l.steps, l.ops = l.steps[:0], l.ops[:0]
	if cap(l.ops) == 0 {
		l.ops, l.steps = make([]op, 0, l.blocks()+l.blocks()/4), make([]step, 0, 2*len(l.exchanges())+16)
	}
	l.rulesRung()
	if u == Tokens {
		l.clearRung()
		l.shortenRung(atMost16K, false)
		l.shortenRung(atMost4K, false)
	}
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

func (l *ladder) rulesRung() {
	for a, d := range l.votes {
		if d.Action == Drop && l.t.Atoms()[a].First < l.end {
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
