package jsonspan

import (
	"math/rand/v2"
	"testing"
	"unicode/utf8"

	"github.com/pare-llm/pare/internal/trial"
)

// TestDecodedLen: runs of backslashes of every length, at every place, before and behind
// where 64 bytes end, with escapes of all kinds and what is none.
func TestDecodedLen(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	alphabets := []string{`\`, `\x`, `\n"/`, `\\\nttt`, `abcdefgh\`, `\u0041`, `\ud83d\ude00`, "ä€\\n"}
	for range trial.Size(20_000) {
		letters := alphabets[rng.IntN(len(alphabets))]
		raw := make([]byte, rng.IntN(300))
		for i := range raw {
			raw[i] = letters[rng.IntN(len(letters))]
		}
		n, odd := DecodedLen(raw)
		if want := len(Decode(nil, raw)); n != want {
			t.Fatalf("%q: %d bytes, want %d", raw, n, want)
		}
		if want := spelledASCII(raw); odd != want {
			t.Fatalf("%q: odd %v, want %v", raw, odd, want)
		}
	}
}

// spelledASCII is the odd of DecodedLen, escape by escape.
func spelledASCII(raw []byte) bool {
	for i := 0; i < len(raw); {
		r, size := Unescape(raw[i:])
		switch {
		case raw[i] != '\\':
			i++
		case size == 0:
			i += 2
		case size > 2 && r < utf8.RuneSelf:
			return true
		default:
			i += size
		}
	}
	return false
}

func BenchmarkDecodedLen(b *testing.B) {
	rng := rand.New(rand.NewPCG(5, 6))
	raw := make([]byte, 0, 10_000)
	for len(raw) < 10_000 {
		if rng.IntN(16) == 0 {
			raw = append(raw, '\\', `"\nnt`[rng.IntN(5)])
		} else {
			raw = append(raw, 'a')
		}
	}
	b.SetBytes(int64(len(raw)))
	for b.Loop() {
		DecodedLen(raw)
	}
}
