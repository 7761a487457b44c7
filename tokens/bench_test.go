package tokens

import (
	"strings"
	"testing"
	"time"
)

// best measures the fastest single call: on a machine that others use too, the mean
// tells more about them.
// It reports how many times faster that is than other, if there is one.
func best(b *testing.B, name string, size int, other time.Duration, call func()) time.Duration {
	fastest := time.Hour
	b.Run(name, func(b *testing.B) {
		b.SetBytes(int64(size))
		b.ReportAllocs()
		for b.Loop() {
			start := time.Now()
			call()
			fastest = min(fastest, time.Since(start))
		}
		b.ReportMetric(float64(size)/fastest.Seconds()/1e6, "best-MB/s")
		if other > 0 {
			b.ReportMetric(float64(other)/float64(fastest), "x-other")
		}
	})
	return fastest
}

func benchText(kind string) []byte {
	return []byte(strings.Join(samples()[kind], ""))
}

// BenchmarkEstimate runs beside the loop that defines the estimate.
func BenchmarkEstimate(b *testing.B) {
	e := For("gpt-5")
	for _, kind := range []string{"Go", "prose", "Chinese"} {
		text := benchText(kind)
		other := best(b, kind+" plainly", len(text), 0, func() { plainly(e, text) })
		best(b, kind, len(text), other, func() { e.Count(text) })
		for _, in := range []struct {
			form string
			raw  []byte
		}{{" in JSON", quoted(text)}, {" in JSON in JSON", quoted(quoted(text))}, {" in ASCII", ascii(text)}} {
			other := best(b, kind+in.form+" plainly", len(in.raw), 0, func() { plainlyJSON(e, in.raw) })
			best(b, kind+in.form, len(in.raw), other, func() { e.CountJSON(in.raw) })
		}
	}
}

// BenchmarkExact runs beside the oracle.
func BenchmarkExact(b *testing.B) {
	O200k().Count(nil)
	for _, kind := range []string{"Go", "TypeScript", "markdown", "JSON", "minified JS", "base64", "Chinese"} {
		text := benchText(kind)
		other := best(b, kind+" by the oracle", len(text), 0, func() { truth(O200k(), string(text)) })
		best(b, kind, len(text), other, func() { O200k().Count(text) })
	}
}
