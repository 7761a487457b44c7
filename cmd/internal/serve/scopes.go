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
const everybody = "*"

// watches are what happens to requests, by whose they are. There are as many as scopes that
// tokens name. Many goroutines may use it.
type watches struct {
	all *Watch // of everybody
	mu  sync.Mutex
	by  map[string]*Watch
	// remembers says that conversations are kept.
	remembers atomic.Bool
	rate      rate // at which requests that went on as they came are kept
}

func newWatches() *watches {
	w := &watches{by: make(map[string]*Watch)}
	w.all = w.watch()
	return w
}

func (w *watches) watch() *Watch {
	one := NewWatch()
	one.remembers = &w.remembers
	return one
}

// remembered counts requests that were kept, or not.
func (w *watches) remembered(scope string, kept bool) {
	w.all.remembered(kept)
	if scope != everybody {
		w.of(scope).remembered(kept)
	}
}

// of is what a scope may read: what it has sent itself, or everything. There is no other way to
// a record.
func (w *watches) of(scope string) *Watch {
	if scope == everybody {
		return w.all
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	one := w.by[scope]
	if one == nil {
		one = w.watch()
		w.by[scope] = one
	}
	return one
}

func (w *watches) begin(r *proxy.Record) {
	w.all.Begin(r)
	if r.Scope != everybody {
		w.of(r.Scope).Begin(r)
	}
}

func (w *watches) add(r *proxy.Record) {
	w.all.Add(r)
	if r.Scope != everybody {
		w.of(r.Scope).Add(r)
	}
}

func (w *watches) note(r *proxy.Record) {
	w.all.Note(r)
	if r.Scope != everybody {
		w.of(r.Scope).Note(r)
	}
}

// keep keeps the conversation of a request that has begun.
func (w *watches) keep(id string, r *wire.Request, p *pare.Plan) {
	w.hold(conversation{id: id, request: r, plan: p})
}

// came keeps the body of a request that has begun, and goes on as it came.
func (w *watches) came(id string, body []byte) {
	if w.rate.allows(time.Now()) {
		w.hold(conversation{id: id, raw: slices.Clone(body)})
	}
}

// A rate is a token bucket: of many requests in a second only some are kept to be looked at, as there
// is no room to keep all of them for as long as somebody takes to look.
type rate struct {
	mu   sync.Mutex
	left float64
	at   time.Time
}

// keptASecond is how many requests in a second are kept, beyond the first thousand.
const keptASecond = 100

func (r *rate) allows(now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.left = min(r.left+keptASecond*now.Sub(r.at).Seconds(), remembered)
	if r.at = now; r.left < 1 {
		return false
	}
	r.left--
	return true
}

func (w *watches) hold(c conversation) {
	w.all.hold(c)
	w.mu.Lock()
	each := slices.Collect(maps.Values(w.by))
	w.mu.Unlock()
	for _, one := range each {
		if one.runs(c.id) {
			one.hold(c)
		}
	}
}

// runs reports whether a request has begun here, and not ended.
func (w *Watch) runs(id string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, ok := w.running[id]
	return ok
}

// seen is what the sender of a request may read of what has happened.
func (s *Server) seen(r *http.Request) *Watch { return s.watches.of(s.gate.reader(r)) }
