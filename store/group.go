package store

import (
	"context"
	"slices"
	"sync"
	"time"
)

// A group lets appends of this process that come at the same time share one transaction,
// and one wait for the disk: while as many are committed as may be at once, the next ones
// gather. Each succeeds or fails for itself. Many goroutines may use it.
type group struct {
	// lanes is how many transactions may run at once.
	lanes int
	// most is how many appends share a transaction.
	most int
	// commit writes all members in one transaction. If it returns an error, nothing was
	// written.
	commit func(context.Context, []*member) error

	mu      sync.Mutex
	waiting []*member
	busy    int       // lanes
	calls   []*muster // of lanes that wait for members, in turn
}

// A muster is a lane that waits until so many are there.
type muster struct {
	n    int
	full chan struct{}
}

// A member is one append of a group.
type member struct {
	x    *Session
	q    *quickly
	ok   bool // it was written
	err  error
	done chan struct{}
}

// add appends with others, or alone where nobody is in the way.
func (g *group) add(ctx context.Context, x *Session, q *quickly) (bool, error) {
	m := &member{x: x, q: q}
	g.mu.Lock()
	if g.busy == g.lanes {
		m.done = make(chan struct{})
		g.waiting = append(g.waiting, m)
		if len(g.calls) > 0 && len(g.waiting) >= g.calls[0].n {
			close(g.calls[0].full)
			g.calls = g.calls[1:]
		}
		g.mu.Unlock()
		select {
		case <-m.done:
			return m.ok, m.err
		case <-ctx.Done():
			g.leave(m)
			return false, ctx.Err()
		}
	}
	g.busy++
	g.mu.Unlock()
	g.run(ctx, []*member{m})
	g.mu.Lock()
	all := g.take()
	g.mu.Unlock()
	// Those who came meanwhile are not its business: it would never be done under load.
	if all != nil {
		go g.others(context.WithoutCancel(ctx), all)
	}
	return m.ok, m.err
}

// leave takes out a member that is given up on. If it is being written already, it may be
// written or not: its rows hold nothing of the caller's memory.
func (g *group) leave(m *member) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if i := slices.Index(g.waiting, m); i >= 0 {
		g.waiting = slices.Concat(g.waiting[:i], g.waiting[i+1:])
	}
}

// take takes those who wait, or gives the lane back. The group is locked.
func (g *group) take() []*member {
	n := min(len(g.waiting), g.most)
	if n == 0 {
		g.busy--
		return nil
	}
	all := g.waiting[:n:n]
	g.waiting = g.waiting[n:]
	return all
}

// others writes for those who wait, until nobody does. Nobody's context but their own may
// end the work of others.
func (g *group) others(ctx context.Context, all []*member) {
	for all != nil {
		start := time.Now()
		g.run(ctx, all)
		for _, m := range all {
			close(m.done)
		}
		all = g.gather(len(all), min(time.Since(start)/4, maxGather))
	}
}

// maxGather is how long a lane waits at most for those who are about to come back.
const maxGather = 200 * time.Microsecond

// gather takes those who wait, as soon as there are as many as the last time: those who
// have just been answered are about to come back, and without them every second
// transaction would be a small one. It waits for a part of what a transaction takes, and
// leaves the processors to the database meanwhile.
func (g *group) gather(n int, atMost time.Duration) []*member {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.waiting) >= n || n == 1 {
		return g.take()
	}
	call := &muster{n, make(chan struct{})}
	g.calls = append(g.calls, call)
	g.mu.Unlock()
	timer := time.NewTimer(atMost)
	select {
	case <-call.full:
	case <-timer.C:
	}
	timer.Stop()
	g.mu.Lock()
	g.calls = slices.DeleteFunc(g.calls, func(c *muster) bool { return c == call })
	return g.take()
}

func (g *group) run(ctx context.Context, all []*member) {
	if err := g.commit(ctx, all); err != nil {
		for _, m := range all {
			m.ok, m.err = false, err
		}
	}
}
