package replay

import (
	"errors"
	"slices"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// A ledger keeps the books of one policy.
type ledger struct {
	send   Send
	before *view // what was sent last
	head   int   // tokens of its head
	steps  []Step
	sight  showing
	asked  int // tokens of a summary that a model was asked for, for the request to come
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
	same := -1 // messages that are cached
	if l.before != nil {
		same = v.shared(l.before)
		s.Rewrote = same < l.before.n
	}
	l.weigh(p, v, same)
	from := v.start()
	s.Sent = max(p.scale.beside[k]+p.scale.text(l.head+v.from(from, v.n)), 0)
	found := 0
	if k == 0 { // other sessions have left the front of it in the cache
		found = min(p.recording.bill(p.walk, 0).Read, max(p.scale.beside[0], 0))
	}
	if same >= 0 {
		found = l.head
		if l.before.start() == from {
			found += v.from(from, max(same, from))
		}
		found = min(max(p.scale.beside[k-1]+p.scale.text(found), 0), s.Sent)
	}
	found = p.readable(k, found)
	c := p.setting.Cache
	switch {
	case found > 0 && found >= c.MinPrefix:
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
		if p.walk.whole.Transcript().Messages()[i].Role == transcript.Assistant {
			s.Output += p.costs[i]
		}
	}
	s.Output = max(p.scale.text(s.Output), p.recording.bill(p.walk, k).Output)
	if s.Changed {
		l.sight.show(p, v)
		l.sight.regret(p, k, &s)
	}
	if l.asked > 0 && k > 0 { // it reads what was sent last, and what the model said to that
		s.asked = usage{Read: l.steps[k-1].Sent, Written: l.steps[k-1].Output, Output: p.scale.text(l.asked)}
		l.asked = 0
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
		l.head = dialect.HeadTokens(v.r, p.setting.Counter)
	}
	v.sums = make([]int, v.n+1)
	from := max(same, 0)
	if from > 0 {
		copy(v.sums, l.before.sums[:from+1])
	}
	for ; from < v.n; from++ {
		v.sums[from+1] = v.sums[from] + v.cost(p, l.before, from)
	}
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
