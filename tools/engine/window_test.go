package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/histories"
	"github.com/pare-llm/pare/internal/planner"
	"github.com/pare-llm/pare/internal/trial"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// quarters counts a token for every four bytes.
type quarters = trial.QuarterCounter

var units = []string{"tokens", "messages", "exchanges", "turns"}

// window returns a window with one limit.
func window(u string, n int) pare.Window {
	switch u {
	case "tokens":
		return pare.Window{Tokens: n}
	case "messages":
		return pare.Window{Messages: n}
	case "exchanges":
		return pare.Window{Exchanges: n}
	}
	return pare.Window{Turns: n}
}

// size counts a request without the engine's help.
func size(u string, r *wire.Request) int {
	t := r.Transcript()
	switch u {
	case "tokens":
		return r.Tokens(quarters{})
	case "messages":
		return len(t.Messages())
	case "exchanges":
		return len(t.Exchanges())
	}
	n := 0
	for _, m := range t.Messages() {
		if m.Speaks && m.Role != transcript.System {
			n++
		}
	}
	return n
}

// limits lists limits worth trying for something of that size: all small ones, some
// others.
func limits(n int) []int {
	var all []int
	for l := 1; l <= n+1; l += max(1, l/6) {
		all = append(all, l)
	}
	return append(all, max(n, 1))
}

// checkWindow checks every promise of a window on one history: within the limit and
// clean, or an error whose minimum is exact; a larger limit keeps a superset; a second
// run changes nothing.
func checkWindow(t *testing.T, name string, r *wire.Request, u string, with func(*pare.Window)) {
	t.Helper()
	o := pare.Options{Counter: quarters{}}
	trim := func(limit int) (*pare.Plan, error) {
		w := window(u, limit)
		with(&w)
		return planner.Trim(context.Background(), r, w, o)
	}
	all := limits(size(u, r))
	slices.Sort(all)
	var smaller *pare.Plan
	minimum := -1
	for _, l := range slices.Compact(all) {
		plan, err := trim(l)
		var small *pare.WindowTooSmall
		switch {
		case errors.As(err, &small):
			if minimum >= 0 && small.Minimum != minimum {
				t.Fatalf("%s: %s %d: minimum %d, before it was %d", name, u, l, small.Minimum, minimum)
			}
			if small.Minimum <= l || small.Limit != l || small.Unit != u || smaller != nil {
				t.Fatalf("%s: %s %d: %+v", name, u, l, small)
			}
			minimum = small.Minimum
			continue
		case err != nil:
			t.Fatalf("%s: %s %d: %v", name, u, l, err)
		}
		if n := size(u, plan.Result()); n > l {
			t.Fatalf("%s: %s %d: %d are left\n%s\n%s", name, u, l, n, plan, plan.Result().Raw())
		}
		if l < minimum {
			t.Fatalf("%s: %s %d succeeds, minimum is %d", name, u, l, minimum)
		}
		for _, f := range plan.Remaining() {
			if !slices.Contains(mayStay, f.Rule) {
				t.Fatalf("%s: %s %d: left %+v\n%s\n%s", name, u, l, f, plan, plan.Result().Raw())
			}
		}
		if len(plan.Result().Transcript().Messages()) == 0 && len(r.Transcript().Messages()) > 0 {
			t.Fatalf("%s: %s %d: nothing is left", name, u, l)
		}
		if smaller != nil {
			superset(t, fmt.Sprintf("%s: %s %d", name, u, l), smaller, plan)
		}
		smaller = plan
		again, err := planner.Trim(context.Background(), plan.Result(), window(u, l), o)
		if err != nil || !again.Empty() {
			t.Fatalf("%s: %s %d: a second run: %v\n%s", name, u, l, err, again)
		}
	}
	if minimum > 0 {
		if _, err := trim(minimum); err != nil {
			t.Fatalf("%s: %s: the minimum %d fails: %v", name, u, minimum, err)
		}
		if _, err := trim(minimum - 1); minimum > 1 && err == nil {
			t.Fatalf("%s: %s: one less than the minimum %d works", name, u, minimum)
		}
	}
}

// superset checks that a larger window keeps everything that a smaller window keeps.
func superset(t *testing.T, name string, small, large *pare.Plan) {
	t.Helper()
	takes := map[wire.Action]int{wire.ActionKeep: 0, wire.ActionEdit: 1, wire.ActionDrop: 2}
	for a, d := range small.Decisions() {
		if e := large.Decisions()[a]; takes[e.Action] > takes[d.Action] {
			t.Fatalf("%s: atom %d: %v, in a smaller window %v", name, a, e.Action, d.Action)
		}
	}
}

func TestWindowRelations(t *testing.T) {
	n := historyCount(t) / 20
	for i := range n {
		seed := uint64(i)
		name, r := seeded(t, seed)
		if fixed, err := planner.Repair(context.Background(), r, pare.Options{}); err != nil || len(fixed.Remaining()) > 0 {
			continue // what no repair repairs, such as an empty list
		}
		u := units[i%len(units)]
		checkWindow(t, name, r, u, func(w *pare.Window) {
			switch i / 4 % 3 {
			case 1:
				w.MiddleOut = true
			case 2:
				w.Priority = func(_ *wire.Request, a transcript.AtomID) int { return int(a) * 7 % 5 }
			}
			w.Unpin = pare.Pin(i / 12 % 8)
			w.MinKeep = i / 100 % 4
			w.AllowTiny = i/7%2 == 0
			w.Archive = i/9%2 == 0
			if i/3%3 == 0 {
				w.Rules = compile(t, hostile("a", seed), lastMessages(2))
			}
		})
	}
}

// TestTrimToMessages is the example of the article that seed system 3 comes from.
func TestTrimToMessages(t *testing.T) {
	s := histories.MustParse(`user "what is the weather?" | call c1 Weather Paris | result c1 sunny | say "It is sunny." | user "and tomorrow?"`)
	for _, d := range wire.Dialects() {
		r, err := wire.Parse(s.Render(d, histories.RenderOptions{}), wire.Options{Dialect: d})
		if err != nil {
			t.Fatal(err)
		}
		plan, err := planner.Trim(context.Background(), r, pare.Window{Messages: 3}, pare.Options{})
		if err != nil {
			t.Fatalf("%s: %v", d, err)
		}
		if n := len(plan.Result().Transcript().Messages()); n != 3 || len(plan.Remaining()) > 0 {
			t.Errorf("%s: %d messages left, %v\n%s", d, n, plan.Remaining(), plan.Result().Raw())
		}
		var small *pare.WindowTooSmall
		if _, err := planner.Trim(context.Background(), r, pare.Window{Messages: 1}, pare.Options{}); !errors.As(err, &small) || small.Minimum != 2 {
			t.Errorf("%s: to one message: %v", d, err)
		}
	}
}
