package serve

import (
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/proxy"
	"github.com/pare-llm/pare/wire"
)

// allScopes is the scope of an administrator, whose token is written *:SECRET. It can read the
// requests of all scopes.
const allScopes = "*"

// scopeWatches holds a watch per scope.
type scopeWatches struct {
	everything *Watch // of everybody
	mu         sync.Mutex
	byScope    map[string]*Watch
	// conversations are stored
	isRemembering atomic.Bool
	rate          rateLimit // rate at which unchanged requests are held
}

func newWatches() *scopeWatches {
	w := &scopeWatches{byScope: make(map[string]*Watch)}
	w.everything = w.watch()
	return w
}

func (w *scopeWatches) watch() *Watch {
	one := NewWatch()
	one.remembers = &w.isRemembering
	return one
}

// remembered counts a request that was stored, or could not be.
func (w *scopeWatches) remembered(scope string, kept bool) {
	w.everything.remembered(kept)
	if scope != allScopes {
		w.forScope(scope).remembered(kept)
	}
}

// forScope returns the records that a scope may read: its own or, for an administrator, all.
// There is no other access to records.
func (w *scopeWatches) forScope(scope string) *Watch {
	if scope == allScopes {
		return w.everything
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	one := w.byScope[scope]
	if one == nil {
		one = w.watch()
		w.byScope[scope] = one
	}
	return one
}

func (w *scopeWatches) begin(r *proxy.Record) {
	w.everything.Begin(r)
	if r.Scope != allScopes {
		w.forScope(r.Scope).Begin(r)
	}
}

func (w *scopeWatches) add(r *proxy.Record) {
	w.everything.Add(r)
	if r.Scope != allScopes {
		w.forScope(r.Scope).Add(r)
	}
}

func (w *scopeWatches) note(r *proxy.Record) {
	w.everything.Note(r)
	if r.Scope != allScopes {
		w.forScope(r.Scope).Note(r)
	}
}

// holdPlan holds the conversation of a changed request.
func (w *scopeWatches) holdPlan(id string, r *wire.Request, p *pare.Plan) {
	w.hold(conversation{id: id, request: r, plan: p})
}

// holdBody holds the body of an unchanged request.
func (w *scopeWatches) holdBody(id string, body []byte) {
	if w.rate.allow(time.Now()) {
		w.hold(conversation{id: id, body: slices.Clone(body)})
	}
}

// A rateLimit is a token bucket: there is only room to hold some of many requests per second.
type rateLimit struct {
	mu        sync.Mutex
	available float64
	at        time.Time
}

// heldPerSecond is how many requests per second are held, after the first thousand.
const heldPerSecond = 100

func (r *rateLimit) allow(now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.available = min(r.available+heldPerSecond*now.Sub(r.at).Seconds(), maxRecords)
	if r.at = now; r.available < 1 {
		return false
	}
	r.available--
	return true
}

func (w *scopeWatches) hold(c conversation) {
	w.everything.hold(c)
	w.mu.Lock()
	each := slices.Collect(maps.Values(w.byScope))
	w.mu.Unlock()
	for _, one := range each {
		if one.isRunning(c.id) {
			one.hold(c)
		}
	}
}

// isRunning reports whether a request has begun and not ended.
func (w *Watch) isRunning(id string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, ok := w.running[id]
	return ok
}

// watchFor returns the watch that the sender of a request may read.
func (s *Server) watchFor(r *http.Request) *Watch { return s.watches.forScope(s.gate.readScope(r)) }
