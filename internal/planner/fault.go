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

// A FaultError is the error for something of the caller's that misbehaves: a rule that
// panics or returns an error, a counter, a stub, a sink that panics, a counter that counts what
// cannot be, or an archive that cannot be written. Nothing is done then, unless it is a rule that may be left out
// ([Policy.SkipFailedRules]). Many goroutines may read it.
type FaultError struct {
	Part  string // whose fault it is: "rule no-bash", "counter", "stub", "sink", "archive", …
	Err   error
	Stack []byte // of the panic; nil if there was none
}

func (e *FaultError) Error() string { return fmt.Sprintf("%s: %v", e.Part, e.Err) }
func (e *FaultError) Unwrap() error { return e.Err }

// Blame, deferred around a call of the caller's code, puts a name to its panic.
func Blame(part string) {
	if p := recover(); p != nil {
		panic(newPanicFault(part, p))
	}
}

// newPanicFault returns the fault of a part that panicked.
func newPanicFault(part string, panicked any) *FaultError {
	switch p := panicked.(type) {
	case *FaultError: // what it called is to blame
		return p
	case error:
		return &FaultError{part, fmt.Errorf("it panicked: %w", p), debug.Stack()}
	default:
		return &FaultError{part, fmt.Errorf("it panicked: %v", p), debug.Stack()}
	}
}

// CatchFault, deferred at the edge, makes an error of what blame has named. Panics of our own
// go on.
func CatchFault(plan **Plan, err *error) {
	switch p := recover().(type) {
	case nil:
	case *FaultError:
		*plan, *err = nil, p
	default:
		panic(p)
	}
}

// guarded are the options with a name for whoever panics.
func (o Options) guarded() Options {
	if o.Counter != nil {
		if _, twice := o.Counter.(counter); !twice && !isEstimator(o.Counter) {
			o.Counter = counter{o.Counter}
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

// guarded is the window with a name for whoever panics.
func (w Window) guarded() Window {
	if rank := w.Priority; rank != nil {
		w.Priority = func(r *wire.Request, a transcript.AtomID) int {
			defer Blame("priority")
			return rank(r, a)
		}
	}
	if w.Cache != nil {
		w.Cache = terms{w.Cache}
	}
	return w
}

type terms struct{ CachePricing }

func (t terms) PaysAfter(removed, kept int) int {
	defer Blame("terms of the cache")
	return t.CachePricing.PaysAfter(removed, kept)
}

// isEstimator reports whether a counter is an estimator of ours, which cannot fail.
func isEstimator(c wire.Counter) bool {
	_, ok := c.(tokens.Estimator)
	return ok
}

// maxCount is more than any text has, and little enough for sums not to overflow.
const maxCount = 1 << 40

// A counter is the caller's, guarded.
type counter struct{ of wire.Counter }

func (c counter) Count(text []byte) int {
	defer Blame("counter")
	return possible(c.of.Count(text), text)
}

func (c counter) CountJSON(raw []byte) int {
	defer Blame("counter")
	return possible(c.of.CountJSON(raw), raw)
}

func (c counter) Media(mime string, data []byte, low bool) int {
	defer Blame("counter")
	return possible(c.of.Media(mime, data, low), mime)
}

func (c counter) Overhead(messages, tools int) int {
	defer Blame("counter")
	return possible(c.of.Overhead(messages, tools), "")
}

func possible[T string | []byte](n int, what T) int {
	if n < 0 || n > maxCount {
		panic(&FaultError{"counter", fmt.Errorf("it counts %d tokens for %q, which cannot be", n, excerpt.Brief(string(what[:min(len(what), 256)]), 40)), nil})
	}
	return n
}
