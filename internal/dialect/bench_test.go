package dialect

import (
	"encoding/json"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/pare-llm/pare/internal/benchdata"
)

// Contenders of BenchmarkCheck. Each reads the same body once; ours goes the whole
// way from bytes to findings.
var contenders = []struct {
	name string
	run  func(b *testing.B, body []byte)
}{
	{"structural", func(b *testing.B, body []byte) { wholeWay(b, body, true) }},
	{"strict", func(b *testing.B, body []byte) { wholeWay(b, body, false) }},
	{"memcpy", func(_ *testing.B, body []byte) { copy(sink, body) }},
	{"json.Valid", func(b *testing.B, body []byte) {
		if !json.Valid(body) {
			b.Fatal("invalid")
		}
	}},
	{"encoding/json", func(b *testing.B, body []byte) {
		if err := decodeStructs(body); err != nil {
			b.Fatal(err)
		}
	}},
}

var sink []byte

// decodeStructs is how one reads a request with encoding/json: typed where the
// index needs it, raw where it does not, blocks in a second step because content
// may be a string.
func decodeStructs(body []byte) error {
	var r struct {
		Model    string
		System   json.RawMessage
		Tools    []json.RawMessage
		Messages []struct {
			Role    string
			Content json.RawMessage
		}
	}
	if err := json.Unmarshal(body, &r); err != nil {
		return err
	}
	for _, m := range r.Messages {
		var blocks []struct {
			Type, ID, Name       string
			ToolUseID            string `json:"tool_use_id"`
			Text, Input, Content json.RawMessage
		}
		if m.Content[0] != '[' {
			continue
		}
		if err := json.Unmarshal(m.Content, &blocks); err != nil {
			return err
		}
	}
	return nil
}

func wholeWay(b *testing.B, body []byte, structural bool) {
	r, err := Parse(body, Options{Structural: structural})
	if err != nil {
		b.Fatal(err)
	}
	if f := r.Check(CheckOptions{}); len(f) > 0 && f[0].Rule != "body-too-large" {
		b.Fatalf("finding in a clean body: %v", f[0])
	}
}

// BenchmarkCheck measures the whole way from bytes to findings, and in the same
// run what else reads the same bytes. The machine is noisy, so the contenders take
// turns and the best round of each counts; the ratios are what matters.
func BenchmarkCheck(b *testing.B) {
	for _, size := range []int{100 << 10, 1 << 20, 10 << 20, 100 << 20} {
		b.Run(fmt.Sprintf("%dKB", size>>10), func(b *testing.B) {
			body := benchdata.Anthropic(size)
			sink = make([]byte, len(body))
			best := make([]time.Duration, len(contenders))
			round := func(i int) {
				start := time.Now()
				contenders[i].run(b, body)
				if d := time.Since(start); best[i] == 0 || d < best[i] {
					best[i] = d
				}
			}
			rounds := 0
			for b.Loop() {
				for rounds++; ; rounds++ {
					for i := range contenders {
						round(i)
					}
					if rounds >= 5 { // a single round says little
						break
					}
				}
			}
			gbs := func(i int) float64 { return float64(len(body)) / float64(best[i].Nanoseconds()) }
			b.ReportMetric(0, "ns/op")
			for i, c := range contenders {
				b.ReportMetric(gbs(i), c.name+"-GB/s")
			}
			for ours := range 2 {
				for i := 2; i < len(contenders); i++ {
					b.ReportMetric(gbs(ours)/gbs(i), contenders[ours].name+"-x-"+contenders[i].name)
				}
			}
			allocs, peak := cost(b, body)
			r, _ := Parse(body, Options{})
			b.ReportMetric(allocs, "allocs/parse")
			b.ReportMetric(allocs/float64(len(r.t.Messages())), "allocs/message")
			b.ReportMetric(1+peak/float64(len(body)), "memory-x-body")
		})
	}
}

// cost returns the allocations of one check and the bytes they take.
func cost(b *testing.B, body []byte) (allocs, size float64) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	wholeWay(b, body, false)
	runtime.ReadMemStats(&after)
	return float64(after.Mallocs - before.Mallocs), float64(after.TotalAlloc - before.TotalAlloc)
}
