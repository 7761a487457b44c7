package serve

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"time"

	"github.com/pare-llm/pare/proxy"
	"github.com/pare-llm/pare/store"
)

// A sharedKV stores short texts that all replicas share; a store is one.
type sharedKV interface {
	Note(ctx context.Context, key string, join func(old string) string) error
	Notes(ctx context.Context, since time.Time, limit int) ([]store.Note, error)
	ForgetNotes(ctx context.Context, before time.Time) (int64, error)
}

// A learnedSync shares what the proxy learns with other replicas, and with later processes. It
// works in the background: a slow or failed store loses values, but delays no request.
type learnedSync struct {
	shared        sharedKV
	conversations *proxy.Conversations
	queue         chan learnedValue
	lost          atomic.Int64 // values that were not stored

	newestRead  time.Time // time of the newest value that was read
	lastCleanup time.Time // when old values were deleted
}

type learnedValue struct {
	key string
	proxy.Learned
}

const (
	readInterval    = 2 * time.Second    // how often values of other replicas are read
	visibilityDelay = time.Minute        // how late a value may become visible
	cleanupInterval = time.Hour          // how often old values are deleted
	learnedLifetime = 7 * 24 * time.Hour // since the last write of a value
	storeTimeout    = 5 * time.Second    // time limit for the store
	pageSize        = 1000
)

func newLearnedSync(n sharedKV, now func() time.Time) *learnedSync {
	r := &learnedSync{shared: n, queue: make(chan learnedValue, queueLength)}
	r.conversations = proxy.NewConversations(proxy.ConversationsOptions{Life: learnedLifetime, Store: r, Now: now})
	return r
}

// Put queues a value. It does not block.
func (r *learnedSync) Put(key string, l proxy.Learned) {
	select {
	case r.queue <- learnedValue{key, l}:
	default:
		r.lost.Add(1)
	}
}

// run writes and reads until the server has ended, and then writes the rest of the queue.
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

// flush writes the queue.
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
		json.Unmarshal([]byte(old), &was) // an invalid value is replaced
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

// readChanges reads the values that other replicas have written since, and deletes old ones.
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
