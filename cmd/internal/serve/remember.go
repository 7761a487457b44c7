package serve

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"time"

	"github.com/pare-llm/pare/proxy"
	"github.com/pare-llm/pare/store"
)

// A notebook keeps short texts that all replicas share; a store is one.
type notebook interface {
	Note(ctx context.Context, key string, join func(old string) string) error
	Notes(ctx context.Context, since time.Time, limit int) ([]store.Note, error)
	ForgetNotes(ctx context.Context, before time.Time) (int64, error)
}

// remembering shares what the proxy learns of conversations with other replicas, and with
// the process that comes after this one. It stands behind the requests: a store that is
// slow, or down, costs lessons and no request.
type remembering struct {
	notes notebook
	known *proxy.Conversations
	queue chan lesson
	lost  atomic.Int64 // lessons that could not be kept

	heard time.Time // the newest note that was read
	swept time.Time // when old ones were removed last
}

type lesson struct {
	key string
	proxy.Learned
}

const (
	listens  = 2 * time.Second    // how often others are listened to
	overlap  = time.Minute        // how late a note may become visible
	sweeps   = time.Hour          // how often old notes are removed
	noteLife = 7 * 24 * time.Hour // since a note was written last
	noteTime = 5 * time.Second    // how long the store may take
	page     = 1000
)

func newRemembering(n notebook, now func() time.Time) *remembering {
	r := &remembering{notes: n, queue: make(chan lesson, waiting)}
	r.known = proxy.NewConversations(proxy.ConversationsOptions{Life: noteLife, Store: r, Now: now})
	return r
}

// Put keeps a lesson when there is time.
func (r *remembering) Put(key string, l proxy.Learned) {
	select {
	case r.queue <- lesson{key, l}:
	default:
		r.lost.Add(1)
	}
}

// run writes and listens until the server has ended, and then writes what is left.
func (r *remembering) run(ended <-chan struct{}) {
	r.listen()
	tick := time.NewTicker(listens)
	defer tick.Stop()
	for {
		select {
		case l := <-r.queue:
			r.write(l)
		case <-tick.C:
			r.listen()
		case <-ended:
			r.flush()
			return
		}
	}
}

// flush writes what waits.
func (r *remembering) flush() {
	for {
		select {
		case l := <-r.queue:
			r.write(l)
		default:
			return
		}
	}
}

func (r *remembering) write(l lesson) {
	ctx, cancel := context.WithTimeout(context.Background(), noteTime)
	defer cancel()
	err := r.notes.Note(ctx, l.key, func(old string) string {
		var was proxy.Learned
		json.Unmarshal([]byte(old), &was) // what cannot be read teaches nothing
		text, err := json.Marshal(proxyx.Join(was, l.Learned))
		if err != nil {
			return old
		}
		return string(text)
	})
	if err != nil {
		r.lost.Add(1)
	}
}

// listen takes in what others have learned since, and forgets what is old.
func (r *remembering) listen() {
	ctx, cancel := context.WithTimeout(context.Background(), noteTime)
	defer cancel()
	since := r.heard.Add(-overlap)
	for {
		all, err := r.notes.Notes(ctx, since, page)
		if err != nil {
			return // it will be there again, or not
		}
		for _, n := range all {
			var l proxy.Learned
			if json.Unmarshal([]byte(n.Text), &l) == nil {
				r.known.Observe(n.Key, l)
			}
			r.heard = n.At
		}
		if len(all) < page || !all[len(all)-1].At.After(since) {
			break
		}
		since = all[len(all)-1].At
	}
	if r.heard.Sub(r.swept) > sweeps { // by the clock of the store
		r.swept = r.heard
		r.notes.ForgetNotes(ctx, r.heard.Add(-noteLife))
	}
}
