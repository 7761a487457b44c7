package pare

import (
	"sync"

	"github.com/pare-llm/pare/internal/ladder"
	"github.com/pare-llm/pare/wire"
)

// A Past remembers what was worked out for one request of a conversation: what its blocks
// cost, what rules said, what a stable window did, and what was written. The next request, which begins with the same
// messages, then takes as long as what is new in it. It changes nothing but time: a request
// of which it knows nothing is worked out from its own bytes. A Past belongs to one
// conversation and to one policy: window, counter and rules. The zero value is ready. Many
// goroutines may use one.
type Past struct {
	// Lend lets results use the memory of earlier ones: that of a plan is good until the
	// second plan from then on is made, its decisions and receipts until the next one is. The
	// request that it was made for must be kept as long, and one goroutine at a time may use
	// the Past.
	Lend bool

	mu     sync.Mutex
	m      ladder.Memory
	scribe *wire.Scribe // nil: somebody has it, or there was none
	tally  *tally       // the same; of what is lent
}

func (p *Past) take() *ladder.Memory {
	p.mu.Lock()
	defer p.mu.Unlock()
	m := p.m
	m.Lend = p.Lend
	if p.Lend {
		p.m = ladder.Memory{}
	}
	return &m
}

func (p *Past) put(m *ladder.Memory) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.m = *m
}

// rewrite rewrites a request; nil remembers nothing.
func (p *Past) rewrite(r, before *wire.Request, todo *wire.Docket, insert ...wire.Insertion) (*wire.Request, []wire.Change, error) {
	if p == nil {
		return r.RewriteSince(before, todo.Drop, todo.Edits, insert...)
	}
	p.mu.Lock()
	s := p.scribe
	p.scribe = nil
	p.mu.Unlock()
	if s == nil {
		s = &wire.Scribe{Lend: p.Lend}
	}
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.scribe = s
	}()
	return s.RewriteAs(r, before, todo, insert...)
}

// vote lets rules decide about a plan, from what they said the last time on.
func (p *Past) vote(plan *Plan, rules *Pipeline) (*wire.Docket, func(i int) Reason, error) {
	p.mu.Lock()
	y := p.tally
	p.tally = nil
	p.mu.Unlock()
	if y == nil {
		y = new(tally)
	}
	if err := y.poll(rules, plan.mended); err != nil {
		return nil, nil, err
	}
	todo, why := y.settle(plan)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tally = y
	return todo, why, nil
}
