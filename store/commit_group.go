package store

import (
	"context"
	"slices"
	"sync"
	"time"
)

// A commitGroup lets concurrent appends of this process share a transaction and its wait for the
// disk. While all lanes commit, further appends queue up for the next commit. Each append succeeds
// or fails separately.
type commitGroup struct {
	// lanes is the number of transactions that may run at the same time.
	lanes int
	// maxMembers is the number of appends that share a transaction.
	maxMembers int
	// commit writes all members in one transaction. If it returns an error, it has written none.
	commit func(context.Context, []*groupMember) error

	mu      sync.Mutex
	queue   []*groupMember
	busy    int            // lanes
	waiting []*waitingLane // in order
}

// A waitingLane is a lane that waits until the queue has enough members.
type waitingLane struct {
	members int
	ready   chan struct{}
}

// A groupMember is one append of a group.
type groupMember struct {
	write   *fastWrite
	written bool
	err     error
	done    chan struct{}
}

// add commits an append with others, or immediately if a lane is free. It reports whether the
// append was written.
func (g *commitGroup) add(ctx context.Context, w *fastWrite) (bool, error) {
	m := &groupMember{write: w}
	g.mu.Lock()
	if g.busy == g.lanes {
		m.done = make(chan struct{})
		g.queue = append(g.queue, m)
		if len(g.waiting) > 0 && len(g.queue) >= g.waiting[0].members {
			close(g.waiting[0].ready)
			g.waiting = g.waiting[1:]
		}
		g.mu.Unlock()
		select {
		case <-m.done:
			return m.written, m.err
		case <-ctx.Done():
			g.remove(m)
			return false, ctx.Err()
		}
	}
	g.busy++
	g.mu.Unlock()
	g.run(ctx, []*groupMember{m})
	g.mu.Lock()
	next := g.take()
	g.mu.Unlock()
	// The caller returns now: under load, the queue would never be empty.
	if next != nil {
		go g.runQueue(context.WithoutCancel(ctx), next)
	}
	return m.written, m.err
}

// remove takes a member out of the queue. A member that is being written is written or not; its
// rows share no memory with the caller.
func (g *commitGroup) remove(m *groupMember) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if i := slices.Index(g.queue, m); i >= 0 {
		g.queue = slices.Concat(g.queue[:i], g.queue[i+1:])
	}
}

// take removes the next members from the queue. If there are none, it frees the lane and returns
// nil. The caller holds the lock.
func (g *commitGroup) take() []*groupMember {
	n := min(len(g.queue), g.maxMembers)
	if n == 0 {
		g.busy--
		return nil
	}
	members := g.queue[:n:n]
	g.queue = g.queue[n:]
	return members
}

// runQueue commits members until the queue is empty. No context of a caller may cancel it, because
// members of other callers share the transaction.
func (g *commitGroup) runQueue(ctx context.Context, members []*groupMember) {
	for members != nil {
		start := time.Now()
		g.run(ctx, members)
		for _, m := range members {
			close(m.done)
		}
		members = g.gather(len(members), min(time.Since(start)/4, maxGather))
	}
}

// maxGather limits how long a lane waits for members.
const maxGather = 200 * time.Microsecond

// gather takes the next members. It waits until there are n of them, or for a limited time: the
// callers of the last transaction are about to append again, and without them every second
// transaction would be small.
func (g *commitGroup) gather(n int, timeout time.Duration) []*groupMember {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.queue) >= n || n == 1 {
		return g.take()
	}
	lane := &waitingLane{n, make(chan struct{})}
	g.waiting = append(g.waiting, lane)
	g.mu.Unlock()
	timer := time.NewTimer(timeout)
	select {
	case <-lane.ready:
	case <-timer.C:
	}
	timer.Stop()
	g.mu.Lock()
	g.waiting = slices.DeleteFunc(g.waiting, func(l *waitingLane) bool { return l == lane })
	return g.take()
}

func (g *commitGroup) run(ctx context.Context, members []*groupMember) {
	if err := g.commit(ctx, members); err != nil {
		for _, m := range members {
			m.written, m.err = false, err
		}
	}
}
