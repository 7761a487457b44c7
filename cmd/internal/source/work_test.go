package source

import (
	"sync/atomic"
	"testing"
)

func TestWorkKeepsOrderAndStops(t *testing.T) {
	produced := 0
	produce := func(emit func(int) bool) {
		for produced < 1000 && emit(produced) {
			produced++
		}
	}
	var got []int
	Work(4, 4, produce, func(n int) int { return n * n }, func(n int) bool {
		got = append(got, n)
		return len(got) < 100
	})
	if len(got) != 100 || produced == 1000 {
		t.Fatalf("consumed %d of %d produced", len(got), produced)
	}
	for i, n := range got {
		if n != i*i {
			t.Fatalf("got[%d] = %d", i, n)
		}
	}
}

// No more is at work, or waits, than was asked for.
func TestWorkIsBounded(t *testing.T) {
	const jobs = 3
	var working, most, taken atomic.Int64
	produce := func(emit func(int) bool) {
		for i := range 200 {
			taken.Add(1)
			emit(i)
		}
	}
	work := func(n int) int {
		now := working.Add(1)
		for m := most.Load(); now > m && !most.CompareAndSwap(m, now); m = most.Load() {
		}
		defer working.Add(-1)
		return n
	}
	done := int64(0)
	Work(jobs, 2, produce, work, func(int) bool {
		done++
		// The queue, one at each worker, the one being produced, and the one at hand.
		if ahead := taken.Load() - done; ahead > 2+jobs+2 {
			t.Errorf("%d are ahead", ahead)
		}
		return true
	})
	if done != 200 || most.Load() > jobs {
		t.Errorf("%d done, %d at a time", done, most.Load())
	}
}
