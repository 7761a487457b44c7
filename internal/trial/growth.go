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
	// more is the ratio of the larger to the smaller input. Linear work then takes 16 times as
	// long and quadratic work 256 times. The bound in between leaves room for a logarithm, for
	// small caches and for other work on the same core.
	more  = 16
	bound = 4 * more

	// enough is the shortest total work on an input that gives a usable measurement.
	enough = 4 * time.Millisecond

	rounds = 12

	// spare is the memory up to which nothing is collected while work is measured.
	spare = 2 << 30
)

// measuring is held while work is measured: two at once would disturb each other.
var measuring sync.Mutex

// Linear fails if work on an input of n takes much more than 16 times the processor time of
// work on n/16. make test uses half of n, a short run and the race detector use an eighth.
// Only the function that prepare returns is measured, by the processor time of its thread, so
// it must not start goroutines.
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
	// A machine that is short of time or memory makes work look longer. Both inputs get the same
	// share of that: the smaller one is repeated until it is as much work and memory as the larger
	// one. More rounds run only if the first is out of bounds. Then a quarter of the rounds within
	// bounds is enough, because a burst of other work hides a quadratic ratio less easily than it
	// imitates one.
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
