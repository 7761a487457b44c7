package planner

import (
	"math"
	"slices"

	"github.com/pare-llm/pare/transcript"
)

// A Batch is one trim of a stable window.
type Batch struct {
	Messages  int  `json:"messages"`             // of the history at that time
	Before    int  `json:"before"`               // tokens
	After     int  `json:"after"`                // tokens
	Kept      int  `json:"kept"`                 // tokens after the first change, which are written to the cache again
	PaysAfter int  `json:"pays_after,omitempty"` // the number of further requests until the trim has paid; 0 without prices
	Forced    bool `json:"forced"`               // the history was above the limit
	Cold      bool `json:"cold,omitempty"`       // the cache had expired, so that everything was written again anyway
}

// A trimBatch is a batch with the blocks that it dropped.
type trimBatch struct {
	Batch
	dropped []transcript.BlockID
}

// A replayState is the state of a history while the requests that led to it are replayed.
type replayState struct {
	s        *windowSearch
	high     int   // the limit of tokens
	tokens   int   // of the history as it would be sent now
	costs    []int // by message
	requests int
	end      int // the messages of the current request
	nextCold int // the request at which the rules for cold caches may vote again

	agedExchanges int // exchanges that are no longer recent
	gain          int // the tokens that clearing the results of exchanges which aged since the last batch would save
	firstChange   int // the first message that clearing them would change
}

// replay goes through the requests that led to the history, and trims whenever the window would
// have trimmed then. A request ends where a turn of the model begins.
func (s *windowSearch) replay(high int) error {
	past := &replayState{s: s, high: high, tokens: s.meter.headTokens()}
	messages := s.t.Messages()
	for i := range messages {
		if i%64 == 0 {
			if err := s.p.ctx.Err(); err != nil {
				return err
			}
		}
		_, isCold := slices.BinarySearch(s.p.w.Cold, i)
		if isCold || StartsModelTurn(messages, i) {
			if err := past.addRequest(i); err != nil {
				return err
			}
		}
		past.addMessage(i)
	}
	if err := past.addRequest(len(messages)); err != nil {
		return err
	}
	if s.limits.end == len(messages) {
		return nil
	}
	limits, err := s.constraintsAt(len(messages), false)
	s.limits = limits
	return err
}

// addMessage appends a message. Atoms that it needs come back: the model may call a tool whose
// declaration was dropped while no call needed it.
func (p *replayState) addMessage(i int) {
	t, chain := p.s.t, p.s.chain
	if t.HasNeeds() {
		m := &t.Messages()[i]
		for b := m.First; b < m.End; b++ {
			a := t.AtomOf(b)
			if chain.levels[b] != levelGone && len(t.Atoms()[a].Needs) > 0 {
				p.revive(a)
			}
		}
	}
	cost := p.cost(i)
	p.costs = append(p.costs, cost)
	p.tokens += cost
}

// revive brings back everything that an atom needs.
func (p *replayState) revive(a transcript.AtomID) {
	atoms := p.s.t.Atoms()
	for _, needed := range atoms[a].Needs {
		if !p.s.chain.isGone(needed) {
			continue
		}
		p.s.chain.revive(needed)
		for i := atoms[needed].First; i <= min(atoms[needed].Last, len(p.costs)-1); i++ {
			was := p.costs[i]
			p.costs[i] = p.cost(i)
			p.tokens += p.costs[i] - was
		}
		p.revive(needed)
	}
}

// cost returns the tokens of a message as it would be sent now.
func (p *replayState) cost(i int) int {
	m := &p.s.t.Messages()[i]
	cost, remains := 0, m.First == m.End
	for b := m.First; b < m.End; b++ {
		v := p.s.chain.levels[b]
		cost += p.s.meter.tokensAt(b, v)
		remains = remains || v != levelGone
	}
	if remains && i >= p.s.t.StartMessage() {
		cost += p.s.meter.frame
	}
	return cost
}

