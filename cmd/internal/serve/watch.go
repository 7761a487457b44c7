package serve

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pare-llm/pare/proxy"
)

// A Watch holds the last requests, counts all requests, and notifies listeners.
type Watch struct {
	mu        sync.Mutex
	last      []sequenced // a ring
	next      int
	listeners map[chan *proxy.Record]bool
	totals    totals
	calls     []*proxy.Record // a ring of its own: they are no requests to providers
	called    int             // its next place

	// For the live page; see traffic.go.
	since   time.Time
	seq     int
	running map[string]sequenced // that have begun and not ended
	kept    conversations
	titles  map[string]string // of conversations
	// remembers says that conversations are kept in the store; nil: they are not.
	remembers *atomic.Bool
}

// seen is a record, and the number of the change that brought it.
type sequenced struct {
	*proxy.Record
	seq int
}

const (
	maxRecords = 1000 // requests
	maxChanges = 1000 // changes of one request
	// maxReceiptText is the largest total size of ids, paths and reasons.
	maxReceiptText = 256 << 10
	listenerBuffer = 256 // records that a listener may lag behind
)

// NewWatch returns an empty watch.
func NewWatch() *Watch {
	return &Watch{
		listeners: make(map[chan *proxy.Record]bool), totals: newTotals(), since: time.Now(), running: make(map[string]sequenced),
	}
}

// boundedRecord returns a record of bounded size, because a client chooses the length of its ids.
func boundedRecord(r *proxy.Record) *proxy.Record {
	n, room := min(len(r.Changes), maxChanges), maxReceiptText
	for i := range r.Changes[:n] {
		c := &r.Changes[i]
		for _, id := range c.IDs {
			room -= len(id)
		}
		if room -= len(c.Path) + len(c.Reason); room < 0 { // a client chooses how long its ids are
			n = i
			break
		}
	}
	if n == len(r.Changes) {
		return r
	}
	short := *r
	short.Changes = slices.Clone(r.Changes[:n])
	return &short
}

// Add adds a record.
func (w *Watch) Add(r *proxy.Record) {
	r = boundedRecord(r)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.totals.add(r)
	delete(w.running, r.ID)
	if now := w.changed(r); len(w.last) < maxRecords {
		w.last = append(w.last, now)
	} else {
		w.last[w.next] = now
		w.next = (w.next + 1) % maxRecords
	}
	for c := range w.listeners {
		select {
		case c <- r:
		default: // it does not keep up, and can ask for the list
		}
	}
}

// remembered counts a request that was stored, or could not be.
func (w *Watch) remembered(kept bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seq++
	if kept {
		w.totals.Remembered++
	} else {
		w.totals.Unremembered++
	}
}

// Last returns the last n records, newest first.
func (w *Watch) Last(n int) []*proxy.Record {
	w.mu.Lock()
	defer w.mu.Unlock()
	n = min(n, len(w.last))
	all := make([]*proxy.Record, 0, n)
	for i := range n {
		all = append(all, w.nthLast(i).Record)
	}
	return all
}

// nthLast returns the record that n others follow.
func (w *Watch) nthLast(n int) sequenced { return w.last[(w.next-1-n+2*len(w.last))%len(w.last)] }

// Find returns the record with an id, if it is still held.
func (w *Watch) Find(id string) (*proxy.Record, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	// There are few, and few ask: all others need not keep an index for them.
	if i := slices.IndexFunc(w.last, func(r sequenced) bool { return r.ID == id }); i >= 0 {
		return w.last[i].Record, true
	}
	if i := slices.IndexFunc(w.calls, func(r *proxy.Record) bool { return r.ID == id }); i >= 0 {
		return w.calls[i], true
	}
	return nil, false
}

// Note adds the record of a call. It can be found, but it is not listed and not counted.
func (w *Watch) Note(r *proxy.Record) {
	r = boundedRecord(r)
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.calls) < maxRecords {
		w.calls = append(w.calls, r)
		return
	}
	w.calls[w.called] = r
	w.called = (w.called + 1) % maxRecords
}

// Listen returns a channel that receives new records, and a function that ends it. Records are
// dropped for a listener that lags behind.
func (w *Watch) Listen() (<-chan *proxy.Record, func()) {
	c := make(chan *proxy.Record, listenerBuffer)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.listeners[c] = true
	return c, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.listeners, c)
	}
}

// requests writes the last records, newest first, and the totals.
func (s *Server) requests(w http.ResponseWriter, r *http.Request) {
	n := maxRecords
	if v := r.URL.Query().Get("limit"); v != "" {
		var err error
		if n, err = strconv.Atoi(v); err != nil || n < 0 {
			writeProblem(w, http.StatusBadRequest, "bad_request", fmt.Sprintf("limit is %q: expected a number", v))
			return
		}
	}
	seen := s.watchFor(r)
	writeJSON(w, http.StatusOK, map[string]any{"requests": seen.Last(n), "totals": seen.Totals()})
}

// events streams records as server-sent events.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	records, end := s.watchFor(r).Listen()
	defer end()
	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	fmt.Fprint(w, ": listening\n\n")
	if out.Flush() != nil {
		return
	}
	alive := time.NewTicker(15 * time.Second)
	defer alive.Stop()
	for {
		select {
		case <-r.Context().Done():
			return
		case <-alive.C:
			fmt.Fprint(w, ": still here\n\n")
		case rec := <-records:
			data, err := json.Marshal(rec)
			if err != nil {
				return
			}
			fmt.Fprintf(w, "event: request\nid: %s\ndata: %s\n\n", rec.ID, data)
		}
		if out.Flush() != nil {
			return
		}
	}
}
