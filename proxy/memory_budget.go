package proxy

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"time"
)

// A ledger knows how much each client holds of what all requests share: memory, for bodies as
// they come and for plans, and places for requests under way. Who finds none waits. Nil has no
// bounds. Many goroutines may use it.
//
// No client can take all: what a large request claims must leave as much free as its client
// holds then, so one client gets half of the memory, two a third each, and there is always some
// left (the dynamic threshold of shared buffers in switches). A small one must leave a quarter of
// that, and an eighth is for small ones only. Requests that hold some memory and wait for more could wait for each other, so one at a
// time may overdraw: the one that has waited longest.
type memoryBudget struct {
	limit  int64 // bytes; zero: no bound
	places int
	plans  chan struct{} // large ones that are made at once

	mu         sync.Mutex
	used       int64
	usedPlaces int // places
	accounts   map[string]*clientUsage
	waiting    []*waiter    // oldest first
	overdraw   *memoryClaim // of the request that may hold more than there is; nil: none does
	arriving   map[*arrivingBody]bool
	isChecking bool
}

// An account is what one client holds.
type clientUsage struct {
	bytes  int64
	places int
}

const (
	freeClaim  = 64 << 10 // what every request may hold without waiting
	smallClaim = 4 << 20  // what a small request holds at most, its plan included
)

func newMemoryBudget(limit int64, places int) *memoryBudget {
	// Half of the processors are for everything else: who only passes does not wait for plans.
	plans := make(chan struct{}, max(runtime.GOMAXPROCS(0)/2, 1))
	return &memoryBudget{limit: max(limit, 0), places: places, plans: plans, accounts: make(map[string]*clientUsage), arriving: make(map[*arrivingBody]bool)}
}

// A claim is what a request holds of the memory. One goroutine at a time may use it.
type memoryClaim struct {
	budget *memoryBudget
	client string
	bytes  int64
	body   *memoryClaim // that of the body, if this is one for a plan
}

// request is the claim that stands for all of a request.
func (c *memoryClaim) request() *memoryClaim {
	if c.body != nil {
		return c.body
	}
	return c
}

// A waiter waits for memory, or for a place.
type waiter struct {
	claim   *memoryClaim // nil: for a place
	bytes   int64
	try     func() bool
	ready   chan struct{}
	timeout time.Duration // that it waits; zero: as long as its context lasts
}

// take waits for so many bytes more; for a plan, no longer than planWait.
func (c *memoryClaim) acquire(ctx context.Context, n int64) error {
	l := c.budget
	if l == nil {
		return nil
	}
	w := &waiter{claim: c, bytes: n}
	if c.body != nil {
		w.timeout = planWait
	}
	w.try = func() bool {
		if l.overdraw != c.request() && !l.hasRoom(c, n) {
			return false
		}
		l.book(c, n)
		return true
	}
	return l.wait(ctx, w)
}

// give gives so many bytes back.
func (c *memoryClaim) release(n int64) {
	if c.budget == nil || n == 0 {
		return
	}
	c.budget.mu.Lock()
	defer c.budget.mu.Unlock()
	c.budget.book(c, -n)
	c.budget.wakeWaiters()
}

// free gives all of it back.
func (c *memoryClaim) releaseAll() { c.release(c.bytes) }

// fits reports whether a request may hold so many bytes more by the shares of all.
func (l *memoryBudget) hasRoom(c *memoryClaim, n int64) bool {
	if l.limit == 0 || c.bytes+n <= freeClaim {
		return true
	}
	free, holds := l.limit-l.used-n, l.account(c.client).bytes+n
	if c.bytes+n <= smallClaim {
		return holds <= 4*free
	}
	return holds <= free && free >= l.limit/8
}

func (l *memoryBudget) account(client string) *clientUsage {
	a := l.accounts[client]
	if a == nil {
		a = new(clientUsage)
		l.accounts[client] = a
	}
	return a
}

// add books so many bytes more, or fewer.
func (l *memoryBudget) book(c *memoryClaim, n int64) {
	c.bytes += n
	l.used += n
	l.account(c.client).bytes += n
	l.dropIfUnused(c.client)
	if l.overdraw == c.request() && l.hasRoom(c, 0) && l.hasRoom(l.overdraw, 0) {
		l.overdraw = nil
	}
}

func (l *memoryBudget) dropIfUnused(client string) {
	if a := l.accounts[client]; a != nil && *a == (clientUsage{}) {
		delete(l.accounts, client)
	}
}

// admit waits for a place for a request of a client, which may have half of them. It returns a
// function that gives it back.
func (l *memoryBudget) acquirePlace(ctx context.Context, client string) (leave func(), err error) {
	if l == nil || l.places <= 0 {
		return func() {}, nil
	}
	err = l.wait(ctx, &waiter{try: func() bool {
		if l.usedPlaces >= l.places || l.account(client).places >= max(l.places/2, 1) {
			return false
		}
		l.usedPlaces++
		l.account(client).places++
		return true
	}})
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.usedPlaces--
		l.account(client).places--
		l.dropIfUnused(client)
		l.wakeWaiters()
	}, err
}

