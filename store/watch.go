package store

import (
	"context"
	"iter"
	"sync"
	"time"
)

// watchers wakes callers of Follow in this process after changes of a session. Follow polls for
// changes of other processes.
type watchers struct {
	mu       sync.Mutex
	channels map[int64]map[chan struct{}]bool // by session
}

func (w *watchers) wake(sid int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.channels[sid] {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

// add returns a channel that receives a value when the session changes, and a function that removes
// the channel.
func (w *watchers) add(sid int64) (<-chan struct{}, func()) {
	c := make(chan struct{}, 1)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.channels == nil {
		w.channels = make(map[int64]map[chan struct{}]bool)
	}
	if w.channels[sid] == nil {
		w.channels[sid] = make(map[chan struct{}]bool)
	}
	w.channels[sid][c] = true
	return c, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.channels[sid], c)
		if len(w.channels[sid]) == 0 {
			delete(w.channels, sid)
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
