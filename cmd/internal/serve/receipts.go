package serve

import (
	"context"
	"encoding/json"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/pare-llm/pare/proxy"
	"github.com/pare-llm/pare/store"
	"github.com/pare-llm/pare/store/storehttp"
)

// A shelf keeps receipts by id; a store has one.
type shelf interface {
	Store(id, text string) error
	Load(id string) (text string, ok bool)
	Forget(ctx context.Context, before time.Time) (int, error)
}

// keeping writes receipts to the store, behind the requests: a store that is slow, or down,
// costs receipts and no request.
type keeping struct {
	shelf shelf
	queue chan *proxy.Record
	lost  atomic.Int64 // receipts that could not be kept
}

// waiting is how many receipts may wait for the store.
const waiting = 1024

func newKeeping(s shelf) *keeping {
	return &keeping{shelf: s, queue: make(chan *proxy.Record, waiting)}
}

// receiptLife is how long receipts are kept; pare session gc may let go of them earlier.
const receiptLife = 30 * 24 * time.Hour

// add takes the record of a request that was changed.
func (k *keeping) add(r *proxy.Record) {
	if k == nil || len(r.Changes) == 0 {
		return
	}
	select {
	case k.queue <- r:
	default: // it does not keep up
		k.lost.Add(1)
	}
}

// run writes until the server has ended, and then what is left.
func (k *keeping) run(ended <-chan struct{}) {
	sweep := time.NewTicker(sweeps)
	defer sweep.Stop()
	k.forget()
	for {
		select {
		case r := <-k.queue:
			k.write(r)
		case <-sweep.C:
			k.forget()
		case <-ended:
			for {
				select {
				case r := <-k.queue:
					k.write(r)
				default:
					return
				}
			}
		}
	}
}

func (k *keeping) write(r *proxy.Record) {
	text, err := json.Marshal(r)
	if err == nil {
		err = k.shelf.Store(r.ID, string(text))
	}
	if err != nil {
		k.lost.Add(1) // a store that is down, or full, costs receipts
	}
}

// forget lets go of old receipts.
func (k *keeping) forget() {
	ctx, cancel := context.WithTimeout(context.Background(), noteTime)
	defer cancel()
	k.shelf.Forget(ctx, time.Now().Add(-receiptLife))
}

// mayRead reports whether a stored receipt is for the sender of a request.
func (s *Server) mayRead(r *http.Request, text string) bool {
	var rec struct{ Scope string }
	scope := s.gate.reader(r)
	return scope == everybody || json.Unmarshal([]byte(text), &rec) == nil && rec.Scope == scope
}

// receipt answers with what was done to one request.
func (s *Server) receipt(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	if rec, ok := s.seen(r).Find(id); ok {
		answer(w, http.StatusOK, rec)
		return
	}
	if s.keeping != nil {
		if text, ok := s.keeping.shelf.Load(id); ok && s.mayRead(r, text) {
			answer(w, http.StatusOK, json.RawMessage(text))
			return
		}
		if s.pulse.take(r.Context(), s.o.Store) != nil {
			w.Header().Set("Retry-After", storehttp.RetryAfter)
			problem(w, http.StatusServiceUnavailable, "unavailable", store.ErrUnavailable.Error()+": ask again when it is back")
			return
		}
	}
	problem(w, http.StatusNotFound, "not_found", "no such receipt, or it has been deleted")
}