// wait waits until a waiter has what it wants, or its context has ended.
func (l *memoryBudget) wait(ctx context.Context, w *waiter) error {
	l.mu.Lock()
	if w.try() {
		l.mu.Unlock()
		return nil
	}
	w.ready = make(chan struct{})
	l.waiting = append(l.waiting, w)
	l.wakeWaiters()
	if len(l.waiting) > 0 && !l.isChecking {
		l.isChecking = true
		time.AfterFunc(slowCheckInterval, l.cutSlowBodies)
	}
	l.mu.Unlock()
	if w.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, w.timeout)
		defer cancel()
	}
	select {
	case <-w.ready:
		return nil
	case <-ctx.Done():
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.Index(l.waiting, w)
	if i < 0 { // it has been served meanwhile
		return nil
	}
	l.waiting = slices.Delete(l.waiting, i, i+1)
	return ctx.Err()
}

// serve gives those who wait what they want, as far as it is there. What does not fit keeps
// nobody behind it waiting.
func (l *memoryBudget) wakeWaiters() {
	l.waiting = slices.DeleteFunc(l.waiting, func(w *waiter) bool {
		if !w.try() {
			return false
		}
		close(w.ready)
		return true
	})
	first := slices.IndexFunc(l.waiting, func(w *waiter) bool { return w.claim != nil })
	if first < 0 || l.overdraw != nil {
		return
	}
	w := l.waiting[first]
	l.overdraw = w.claim.request()
	l.book(w.claim, w.bytes)
	l.waiting = slices.Delete(l.waiting, first, first+1)
	close(w.ready)
}

const (
	slowCheckInterval = time.Second      // how often slow bodies are looked for while others wait
	bodyGrace         = 10 * time.Second // how long a body may be waited for whatever comes of it
	minBytes          = 640 << 10        // of a body, in that time
)

// planning waits for the memory that a plan for the body of this claim takes, and then for its
// turn: whoever has that has the memory. Done ends both.
func (c *memoryClaim) acquirePlan(ctx context.Context, weight int64) (done func(), err error) {
	l := c.budget
	if l == nil {
		return func() {}, nil
	}
	plan := &memoryClaim{budget: l, client: c.client, body: c}
	if err := plan.acquire(ctx, weight); err != nil {
		return nil, err
	}
	if weight <= smallClaim {
		return plan.releaseAll, nil
	}
	ctx, cancel := context.WithTimeout(ctx, planWait)
	defer cancel()
	select {
	case l.plans <- struct{}{}:
		return func() { plan.releaseAll(); <-l.plans }, nil
	case <-ctx.Done():
		plan.releaseAll()
		return nil, ctx.Err()
	}
}

// An arriving body is one that a client sends. Many goroutines may use it.
type arrivingBody struct {
	of  *memoryBudget
	cut func() // ends it

	mu        sync.Mutex
	received  int64
	waited    time.Duration // for the client
	since     time.Time     // when the wait began that goes on; zero: none does
	lastCheck struct {      // when it was looked at last
		got    int64
		waited time.Duration
	}
}

// arrives notes that a body is on its way; end says that it is not any more.
func (l *memoryBudget) trackBody(cut func()) *arrivingBody {
	a := &arrivingBody{of: l, cut: cut}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.arriving[a] = true
	return a
}

func (a *arrivingBody) end() {
	a.of.mu.Lock()
	defer a.of.mu.Unlock()
	delete(a.of.arriving, a)
}

// waits and gets are called before and after something is read.
func (a *arrivingBody) startRead(now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.since = now
}

func (a *arrivingBody) endRead(n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.received += int64(n)
	a.waited += time.Since(a.since)
	a.since = time.Time{}
}

// slow reports whether less has come than must in the time that was waited for it, since it was
// looked at last.
func (a *arrivingBody) isSlow(now time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	waited := a.waited
	if !a.since.IsZero() {
		waited += now.Sub(a.since)
	}
	since, got := waited-a.lastCheck.waited, a.received-a.lastCheck.got
	if since < bodyGrace {
		return false
	}
	a.lastCheck.waited, a.lastCheck.got = waited, a.received
	return float64(got) < minBytes*since.Seconds()/bodyGrace.Seconds()
}

// hurry ends slow bodies as long as others wait.
func (l *memoryBudget) cutSlowBodies() {
	now := time.Now()
	l.mu.Lock()
	var late []*arrivingBody
	if l.isChecking = len(l.waiting) > 0; l.isChecking {
		time.AfterFunc(slowCheckInterval, l.cutSlowBodies)
		for a := range l.arriving {
			if a.isSlow(now) {
				late = append(late, a)
			}
		}
	}
	l.mu.Unlock()
	for _, a := range late {
		a.cut()
	}
}

// weight is how much memory it takes at most to plan for a body: some for its bytes, and some
// for every value that it may hold, which has a comma behind it. No more values are read.
func planMemory(raw []byte) int64 {
	return 4*int64(len(raw)) + 500*min(int64(bytes.Count(raw, []byte{','})), maxValues)
}

const (
	// maxValues is how many messages, blocks or notes package wire looks at.
	maxValues = 500_000
	// planWait is how long a body waits for its turn to be planned for, or unpacked, and for the
	// memory that takes. It is worth waiting for; its client may think otherwise.
	planWait = 5 * time.Minute
)

var errNoMemory = errors.New("there was no memory left for it")
