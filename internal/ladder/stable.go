package ladder

import (
	"math"
	"slices"

	"github.com/pare-llm/pare/transcript"
)

// A Batch is one time that a stable window was trimmed.
type Batch struct {
	Messages      int // the history had so many then
	Before, After int // tokens
	Kept          int // tokens behind the first change, written to the cache again
	PaysAfter     int // further requests until that has paid; zero without terms
	Forced        bool
	Cold          bool // the cache had expired

	gone []transcript.BlockID
}

// replay goes through the requests that led to this one and trims whenever a process
// that had been there would have. The model spoke in between, so a request ended
// wherever its turn begins.
func (l *Ladder) replay(high int) error {
	s := &past{l: l, high: high, sum: l.meter.headTokens()}
	all := l.t.Messages()
	for i := range all {
		if i%64 == 0 && l.Stop != nil {
			if err := l.Stop(); err != nil {
				return err
			}
		}
		_, cold := slices.BinarySearch(l.Window.Cold, i)
		if cold || Begins(all, i) {
			if err := s.request(i); err != nil {
				return err
			}
		}
		s.add(i)
	}
	if err := s.request(len(all)); err != nil {
		return err
	}
	if l.scene.end != len(all) {
		return l.standAt(len(all))
	}
	return nil
}

// A past is what is known of the requests so far.
type past struct {
	l        *Ladder
	high     int
	sum      int   // tokens of the history as it would be sent now
	costs    []int // by message, as it came
	requests int
	end      int // messages of the request that is looked at
	next     int // the request at which rules for cold moments are asked next

	old      int // exchanges that are no longer recent
	gain     int // what clearing the results of those since the last batch would save
	foremost int // the first message that would change
}

// add appends a message. What it needs and is gone comes back: the model may call a tool
// whose declaration was dropped when nobody called it.
func (s *past) add(i int) {
	c, m := s.l.chain, &s.l.t.Messages()[i]
	if s.l.t.HasNeeds() {
		for b := m.First; b < m.End; b++ {
			if a := s.l.t.AtomOf(b); c.level[b] != isGone && len(s.l.t.Atoms()[a].Needs) > 0 {
				s.revive(a)
			}
		}
	}
	cost := s.cost(i)
	s.costs = append(s.costs, cost)
	s.sum += cost
}

// revive brings back what an atom needs.
func (s *past) revive(a transcript.AtomID) {
	atoms := s.l.t.Atoms()
	for _, n := range atoms[a].Needs {
		if s.l.chain.level[atoms[n].Blocks[0]] != isGone {
			continue
		}
		for _, b := range atoms[n].Blocks {
			s.l.chain.set(b, asIs, 0)
		}
		for i := atoms[n].First; i <= min(atoms[n].Last, len(s.costs)-1); i++ {
			was := s.costs[i]
			s.costs[i] = s.cost(i)
			s.sum += s.costs[i] - was
		}
		s.revive(n)
	}
}

// cost is what a message costs as it would be sent now.
func (s *past) cost(i int) int {
	c, m := s.l.chain, &s.l.t.Messages()[i]
	cost, left := 0, m.First == m.End
	for b := m.First; b < m.End; b++ {
		cost += s.l.meter.of(b, c.level[b])
		left = left || c.level[b] != isGone // a limit met before may have left nothing
	}
	if left && i >= s.l.t.StartMessage() {
		cost += s.l.meter.frame
	}
	return cost
}

// request trims the history of a request if it must be, or if that pays.
func (s *past) request(end int) error {
	s.requests++
	s.end = end
	must := s.sum > s.high
	if s.l.VoteCold != nil && (s.cold() || must && s.requests >= s.next || s.asksColdRules()) {
		if err := s.trimBy(end, must); err != nil {
			return err
		}
	}
	if must && s.sum > s.l.Window.Low {
		err := s.trim(end, true)
		if 2*s.sum > s.high+s.l.Window.Low { // it is full again soon: they read the whole history
			s.later()
		}
		return err
	}
	if s.l.Window.PaysAfter == nil || s.l.VoteCold != nil {
		return nil
	}
	s.age(end)
	if s.l.Window.Cold != nil {
		// On a cold cache everything is written anyway; on a hot one that can wait.
		if s.cold() && s.gain > 0 {
			return s.trim(end, false)
		}
		return nil
	}
	// Nobody knows how many requests will follow. A quarter of those so far is what paid
	// on real transcripts; as many as so far did not always.
	if s.gain > 0 && s.l.Window.PaysAfter(s.gain, s.kept(s.foremost)-s.gain) <= s.requests/4 {
		return s.trim(end, false)
	}
	return nil
}

// cold reports whether the cache had expired before the request.
func (s *past) cold() bool {
	_, found := slices.BinarySearch(s.l.Window.Cold, s.end)
	return found
}

// Requests is how many requests led to a history, the one that sends it included: the model
// spoke in between.
func Requests(t *transcript.Transcript) int { return len(Ends(t)) }

// Ends says, of each request that led to a history, how many messages it had.
func Ends(t *transcript.Transcript) (ends []int) {
	all := t.Messages()
	for i := range all {
		if Begins(all, i) {
			ends = append(ends, i)
		}
	}
	return append(ends, len(all))
}

// Begins reports whether the model's turn begins with a message: a request ended in front of
// it.
func Begins(all []transcript.Message, i int) bool {
	return i > 0 && all[i].Role == transcript.Assistant && all[i-1].Turn != all[i].Turn
}

