package trial

import (
	"cmp"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"testing"
	"time"
)

const (
	// more is how many times as large the larger of two inputs is. What is linear then
	// takes 16 times as long and what is quadratic 256 times; between them there is room for
	// a logarithm, for caches that are too small, and for a neighbour on the same core.
	more  = 16
	bound = 4 * more

	// enough is how long an input is worked on at least, in all: less says little.
	enough = 4 * time.Millisecond

	rounds = 12

	// spare is the memory up to which nothing is collected while work is measured.
	spare = 2 << 30
)

// measuring is held while work is measured: two at once would disturb each other.
var measuring sync.Mutex

// Linear wants that work on an input of n takes about as much longer than on n/16 as
// the input is larger; make test makes do with half of n, a short run and the race
// detector with an eighth.
// prepare makes the work; only the work is measured, by the processor time of its
// thread: it must not hand the work to other goroutines.
func Linear(t testing.TB, name string, n int, prepare func(n int) (work func())) {
	t.Helper()
	if !threadTime {
		t.Skip("the processor time of a thread is not known on " + runtime.GOOS)
	}
	switch {
	case testing.Short() || Race:
		n /= 8
	case !Soak():
		n /= 2
	}
	small, large := prepare(n/more), prepare(n)
	measuring.Lock()
	defer measuring.Unlock()
	times, first := 1, spent(large)
	if first < enough { // which may have been longer than the next ones are
		times, first = min(2*int(enough/max(first, 1)), 1<<12), 0
	}
	// A machine that is short of time or of memory makes work look longer. Both inputs get the
	// same share of that: the smaller one is worked on so often that it is as much work and as much
	// memory, one behind the other. More than one round is needed only if the first is out of
	// bounds; then a quarter of them within bounds is enough, for a burst of somebody
	// else's work can make up a square more easily than hide one.
	type round struct {
		few, many time.Duration
		ratio     float64
	}
	var all []round
	for len(all) == 0 || all[0].ratio > bound && len(all) < rounds {
		few := spent(repeat(small, times*more)) / time.Duration(times*more)
		many := first // the first round has it already, unless it was too short to say anything
		if many == 0 {
			many = spent(repeat(large, times)) / time.Duration(times)
		}
		first = 0
		all = append(all, round{few, many, float64(many) / float64(max(few, 1))})
	}
	slices.SortFunc(all, func(a, b round) int { return cmp.Compare(a.ratio, b.ratio) })
	if r := all[len(all)/4]; r.ratio > bound {
		t.Errorf("%s: %d take %v of processor time, %d take %v: %.0f times as long", name, n/more, r.few, n, r.many, r.ratio)
	}
}

func repeat(work func(), times int) func() {
	return func() {
		for range times {
			work()
		}
	}
}

// spent is the processor time of work on a thread of its own. Nothing is collected
// meanwhile: a heap that has grown makes the same work dearer.
func spent(work func()) time.Duration {
	runtime.GC()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(spare))
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := threadClock()
	work()
	return threadClock() - before
}
