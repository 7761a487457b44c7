package serve

import (
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
)

// hands are the processors that requests have: all that there are, or one while light ones come
// one after the other. A goroutine that hands something to another wakes a thread to look for
// more work, and a request is handed over several times. While it is alone that thread finds
// nothing, and what it takes is time of the request. Many goroutines may use it.
type hands struct {
	give  func(all bool) // nil: they have all, always
	under atomic.Int32   // requests that are under way, by weight
	met   atomic.Bool    // two were, since the last look
	one   atomic.Bool    // it is one processor; changed under mu
	mu    sync.Mutex
}

// processors gives this process all that there are, or one.
func processors(all bool) {
	if all {
		runtime.SetDefaultGOMAXPROCS()
	} else {
		runtime.GOMAXPROCS(1)
	}
}

// lightBody is the largest body of a request that surely takes no more than a few milliseconds
// of a processor.
const lightBody = 256 << 10

// weight is how many requests one counts for. One that may take long is two: another one may
// come meanwhile, and garbage is collected beside it.
func weight(r *http.Request) int32 {
	if r.ContentLength < 0 || r.ContentLength > lightBody || r.Header["Content-Encoding"] != nil || ownPath(r) {
		return 2
	}
	return 1
}

// begin notes a request of a weight. What is not alone does not wait for its processor: to give
// it stops all goroutines, and that may take as long as a collection of garbage does.
func (h *hands) begin(n int32) {
	if h.under.Add(n) == 1 {
		return
	}
	if !h.met.Load() {
		h.met.Store(true)
	}
	if h.one.Load() {
		go h.all()
	}
}

func (h *hands) end(n int32) { h.under.Add(-n) }

func (h *hands) all() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.one.Load() {
		h.one.Store(false)
		h.give(true)
	}
}

// look is called now and then. If no two requests have met since the last time, one processor
// is enough.
func (h *hands) look() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if met := h.met.Swap(false); met || h.give == nil || h.one.Load() {
		return
	}
	h.one.Store(true)
	if h.under.Load() > 1 { // asked when everybody who begins can see it: nobody is missed
		h.one.Store(false)
		return
	}
	h.give(false)
}
