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
type sharedKV interface {
	Note(ctx context.Context, key string, join func(old string) string) error
	Notes(ctx context.Context, since time.Time, limit int) ([]store.Note, error)
	ForgetNotes(ctx context.Context, before time.Time) (int64, error)
}

// remembering shares what the proxy learns of conversations with other replicas, and with
// the process that comes after this one. It stands behind the requests: a store that is
// slow, or down, costs lessons and no request.
type learnedSync struct {
	shared        sharedKV
	conversations *proxy.Conversations
	queue         chan learnedValue
	lost          atomic.Int64 // lessons that could not be kept

	newestRead  time.Time // the newest note that was read
	lastCleanup time.Time // when old ones were removed last
}

type learnedValue struct {
	key string
	proxy.Learned
}

const (
	readInterval    = 2 * time.Second    // how often others are listened to
	visibilityDelay = time.Minute        // how late a note may become visible
	cleanupInterval = time.Hour          // how often old notes are removed
	learnedLifetime = 7 * 24 * time.Hour // since a note was written last
	storeTimeout    = 5 * time.Second    // how long the store may take
	pageSize        = 1000
)

func newLearnedSync(n sharedKV, now func() time.Time) *learnedSync {
	r := &learnedSync{shared: n, queue: make(chan learnedValue, queueLength)}
	r.conversations = proxy.NewConversations(proxy.ConversationsOptions{Life: learnedLifetime, Store: r, Now: now})
	return r
}

// Put keeps a lesson when there is time.
func (r *learnedSync) Put(key string, l proxy.Learned) {
	select {
	case r.queue <- learnedValue{key, l}:
	default:
		r.lost.Add(1)
	}
}

// run writes and listens until the server has ended, and then writes what is left.
func (r *learnedSync) run(ended <-chan struct{}) {
	r.readChanges()
	tick := time.NewTicker(readInterval)
	defer tick.Stop()
	for {
		select {
		case l := <-r.queue:
			r.write(l)
		case <-tick.C:
			r.readChanges()
		case <-ended:
			r.flush()
			return
		}
	}
}

// flush writes what waits.
func (r *learnedSync) flush() {
	for {
		select {
		case l := <-r.queue:
			r.write(l)
		default:
			return
		}
	}
}

func (r *learnedSync) write(l learnedValue) {
	ctx, cancel := context.WithTimeout(context.Background(), storeTimeout)
	defer cancel()
	err := r.shared.Note(ctx, l.key, func(old string) string {
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
func (r *learnedSync) readChanges() {
	ctx, cancel := context.WithTimeout(context.Background(), storeTimeout)
	defer cancel()
	since := r.newestRead.Add(-visibilityDelay)
	for {
		all, err := r.shared.Notes(ctx, since, pageSize)
		if err != nil {
			return // it will be there again, or not
		}
		for _, n := range all {
			var l proxy.Learned
			if json.Unmarshal([]byte(n.Text), &l) == nil {
				r.conversations.Observe(n.Key, l)
			}
			r.newestRead = n.At
		}
		if len(all) < pageSize || !all[len(all)-1].At.After(since) {
			break
		}
		since = all[len(all)-1].At
	}
	if r.newestRead.Sub(r.lastCleanup) > cleanupInterval { // by the clock of the store
		r.lastCleanup = r.newestRead
		r.shared.ForgetNotes(ctx, r.newestRead.Add(-learnedLifetime))
	}
}
