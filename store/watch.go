package store

import (
	"context"
	"iter"
	"sync"
	"time"
)

// watchers wakes those of this process who wait for a session to change. Changes of
// other processes are found by looking.
type watchers struct {
	mu sync.Mutex
	of map[int64]map[chan struct{}]bool
}

func (w *watchers) wake(sid int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.of[sid] {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

// add returns a channel that gets something whenever the session changes, and a
// function that ends that.
func (w *watchers) add(sid int64) (<-chan struct{}, func()) {
	c := make(chan struct{}, 1)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.of == nil {
		w.of = make(map[int64]map[chan struct{}]bool)
	}
	if w.of[sid] == nil {
		w.of[sid] = make(map[chan struct{}]bool)
	}
	w.of[sid][c] = true
	return c, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.of[sid], c)
		if len(w.of[sid]) == 0 {
			delete(w.of, sid)
		}
	}
}

// pollInterval is the time after which Follow looks for entries of other processes.
const pollInterval = 300 * time.Millisecond

// Follow yields the entries after a number as they are appended, including those that were reverted.
// It yields an empty list at least every 300 ms, and stops when the context ends or after an error.
func (s *Store) Follow(ctx context.Context, key Key, after int64) iter.Seq2[[]Entry, error] {
	return func(yield func([]Entry, error) bool) {
		session, err := s.Session(ctx, key)
		if err != nil {
			yield(nil, err)
			return
		}
		changed, stop := s.watchers.add(session.sid)
		defer stop()
		poll := time.NewTicker(pollInterval)
		defer poll.Stop()
		for {
			entries, err := s.entriesAfter(ctx, key, after)
			if err != nil {
				yield(nil, err)
				return
			}
			if len(entries) > 0 {
				after = entries[len(entries)-1].Seq
			}
			if !yield(entries, nil) {
				return
			}
			select {
			case <-ctx.Done():
				return
			case <-changed:
			case <-poll.C:
			}
		}
	}
}

// entriesAfter reads up to 200 entries after a number, including those that were reverted.
func (s *Store) entriesAfter(ctx context.Context, key Key, after int64) (entries []Entry, err error) {
	err = s.read(ctx, func(t *tx) error {
		session, err := s.live(ctx, t, key, false)
		if err != nil || session.Head <= after {
			return err
		}
		session.state.Hidden = nil
		entries, err = s.entries(ctx, t, session, after+1, session.Head, 200)
		return err
	})
	return entries, err
}
