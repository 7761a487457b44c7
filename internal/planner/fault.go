package planner

import (
	"errors"
	"fmt"
	"runtime/debug"
	"unicode/utf8"

	"github.com/pare-llm/pare/internal/excerpt"
	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// A FaultError is the error for a failure of a part that the caller supplied: a rule, counter, stub
// or sink that panics, a rule that returns an error, a counter that returns impossible counts, an
// archive that cannot be written. Then there is no plan, except that Policy.SkipFailedRules leaves
// out rules.
type FaultError struct {
	Part  string // "rule no-bash", "counter", "stub", "sink", "archive", …
	Err   error
	Stack []byte // of a panic, or nil
}

func (e *FaultError) Error() string { return fmt.Sprintf("%s: %v", e.Part, e.Err) }
func (e *FaultError) Unwrap() error { return e.Err }

// Blame turns a panic of a part into a panic with a *FaultError that names it. It must be deferred
// around calls of the caller's code.
func Blame(part string) {
	if p := recover(); p != nil {
		panic(newPanicFault(part, p))
	}
}

// newPanicFault returns the fault of a part that panicked.
func newPanicFault(part string, panicked any) *FaultError {
	switch p := panicked.(type) {
	case *FaultError: // of a part that this one called
		return p
	case error:
		return &FaultError{part, fmt.Errorf("it panicked: %w", p), debug.Stack()}
	default:
		return &FaultError{part, fmt.Errorf("it panicked: %v", p), debug.Stack()}
	}
}

// CatchFault turns a panic with a *FaultError into an error, and sets plan to nil. It must be
// deferred. Other panics continue, because they are bugs of this module.
func CatchFault(plan **Plan, err *error) {
	switch p := recover().(type) {
	case nil:
	case *FaultError:
		*plan, *err = nil, p
	default:
		panic(p)
	}
}

// guarded returns options whose functions blame themselves for their panics.
func (o Options) guarded() Options {
	if o.Counter != nil {
		_, isGuarded := o.Counter.(guardedCounter)
		_, isEstimator := o.Counter.(tokens.Estimator) // it cannot fail
		if !isGuarded && !isEstimator {
			o.Counter = guardedCounter{o.Counter}
		}
	}
	if sink := o.Sink; sink != nil {
		o.Sink = func(e Event) {
			defer Blame("sink")
			sink(e)
		}
	}
	if stub := o.Repair.Stub; stub != nil {
		o.Repair.Stub = func(x transcript.Exchange) string {
			defer Blame("stub")
			text := stub(x)
			if !utf8.ValidString(text) {
				panic(&FaultError{"stub", errors.New("it gives bytes that are not UTF-8"), nil})
			}
			return text
		}
	}
	return o
}

// guarded returns a window whose functions blame themselves for their panics.
func (w Window) guarded() Window {
	if rank := w.Priority; rank != nil {
		w.Priority = func(r *wire.Request, a transcript.AtomID) int {
			defer Blame("priority")
			return rank(r, a)
		}
	}
	if w.Cache != nil {
		w.Cache = guardedPricing{w.Cache}
	}
	return w
}

// guardedPricing blames the caller's pricing for its panics.
type guardedPricing struct{ CachePricing }

func (p guardedPricing) PaysAfter(removed, kept int) int {
	defer Blame("terms of the cache")
	return p.CachePricing.PaysAfter(removed, kept)
}

// guardedCounter blames the caller's counter for its panics and for impossible counts.
type guardedCounter struct{ counter wire.Counter }

func (g guardedCounter) Count(text []byte) int {
	defer Blame("counter")
	return checkCount(g.counter.Count(text), text)
}

func (g guardedCounter) CountJSON(raw []byte) int {
	defer Blame("counter")
	return checkCount(g.counter.CountJSON(raw), raw)
}

func (g guardedCounter) Media(mime string, data []byte, low bool) int {
	defer Blame("counter")
	return checkCount(g.counter.Media(mime, data, low), mime)
}

func (g guardedCounter) Overhead(messages, tools int) int {
	defer Blame("counter")
	return checkCount(g.counter.Overhead(messages, tools), "")
}

// maxCount is more than any text has, and small enough that sums do not overflow.
const maxCount = 1 << 40

// checkCount returns a count of a text. It panics with a *FaultError if the count is impossible.
func checkCount[T string | []byte](n int, text T) int {
	if n < 0 || n > maxCount {
		beginning := excerpt.Brief(string(text[:min(len(text), 256)]), 40)
		panic(&FaultError{"counter", fmt.Errorf("it counts %d tokens for %q, which cannot be", n, beginning), nil})
	}
	return n
}
