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

// A receiptStore stores receipts by id.
type receiptStore interface {
	Store(id, text string) error
	Load(id string) (text string, ok bool)
	Forget(ctx context.Context, before time.Time) (int, error)
}

// A receiptWriter writes receipts to the store in the background. A slow or failed store loses
// receipts, but delays no request.
type receiptWriter struct {
	store receiptStore
	queue chan *proxy.Record
	lost  atomic.Int64 // receipts that were not stored
}

// waiting is how many receipts may wait for the store.
const queueLength = 1024

func newReceiptWriter(s receiptStore) *receiptWriter {
	return &receiptWriter{store: s, queue: make(chan *proxy.Record, queueLength)}
}

// receiptLife is how long receipts are kept; pare session gc may delete them earlier.
const receiptLife = 30 * 24 * time.Hour

// add queues the record of a request that was changed.
func (k *receiptWriter) add(r *proxy.Record) {
	if k == nil || len(r.Changes) == 0 {
		return
	}
	select {
	case k.queue <- r:
	default: // it does not keep up
		k.lost.Add(1)
	}
}

// run writes until the server has ended, and then writes the rest of the queue.
func (k *receiptWriter) run(ended <-chan struct{}) {
	sweep := time.NewTicker(cleanupInterval)
	defer sweep.Stop()
	k.deleteExpired()
	for {
		select {
		case r := <-k.queue:
			k.write(r)
		case <-sweep.C:
			k.deleteExpired()
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

func (k *receiptWriter) write(r *proxy.Record) {
	text, err := json.Marshal(r)
	if err == nil {
		err = k.store.Store(r.ID, string(text))
	}
	if err != nil {
		k.lost.Add(1) // a store that is down, or full, costs receipts
	}
}

// deleteExpired deletes old receipts.
func (k *receiptWriter) deleteExpired() {
	ctx, cancel := context.WithTimeout(context.Background(), storeTimeout)
	defer cancel()
	k.store.Forget(ctx, time.Now().Add(-receiptLife))
}

// mayRead reports whether a stored receipt is for the sender of a request.
func (s *Server) mayRead(r *http.Request, text string) bool {
	var rec struct{ Scope string }
	scope := s.gate.readScope(r)
	return scope == allScopes || json.Unmarshal([]byte(text), &rec) == nil && rec.Scope == scope
}

// receipt writes the receipt of one request.
func (s *Server) receipt(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	if rec, ok := s.watchFor(r).Find(id); ok {
		writeJSON(w, http.StatusOK, rec)
		return
	}
	if s.receipts != nil {
		if text, ok := s.receipts.store.Load(id); ok && s.mayRead(r, text) {
			writeJSON(w, http.StatusOK, json.RawMessage(text))
			return
		}
		if s.probe.check(r.Context(), s.options.Store) != nil {
			w.Header().Set("Retry-After", storehttp.RetryAfter)
			writeProblem(w, http.StatusServiceUnavailable, "unavailable", store.ErrUnavailable.Error()+": ask again when it is back")
			return
		}
	}
	writeProblem(w, http.StatusNotFound, "not_found", "no such receipt, or it has been deleted")
}
