package tokens

import (
	"encoding/json"
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
			b.ReportMetric(float64(other)/float64(fastest), "x-oracle")
		}
	})
	return fastest
}

func benchText(kind string) []byte {
	return []byte(strings.Join(samples()[kind], ""))
}

func BenchmarkEstimate(b *testing.B) {
	e := For("gpt-5")
	for _, kind := range []string{"Go", "Chinese"} {
		text := benchText(kind)
		best(b, kind, len(text), 0, func() { e.Count(text) })
		raw, _ := json.Marshal(string(text))
		best(b, kind+" in JSON", len(raw), 0, func() { e.CountJSON(raw[1 : len(raw)-1]) })
	}
}

// BenchmarkExact runs beside the oracle.
func BenchmarkExact(b *testing.B) {
	oracle()
	O200k().Count(nil)
	for _, kind := range []string{"Go", "TypeScript", "markdown", "JSON", "minified JS", "base64", "Chinese"} {
		text := benchText(kind)
		other := best(b, kind+" by the oracle", len(text), 0, func() { truth(O200k(), string(text)) })
		best(b, kind, len(text), other, func() { O200k().Count(text) })
	}
}

func BenchmarkUnpack(b *testing.B) {
	for _, e := range encodings {
		best(b, e.Name(), e.size, 0, func() { unpackVocabulary(*e.packed, e.size) })
	}
}
