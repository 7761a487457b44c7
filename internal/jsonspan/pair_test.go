package jsonspan

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/pare-llm/pare/internal/trial"
)

// TestIndexPair: wherever a pair stands, and with what looks like half of one around it.
func TestIndexPair(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for range trial.Size(20_000) {
		text := make([]byte, rng.IntN(200))
		most := 2 + rng.IntN(20) // letters
		for i := range text {
			text[i] = "usUS\\u\x01U\xf5  abcdefghijklm"[rng.IntN(most)]
		}
		if got, want := IndexPair(text, '\\', 'u', 0), bytes.Index(text, []byte(`\u`)); got != want {
			t.Fatalf(`%q: \u at %d, want %d`, text, got, want)
		}
		if got, want := IndexPair(text, 'u', 's', 0x20), strings.Index(asciiLower(text), "us"); got != want {
			t.Fatalf("%q: us at %d, want %d", text, got, want)
		}
	}
}

func asciiLower(text []byte) string {
	low := bytes.Clone(text)
	for i, c := range low {
		if c >= 'A' && c <= 'Z' {
			low[i] = c | 0x20
		}
	}
	return string(low)
}
