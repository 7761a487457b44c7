package store

import "sync"

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
