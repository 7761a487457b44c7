package truth

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/rules"
	"github.com/pare-llm/pare/summary"
	"github.com/pare-llm/pare/wire"
)

// A command is something that is done to a request.
type command struct {
	name   string
	policy func(r *wire.Request, rnd *rand.Rand) *pare.Policy
}

func commands(tb testing.TB) []command {
	standard, err := pare.Compile(rules.Standard()...)
	if err != nil {
		tb.Fatal(err)
	}
	window := func(w func(r *wire.Request, rnd *rand.Rand) pare.Window) func(*wire.Request, *rand.Rand) *pare.Policy {
		return func(r *wire.Request, rnd *rand.Rand) *pare.Policy {
			one := w(r, rnd)
			return &pare.Policy{Window: &one}
		}
	}
	compactor := func(rnd *rand.Rand) *pare.Compactor {
		return &pare.Compactor{Summarize: summary.Extract(summary.ExtractOptions{}), MinKeep: 1 + rnd.IntN(3), Inside: rnd.IntN(2) == 0}
	}
	share := func(r *wire.Request, rnd *rand.Rand) int { return 1 + len(r.Raw())/4*(10+rnd.IntN(100))/100 }
	return []command{
		{"fix", func(*wire.Request, *rand.Rand) *pare.Policy { return &pare.Policy{} }},
		{"fix --strict", func(*wire.Request, *rand.Rand) *pare.Policy {
			return &pare.Policy{Check: wire.CheckOptions{Strict: true}}
		}},
		{"fix --orphan-call drop --orphan-result drop", func(*wire.Request, *rand.Rand) *pare.Policy {
			return &pare.Policy{Repair: wire.Repair{OrphanCall: wire.RemedyDrop, OrphanResult: wire.RemedyDrop}}
		}},
		{"prune", func(*wire.Request, *rand.Rand) *pare.Policy { return &pare.Policy{Rules: standard} }},
		{"trim --max-messages", window(func(r *wire.Request, rnd *rand.Rand) pare.Window {
			return pare.Window{Messages: 1 + rnd.IntN(len(r.Transcript().Messages())+1)}
		})},
		{"trim --max-exchanges", window(func(_ *wire.Request, rnd *rand.Rand) pare.Window { return pare.Window{Exchanges: 1 + rnd.IntN(4)} })},
		{"trim --max-turns", window(func(_ *wire.Request, rnd *rand.Rand) pare.Window { return pare.Window{Turns: 1 + rnd.IntN(3)} })},
		{"trim --max-tokens", window(func(r *wire.Request, rnd *rand.Rand) pare.Window { return pare.Window{Tokens: share(r, rnd)} })},
		{"trim --low 50%", window(func(r *wire.Request, rnd *rand.Rand) pare.Window {
			return pare.Window{Tokens: share(r, rnd), LowPercent: 50}
		})},
		{"trim --summarize", func(r *wire.Request, rnd *rand.Rand) *pare.Policy {
			return &pare.Policy{Window: &pare.Window{Tokens: share(r, rnd), LowPercent: 50}, Compact: compactor(rnd)}
		}},
		{"compact", func(_ *wire.Request, rnd *rand.Rand) *pare.Policy { return &pare.Policy{Compact: compactor(rnd)} }},
	}
}

// carryOut plans a command, or returns nil if there is no such plan: the window is too
// small, there is nothing to compact.
func (c command) carryOut(tb testing.TB, r *wire.Request, seed uint64) *pare.Plan {
	plan, err := c.policy(r, rand.New(rand.NewPCG(seed, 13))).Plan(context.Background(), r)
	var small *pare.WindowTooSmall
	var compaction *pare.CompactionError
	switch {
	case errors.As(err, &small), errors.As(err, &compaction):
		return nil
	case err != nil:
		tb.Errorf("seed %d, %s: %v\n%s", seed, c.name, err, r.Raw())
		return nil
	}
	return plan
}
