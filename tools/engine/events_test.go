package engine

import (
	"context"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/histories"
	"github.com/pare-llm/pare/internal/planner"
	"github.com/pare-llm/pare/internal/trial"
	"github.com/pare-llm/pare/wire"
)

// TestSkippedCompactionReportsFindings checks that a compaction without a cut still reports the
// findings in the history.
func TestSkippedCompactionReportsFindings(t *testing.T) {
	all := []wire.Dialect{wire.Anthropic, wire.OpenAIChat, wire.OpenAIResponses, wire.Gemini, wire.Bedrock, wire.GeminiInteractions}
	for seed := range trial.Size(600) {
		for _, d := range all {
			body, did := histories.Mixed(uint64(seed), d, histories.MixOptions{Breaks: 2, Turns: 1})
			r, err := wire.Parse(body, wire.Options{Dialect: d})
			if err != nil {
				continue
			}
			for _, c := range []*pare.Compactor{{MinKeep: 1000}, {MinKeep: 2}, {MinKeep: 1000, Summarize: func(context.Context, pare.Removed) (pare.Summary, error) { return pare.Summary{Text: "x"}, nil }}} {
				plan, err := planner.Compact(context.Background(), c, r)
				if err != nil {
					continue
				}
				out := plan.Result()
				found, left := out.Check(wire.CheckOptions{}), plan.Remaining()
				if len(found) != len(left) {
					t.Fatalf("seed %d, %v, %v: the provider would refuse %v, but left are %v\n%s", seed, d, did, found, left, body)
				}
				if body, err := plan.Apply(); (err != nil) != (len(left) > 0) || err == nil && len(body) == 0 {
					t.Fatalf("seed %d, %v, %v: left %v, applied: %v", seed, d, did, left, err)
				}
			}
		}
	}
}

// TestPairEventsReportActions checks that the event about pairs reports pruning only if something
// was dropped.
func TestPairEventsReportActions(t *testing.T) {
	body := func(messages string) string {
		return `{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[{"role":"user","content":"q"},` + messages + `,{"role":"user","content":"n"}]}`
	}
	const (
		call  = `{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]}`
		reply = `{"role":"assistant","content":"ok"}`
		late  = `{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"one"}]}`
		lost  = `{"role":"user","content":[{"type":"tool_result","tool_use_id":"lost","content":"one"}]}`
	)
	drop := wire.Repair{OrphanCall: wire.RemedyDrop, OrphanResult: wire.RemedyDrop}
	for _, c := range []struct {
		name, body string
		repair     wire.Repair
		event      string
		removed    []int
		done       []string
	}{
		{"nothing is wrong", body(call + "," + late), wire.Repair{}, "tool_pair_validated", nil, nil},
		{"a stub", body(call), wire.Repair{}, "tool_pair_repaired", nil, []string{"insert"}},
		{"a result is moved", body(call + `,{"role":"user","content":"hm"},` + reply + "," + late), wire.Repair{}, "tool_pair_repaired", nil, []string{"", "move"}},
		{"a stray is quoted", body(reply + "," + lost), wire.Repair{}, "tool_pair_repaired", nil, []string{"edit"}},
		{"a call is dropped", body(call), drop, "tool_pair_pruned", []int{1}, []string{"drop"}},
		{"a stray is dropped", body(reply + "," + lost), drop, "tool_pair_pruned", []int{2}, []string{"drop"}},
	} {
		plan, err := planner.Repair(context.Background(), parsed(t, c.body), pare.Options{Repair: c.repair})
		if err != nil {
			t.Fatal(err)
		}
		e := plan.Events()[0]
		m := e.Metadata.(pare.PairsChecked)
		var done []string
		for _, o := range m.Orphans {
			done = append(done, string(o.Done))
		}
		if e.Type != c.event || !slices.Equal(m.RemovedIndices, c.removed) || !slices.Equal(done, c.done) {
			t.Errorf("%s: %s, removed %v, done %q", c.name, e.Type, m.RemovedIndices, done)
		}
	}
}

// TestManualListsEventMembers checks that the manual lists exactly the members that events have.
func TestManualListsEventMembers(t *testing.T) {
	metadata := map[string]any{
		"tool_pair_validated": pare.PairsChecked{}, "tool_pair_repaired": pare.PairsChecked{}, "tool_pair_pruned": pare.PairsChecked{}, "plan_made": pare.PlanMade{},
		"compaction_started": pare.CompactionStarted{}, "compaction_completed": pare.CompactionDone{}, "compaction_overflow_archived": pare.CompactionDone{},
		"compaction_skipped": pare.CompactionSkipped{}, "compaction_failed": pare.CompactionFailed{},
	}
	absent := map[string][]string{"tool_pair_validated": {"orphans", "removed_indices"}, "tool_pair_repaired": {"removed_indices"}}
	page, err := os.ReadFile("../../docs/windows.md")
	if err != nil {
		t.Fatal(err)
	}
	word := regexp.MustCompile("`([a-z_]+)`")
	for typ, m := range metadata {
		var want []string
		for i := range reflect.TypeOf(m).NumField() {
			name, _, _ := strings.Cut(reflect.TypeOf(m).Field(i).Tag.Get("json"), ",")
			if !slices.Contains(absent[typ], name) {
				want = append(want, name)
			}
		}
		row := regexp.MustCompile(fmt.Sprintf("(?m)^\\| `%s` \\|.*\\|(.*)\\|$", typ)).FindSubmatch(page)
		if row == nil {
			t.Errorf("%s is not in the table", typ)
			continue
		}
		var got []string
		for _, w := range word.FindAllSubmatch(row[1], -1) {
			got = append(got, string(w[1]))
		}
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s: the manual has %v, the event %v", typ, got, want)
		}
	}
}
