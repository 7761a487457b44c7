package engine

import (
	"context"
	"slices"
	"testing"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/planner"
	"github.com/pare-llm/pare/wire"
)

// pairSlugs are the rules that are about halves of pairs.
var pairSlugs = []string{
	"orphan-call", "orphan-result", "displaced-result", "duplicate-result", "call-wrong-role", "result-wrong-role", "server-tool-unpaired",
}

// TestOrphansAgreeWithCheck checks that Orphans agrees with the check, and that dropping orphans
// leaves none.
func TestOrphansAgreeWithCheck(t *testing.T) {
	for name, body := range map[string]string{
		"two calls with one id, one result": `{"model":"claude-sonnet-4-5","messages":[{"role":"user","content":"q"},
			{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"R","input":{"n":1}},{"type":"tool_use","id":"a","name":"R","input":{"n":2}}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"one"}]}]}`,
		"a displaced result": `{"model":"claude-sonnet-4-5","messages":[{"role":"user","content":"q"},
			{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"R","input":{}}]},
			{"role":"user","content":"wait"},{"role":"assistant","content":"I wait."},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"one"}]}]}`,
		"an orphaned server tool": `{"model":"claude-sonnet-4-5","messages":[{"role":"user","content":"q"},
			{"role":"assistant","content":[{"type":"text","text":"s"},{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[]}]},
			{"role":"user","content":"n"}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			r, err := pare.Parse([]byte(body))
			if err != nil {
				t.Fatal(err)
			}
			if planner.IsPaired(r) {
				t.Errorf("called paired; the check says %v", r.Check(wire.CheckOptions{}))
			}
			dropped(t, r)
		})
	}
	for seed := range uint64(historyCount(t) / 20) {
		d, body, did := history(seed)
		r := reading(t, d, body)
		found := slices.ContainsFunc(r.Check(wire.CheckOptions{}), func(f wire.Finding) bool { return slices.Contains(pairSlugs, f.Rule) })
		if found && planner.IsPaired(r) {
			t.Fatalf("seed %d, %s, %v: called paired; the check says %v\n%s", seed, d, did, r.Check(wire.CheckOptions{}), body)
		}
		dropped(t, r)
		// A plan tells of the same orphans.
		plan, err := planner.Repair(context.Background(), r, pare.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got, want := plan.Events()[0].Metadata.(pare.PairsChecked).OrphanCount, len(pare.Orphans(r, false)); got != want {
			t.Fatalf("seed %d, %s, %v: the plan tells of %d orphans, there are %d", seed, d, did, got, want)
		}
		if t.Failed() {
			t.Fatalf("seed %d, %s, %v\n%s", seed, d, did, body)
		}
	}
}

// dropped checks that dropping the orphans leaves none.
func dropped(t *testing.T, r *wire.Request) {
	t.Helper()
	out, removed, event, err := pare.DropOrphans(r)
	if err != nil {
		t.Fatal(err)
	}
	m := event.Metadata.(pare.PairsChecked)
	if m.OrphanCount != len(removed) || (event.Type == "tool_pair_pruned") != (len(removed) > 0) {
		t.Errorf("%s: %+v, %d removed", event.Type, m, len(removed))
	}
	for _, o := range removed {
		if o.Path == "" {
			t.Errorf("orphan %+v stands nowhere", o)
		}
	}
	after, err := wire.Parse(out, wire.Options{Dialect: r.Dialect, Profile: r.Profile.Name, Model: r.Model()})
	if err != nil {
		t.Fatal(err)
	}
	if left := pare.Orphans(after, false); len(left) > 0 {
		t.Errorf("left %+v\n%s", left, out)
	}
}
