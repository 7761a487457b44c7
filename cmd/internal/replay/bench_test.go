//go:build unix

package replay_test

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/pare-llm/pare/cmd/internal/replay"
	"github.com/pare-llm/pare/internal/benchdata"
	"github.com/pare-llm/pare/wire"
)

// BenchmarkReplay: twice the requests should take twice the time, and twice that of processors.
func BenchmarkReplay(b *testing.B) {
	for _, size := range []int{400_000, 800_000, 1_600_000, 3_200_000, 6_400_000} {
		r, err := wire.Parse(benchdata.Dense(benchdata.Messages, size), wire.Options{})
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprint(replay.NewWalk(r).Len()), func(b *testing.B) {
			before, n := processorTime(b), 0
			for b.Loop() {
				if _, err := replay.Replay(r, replay.Options{}); err != nil {
					b.Fatal(err)
				}
				n++
			}
			b.ReportMetric((processorTime(b)-before).Seconds()/float64(n), "cpu-s/op")
		})
	}
}

// processorTime is what the process has used, the collector included.
func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
