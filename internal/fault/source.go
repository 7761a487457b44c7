package fault

import (
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"sync"
)

// Err is the error of a call that was made to fail.
var Err = errors.New("fault: this call was made to fail")

// A Source decides which calls fail.
type Source struct {
	seed uint64
	rate float64 // fraction of calls that fail
	once int     // the call that fails in addition, counted over all points; 0: none

	mu     sync.Mutex
	off    bool
	passed int
	points map[string]int // calls by point
	hits   map[string]int // failures by point
	onCall func(passed int)
	after  int // calls before then is called; 0: never
	then   func()
}

// New returns a source. One seed in four fails exactly one call, one in sixteen none, and the
// others one call in 5 to 200.
func New(seed uint64) *Source {
	s := &Source{seed: seed, points: make(map[string]int), hits: make(map[string]int)}
	r := s.Rand("rate")
	switch {
	case seed%16 == 15:
	case seed%4 == 0:
		s.once = 1 + r.IntN(1<<r.IntN(9))
	default:
		s.rate = 1 / float64(5+r.IntN(195))
	}
	return s
}

// Rand returns random numbers for one purpose of a test. They are the same in each run of a seed.
func (s *Source) Rand(purpose string) *rand.Rand {
	return rand.New(rand.NewPCG(s.seed, hash(purpose, 0)))
}

func hash(point string, n int) uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s %d", point, n)
	return h.Sum64()
}

// OnCall sets a function that is called at every point with the number of earlier calls, for example
// to cancel a call. Set it before the source is used.
func (s *Source) OnCall(f func(passed int)) { s.onCall = f }

// Fails counts a call at a point, and reports whether it fails.
func (s *Source) Fails(point string) bool { return s.FailsWeighted(point, 1) }

// FailsWeighted is Fails with another probability.
func (s *Source) FailsWeighted(point string, weight float64) bool {
	if s == nil {
		return false
	}
	s.mu.Lock()
	if s.off {
		s.mu.Unlock()
		return false
	}
	n, passed := s.points[point], s.passed
	s.points[point]++
	s.passed++
	r := rand.New(rand.NewPCG(s.seed, hash(point, n)))
	fails := r.Float64() < s.rate*weight || s.passed == s.once
	if fails {
		s.hits[point]++
	}
	s.mu.Unlock()
	if s.after > 0 && passed == s.after {
		s.then()
	}
	if s.onCall != nil {
		s.onCall(passed)
	}
	return fails
}

// CountFailure counts a failure that was decided elsewhere.
func (s *Source) CountFailure(point string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hits[point]++
}

// Stop lets all further calls succeed.
func (s *Source) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.off = true
}

// AfterCalls sets a function that is called once, after a number of calls. Set it before the source is
// used.
func (s *Source) AfterCalls(after int, f func()) { s.after, s.then = after, f }
