package dialect_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/internal/trial"
)

// TestRepairManyCalls: one turn with very many unanswered calls takes time by their
// number, not by its square.
func TestRepairManyCalls(t *testing.T) {
	body := func(n int) []byte {
		calls := make([]string, n)
		for i := range calls {
			calls[i] = fmt.Sprintf(`{"type":"tool_use","id":"toolu_%d","name":"R","input":{}}`, i)
		}
		return []byte(`{"model":"claude-sonnet-4-5","max_tokens":10,"messages":[{"role":"user","content":"x"},{"role":"assistant","content":[` +
			strings.Join(calls, ",") + `]},{"role":"user","content":"y"}]}`)
	}
	for _, p := range []dialect.Repair{{}, {OrphanCall: dialect.RemedyDrop}} {
		trial.Linear(t, fmt.Sprintf("%+v", p), 16_000, func(n int) func() {
			r, err := dialect.Parse(body(n), dialect.Options{})
			if err != nil {
				t.Fatal(err)
			}
			return func() {
				if m, err := dialect.RepairRequest(r, p, dialect.CheckOptions{}); err != nil || len(m.Left) > 0 {
					t.Fatal(err, m.Left)
				}
			}
		})
	}
}
