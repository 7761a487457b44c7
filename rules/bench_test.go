package rules_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/benchdata"
	"github.com/pare-llm/pare/internal/histories"
	"github.com/pare-llm/pare/internal/planner"
	"github.com/pare-llm/pare/internal/trial"
	"github.com/pare-llm/pare/rules"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// megabyte is a history of about 1,000 messages and 1 MB. An agent works on seven
// files all the time if it is dense, else on others in each task.
func megabyte(d wire.Dialect, dense bool) []byte {
	var script histories.Script
	for task := uint64(0); len(script) < 1500; task++ {
		part := inflate(histories.Random(task, histories.GenOptions{Turns: 1, NoImages: true, UniqueIDs: true}))
		for i, s := range part {
			switch {
			case s.Op == histories.System:
				part[i] = histories.Step{Op: histories.User, Text: "go on"}
			case s.Op == histories.Call && !dense:
				part[i].Args = strings.NewReplacer(`"path":"`, fmt.Sprintf(`"path":"task%d/`, task), `"command":"`, fmt.Sprintf(`"command":"TASK=%d `, task)).Replace(s.Args)
			}
		}
		script = append(script, part...)
	}
	return script.Render(d, histories.RenderOptions{})
}

// BenchmarkStandard compares the whole way of the standard rules, parsing and
// checking of the result included, with reading and checking alone. All take turns
// and the best round of each counts, in processor time where the system tells it,
// because the machine is noisy.
func BenchmarkStandard(b *testing.B) {
	bodies := []struct {
		name string
		body []byte
	}{{"large-results", benchdata.Anthropic(1 << 20)}}
	for _, d := range wire.Dialects() {
		for _, dense := range []bool{false, true} {
			bodies = append(bodies, struct {
				name string
				body []byte
			}{fmt.Sprintf("%s-dense=%t", d, dense), megabyte(d, dense)})
		}
	}
	p, err := pare.Compile(rules.Standard()...)
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range bodies {
		b.Run(c.name, func(b *testing.B) {
			var check, plan, bare, prepare time.Duration
			best := func(d *time.Duration, run func()) {
				start := time.Now()
				run()
				if took := time.Since(start); *d == 0 || took < *d {
					*d = took
				}
			}
			same := replay(b, p, c.body)
			changes, messages := 0, 0
			for b.Loop() {
				var r *wire.Request
				best(&check, func() {
					r, _ = pare.Parse(c.body)
					r.Check(wire.CheckOptions{})
				})
				best(&plan, func() {
					r, _ := pare.Parse(c.body)
					made, err := planner.Prune(context.Background(), p, r, pare.Options{})
					if err != nil {
						b.Fatal(err)
					}
					changes = len(made.Changes())
				})
				best(&bare, func() {
					r, _ := pare.Parse(c.body)
					if _, err := planner.Prune(context.Background(), same, r, pare.Options{}); err != nil {
						b.Fatal(err)
					}
				})
				best(&prepare, func() {
					for _, rule := range p.Rules() {
						if _, err := rule.Prepare(r); err != nil {
							b.Fatal(err)
						}
					}
				})
				messages = len(r.Transcript().Messages())
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(len(c.body))/1e6, "MB")
			b.ReportMetric(float64(messages), "messages")
			b.ReportMetric(float64(changes), "changes")
			b.ReportMetric(check.Seconds()*1e6, "check-µs")
			b.ReportMetric(prepare.Seconds()*1e6, "prepare-µs")
			b.ReportMetric(plan.Seconds()*1e6, "plan-µs")
			b.ReportMetric(float64(plan)/float64(check), "plan-x-check")
			b.ReportMetric(float64(bare)/float64(check), "engine-x-check")
			b.ReportMetric(float64(plan-bare)/float64(check), "rules-x-check")
		})
	}
}

// replay returns a pipeline that votes what another one decided, at no cost of its
// own: what is left is the engine's share.
func replay(b *testing.B, p *pare.Pipeline, body []byte) *pare.Pipeline {
	r, err := pare.Parse(body)
	if err != nil {
		b.Fatal(err)
	}
	plan, err := planner.Prune(context.Background(), p, r, pare.Options{})
	if err != nil {
		b.Fatal(err)
	}
	var edits []transcript.BlockID
	for _, d := range plan.Decisions() {
		if d.Action != wire.ActionEdit {
			continue
		}
		for _, id := range planner.RepairedRequest(plan).Transcript().Atoms()[d.Atom].Blocks {
			if k := planner.RepairedRequest(plan).Transcript().Block(id).Kind; k == transcript.Result {
				edits = append(edits, id)
			}
		}
	}
	text := "[pare: " + strings.Repeat("x", 180) + "]"
	return compile(b, []pare.Rule{{Name: "replay", Prepare: func(*wire.Request) (pare.Process, error) {
		return func(b *pare.Ballot) {
			for _, id := range edits {
				b.Edit(id, text, "again")
			}
		}, nil
	}}})
}

// TestGrowth: a history takes time by its length, also if it is one file that is read
// again and again.
func TestGrowth(t *testing.T) {
	shapes := map[string]func(i int) (args, result string){
		"equal": func(int) (string, string) { return `{"path":"a.go"}`, "same" },
		"ranges": func(i int) (string, string) {
			return fmt.Sprintf(`{"path":"a.go","offset":%d,"limit":%d}`, i, 10+i%7), fmt.Sprint(i)
		},
		"distinct": func(i int) (string, string) { return fmt.Sprintf(`{"path":"%d.go"}`, i), fmt.Sprint(i) },
		"failing":  func(i int) (string, string) { return fmt.Sprintf(`{"path":"%d.go"}`, i%5), "Error: no" },
	}
	for name, shape := range shapes {
		trial.Linear(t, name, 20_000, func(n int) func() {
			script := histories.Script{{Op: histories.User, Text: "go"}}
			for i := range n {
				args, result := shape(i)
				id := fmt.Sprintf("call_%d", i)
				script = append(script, histories.Step{Op: histories.Call, ID: id, Tool: "Read", Args: args}, histories.Step{Op: histories.Result, ID: id, Text: result})
			}
			r, err := pare.Parse(script.Render(wire.OpenAIChat, histories.RenderOptions{}))
			if err != nil {
				t.Fatal(err)
			}
			return func() {
				for _, rule := range rules.Standard() {
					if _, err := rule.Prepare(r); err != nil {
						t.Fatal(err)
					}
				}
			}
		})
	}
}
