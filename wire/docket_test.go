package wire

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pare-llm/pare/internal/trial"
	"github.com/pare-llm/pare/transcript"
)

// A docket that changes in place says what one does that is made anew, and knows of what it says
// something else.
func TestDocketChanges(t *testing.T) {
	const blocks = 40
	for seed := range trial.Size(2000) {
		rng := rand.New(rand.NewPCG(uint64(seed), 9))
		d := Docket{read: new(Scribe)}
		var texts [blocks]string
		var gone [blocks]bool
		for round := range 12 {
			d.stirred = d.stirred[:0]
			var asked, other []transcript.BlockID
			for b := range blocks {
				if rng.IntN(6) > 0 {
					continue
				}
				text, goes := "", false
				switch rng.IntN(4) {
				case 0:
					goes = true
				case 1, 2:
					text = fmt.Sprint("said ", rng.IntN(2))
				}
				if asked = append(asked, transcript.BlockID(b)); texts[b] != text || gone[b] != goes {
					other = append(other, transcript.BlockID(b))
				}
				texts[b], gone[b] = text, goes
			}
			d.Change(asked, func(b transcript.BlockID) (string, bool, bool) { return texts[b], texts[b] != "", gone[b] })
			var drop []transcript.BlockID
			var edits []BlockEdit
			for b := range transcript.BlockID(blocks) {
				if gone[b] {
					drop = append(drop, b)
				}
				if texts[b] != "" {
					edits = append(edits, BlockEdit{b, texts[b]})
				}
			}
			if !slices.Equal(d.Drop, drop) || !slices.Equal(d.Edits, edits) || !slices.Equal(d.stirred, other) {
				t.Fatalf("seed %d, round %d: %v go, %v are edited, %v stirred, want %v, %v, %v", seed, round, d.Drop, d.Edits, d.stirred, drop, edits, other)
			}
		}
	}
}
