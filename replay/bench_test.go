package replay_test

import (
	"fmt"
	"testing"

	"github.com/pare-llm/pare/internal/benchdata"
	"github.com/pare-llm/pare/replay"
	"github.com/pare-llm/pare/wire"
)

// BenchmarkReplay: twice the requests should take twice the time.
func BenchmarkReplay(b *testing.B) {
	for _, size := range []int{400_000, 800_000, 1_600_000, 3_200_000} {
		r, err := wire.Parse(benchdata.Dense(benchdata.Messages, size), wire.Options{})
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprint(replay.NewWalk(r).Len()), func(b *testing.B) {
			for b.Loop() {
				if _, err := replay.Replay(r, replay.Options{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