// addRequest trims the history of a request if it is above the limit, or if trimming pays.
func (p *replayState) addRequest(end int) error {
	w := &p.s.p.w
	p.requests++
	p.end = end
	isFull := p.tokens > p.high
	if p.coldRulesVote(isFull) {
		if err := p.trimByColdRules(isFull); err != nil {
			return err
		}
	}
	if isFull && p.tokens > w.Low {
		err := p.trimToLow()
		isFullSoon := 2*p.tokens > p.high+w.Low
		if isFullSoon {
			p.postponeColdRules()
		}
		return err
	}
	if w.Cache == nil || w.ColdRules != nil {
		return nil
	}
	p.ageExchanges()
	if p.gain > 0 && p.clearingPays() {
		return p.clearOld()
	}
	return nil
}

// clearingPays reports whether it is a good time to clear the results of exchanges that are no
// longer recent. If the state of the cache is known, that is when the cache has expired. Otherwise
// it has to pay within a quarter of the requests so far: a longer horizon did not pay on all
// recorded sessions.
func (p *replayState) clearingPays() bool {
	w := &p.s.p.w
	if w.Cold != nil {
		return p.isCold()
	}
	return w.Cache.PaysAfter(p.gain, p.keptTokens(p.firstChange)-p.gain) <= p.requests/4
}

// isCold reports whether the cache had expired before the current request.
func (p *replayState) isCold() bool {
	_, found := slices.BinarySearch(p.s.p.w.Cold, p.end)
	return found
}

// ageExchanges adds the gain of exchanges that are no longer recent.
func (p *replayState) ageExchanges() {
	s := p.s
	old := oldExchanges(exchangesIn(s.t, p.end), s.p.w.recent())
	for ; p.agedExchanges < len(old); p.agedExchanges++ {
		x := &old[p.agedExchanges]
		if s.isGuidance(x) {
			continue // it is cleared only if it must be
		}
		for _, b := range x.Results {
			if !s.isClearable(b, false) {
				continue
			}
			if p.gain == 0 {
				p.firstChange = s.t.Block(b).Message
			}
			p.gain += max(s.meter.tokensAt(b, levelFull)-s.meter.tokensAt(b, levelCleared), 0)
		}
	}
}

// keptTokens returns the tokens of the messages from one on.
func (p *replayState) keptTokens(from int) int {
	n := 0
	for i := len(p.costs) - 1; i >= from; i-- {
		n += p.costs[i]
	}
	return n
}

// coldRulesVote reports whether the rules for cold caches vote at the current request. They read
// the whole history, so at requests with a warm cache they vote less and less often.
func (p *replayState) coldRulesVote(isFull bool) bool {
	w := &p.s.p.w
	switch {
	case w.ColdRules == nil:
		return false
	case p.isCold():
		return true
	case p.requests < p.nextCold:
		return false
	case isFull:
		return true
	case w.Cache == nil:
		return false
	}
	p.postponeColdRules()
	return true
}

func (p *replayState) postponeColdRules() { p.nextCold = p.requests + max(p.requests/8, 4) }

// trimByColdRules carries out the votes of the rules for cold caches. If the cache is warm and the
// history fits, they have to pay.
func (p *replayState) trimByColdRules(isFull bool) error {
	s := p.s
	limits, err := s.constraintsAt(p.end, true)
	if err != nil {
		return err
	}
	s.limits = limits
	s.layOutOnlyRules()
	sizes, k := s.newStateSizes(unitTokens), s.chain.end()
	if !isFull && !p.isCold() && !p.rulesPay(sizes.at(k)) {
		k = 0
	}
	p.goTo(k, sizes, isFull)
	return nil
}

// rulesPay reports whether the changes of the chain, which leave some tokens, pay within a quarter
// of the requests so far.
func (p *replayState) rulesPay(after int) bool {
	first, removed := p.end, p.tokens-after
	for _, change := range p.s.chain.changes {
		first = min(first, p.s.t.Block(change.block).Message)
	}
	return removed > 0 && p.s.p.w.Cache.PaysAfter(removed, max(p.keptTokens(first)-removed, 0)) <= p.requests/4
}

