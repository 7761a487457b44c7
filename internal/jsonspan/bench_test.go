package jsonspan

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/pare-llm/pare/internal/benchdata"
)

// BenchmarkScan reads whole request bodies, next to other readers of the same
// bytes in the same run: their ratio holds on other machines, their speed does
// not. GB/s is the best of the iterations, as the least disturbed one.
func BenchmarkScan(b *testing.B) {
	for _, size := range []int{100_000, 1_000_000, 10_000_000, 100_000_000} {
		body := benchdata.Anthropic(size)
		b.Run(fmt.Sprintf("%gMB", float64(size)/1e6), func(b *testing.B) { compare(b, body) })
	}
}

func compare(b *testing.B, body []byte) {
	var s Scanner
	scan := func(mode Mode) func() bool {
		return func() bool {
			s.Reset(body, mode)
			s.Skip()
			s.End()
			return !s.Failed()
		}
	}
	dst := make([]byte, len(body))
	var valid float64
	for _, c := range []struct {
		name string
		read func() bool
	}{
		{"json.Valid", func() bool { return json.Valid(body) }},
		{"memcpy", func() bool { return copy(dst, body) == len(body) }},
		{"structural", scan(Structural)},
		{"strict", scan(Strict)},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			best := time.Duration(1<<63 - 1)
			for b.Loop() {
				start := time.Now()
				if !c.read() {
					b.Fatal("refused")
				}
				best = min(best, time.Since(start))
			}
			gbs := float64(len(body)) / float64(best.Nanoseconds())
			if c.name == "json.Valid" {
				valid = gbs
			}
			b.ReportMetric(gbs, "GB/s")
			if valid > 0 {
				b.ReportMetric(gbs/valid, "x-json.Valid")
			}
		})
	}
}
