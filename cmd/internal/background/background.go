// Package background compacts sessions that have grown heavy, while agents go on with
// them: on PostgreSQL as jobs of River that all replicas share, on SQLite in this process.
//
// A replica may die at any moment. A job that it leaves is done by another one, and a
// session is compacted by one process at a time, since the store gives it to one only.
package background

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"sync"
	"time"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/store"
)

// Options says what is compacted, and how.
type Options struct {
	// Above is how many tokens a session may have beyond its last summary. Zero: any number.
	Above int64
	// Resting is how many one may have that rests until its provider's cache is about to expire:
	// what is said next would be written to that as a whole. Zero: any number. This or Above must be
	// given.
	Resting int64
	// Compactor makes the summaries.
	Compactor *pare.Compactor
	// Every is how often the store is looked at. Zero: every 15 seconds.
	Every time.Duration
	// Workers is how many sessions are compacted at the same time. Zero: 2.
	Workers int
	// Log gets what went wrong. Nil: nobody does.
	Log *slog.Logger
}

// most is how many sessions one look finds at most: the rest is found by the next.
const most = 100

// A Runner does the work until it is stopped. Many goroutines may use it.
type Runner struct{ stop func() }

// Stop ends the work, and waits for what is under way or until the context ends.
func (r *Runner) Stop() { r.stop() }

// Start begins the work on a store, whose address is needed for PostgreSQL.
func Start(ctx context.Context, st *store.Store, dsn string, o Options) (*Runner, error) {
	if o.Above <= 0 && o.Resting <= 0 || o.Compactor == nil {
		return nil, errors.New("background: Above or Resting, and Compactor must be given")
	}
	if o.Above == 0 {
		o.Above = math.MaxInt64
	}
	if o.Every == 0 {
		o.Every = 15 * time.Second
	}
	if o.Workers == 0 {
		o.Workers = 2
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	w := &work{st: st, o: o, tried: make(map[store.Key]trial)}
	if st.Engine() == "postgres" {
		return startRiver(ctx, dsn, w)
	}
	return startHere(ctx, w), nil
}

// work is what both ways have in common.
type work struct {
	st *store.Store
	o  Options

	mu    sync.Mutex
	tried map[store.Key]trial
}

// A trial is what came of a session that was not compacted.
type trial struct {
	head  int64     // nothing was to be compacted then
	fails int       // how often it has failed, one time after the other
	next  time.Time // when it is worth another try
}

// longest is how long a session that fails again and again is left alone.
const longest = 30 * time.Minute

// compact compacts a session once. That another process does so, or that it has changed
// meanwhile, is no error: the next look decides again.
func (w *work) compact(ctx context.Context, key store.Key) error {
	x, err := w.st.Session(ctx, key)
	if err == nil && w.knows(key, x.Head) {
		return nil // nothing has come since: it would be read for nothing
	}
	var made *store.Compaction
	if err == nil {
		made, err = w.st.Compact(ctx, key, w.o.Compactor)
	}
	var failed *pare.CompactionError
	switch {
	case err == nil && made == nil:
		w.remember(key, func(t *trial) { *t = trial{head: x.Head} })
	case err == nil:
		w.remember(key, nil)
	case errors.Is(err, store.ErrBusy), errors.Is(err, store.ErrStale), errors.Is(err, store.ErrDeleted), errors.Is(err, store.ErrNotFound):
		return nil
	case errors.As(err, &failed): // the session is as it was, and goes on; it is tried again later, and later still
		w.remember(key, func(t *trial) {
			wait := min(w.o.Every<<min(t.fails, 12), max(longest, w.o.Every))
			*t = trial{fails: t.fails + 1, next: time.Now().Add(wait)}
			w.o.Log.Warn("a session could not be compacted", "session", key.String(), "error", err, "again in", wait)
		})
		return nil
	default:
		w.o.Log.Warn("a session could not be compacted", "session", key.String(), "error", err)
	}
	return err
}

// knows reports whether to try a session would be for nothing.
func (w *work) knows(key store.Key, head int64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	t, ok := w.tried[key]
	if t.fails > 0 {
		return time.Now().Before(t.next)
	}
	return ok && t.head == head
}

// remember keeps what came of a session; nil forgets it.
func (w *work) remember(key store.Key, change func(*trial)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if change == nil {
		delete(w.tried, key)
		return
	}
	if len(w.tried) > 10_000 {
		clear(w.tried)
	}
	t := w.tried[key]
	change(&t)
	w.tried[key] = t
}

// startHere works in this process: the file is not shared with other machines.
func startHere(ctx context.Context, w *work) *Runner {
	ctx, cancel := context.WithCancel(ctx)
	var wait sync.WaitGroup
	wait.Go(func() {
		beat := time.NewTicker(w.o.Every)
		defer beat.Stop()
		for {
			w.look(ctx)
			select {
			case <-ctx.Done():
				return
			case <-beat.C:
			}
		}
	})
	return &Runner{func() { cancel(); wait.Wait() }}
}

// needed are the sessions that are worth being compacted now.
func (w *work) needed(ctx context.Context) ([]store.Key, error) {
	return w.st.NeedCompaction(ctx, w.o.Above, w.o.Resting, time.Now(), most)
}

// look compacts what is heavy now, some at a time.
func (w *work) look(ctx context.Context) {
	keys, err := w.needed(ctx)
	if err != nil {
		if ctx.Err() == nil {
			w.o.Log.Warn("the store could not be looked at", "error", err)
		}
		return
	}
	room := make(chan struct{}, w.o.Workers)
	var wait sync.WaitGroup
	for _, key := range keys {
		room <- struct{}{}
		wait.Go(func() {
			defer func() { <-room }()
			if ctx.Err() == nil {
				w.compact(ctx, key)
			}
		})
	}
	wait.Wait()
}
