// Package background compacts large sessions while agents continue them. On PostgreSQL it uses
// jobs of River that all replicas share; on SQLite it works in this process. A replica may end at
// any time: another one takes over its jobs. The store ensures that one process at a time compacts
// a session.
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

// Options select the sessions to compact, and the compactor.
type Options struct {
	// Above is the number of tokens that a session may have after its last summary. Zero means no
	// limit.
	Above int64
	// Resting is the same limit for a session that is idle until its provider's cache is about to
	// expire, because the next request would write the whole session to the cache. Zero means no
	// limit. Above or Resting is required.
	Resting int64
	// Compactor makes the summaries.
	Compactor *pare.Compactor
	// Every is the interval between scans of the store. Zero means 15 seconds.
	Every time.Duration
	// Workers is the number of concurrent compactions. Zero means 2.
	Workers int
	// Log receives errors. Nil discards them.
	Log *slog.Logger
}

// maxKeys is the number of sessions that one scan finds; the next scan finds the rest.
const maxKeys = 100

// A Runner compacts sessions until it is stopped.
type Runner struct{ stop func() }

// Stop ends the work and waits for running compactions or until the context ends.
func (r *Runner) Stop() { r.stop() }

// Start starts the work on a store. PostgreSQL also needs its address.
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

// A compactor contains the code that both schedulers share.
type compactor struct {
	store   *store.Store
	options Options

	mu     sync.Mutex
	trials map[store.Key]attempt
}

// An attempt describes a session that was not compacted.
type attempt struct {
	head     int64     // the session's head when there was nothing to compact
	failures int       // consecutive failures
	next     time.Time // time of the next attempt
}

// maxRetryWait is the longest pause after repeated failures.
const maxRetryWait = 30 * time.Minute

// compact compacts a session once. A concurrent compaction or change of the session is not an
// error: the next scan decides again.
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

// isPointless reports whether compacting a session now would do nothing.
func (w *compactor) isPointless(key store.Key, head int64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	t, ok := w.trials[key]
	if t.failures > 0 {
		return time.Now().Before(t.next)
	}
	return ok && t.head == head
}

// updateTrial changes the attempt of a session; nil removes it.
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

// startLocal compacts in this process, because other machines do not share the file.
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

// findDue returns the sessions to compact now.
func (w *compactor) findDue(ctx context.Context) ([]store.Key, error) {
	return w.store.NeedCompaction(ctx, w.options.Above, w.options.Resting, time.Now(), maxKeys)
}

// compactDue compacts the sessions that are due, some at a time.
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
