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
const maxKeys = 100

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
	w := &compactor{store: st, options: o, trials: make(map[store.Key]attempt)}
	if st.Engine() == "postgres" {
		return startRiver(ctx, dsn, w)
	}
	return startLocal(ctx, w), nil
}

// work is what both ways have in common.
type compactor struct {
	store   *store.Store
	options Options

	mu     sync.Mutex
	trials map[store.Key]attempt
}

// A trial is what came of a session that was not compacted.
type attempt struct {
	head     int64     // nothing was to be compacted then
	failures int       // how often it has failed, one time after the other
	next     time.Time // when it is worth another try
}

// longest is how long a session that fails again and again is left alone.
const maxRetryWait = 30 * time.Minute

// compact compacts a session once. That another process does so, or that it has changed
// meanwhile, is no error: the next look decides again.
func (w *compactor) compact(ctx context.Context, key store.Key) error {
	x, err := w.store.Session(ctx, key)
	if err == nil && w.isPointless(key, x.Head) {
		return nil // nothing has come since: it would be read for nothing
	}
	var made *store.Compaction
	if err == nil {
		made, err = w.store.Compact(ctx, key, w.options.Compactor)
	}
	var failed *pare.CompactionError
	switch {
	case err == nil && made == nil:
		w.updateTrial(key, func(t *attempt) { *t = attempt{head: x.Head} })
	case err == nil:
		w.updateTrial(key, nil)
	case errors.Is(err, store.ErrBusy), errors.Is(err, store.ErrStale), errors.Is(err, store.ErrDeleted), errors.Is(err, store.ErrNotFound):
		return nil
	case errors.As(err, &failed): // the session is as it was, and goes on; it is tried again later, and later still
		w.updateTrial(key, func(t *attempt) {
			wait := min(w.options.Every<<min(t.failures, 12), max(maxRetryWait, w.options.Every))
			*t = attempt{failures: t.failures + 1, next: time.Now().Add(wait)}
			w.options.Log.Warn("a session could not be compacted", "session", key.String(), "error", err, "again in", wait)
		})
		return nil
	default:
		w.options.Log.Warn("a session could not be compacted", "session", key.String(), "error", err)
	}
	return err
}

// knows reports whether to try a session would be for nothing.
func (w *compactor) isPointless(key store.Key, head int64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	t, ok := w.trials[key]
	if t.failures > 0 {
		return time.Now().Before(t.next)
	}
	return ok && t.head == head
}

// remember keeps what came of a session; nil forgets it.
func (w *compactor) updateTrial(key store.Key, change func(*attempt)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if change == nil {
		delete(w.trials, key)
		return
	}
	if len(w.trials) > 10_000 {
		clear(w.trials)
	}
	t := w.trials[key]
	change(&t)
	w.trials[key] = t
}

// startHere works in this process: the file is not shared with other machines.
func startLocal(ctx context.Context, w *compactor) *Runner {
	ctx, cancel := context.WithCancel(ctx)
	var wait sync.WaitGroup
	wait.Go(func() {
		beat := time.NewTicker(w.options.Every)
		defer beat.Stop()
		for {
			w.compactDue(ctx)
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
func (w *compactor) findDue(ctx context.Context) ([]store.Key, error) {
	return w.store.NeedCompaction(ctx, w.options.Above, w.options.Resting, time.Now(), maxKeys)
}

// look compacts what is heavy now, some at a time.
func (w *compactor) compactDue(ctx context.Context) {
	keys, err := w.findDue(ctx)
	if err != nil {
		if ctx.Err() == nil {
			w.options.Log.Warn("the store could not be looked at", "error", err)
		}
		return
	}
	room := make(chan struct{}, w.options.Workers)
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
