package pare_test

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/benchdata"
	"github.com/pare-llm/pare/tokens"
)

func cpu() time.Duration {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func BenchmarkZZ(b *testing.B) {
	for _, size := range []int{200 << 10, 3 << 20, 29 << 20} {
		body := benchdata.Anthropic(size)
		r, _ := pare.Parse(body)
		c := tokens.For("claude-sonnet-4-5")
		total := r.Tokens(c)
		run := func(name string, f func()) {
			b.Run(fmt.Sprint(name, "/", size), func(b *testing.B) {
				f()
				t := cpu()
				for b.Loop() {
					f()
				}
				b.ReportMetric(float64(len(body))*float64(b.N)/1e6/(cpu()-t).Seconds(), "cpuMB/s")
				b.ReportAllocs()
			})
		}
		run("parse", func() { pare.Parse(body) })
		run("count", func() { r.Tokens(c) })
		for _, share := range []int{2, 10} {
			run(fmt.Sprint("trim", share), func() {
				r, _ := pare.Parse(body)
				p, err := pare.Trim(r, pare.Window{Tokens: total / share}, pare.Options{Counter: c, Uncounted: true})
				if err != nil {
					b.Fatal(err)
				}
				p.Apply()
			})
		}
	}
}
