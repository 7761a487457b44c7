package fault

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/pare-llm/pare/internal/trial"
)

// A Tally is what the seeds of a run have met. Many goroutines may use it.
type Tally struct {
	mu    sync.Mutex
	seeds int
	count map[string]int
}

// Add counts what a source has let fail, and how many operations the test has done.
func (c *Tally) Add(s *Source, operations int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.count == nil {
		c.count = make(map[string]int)
	}
	c.seeds++
	c.count["calls"] += s.passed
	c.count["operations"] += operations
	for point, n := range s.hits {
		c.count["fault "+point] += n
		c.count["faults"] += n
	}
}

// Count counts something else.
func (c *Tally) Count(what string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.count == nil {
		c.count = make(map[string]int)
	}
	c.count[what] += n
}

func (c *Tally) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	parts := []string{fmt.Sprintf("%d seeds", c.seeds)}
	for _, what := range slices.Sorted(maps.Keys(c.count)) {
		parts = append(parts, fmt.Sprintf("%s: %d", what, c.count[what]))
	}
	return strings.Join(parts, ", ")
}

// Run runs a test with n seeds, or as [trial.Size] and the environment say, and stops at the
// first that fails, which it names.
func Run(t *testing.T, n int, one func(t *testing.T, s *Source)) {
	t.Helper()
	first, n := uint64(0), trial.Size(n)
	if seed, err := strconv.ParseUint(os.Getenv("PARE_FAULT_SEED"), 10, 64); err == nil {
		first, n = seed, 1
	}
	if m, err := strconv.Atoi(os.Getenv("PARE_FAULT_SEEDS")); err == nil && m > 0 {
		n = m
	}
	for i := range uint64(n) {
		alone(t, first+i, one)
		if (i+1)%500 == 0 {
			t.Logf("%d seeds", i+1)
		}
	}
}

// alone runs one seed, which is named also if the test panics or never ends well.
func alone(t *testing.T, seed uint64, one func(t *testing.T, s *Source)) {
	t.Helper()
	done := false
	defer func() {
		if !done || t.Failed() {
			t.Errorf("seed %d failed: PARE_FAULT_SEED=%d go test -run '^%s$' runs it alone", seed, seed, strings.ReplaceAll(t.Name(), "/", "$/^"))
		}
	}()
	one(t, New(seed))
	done = true
	if t.Failed() {
		t.FailNow()
	}
}
