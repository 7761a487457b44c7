package engine

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/benchdata"
)

// countdown is a context that ends when it has been asked so many times.
type countdown struct {
	context.Context
	left  int64
	asked atomic.Int64
}

func (c *countdown) Err() error {
	if c.asked.Add(1) > c.left {
		return context.DeadlineExceeded
	}
	return nil
}

// TestPlanningStopsWithContext checks that planning stops soon after the end of its context,
// wherever it is.
func TestPlanningStopsWithContext(t *testing.T) {
	policies := map[string]*pare.Policy{
		"repair":        {},
		"window":        {Window: &pare.Window{Tokens: 20_000}},
		"stable window": {Window: &pare.Window{Tokens: 20_000, LowPercent: 70}},
	}
	for name, p := range policies {
		var asked []int64
		for _, exchanges := range []int{200, 1600} {
			body := benchdata.Exchanges(exchanges)
			body = strings.ReplaceAll(body, `"tool_use_id":"`, `"tool_use_id":"lost`) // no pair is whole
			r, err := pare.Parse([]byte(body))
			if err != nil {
				t.Fatal(err)
			}
			all := &countdown{Context: t.Context(), left: 1 << 40}
			if _, err := p.Plan(all, r); err != nil {
				t.Fatal(name, err)
			}
			n := all.asked.Load()
			asked = append(asked, n)
			for _, left := range []int64{0, n / 2, n - 1} {
				if _, err := p.Plan(&countdown{Context: t.Context(), left: left}, r); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%s: asked %d times of %d: %v", name, left, n, err)
				}
			}
		}
		if asked[1] <= asked[0] {
			t.Errorf("%s: asked %d times, then %d", name, asked[0], asked[1])
		}
	}
}
