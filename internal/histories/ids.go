package histories

import (
	"encoding/base64"
	"hash/fnv"
	"math/bits"
	"math/rand/v2"

	"github.com/pare-llm/pare/wire"
)

// idAlphabet contains the characters of a script's ids. The position of a character, counted
// from one, turns a short id into a number.
const idAlphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_-"

// isPlainID reports whether id is short and simple enough to be mapped.
func isPlainID(id string) bool {
	_, ok := parseShortID(id)
	return ok
}

// parseShortID returns a different number below 65⁸ for every id of one to eight
// characters of the alphabet.
func parseShortID(id string) (uint64, bool) {
	if len(id) == 0 || len(id) > 8 {
		return 0, false
	}
	n := uint64(0)
	for i := range len(id) {
		digit := -1
		for j := range len(idAlphabet) {
			if idAlphabet[j] == id[i] {
				digit = j
			}
		}
		if digit < 0 {
			return 0, false
		}
		n = n*65 + uint64(digit) + 1
	}
	return n, true
}

// nine is how many strings of nine letters and digits there are: 62⁹.
const nine = 13537086546263552

// formatShortID maps n < nine to nine letters and digits. It multiplies by a number that
// has no factor in common with 62⁹ = 2⁹·31⁹, so different numbers stay different
// and neighbours look unlike each other, as real ids do.
func formatShortID(n uint64) string {
	const mix = 9007199254740993 // odd, and no multiple of 31
	hi, lo := bits.Mul64(n, mix)
	_, n = bits.Div64(hi%nine, lo, nine)
	var out [9]byte
	for i := range out {
		out[i] = idAlphabet[n%62]
		n /= 62
	}
	return string(out[:])
}

// WireID returns the id that a script's id becomes in a rendering: in the provider's format,
// and different for different ids. If ids must be unique, a later call with an id that was
// answered gets another one. Ids that are longer than eight characters, or contain other
// characters than letters, digits, _ and -, are written unchanged, so that a script can use
// exact ids.
func WireID(id string, d wire.Dialect, o RenderOptions) string {
	return dialectRenderers[d].wireID(id, o)
}

func (h *dialectRenderer) wireID(id string, o RenderOptions) string {
	n, ok := parseShortID(id)
	if !ok {
		return id
	}
	return h.id(formatShortID(n), o)
}

// randomID returns n letters and digits that depend on seed only.
func randomID(seed string, n int) string {
	r := newSeededRand(seed)
	out := make([]byte, n)
	for i := range out {
		out[i] = idAlphabet[r.IntN(62)]
	}
	return string(out)
}

// signature returns n bytes that imitate a signature or encrypted content.
func signature(seed string, n int) string {
	r := newSeededRand(seed)
	out := make([]byte, n)
	for i := range out {
		out[i] = byte(r.Uint32())
	}
	return base64.StdEncoding.EncodeToString(out)
}

func newSeededRand(seed string) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(seed))
	return rand.New(rand.NewPCG(h.Sum64(), 0))
}
