package agentlog

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/pare-llm/pare/internal/benchdata"
	"github.com/pare-llm/pare/wire"
)

// sessionOf returns a session of Claude Code.
func sessionOf(size int, lost bool) []byte {
	var b bytes.Buffer
	benchdata.ClaudeCode(&b, rand.New(rand.NewPCG(1, 2)), size, lost)
	return b.Bytes()
}

// BenchmarkRead reads and checks sessions of Claude Code: generated ones of several sizes, and the
// largest one of the corpus if it is available.
func BenchmarkRead(b *testing.B) {
	for _, size := range []int{5_000, 50_000, 1_000_000} {
		raw := sessionOf(size, false)
		b.Run(fmt.Sprintf("%dKB", size/1000), func(b *testing.B) { readAndCheck(b, raw) })
	}
	var largest []byte
	for _, s := range samples(b, "claude_code") {
		if len(s.raw) > len(largest) {
			largest = s.raw
		}
	}
	b.Run("corpus", func(b *testing.B) { readAndCheck(b, largest) })
}

func readAndCheck(b *testing.B, raw []byte) {
	b.ReportAllocs()
	b.SetBytes(int64(len(raw)))
	for b.Loop() {
		l, err := Read("s.jsonl", raw, Options{})
		if err != nil {
			b.Fatal(err)
		}
		l.Check(wire.CheckOptions{})
	}
}
