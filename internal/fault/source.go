package fault

import (
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"sync"
)

// Err is what a call that was made to fail says.
var Err = errors.New("fault: this call was made to fail")

// A Source decides which calls fail. Many goroutines may use it.
type Source struct {
	seed uint64
	rate float64 // how many of the calls fail
	once int     // the call that fails besides, counted over all points; 0: none

	mu     sync.Mutex
	off    bool
	passed int
	points map[string]int // how often each was passed
	hits   map[string]int // how often each failed
	at     func(passed int)
	cut    int // how many points are passed before onCut is called; 0: never
	onCut  func()
}

// New makes a source. One seed in four lets exactly one call fail, the others one call in 5 to
// one in 200; one in sixteen none.
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

// Rand is chance for one purpose of the test itself; the same in each run of a seed.
func (s *Source) Rand(purpose string) *rand.Rand {
	return rand.New(rand.NewPCG(s.seed, hash(purpose, 0)))
}

func hash(point string, n int) uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s %d", point, n)
	return h.Sum64()
}

// Each calls a function whenever a point is passed, with how many were passed before: to give
// up on a call just there, say. It is set before the source is used.
func (s *Source) Each(f func(passed int)) { s.at = f }

// At passes a point, and reports whether the call there fails.
func (s *Source) At(point string) bool { return s.Chance(point, 1) }

// Chance is At for what fails more or less often than other calls.
func (s *Source) Chance(point string, weight float64) bool {
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
	if s.cut > 0 && passed == s.cut {
		s.onCut()
	}
	if s.at != nil {
		s.at(passed)
	}
	return fails
}

// Note counts a fault that somebody else has decided on.
func (s *Source) Note(point string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hits[point]++
}

// Stop lets every call succeed from now on.
func (s *Source) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.off = true
}

// Cut calls a function once, when so many points were passed: it is set before the source is
// used.
func (s *Source) Cut(after int, f func()) { s.cut, s.onCut = after, f }
