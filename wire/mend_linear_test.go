package wire_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pare-llm/pare/wire"
)

// TestMendManyCalls: one turn with very many unanswered calls takes time by their
// number, not by its square.
func TestMendManyCalls(t *testing.T) {
	body := func(n int) []byte {
		calls := make([]string, n)
		for i := range calls {
			calls[i] = fmt.Sprintf(`{"type":"tool_use","id":"toolu_%d","name":"R","input":{}}`, i)
		}
		return []byte(`{"model":"claude-sonnet-4-5","max_tokens":10,"messages":[{"role":"user","content":"x"},{"role":"assistant","content":[` +
			strings.Join(calls, ",") + `]},{"role":"user","content":"y"}]}`)
	}
	for _, p := range []wire.Policy{{}, {OrphanCall: wire.Drop}} {
		mend := func(n int) time.Duration {
			best := time.Hour
			for range 3 {
				r, err := wire.Parse(body(n), wire.Options{})
				if err != nil {
					t.Fatal(err)
				}
				start := time.Now()
				if m, err := r.Mend(p, wire.CheckOptions{}); err != nil || len(m.Left) > 0 {
					t.Fatal(err, m.Left)
				}
				best = min(best, time.Since(start))
			}
			return best
		}
		if few, many := mend(1000), mend(16_000); many > 64*few {
			t.Errorf("%+v: 16 times the calls take %.1f times as long", p, float64(many)/float64(few))
		}
	}
}
