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

// A Tally counts the calls and failures of all seeds.
type Tally struct {
	mu    sync.Mutex
	seeds int
	count map[string]int
}

// Add adds the failures of a source, and the operations of the test.
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

// Count adds n to another counter.
func (c *Tally) Count(counter string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.count == nil {
		c.count = make(map[string]int)
	}
	c.count[counter] += n
}

func (c *Tally) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	parts := []string{fmt.Sprintf("%d seeds", c.seeds)}
	for _, counter := range slices.Sorted(maps.Keys(c.count)) {
		parts = append(parts, fmt.Sprintf("%s: %d", counter, c.count[counter]))
	}
	return strings.Join(parts, ", ")
}

// Run runs a test with n seeds, or as many as [trial.Size] and the environment require. It stops at
// the first seed that fails and reports it.
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

// alone runs one seed. It reports the seed also if the test panics or exits.
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
