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

// everybody is the scope of an administrator, whose token is written *:SECRET: what all scopes
// have sent can be read with it.
const allScopes = "*"

// watches are what happens to requests, by whose they are. There are as many as scopes that
// tokens name. Many goroutines may use it.
type scopeWatches struct {
	everything *Watch // of everybody
	mu         sync.Mutex
	byScope    map[string]*Watch
	// remembers says that conversations are kept.
	isRemembering atomic.Bool
	rate          rateLimit // at which requests that went on as they came are kept
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

// remembered counts requests that were kept, or not.
func (w *scopeWatches) remembered(scope string, kept bool) {
	w.everything.remembered(kept)
	if scope != allScopes {
		w.forScope(scope).remembered(kept)
	}
}

// of is what a scope may read: what it has sent itself, or everything. There is no other way to
// a record.
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

// keep keeps the conversation of a request that has begun.
func (w *scopeWatches) holdPlan(id string, r *wire.Request, p *pare.Plan) {
	w.hold(conversation{id: id, request: r, plan: p})
}

// came keeps the body of a request that has begun, and goes on as it came.
func (w *scopeWatches) holdBody(id string, body []byte) {
	if w.rate.allow(time.Now()) {
		w.hold(conversation{id: id, body: slices.Clone(body)})
	}
}

// A rate is a token bucket: of many requests in a second only some are kept to be looked at, as there
// is no room to keep all of them for as long as somebody takes to look.
type rateLimit struct {
	mu        sync.Mutex
	available float64
	at        time.Time
}

// keptASecond is how many requests in a second are kept, beyond the first thousand.
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

// runs reports whether a request has begun here, and not ended.
func (w *Watch) isRunning(id string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, ok := w.running[id]
	return ok
}

// seen is what the sender of a request may read of what has happened.
func (s *Server) watchFor(r *http.Request) *Watch { return s.watches.forScope(s.gate.readScope(r)) }
