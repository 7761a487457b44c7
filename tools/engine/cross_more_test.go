package engine

import (
	"bytes"
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/planner"
	"github.com/pare-llm/pare/rules"
	"github.com/pare-llm/pare/wire"
)

// merged reports whether a role has two messages in a row with only results between them. Some
// providers join them to one turn, which stays complete if it is the newest; others do not. The
// same holds for text after a call, and for a result without a call.
func (k parley) merged() bool {
	last, calls := "", map[string]bool{}
	for _, g := range k.groups() {
		for _, b := range g {
			if calls[b.id] = calls[b.id] || b.is == 'c'; b.is == 'r' && !calls[b.id] {
				return true
			}
		}
		v := g[0].voice()
		empty := !slices.ContainsFunc(g, func(b beat) bool { return !b.blank && b.is != 't' })
		called := slices.IndexFunc(g, func(b beat) bool { return b.is == 'c' })
		talks := called >= 0 && slices.ContainsFunc(g[called:], func(b beat) bool { return b.is == 's' })
		if v == last || empty || talks || v == "tool" && last == "user" {
			return true
		}
		last = v
	}
	return false
}

// late reports whether a result does not directly follow the turn of its call.
func (k parley) late() bool {
	calls := map[string]int{}
	for i, g := range k.groups() {
		for _, b := range g {
			if b.is == 'c' {
				calls[b.id] = i
			}
			if at, ok := calls[b.id]; b.is == 'r' && ok && at != i-1 {
				return true
			}
		}
	}
	return false
}

// TestCrossTrimBroken: a window on a broken talk keeps the same in every dialect, parts no pair
// and is accepted.
func TestCrossTrimBroken(t *testing.T) {
	for seed := range uint64(historyCount(t) / 125) {
		k, did := struck(seed)
		bodies := k.bodies(t)
		rnd := rand.New(rand.NewPCG(seed, 53))
		for _, u := range []string{"exchanges", "turns", "tokens"} {
			if u == "tokens" && k.has('t') {
				continue
			}
			for _, n := range []int{1, 2, 1 + rnd.IntN(len(k.beats)), 1 + rnd.IntN(len(k.beats))} {
				want := ""
				for i, h := range hands {
					got := leftBy(t, h, bodies[i], window(u, n))
					if h.d == wire.OpenAIResponses && k.late() {
						continue // where it may stand
					}
					if i == 0 {
						want = got
					} else if got != want && !k.apart() && !k.shares() && !k.merged() {
						t.Fatalf("seed %d, %v, %d %s: %s\n%s: %s\n%s: %s\nin  %s", seed, did, n, u, k, hands[0].name, want, h.name, got, bodies[i])
					}
				}
			}
		}
	}
}

// TestCrossPrune: the standard rules take the same out of a talk in every dialect.
func TestCrossPrune(t *testing.T) {
	of := func(r pare.Rule, err error) pare.Rule {
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	one := 1 // what is recent is counted in turns, as messages differ
	p := compile(t, of(rules.Deduplication{}.Rule()), of(rules.SupersededWrites{}.Rule()), of(rules.ErrorPurging{}.Rule()), of(rules.Recency{Turns: &one}.Rule()))
	for seed := range uint64(historyCount(t) / 40) {
		k := parleyOf(seed)
		for i := range k.beats {
			k.beats[i].failed = false // not every dialect has a mark for that
		}
		again(k, seed)
		want := ""
		for i, h := range hands {
			body := h.body(t, k)
			plan, err := planner.Prune(context.Background(), p, reading(t, h.d, body), pare.Options{})
			if err != nil {
				t.Fatal(err)
			}
			out, err := plan.Apply()
			if err != nil {
				t.Fatalf("seed %d, %s: %v", seed, h.name, err)
			}
			if left := reading(t, h.d, out).Check(wire.CheckOptions{}); len(left) > 0 {
				t.Fatalf("seed %d, %s: %v\nin  %s\nout %s", seed, h.name, left, body, out)
			}
			wholePairs(t, h.name, h.d, utterances(t, h.d, out))
			got := remains(out)
			if i == 0 {
				want = got
			} else if got != want {
				t.Fatalf("seed %d: %s\n%s: %s\n%s: %s\nplan\n%s\nin  %s", seed, k, hands[0].name, want, h.name, got, plan, body)
			}
		}
	}
}

// again replaces calls and their results by copies of earlier ones.
func again(k parley, seed uint64) {
	rnd := rand.New(rand.NewPCG(seed, 54))
	var seen [2][]beat
	for i, b := range k.beats {
		at := map[byte]int{'c': 0, 'r': 1}
		j, ok := at[b.is]
		if !ok {
			continue
		}
		if len(seen[j]) > 0 && rnd.IntN(2) == 0 {
			k.beats[i].same = seen[j][rnd.IntN(len(seen[j]))].text()
		}
		seen[j] = append(seen[j], k.beats[i])
	}
}

// TestCrossBehind checks that a valid beginning stays unchanged if the faults are after it, unless
// later content answers one of its calls.
func TestCrossBehind(t *testing.T) {
	for seed := range uint64(historyCount(t) / 40) {
		front := parleyOf(seed)
		if front.beats[len(front.beats)-1].is != 'u' || front.has('t') {
			continue
		}
		behind, did := struck(seed + 1<<32)
		k := parley{system: front.system, beats: append(front.beats[:len(front.beats):len(front.beats)], beat{is: 's', word: "s9999w"})}
		n := len(k.beats)
		for _, b := range behind.beats {
			if b.word += "x"; b.id != "" {
				b.id = "other" + b.id
			}
			k.beats = append(k.beats, b)
		}
		if k.beats[n].voice() != "user" {
			continue
		}
		for _, h := range hands {
			body := h.body(t, k)
			m := repairTalk(t, h, body)
			clean, whole := elementsOf(t, h.body(t, parley{system: front.system, beats: front.beats})), elementsOf(t, m.out)
			for i, e := range clean {
				if i >= len(whole) || !bytes.Equal(e, whole[i]) {
					t.Fatalf("seed %d, %s, %v: element %d of the beginning has changed\n%s\nin  %s\nout %s", seed, h.name, did, i, k, body, m.out)
				}
			}
		}
	}
}
