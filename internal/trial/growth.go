package trial

import (
	"runtime"
	"testing"
	"time"
)

const (
	// more is how many times as large the larger of two inputs is. What is linear then
	// takes 16 times as long and what is quadratic 256 times; between them there is room for
	// a logarithm, for caches that are too small, and for a neighbour on the same core.
	more  = 16
	bound = 4 * more

	// enough is how long the smaller input is worked on at least, in all: less says little.
	enough = 2 * time.Millisecond

	rounds = 6
)

// Linear wants that work on an input of n takes about as much longer than on n/16 as
// the input is larger; a short run and the race detector make do with a quarter of n. prepare makes the work; only the work is measured, by the
// processor time of its thread: it must not hand the work to other goroutines.
func Linear(t testing.TB, name string, n int, prepare func(n int) (work func())) {
	t.Helper()
	if !threadTime {
		t.Skip("the processor time of a thread is not known on " + runtime.GOOS)
	}
	if testing.Short() || Race {
		n /= 4
	}
	small, large := prepare(n/more), prepare(n)
	times := 1
	few := spent(small)
	for few < enough && times < 1<<16 {
		times *= 2
		few = spent(repeat(small, times))
	}
	few /= time.Duration(times)
	// What is repeated is faster: the processor learns its branches. So both are, for as long.
	again := max(times/more, 1)
	much := func() time.Duration { return spent(repeat(large, again)) / time.Duration(again) }
	many := much()
	// The rest of the machine can only make work look longer, by taking its caches away. So the
	// shortest of several rounds is nearest to the truth, and more are needed only
	// if the first is out of bounds.
	for round := 1; many > bound*few && round < rounds; round++ {
		few = min(few, spent(repeat(small, times))/time.Duration(times))
		many = min(many, much())
	}
	if many > bound*few {
		t.Errorf("%s: %d take %v of processor time, %d take %v: %.0f times as long", name, n/more, few, n, many, float64(many)/float64(few))
	}
}

func repeat(work func(), times int) func() {
	return func() {
		for range times {
			work()
		}
	}
}

// spent is the processor time of work on a thread of its own.
func spent(work func()) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := threadClock()
	work()
	return threadClock() - before
}
