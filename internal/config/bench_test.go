package config

import (
	"testing"

	"github.com/pare-llm/pare/internal/histories"
	"github.com/pare-llm/pare/wire"
)

// BenchmarkExpressions runs one expression over a long history.
func BenchmarkExpressions(b *testing.B) {
	body := histories.Random(1, histories.GenOptions{Turns: 200}).Render(wire.Anthropic, histories.RenderOptions{})
	r := parse(b, body)
	for name, when := range map[string]string{
		"cheap": `tool == "Bash" and age > 3 and size > 100`, "args": `args.path == "a.go"`, "result": `result contains "version"`, "pattern": `result matches "(?i)fail(ed|ure)"`,
	} {
		p, refused := compile(when)
		if refused != nil {
			b.Fatal(refused.message)
		}
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				w := newWalker(p, "x", r, nil)
				for i := range r.Transcript().Exchanges() {
					if _, err := w.holds(i); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(len(r.Transcript().Exchanges())), "exchanges")
		})
	}
}
