package dialect_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/internal/trial"
)

// TestDefectX4TooManyValues: a list of a few bytes per element is given up before it takes
// hundreds of times its size, in every dialect.
func TestDefectX4TooManyValues(t *testing.T) {
	for i, d := range dialect.Dialects() {
		for j, element := range []string{"{}", "1", `""`, `{"role":"user"}`} {
			switch { // outside of a soak: objects in every dialect, the others in two of them
			case trial.Soak() || j == i%3+1 || j == 0 && !testing.Short():
			default:
				continue
			}
			body := []byte(`{"` + d.List() + `":[` + strings.Repeat(element+",", 510_000) + element + `]}`)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := dialect.Parse(body, dialect.Options{Dialect: d})
			runtime.ReadMemStats(&after)
			var syntax *dialect.SyntaxError
			if !errors.As(err, &syntax) || syntax.Reason != jsonspan.TooMany || !strings.Contains(err.Error(), d.List()) {
				t.Errorf("%s, %s: %v", d, element, err)
			}
			if took := (after.TotalAlloc - before.TotalAlloc) >> 20; took > 500 {
				t.Errorf("%s, %s: it took %d MB", d, element, took)
			}
		}
	}
}

// TestDefectX4TooManyFaults: what has more faults than anybody reads is not repaired, and its
// faults are not all listed.
func TestDefectX4TooManyFaults(t *testing.T) {
	const one = `{"role":"tool","tool_call_id":"c","content":"x"}`
	body := `{"model":"gpt-5","messages":[{"role":"user","content":"a"},` + strings.Repeat(one+",", 100_100) + one + `]}`
	r, err := dialect.Parse([]byte(body), dialect.Options{Dialect: dialect.OpenAIChat})
	if err != nil {
		t.Fatal(err)
	}
	m, err := dialect.RepairRequest(r, dialect.Repair{}, dialect.CheckOptions{})
	if err != nil || m.Request != r || len(m.Changes) > 0 || len(m.Left) != 100_000 {
		t.Errorf("%v: %d changes, %d left", err, len(m.Changes), len(m.Left))
	}
}

// TestDefectX4RepairingStops as soon as nobody waits for it any more.
func TestDefectX4RepairingStops(t *testing.T) {
	r, err := dialect.Parse([]byte(`{"model":"gpt-5","messages":[{"role":"user","content":"a"},{"role":"tool","tool_call_id":"c","content":"x"}]}`), dialect.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := dialect.RepairFrom(ctx, r, r, dialect.Repair{}, dialect.CheckOptions{}); err != context.Canceled {
		t.Error(err)
	}
}
