package engine

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/benchdata"
	"github.com/pare-llm/pare/internal/planner"
	"github.com/pare-llm/pare/wire"
)

// best returns the best time of each function over several rounds, in which the functions take
// turns.
func best(rounds int, run ...func()) []time.Duration {
	out := make([]time.Duration, len(run))
	for range rounds {
		for i, f := range run {
			start := time.Now()
			f()
			if d := time.Since(start); out[i] == 0 || d < out[i] {
				out[i] = d
			}
		}
	}
	return out
}

// BenchmarkFix compares the repair of a clean body with the check alone: nothing is
// to be done, so nothing but the check should be paid for.
func BenchmarkFix(b *testing.B) {
	body := benchdata.Anthropic(1 << 20)
	check := func() { mustParse(b, body).Check(wire.CheckOptions{}) }
	fix := func() {
		plan, err := planner.Repair(context.Background(), mustParse(b, body), pare.Options{})
		if err != nil {
			b.Fatal(err)
		}
		if out, err := plan.Apply(); err != nil || &out[0] != &body[0] {
			b.Fatalf("a clean body came back as another buffer (%v)", err)
		}
	}
	var d []time.Duration
	for b.Loop() {
		d = best(200, check, fix)
	}
	b.ReportMetric(float64(d[1])/float64(d[0]), "fix/check")
	b.ReportMetric(float64(len(body))/float64(d[1].Nanoseconds()), "GB/s")
}

// BenchmarkRepair repairs bodies of growing size in which every tenth result is lost
// and prints the time per message: it must not grow.
func BenchmarkRepair(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 99_000} {
		b.Run(fmt.Sprintf("%d", n), func(b *testing.B) {
			body := brokenTalk(n)
			for b.Loop() {
				plan, err := planner.Repair(context.Background(), mustParse(b, body), pare.Options{})
				if err != nil || len(plan.Remaining()) > 0 {
					b.Fatal(err, plan.Remaining())
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/message")
		})
	}
}

// brokenTalk writes n messages of the Anthropic API in which results are missing,
// late and doubled.
func brokenTalk(n int) []byte {
	var b bytes.Buffer
	b.WriteString(`{"model":"claude-sonnet-4-5","messages":[{"role":"user","content":"q"}`)
	for i := 0; i < n/2; i++ {
		fmt.Fprintf(&b, `,{"role":"assistant","content":[{"type":"tool_use","id":"t%d","name":"f","input":{"i":%d}}]}`, i, i)
		switch i % 10 {
		case 3:
			fmt.Fprintf(&b, `,{"role":"user","content":"wait"}`)
		case 4:
			fmt.Fprintf(&b, `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"t%d","content":"late %d"},{"type":"tool_result","tool_use_id":"t%d","content":"x"}]}`, i-1, i, i)
		case 7:
			fmt.Fprintf(&b, `,{"role":"user","content":"never mind"}`)
		default:
			fmt.Fprintf(&b, `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"t%d","content":"result %d"}]}`, i, i)
		}
	}
	b.WriteString(`]}`)
	return b.Bytes()
}

func mustParse(tb testing.TB, body []byte) *wire.Request {
	r, err := pare.Parse(body)
	if err != nil {
		tb.Fatal(err)
	}
	return r
}
