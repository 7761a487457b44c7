package wire

import (
	"fmt"
	"testing"

	"github.com/pare-llm/pare/internal/benchdata"
)

func BenchmarkHot(b *testing.B) {
	for _, shape := range benchdata.Shapes {
		for _, size := range []int{226_000, 3_000_000} {
			body := benchdata.Dense(shape, size)
			b.Run(fmt.Sprintf("%v/%dKB", shape, size/1000), func(b *testing.B) {
				b.ReportAllocs()
				b.SetBytes(int64(len(body)))
				for b.Loop() {
					wholeWay(b, body, false)
				}
			})
			b.Run(fmt.Sprintf("%v/%dKB/glance", shape, size/1000), func(b *testing.B) {
				b.ReportAllocs()
				b.SetBytes(int64(len(body)))
				var p Parser
				for b.Loop() {
					if g, err := p.check(body, Options{}, CheckOptions{}); err != nil || !g.Clean {
						b.Fatal(g, err)
					}
				}
			})
		}
	}
}
