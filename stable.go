package pare

import (
	"slices"

	"github.com/pare-llm/pare/transcript"
)

// A Batch is one time that a stable window was trimmed.
type Batch struct {
	Messages  int  `json:"messages"`             // the history had so many then
	Before    int  `json:"before"`               // tokens
	After     int  `json:"after"`                //
	Kept      int  `json:"kept"`                 // tokens behind the first change, written to the cache again
	PaysAfter int  `json:"pays_after,omitempty"` // further requests until that has paid; zero without prices
	Forced    bool `json:"forced"`               // the limit was passed

	gone []transcript.BlockID
}

// replay goes through the requests that led to this one and trims whenever a process
// that had been there would have. The model spoke in between, so a request ended
// wherever its turn begins.
func (l *ladder) replay(high int) error {
	s := &past{l: l, high: high, sum: l.headTokens()}
	all := l.t.Messages()
	for i, m := range all {
		if i > 0 && m.Role == transcript.Assistant && all[i-1].Turn != m.Turn {
			if err := s.request(i); err != nil {
				return err
			}
		}
		s.add(i)
	}
	if err := s.request(len(all)); err != nil {
		return err
	}
	if l.end = len(all); l.stood != l.end {
		return l.standAt(l.end)
	}
	return nil
}

// A past is what is known of the requests so far.
type past struct {
	l        *ladder
	high     int
	sum      int   // tokens of the history as it would be sent now
	costs    []int // by message, as it came
	requests int

	old      int // exchanges that are no longer recent
	gain     int // what clearing the results of those since the last batch would save
	foremost int // the first message that would change
}

// add appends a message.
func (s *past) add(i int) {
	l := s.l
	cost := 0
	for b := l.t.Messages()[i].First; b < l.t.Messages()[i].End; b++ {
		cost += l.cost(b, l.level[b])
	}
	if m := l.t.Messages()[i]; m.First == m.End || l.anyLeft(m) {
		cost += l.frame
	}
	s.costs = append(s.costs, cost)
	s.sum += cost
}

// anyLeft reports whether a limit met before has left anything of a message.
func (l *ladder) anyLeft(m transcript.Message) bool {
	return slices.ContainsFunc(l.level[m.First:m.End], func(v level) bool { return v != isGone })
}

// request trims the history of a request if it must be, or if that pays.
func (s *past) request(end int) error {
	s.requests++
	if s.sum > s.high {
		return s.trim(end, true)
	}
	if s.l.w.Cache == nil {
		return nil
	}
	s.l.end = end
	s.age()
	// Nobody knows how many requests will follow. A quarter of those so far is what paid
	// on real transcripts; as many as so far did not always.
	if s.gain > 0 && s.l.w.Cache.PaysAfter(s.gain, s.kept(s.foremost)-s.gain) <= s.requests/4 {
		return s.trim(end, false)
	}
	return nil
}

// age takes in the exchanges that are no longer recent.
func (s *past) age() {
	old := s.l.old()
	for ; s.old < len(old); s.old++ {
		for _, b := range old[s.old].Results {
			if !s.l.clearable(b, false) {
				continue
			}
			if s.gain == 0 {
				s.foremost = s.l.t.Block(b).Message
			}
			s.gain += max(s.l.cost(b, asIs)-s.l.cost(b, isCleared), 0)
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

// trim trims to the low mark, but leaves a quarter of the room that what is pinned does
// not take, and squeezes nothing unless it must.
func (s *past) trim(end int, forced bool) error {
	l := s.l
	if err := l.standAt(end); err != nil {
		return err
	}
	l.build(UnitTokens)
	g := newGauge(l, UnitTokens)
	gentle := slices.IndexFunc(l.steps, func(x step) bool { return x.rung == RungSqueeze })
	if gentle < 0 {
		gentle = len(l.steps)
	}
	k := 0
	switch least := g.at(gentle); {
	case !forced:
		for k < len(l.steps) && l.steps[k].rung <= RungClear {
			k++
		}
	case least <= s.high:
		k = g.first(max(l.w.Low, least+(s.high-least)/4))
	default:
		k = g.first(max(s.high, g.at(len(l.steps))))
	}
	l.move(k)
	before := s.sum
	s.sum = g.at(k)
	from := end
	b := Batch{Messages: end, Before: before, After: s.sum, Forced: forced}
	for _, o := range l.ops[:l.opsOf(k)] {
		from = min(from, l.t.Block(o.block).Message)
		if o.to == isGone {
			b.gone = append(b.gone, o.block)
		}
	}
	b.Kept = max(s.kept(from)-(before-s.sum), 0)
	if l.w.Cache != nil {
		b.PaysAfter = l.w.Cache.PaysAfter(before-s.sum, b.Kept)
	}
	if before > s.sum {
		l.batches = append(l.batches, b)
	}
	s.recount(end)
	return nil
}

// opsOf is how many ops the first k steps have.
func (l *ladder) opsOf(k int) int {
	if k == 0 {
		return 0
	}
	return l.steps[k-1].to
}

// recount brings the costs up to date with what a batch did.
func (s *past) recount(end int) {
	s.gain = 0
	l := s.l
	costs := s.costs
	s.costs, s.sum = s.costs[:0], l.headTokens()
	for i := range costs[:end] {
		s.add(i)
	}
	s.sum = l.withReserve(UnitTokens, s.sum)
}