// trimToLow trims the history to the low mark, because it is above the limit.
func (p *replayState) trimToLow() error {
	limits, err := p.s.constraintsAt(p.end, false)
	if err != nil {
		return err
	}
	p.s.limits = limits
	p.s.layOutAll(unitTokens)
	sizes := p.s.newStateSizes(unitTokens)
	p.goTo(p.lowState(sizes), sizes, true)
	return nil
}

// clearOld clears old results, because that pays.
func (p *replayState) clearOld() error {
	limits, err := p.s.constraintsAt(p.end, false)
	if err != nil {
		return err
	}
	p.s.limits = limits
	p.s.layOutClearing()
	p.goTo(p.s.chain.end(), p.s.newStateSizes(unitTokens), false)
	return nil
}

// lowState returns the state that a forced trim goes to. It leaves a quarter of the room besides
// pinned content, so that the history is not full again soon, and squeezes pinned content only if
// nothing else fits. With a cold cache it goes deeper, because that costs no more and lasts longer.
func (p *replayState) lowState(sizes *stateSizes) int {
	transitions := p.s.chain.transitions
	squeeze := slices.IndexFunc(transitions, func(x transition) bool { return x.step == stepSqueeze })
	if squeeze < 0 {
		squeeze = len(transitions)
	}
	least := sizes.at(squeeze)
	if least > p.high {
		return sizes.firstWithin(max(p.high, sizes.at(len(transitions))))
	}
	low, spare := p.s.p.w.Low, (p.high-least)/4
	if p.isCold() {
		low, spare = low*3/4, spare*3/4
	}
	return sizes.firstWithin(max(low, least+spare))
}

// goTo goes to state k of the chain and records the batch.
func (p *replayState) goTo(k int, sizes *stateSizes, isForced bool) {
	s := p.s
	s.chain.moveTo(k)
	before := p.tokens
	p.tokens = sizes.at(k)
	first := p.end
	batch := trimBatch{Batch: Batch{Messages: p.end, Before: before, After: p.tokens, Forced: isForced, Cold: p.isCold()}}
	for _, change := range s.chain.changes[:s.chain.changeCount(k)] {
		first = min(first, s.t.Block(change.block).Message)
		if change.to == levelGone {
			batch.dropped = append(batch.dropped, change.block)
		}
	}
	batch.Kept = max(p.keptTokens(first)-(batch.Before-batch.After), 0)
	if s.p.w.Cache != nil {
		batch.PaysAfter = s.p.w.Cache.PaysAfter(batch.Before-batch.After, batch.Kept)
	}
	if batch.Before > batch.After {
		s.batches = append(s.batches, batch)
	}
	p.recount(first)
}

// recount updates the costs of the messages from one on.
func (p *replayState) recount(first int) {
	p.gain = 0
	p.costs, p.tokens = p.costs[:first], p.s.meter.headTokens()
	for _, cost := range p.costs {
		p.tokens += cost
	}
	for i := first; i < p.end; i++ {
		p.addMessage(i)
	}
	p.tokens = p.s.withReserve(unitTokens, p.tokens)
}

// stableMinimum returns the smallest limit with which a stable window works. Earlier trims depend
// on the limit, so limits have to be tried.
func (s *windowSearch) stableMinimum(l limit, guess int) int {
	works := func(tokens int) bool {
		p := *s.p
		p.w.Tokens = tokens
		probe := newWindowSearch(&p, s.reserve, 0)
		probe.probing = true
		_, err := probe.run()
		return err == nil
	}
	fails, fits := max(l.most, s.p.w.Low), max(guess, l.most+1, s.p.w.Low+1)
	for !works(fits) && fits < math.MaxInt/4 {
		fails, fits = fits, 2*fits
	}
	for fits-fails > 1 {
		middle := fails + (fits-fails)/2
		if works(middle) {
			fits = middle
		} else {
			fails = middle
		}
	}
	return fits
}
