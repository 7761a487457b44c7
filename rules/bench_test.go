package rules_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/benchdata"
	"github.com/pare-llm/pare/paretest"
	"github.com/pare-llm/pare/rules"
	"github.com/pare-llm/pare/wire"
)

// megabyte is a history of about 1,000 messages and 1 MB in which an agent works on
// few files, so that much of it is repeated.
func megabyte(d wire.Dialect) []byte {
	var script paretest.Script
	for seed := uint64(0); len(script) < 1500; seed++ {
		script = append(script, inflate(paretest.Random(seed, paretest.GenOptions{Turns: 4, NoImages: true, UniqueIDs: true}))...)
	}
	for i := range script {
		if script[i].Op == paretest.System {
			script[i] = paretest.Step{Op: paretest.User, Text: "go on"}
		}
	}
	return script.Render(d, paretest.RenderOptions{})
}

// BenchmarkStandard compares the whole way of the standard rules, parsing and
// checking of the result included, with reading and checking alone. Both take turns
// and the best round of each counts, because the machine is noisy.
func BenchmarkStandard(b *testing.B) {
	bodies := []struct {
		name string
		body []byte
	}{{"sparse", benchdata.Anthropic(1 << 20)}}
	for _, d := range wire.Dialects() {
		bodies = append(bodies, struct {
			name string
			body []byte
		}{"repetitive-" + d.String(), megabyte(d)})
	}
	p, err := pare.Compile(rules.Standard()...)
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range bodies {
		b.Run(c.name, func(b *testing.B) {
			var check, plan, poll time.Duration
			best := func(d *time.Duration, run func()) {
				start := time.Now()
				run()
				if took := time.Since(start); *d == 0 || took < *d {
					*d = took
				}
			}
			changes, messages := 0, 0
			for b.Loop() {
				var r *wire.Request
				best(&check, func() {
					r, _ = pare.Parse(c.body)
					r.Check(wire.CheckOptions{})
				})
				best(&plan, func() {
					r, _ := pare.Parse(c.body)
					made, err := p.Plan(r, pare.Options{})
					if err != nil {
						b.Fatal(err)
					}
					changes = len(made.Changes)
				})
				best(&poll, func() {
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
			b.ReportMetric(poll.Seconds()*1e6, "prepare-µs")
			b.ReportMetric(plan.Seconds()*1e6, "plan-µs")
			b.ReportMetric(float64(plan)/float64(check), "plan-x-check")
		})
	}
}

// TestGrowth: ten times the history takes about ten times as long, also if it is
// one file that is read again and again.
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
		var took [2]time.Duration
		for n, exchanges := range []int{2_000, 20_000} {
			script := paretest.Script{{Op: paretest.User, Text: "go"}}
			for i := range exchanges {
				args, result := shape(i)
				id := fmt.Sprintf("call_%d", i)
				script = append(script, paretest.Step{Op: paretest.Call, ID: id, Tool: "Read", Args: args}, paretest.Step{Op: paretest.Result, ID: id, Text: result})
			}
			r, err := pare.Parse(script.Render(wire.OpenAIChat, paretest.RenderOptions{}))
			if err != nil {
				t.Fatal(err)
			}
			for range 3 {
				start := time.Now()
				for _, rule := range rules.Standard() {
					if _, err := rule.Prepare(r); err != nil {
						t.Fatal(err)
					}
				}
				if d := time.Since(start); took[n] == 0 || d < took[n] {
					took[n] = d
				}
			}
		}
		// A square would be a hundred times; a busy machine is not.
		if took[1] > 40*took[0]+50*time.Millisecond {
			t.Errorf("%s: 2,000 exchanges take %s, 20,000 take %s", name, took[0], took[1])
		}
	}
}
