package replay

import (
	"errors"
	"slices"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/wire"
)

// A batch is requests from one on, and what they are.
type batch struct {
	from     int
	views    []*view
	requests []*wire.Request
}

// A failure is an error and the request at which it came up.
type failure struct {
	at  int
	err error
}

// playAll sends requests in order, batch by batch. It is one goroutine for all, since its
// stack grows to what a policy needs.
func (l *ledger) playAll(p *player) {
	for b := range l.todo {
		for j, as := range b.views {
			if err := l.play(p, b.from+j, as, b.requests[j]); err != nil {
				l.failed = failure{j, err}
				break
			}
		}
		p.busy.Done()
	}
}

// A ledger keeps the books of one policy.
type ledger struct {
	send   Send
	todo   chan batch
	failed failure // in the last batch
	before *view   // what was sent last
	spare  []int   // that nobody looks at any more: sums of what was sent before it
	agrees int     // messages that both begin with, so that these sums are the same
	head   int     // tokens of its head
	steps  []Step
}

// play sends a request as the policy says.
func (l *ledger) play(p *player, k int, as *view, r *wire.Request) error {
	sent, err := l.send(r)
	if small := (*pare.WindowTooSmall)(nil); errors.As(err, &small) {
		l.add(p, k, as, true)
		return nil
	}
	if err != nil {
		return err
	}
	if sent == r {
		l.add(p, k, as, false)
		return nil
	}
	l.add(p, k, &view{r: sent, n: len(sent.Transcript().Messages()), of: r}, false)
	return nil
}

// add enters a request.
func (l *ledger) add(p *player, k int, v *view, unfit bool) {
	s := Step{Changed: v.r != p.walk.whole, Unfit: unfit}
	shared := -1
	if l.before != nil {
		shared = v.shared(l.before)
		s.Rewrote = shared < l.before.n
	}
	same := shared // that are cached
	l.weigh(p, v, same)
	from := v.start()
	s.Sent = l.head + v.from(from, v.n)
	found := l.head
	if l.before != nil && l.before.start() == from {
		found += v.from(from, max(same, from))
	}
	c := p.setting.Cache
	switch {
	case same >= 0 && found >= c.MinPrefix:
		s.Read, s.Written = found, s.Sent-found
	case s.Sent >= c.MinPrefix:
		s.Written, same = s.Sent, -1
	default:
		s.Input, same = s.Sent, -1
	}
	s.Bytes, s.Cached = v.bytes(same)
	if same < 0 {
		s.Cached = 0
	}
	l.judge(p, k, v, &s)
	from, end := p.walk.reply(k)
	for i := from; i < end; i++ {
		s.Output += p.costs[i]
		if s.Changed && len(p.needs[i]) > 0 {
			again, unseen := lost(p.walk.whole.Transcript(), v, p.needs[i])
			s.Again, s.Unseen = s.Again+again, s.Unseen+unseen
		}
	}
	s.money = p.price.Cost(c, s.usage())
	l.agrees = 0
	if l.before != nil && l.before.of != nil {
		l.spare, l.agrees = l.before.sums, max(shared, 0)
	}
	l.before = v
	l.steps = append(l.steps, s)
}

// weigh counts what is neither of the history nor was sent before.
func (l *ledger) weigh(p *player, v *view, same int) {
	if v.sums != nil { // it is the history itself
		l.head = p.head
		return
	}
	if same < 0 {
		l.head = v.r.HeadTokens(p.setting.Counter)
	}
	from, agree := max(same, 0), min(l.agrees, max(same, 0))
	v.sums, l.spare = slices.Grow(l.spare, max(v.n+1-len(l.spare), 0))[:v.n+1], nil
	if v.sums[0] = 0; from > 0 {
		copy(v.sums[agree:], l.before.sums[agree:from+1])
	}
	weigh := func(end int) {
		for ; from < end; from++ {
			v.sums[from+1] = v.sums[from] + v.cost(p, l.before, from)
		}
	}
	if l.before != nil {
		v.r.Again(l.before.r, func(now, was, n int) { // what was sent before costs what it did
			weigh(now)
			if by := from - now; by < n {
				is, known := v.sums[from:now+n+1], l.before.sums[was+by:was+n+1]
				more := is[0] - known[0]
				for i := range is {
					is[i] = known[i] + more
				}
				from = now + n
			}
		})
	}
	for i, m := range v.r.Kept(v.of, from) {
		weigh(i)
		v.sums[i+1], from = v.sums[i]+p.costs[m], i+1
	}
	weigh(v.n)
}

// judge finds why a request would be refused.
func (l *ledger) judge(p *player, k int, v *view, s *Step) {
	var found outcome
	if s.Changed {
		for _, f := range v.r.Check(wire.CheckOptions{}) {
			found = found.and(f.Rule)
		}
	} else {
		found = slices.Clone(p.walk.faults[k])
	}
	if p.room > 0 && s.Sent > p.room {
		found = found.and(OverWindow)
	}
	s.Refused = found
}

func (s *Step) usage() tokens.Usage {
	return tokens.Usage{Input: s.Input, Read: s.Read, Written: s.Written, Output: s.Output}
}
