package tokens

import (
	"encoding/base64"
	"encoding/hex"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

// BenchmarkExactRuns counts 100 KB without a break: one character over and over, or
// letters without a space. The oracle would take minutes for each.
func BenchmarkExactRuns(b *testing.B) {
	const size = 100_000
	r := rand.New(rand.NewPCG(21, 22))
	letters := make([]byte, size)
	for i := range letters {
		letters[i] = 'a' + byte(r.IntN(26))
	}
	texts := []struct{ name, text string }{
		{"letters", string(letters)},
		{"words", strings.Repeat("thequickbrownfoxjumpsoverthelazydog", size/35)},
		{"base64", base64.StdEncoding.EncodeToString(noise(r, size*3/4))},
		{"hex", hex.EncodeToString(noise(r, size/2))},
	}
	for _, unit := range []string{"a", "A", "é", "中", "の", "🙂", "👍🏽", "=", "-", "1", " ", "\n", "\t", "\r\n", "\u0301"} {
		texts = append(texts, struct{ name, text string }{unit, strings.Repeat(unit, size/len(unit))})
	}
	for _, e := range encodings {
		e.Count(nil)
		for _, t := range texts {
			text := []byte(t.text)
			best(b, e.Name()+"/"+strings.Trim(strconv.QuoteToASCII(t.name), `"`), len(text), 0, func() { e.Count(text) })
		}
	}
}
