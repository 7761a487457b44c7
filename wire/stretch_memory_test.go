package wire

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/pare-llm/pare/transcript"
)

// TestScribeTakesNoHistory: to change one message near the beginning and to add others takes as much
// memory in a long history as in a short one.
func TestScribeTakesNoHistory(t *testing.T) {
	proveCarried = false // every result would be read
	defer func() { proveCarried = true }()
	const rounds = 40
	took := func(n int) int {
		var bytes []int
		var b strings.Builder
		b.WriteString(`{"model":"gpt-5","messages":[{"role":"user","content":"go"}`)
		for i := range n + rounds {
			fmt.Fprintf(&b, `,{"role":"assistant","content":"step %d"},{"role":"user","content":"go on, and mind what I said"}`, i)
		}
		b.WriteString("]}")
		r, err := Parse([]byte(b.String()), Options{})
		if err != nil {
			t.Fatal(err)
		}
		all, err := r.Beginnings(Options{Structural: true})
		if err != nil {
			t.Fatal(err)
		}
		s := Scribe{Lend: true}
		for i := range rounds {
			q, err := all.At(2*(n+i) + 1)
			if err != nil {
				t.Fatal(err)
			}
			var drop []transcript.BlockID
			for k := 20; k < n; k += 7 {
				drop = append(drop, transcript.BlockID(k))
			}
			edits := []BlockEdit{{transcript.BlockID(i % 5), "other"}, {transcript.BlockID(n / 2), "shorter"}}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			if _, _, err := s.Rewrite(q, q, drop, edits); err != nil {
				t.Fatal(err)
			}
			runtime.ReadMemStats(&after)
			bytes = append(bytes, int(after.TotalAlloc-before.TotalAlloc))
		}
		slices.Sort(bytes)
		return bytes[rounds/2] // most find all the room that they need
	}
	short, long := took(500), took(8000)
	t.Logf("%d and %d bytes a request", short, long)
	if long > 2*short {
		t.Errorf("%d bytes a request in a history that is 16 times as long, %d in the other", long, short)
	}
}
