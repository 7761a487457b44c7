// Package breaker limits the calls of a function that keeps failing, such as a summarizer whose
// endpoint is down. A job is asked for at most twice. After five failures in a row the function
// is left out for the next 50 jobs. Both counts depend on the calls alone, never on a clock.
package breaker

import (
	"errors"
	"fmt"
	"sync"
)

const (
	maxFailuresPerJob = 2
	maxFailuresInARow = 5
	jobsLeftOut       = 50
	maxJobs           = 10_000 // jobs that are remembered; then all are forgotten
)

// ErrLeftOut is wrapped by the errors of [Breaker.Start]: the function must not be called.
var ErrLeftOut = errors.New("left out")

// A Job identifies one piece of work: the digest of the input.
type Job [32]byte

// A Breaker counts failures. The zero value is ready. Many goroutines may use it.
type Breaker struct {
	mu          sync.Mutex
	failures    map[Job]int
	skipped     map[Job]bool // jobs counted against leaveOut
	failedInRow int
	leaveOut    int // jobs that are still left out
	lastError   error
}

// Start returns nil if the function may be called for a job. Otherwise it returns an error that
// wraps ErrLeftOut and the last failure. A job that is refused counts as left out, once.
func (b *Breaker) Start(job Job) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n := b.failures[job]; n >= maxFailuresPerJob {
		return fmt.Errorf("%w after %d failures for the same messages; the last one: %w", ErrLeftOut, n, b.lastError)
	}
	if b.leaveOut == 0 {
		return nil
	}
	if b.skipped == nil {
		b.skipped = make(map[Job]bool)
	}
	if !b.skipped[job] {
		b.skipped[job] = true
		b.leaveOut--
	}
	if b.leaveOut == 0 {
		b.skipped = nil
	}
	return fmt.Errorf("%w after %d failures in a row, for %d more; the last one: %w", ErrLeftOut, b.failedInRow, b.leaveOut, b.lastError)
}

// Record notes how a call for a job ended; nil is success.
func (b *Breaker) Record(job Job, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err == nil {
		delete(b.failures, job)
		b.failedInRow, b.leaveOut, b.skipped, b.lastError = 0, 0, nil, nil
		return
	}
	if b.failures == nil || len(b.failures) >= maxJobs {
		b.failures = make(map[Job]int)
	}
	b.failures[job]++
	b.failedInRow++
	b.lastError = err
	if b.failedInRow >= maxFailuresInARow {
		b.leaveOut = jobsLeftOut
	}
}

// Err returns the last failure while the function is left out or has failed since it last
// succeeded; otherwise nil.
func (b *Breaker) Err() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.lastError
}
