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

// A memoryBudget divides memory and places for concurrent requests between clients. Requests that
// find none wait. A nil budget has no limits.
//
// No client can take everything: a large request must leave as much memory free as its client
// holds then. So one client gets half of the memory, two get a third each, and some is always
// left (the dynamic threshold of shared switch buffers). A small request must leave a quarter of
// that, and an eighth of the memory is reserved for small requests. Requests that hold memory and
// wait for more could deadlock, so that one request at a time may exceed the limit: the one that
// has waited longest.
type memoryBudget struct {
	limit  int64 // in bytes; zero: no limit
	places int
	plans  chan struct{} // slots for large plans

	mu         sync.Mutex
	used       int64
	usedPlaces int // places
	accounts   map[string]*clientUsage
	waiting    []*waiter    // oldest first
	overdraw   *memoryClaim // the request that may exceed the limit, or nil
	arriving   map[*arrivingBody]bool
	isChecking bool
}

// A clientUsage is what one client holds.
type clientUsage struct {
	bytes  int64
	places int
}

const (
	freeClaim  = 64 << 10 // every request may hold this much without waiting
	smallClaim = 4 << 20  // limit of a small request, its plan included
)

func newMemoryBudget(limit int64, places int) *memoryBudget {
	// Large plans take half of the processors, so that other requests do not wait for them.
	plans := make(chan struct{}, max(runtime.GOMAXPROCS(0)/2, 1))
	return &memoryBudget{limit: max(limit, 0), places: places, plans: plans, accounts: make(map[string]*clientUsage), arriving: make(map[*arrivingBody]bool)}
}

// A memoryClaim is the memory that a request holds. It must not be used concurrently.
type memoryClaim struct {
	budget *memoryBudget
	client string
	bytes  int64
	body   *memoryClaim // the claim of the body, if this one is for its plan
}

// request returns the claim that identifies the request.
func (c *memoryClaim) request() *memoryClaim {
	if c.body != nil {
		return c.body
	}
	return c
}

// A waiter waits for memory or for a place.
type waiter struct {
	claim   *memoryClaim // nil: waits for a place
	bytes   int64
	try     func() bool
	ready   chan struct{}
	timeout time.Duration // zero: as long as its context
}

// acquire waits for n more bytes; for a plan, at most planWait.
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

// release returns n bytes.
func (c *memoryClaim) release(n int64) {
	if c.budget == nil || n == 0 {
		return
	}
	c.budget.mu.Lock()
	defer c.budget.mu.Unlock()
	c.budget.book(c, -n)
	c.budget.wakeWaiters()
}

// releaseAll returns all bytes.
func (c *memoryClaim) releaseAll() { c.release(c.bytes) }

// hasRoom reports whether a request may hold n more bytes.
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

// book changes the held bytes by n, which may be negative.
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

// acquirePlace waits for a place. A client may have half of them. leave returns the place.
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

// wait waits until a waiter succeeds or its context ends.
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

// wakeWaiters lets all waiters try again. A waiter whose claim does not fit does not block those
// after it.
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

// acquirePlan waits for the memory of a plan and then for a slot. done releases both.
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

// An arrivingBody is a body that a client is sending.
type arrivingBody struct {
	of  *memoryBudget
	cut func() // ends the body

	mu        sync.Mutex
	received  int64
	waited    time.Duration // time spent waiting for the client
	since     time.Time     // start of the current wait; zero if there is none
	lastCheck struct {      // when it was looked at last
		got    int64
		waited time.Duration
	}
}

// trackBody registers an arriving body; its method end removes it.
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

// startRead and endRead are called around each read.
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

// isSlow reports whether the body arrived too slowly since the last check.
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

// cutSlowBodies ends slow bodies as long as requests wait.
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

// planMemory returns the most memory that a plan for a body takes: some for its bytes, and some
// for each value, which is followed by a comma.
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