// age takes in the exchanges that are no longer recent.
func (s *past) age(end int) {
	old := old(exchangesOf(s.l.t, end), s.l.Window.Recent)
	for ; s.old < len(old); s.old++ {
		if s.l.guides(&old[s.old]) {
			continue // it goes only where it must
		}
		for _, b := range old[s.old].Results {
			if !s.l.clearable(b, false) {
				continue
			}
			if s.gain == 0 {
				s.foremost = s.l.t.Block(b).Message
			}
			s.gain += max(s.l.meter.of(b, asIs)-s.l.meter.of(b, isCleared), 0)
		}
	}
}

// kept is what stands from a message on.
func (s *past) kept(from int) int {
	n := 0
	for i := len(s.costs) - 1; i >= from; i-- {
		n += s.costs[i]
	}
	return n
}

// asksColdRules reports whether the rules for cold moments are asked at a warm one. They read the whole
// history, so the requests at which they are asked lie further and further apart.
func (s *past) asksColdRules() bool {
	if s.l.Window.PaysAfter == nil || s.requests < s.next {
		return false
	}
	s.later()
	return true
}

// later lets the rules for cold moments rest for a while.
func (s *past) later() { s.next = s.requests + max(s.requests/8, 4) }

// trimBy does what the rules for cold moments want, and nothing else: on a cold cache, or where the
// history must be trimmed, all is written anyway; else it has to pay.
func (s *past) trimBy(end int, must bool) error {
	l := s.l
	l.freezing = true
	err := l.standAt(end)
	l.freezing = false
	if err != nil {
		return err
	}
	l.chain.begin(l.scene.blocks(), len(l.scene.exchanges()))
	l.rulesRung()
	l.chain.at = len(l.chain.steps)
	g, k := newGauge(l, Tokens), len(l.chain.steps)
	if !must && !s.cold() && !s.pays(g.at(k), end) {
		k = 0
	}
	s.carry(end, g, k, must)
	return nil
}

// pays reports whether the steps under way, which leave so many tokens, pay within a quarter of
// the requests so far.
func (s *past) pays(after, end int) bool {
	from, removed := end, s.sum-after
	for _, o := range s.l.chain.ops {
		from = min(from, s.l.t.Block(o.block).Message)
	}
	return removed > 0 && s.l.Window.PaysAfter(removed, max(s.kept(from)-removed, 0)) <= s.requests/4
}

// trim trims to the low mark, but leaves a quarter of the room that what is pinned does
// not take, and squeezes nothing unless it must.
func (s *past) trim(end int, forced bool) error {
	l := s.l
	if err := l.standAt(end); err != nil {
		return err
	}
	c := l.chain
	if forced {
		l.build(Tokens)
	} else {
		l.clearOnly()
	}
	g, k := newGauge(l, Tokens), len(c.steps)
	if forced {
		k = s.target(g)
	}
	s.carry(end, g, k, forced)
	return nil
}

// carry goes to a state and enters what that did.
func (s *past) carry(end int, g *gauge, k int, forced bool) {
	l, c := s.l, s.l.chain
	c.move(k)
	before := s.sum
	s.sum = g.at(k)
	from := end
	b := Batch{Messages: end, Before: before, After: s.sum, Forced: forced, Cold: s.cold()}
	for _, o := range c.ops[:c.opsOf(k)] {
		from = min(from, l.t.Block(o.block).Message)
		if o.to == isGone {
			b.gone = append(b.gone, o.block)
		}
	}
	s.enter(b, from)
	s.recount(from, end)
}

// enter enters a batch, of which the first change is in a message.
func (s *past) enter(b Batch, from int) {
	b.Kept = max(s.kept(from)-(b.Before-b.After), 0)
	if s.l.Window.PaysAfter != nil {
		b.PaysAfter = s.l.Window.PaysAfter(b.Before-b.After, b.Kept)
	}
	if b.Before > b.After {
		s.l.batches = append(s.l.batches, b)
	}
}

// target is the state that a trim goes to which is forced.
func (s *past) target(g *gauge) int {
	steps := s.l.chain.steps
	gentle := slices.IndexFunc(steps, func(x step) bool { return x.rung == Squeeze })
	if gentle < 0 {
		gentle = len(steps)
	}
	if least := g.at(gentle); least <= s.high {
		low, spare := s.l.Window.Low, (s.high-least)/4
		if s.cold() { // it costs no more to go deeper, and lasts longer
			low, spare = low*3/4, spare*3/4
		}
		return g.first(max(low, least+spare))
	}
	return g.first(max(s.high, g.at(len(steps))))
}

// recount brings the costs up to date with what a batch did, of which the first change is in a
// message.
func (s *past) recount(from, end int) {
	s.gain = 0
	s.costs, s.sum = s.costs[:from], s.l.meter.headTokens()
	for _, cost := range s.costs {
		s.sum += cost
	}
	for i := from; i < end; i++ {
		s.add(i)
	}
	s.sum = s.l.withReserve(Tokens, s.sum)
}

// stableMinimum is the least limit with which a stable window works. What was decided
// at earlier requests depends on the limit, so it has to be tried.
func (l *Ladder) stableMinimum(m Limit, guess int) int {
	works := func(n int) bool {
		s := l.Setting
		s.Mark, s.Window.Limits = nil, slices.Clone(s.Window.Limits)
		for i := range s.Window.Limits {
			if s.Window.Limits[i].Unit == Tokens {
				s.Window.Limits[i].Most = n
			}
		}
		try := New(s)
		try.trying = true
		_, err := try.Fit()
		return err == nil
	}
	fails, fits := max(m.Most, l.Window.Low), max(guess, m.Most+1, l.Window.Low+1)
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
