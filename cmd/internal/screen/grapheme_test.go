package screen

import (
	"math/rand/v2"
	"testing"

	"github.com/clipperhouse/displaywidth"

	"github.com/pare-llm/pare/internal/grapheme"
)

// alphabet has letters, accents, joiners, flags, emoji, Hangul, and scripts with conjuncts.
var alphabet = []rune("ab \n\r.é\u0301\u0308\u200d\u200c\ufe0f👩👨🏽🏿🚀🇩🇪🇧🇷🏴\U000e0067\U000e007f한각각가क्षकमন্তกำ中。اُلع\u0600\u0903\U0001f468")

// TestCutNeverSplitsACharacter compares the cuts with the grapheme clusters of a library that implements
// Unicode Annex 29.
func TestCutNeverSplitsACharacter(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	kept, most := 0, 0 // bytes kept by all cuts, and by the best ones
	for range 5000 {
		runes := make([]rune, 1+rng.IntN(20))
		for i := range runes {
			runes[i] = alphabet[rng.IntN(len(alphabet))]
		}
		text := string(runes)
		isEnd := map[int]bool{0: true}
		at := 0
		for g := displaywidth.StringGraphemes(text); g.Next(); {
			at += len(g.Value())
			isEnd[at] = true
		}
		for limit := range len(text) + 1 {
			cut := grapheme.Cut(text, limit)
			if cut > limit || !isEnd[cut] {
				t.Fatalf("%q: limit %d: the cut at %d splits a character", text, limit, cut)
			}
			best := limit
			for !isEnd[best] {
				best--
			}
			kept, most = kept+cut, most+best
		}
	}
	if kept*100 < most*97 {
		t.Errorf("the cuts keep %d bytes, the best ones %d", kept, most)
	}
}
