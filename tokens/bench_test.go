package tokens

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// best measures the fastest single call: on a machine that others use too, the mean
// tells more about them.
func best(b *testing.B, name string, size int, call func()) float64 {
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
	})
	return float64(fastest)
}

func benchText(kind string) []byte {
	return []byte(strings.Join(samples()[kind], ""))
}

func BenchmarkEstimate(b *testing.B) {
	e := For("gpt-5")
	for _, kind := range []string{"Go", "Chinese"} {
		text := benchText(kind)
		best(b, kind, len(text), func() { e.Count(text) })
		raw, _ := json.Marshal(string(text))
		best(b, kind+" in JSON", len(raw), func() { e.CountJSON(raw[1 : len(raw)-1]) })
	}
}

// BenchmarkExact runs beside the oracle and logs how many times faster it is.
func BenchmarkExact(b *testing.B) {
	oracle()
	for _, kind := range []string{"Go", "TypeScript", "markdown", "JSON", "minified JS", "base64", "Chinese"} {
		text := benchText(kind)
		own := best(b, kind, len(text), func() { O200k().Count(text) })
		other := best(b, kind+" by the oracle", len(text), func() { truth(O200k(), string(text)) })
		b.Logf("%s: %.0f times as fast as the oracle", kind, other/own)
	}
}

func BenchmarkUnpack(b *testing.B) {
	for _, e := range encodings {
		best(b, e.Name(), e.size, func() { unpackVocabulary(*e.packed, e.size) })
	}
}
