package engine

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/histories"
	"github.com/pare-llm/pare/internal/planner"
	"github.com/pare-llm/pare/internal/trial"
	"github.com/pare-llm/pare/rules"
	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/wire"
)

// damagedHistory returns a random history with long results, of which some parts may be broken.
func damagedHistory(t *testing.T, rng *rand.Rand, seed uint64, d wire.Dialect) *wire.Request {
	t.Helper()
	s := histories.Random(seed, histories.GenOptions{Turns: 1 + rng.IntN(4), Steps: 10})
	for i := range s {
		if s[i].Op == histories.Result && rng.IntN(3) > 0 {
			s[i].Text += strings.Repeat(fmt.Sprintf("\nline of %d words name_%d", seed, rng.IntN(40)), rng.IntN(60))
		}
	}
	for range rng.IntN(3) {
		s, _ = histories.Break(rng, s)
	}
	r, err := wire.Parse(s.Render(d, histories.RenderOptions{}), wire.Options{Dialect: d})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// sentRequests lists the requests that led to a history, as a client sent them: with their damage.
func sentRequests(t *testing.T, r *wire.Request) (all []*wire.Request) {
	t.Helper()
	messages, raw := r.Transcript().Messages(), r.Raw()
	if len(messages) == 0 {
		return nil // the damage removed all of them
	}
	tail := raw[messages[len(messages)-1].Span.End:]
	for _, end := range planner.RequestEnds(r.Transcript()) {
		q, err := wire.Parse(slices.Concat(raw[:messages[end-1].Span.End], tail), wire.Options{Dialect: r.Dialect})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, q)
	}
	return all
}

// coldWindow returns a window with rules for cold requests, and whether nothing but a cold request
// makes it cut.
func coldWindow(t *testing.T, rng *rand.Rand, r *wire.Request) (w pare.Window, onlyCold bool) {
	t.Helper()
	hazard, err := rules.Hazard{MinBytes: 64}.Rule()
	if err != nil {
		t.Fatal(err)
	}
	cold, err := pare.Compile(hazard)
	if err != nil {
		t.Fatal(err)
	}
	size := r.Tokens(quarters{})
	w = pare.Window{Tokens: 2 * size, LowPercent: 50, ColdRules: cold, MinKeep: rng.IntN(3)}
	tight, priced := rng.IntN(2) == 0, rng.IntN(3) == 0
	if tight {
		w.Tokens, w.Unmarked = max(size*2/3, 2), true // a mark lowers the limit of all earlier requests
	}
	if priced {
		w.Cache = tokens.CacheOf("claude-sonnet-4-5")
	}
	return w, !tight && !priced
}

// coldCuts lists the places that the rules for cold requests changed, and how often a plan cut
// because a request was cold.
func coldCuts(plan *pare.Plan) (paths []string, cuts int) {
	for _, c := range plan.Changes() {
		if c.Rule == "hazard" {
			paths = append(paths, c.Path)
		}
	}
	for _, b := range plan.Batches() {
		if b.Cold {
			cuts++
		}
	}
	return paths, cuts
}

// repairsAlike reports whether the repaired history of a request begins with that of an earlier
// one: a result that comes late can change the repair of older messages.
func repairsAlike(plan, later *pare.Plan) bool {
	was, is := planner.RepairedRequest(plan), planner.RepairedRequest(later)
	messages := was.Transcript().Messages()
	return bytes.HasPrefix(is.Raw(), was.Raw()[:messages[len(messages)-1].Span.End])
}

// TestColdCutIsDecidedByItsHistory checks that later requests repeat the cuts of a cold request and
// add none to them, also in broken histories.
func TestColdCutIsDecidedByItsHistory(t *testing.T) {
	cuts, size := 0, trial.Size(60)
	for seed := range uint64(size) {
		rng := rand.New(rand.NewPCG(seed, 11))
		d := wire.Dialects()[seed%uint64(len(wire.Dialects()))]
		r := damagedHistory(t, rng, seed, d)
		all := sentRequests(t, r)
		if len(all) == 0 {
			continue
		}
		w, onlyCold := coldWindow(t, rng, r)
		at := len(all) * 2 / 3
		w.Cold = []int{len(all[at].Transcript().Messages())}
		plan, err := planner.Trim(context.Background(), all[at], w, pare.Options{Counter: quarters{}})
		if err != nil {
			continue // the window is too small for what must stay
		}
		paths, batches := coldCuts(plan)
		cuts += batches
		for k := at + 1; k < min(len(all), at+4); k++ {
			later, err := planner.Trim(context.Background(), all[k], w, pare.Options{Counter: quarters{}})
			if err != nil || !repairsAlike(plan, later) {
				break
			}
			paths2, batches2 := coldCuts(later)
			if batches2 != batches || onlyCold && !slices.Equal(paths2, paths) {
				t.Errorf("seed %d, %s: request %d cut %d times, %v; %d requests later %d times, %v", seed, d, at+1, batches, paths, k-at, batches2, paths2)
				break
			}
		}
	}
	if cuts < size/10 {
		t.Errorf("%d of %d cold requests cut anything", cuts, size)
	}
}
