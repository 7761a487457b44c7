package rules_test

import (
	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/rules"
	"github.com/pare-llm/pare/wire"
	"testing"
)

func BenchmarkPrep(b *testing.B) {
	r, _ := pare.Parse(megabyte(wire.Anthropic))
	for _, rule := range rules.Standard() {
		b.Run(rule.Name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				rule.Prepare(r)
			}
		})
	}
	b.Logf("%d exchanges", len(r.Transcript().Exchanges()))
}
