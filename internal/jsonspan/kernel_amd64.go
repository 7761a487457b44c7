//go:build amd64 && !purego

package jsonspan

import "github.com/pare-llm/pare/internal/cpu"

//lint:file-ignore U1000 the tables are read by the assembly

// useAVX2 is a fact about the machine; only tests set it.
var useAVX2 = cpu.AVX2()

// structuralRun moves from i, inside a string, towards its closing quote, and
// never past it or into the middle of an escape.
func structuralRun(data []byte, i int) int {
	if useAVX2 {
		return structuralAVX2(data, i)
	}
	return i
}

// strictRun moves from i, inside a string, to the next byte that needs a closer
// look: the closing quote, an escape that is illegal or half of a pair, a control
// character, or the block that holds bytes that are not UTF-8. It may stop early.
func strictRun(data []byte, i int) int {
	if useAVX2 && i >= 3 { // the kernel looks back by as much as a rune can hang over
		i = strictAVX2(data, i)
	}
	return swarRun(data, i)
}

// quotes lists the quotes in data[from:to] that are not escaped: the low 32 bits of their
// offsets go to dst. It reads blocks of 64 bytes while whole ones are left and dst has room
// for the quotes of one more. Escaped is 1 if the byte at from is escaped by the one before
// it, inside is all ones if from lies in a string; the same comes back for next, where it
// stopped. If strict is set it looks into strings, and stops in front of a block that is
// odd: that needs the closer look of careful.
func quotes(data []byte, from, to int, dst []uint32, escaped, inside uint64, strict bool) (next, n int, escapedNext, insideNext uint64, odd bool) {
	switch {
	case !useAVX2:
		return quotesWords(data, from, to, dst, escaped, inside, strict)
	case from < 3: // the kernel looks back by as much as a rune can hang over
		return quotesWords(data, from, min(to, from+8), dst, escaped, inside, strict)
	}
	return quotesAVX2(data, from, to, dst, escaped, inside, strict)
}

// blockMasks is for tests here: without AVX2, words are faster.
func blockMasks(b *[64]byte) (quote, slash, unusual uint64) { return masks(b) }

//go:noescape
func quotesAVX2(data []byte, from, to int, dst []uint32, escaped, inside uint64, strict bool) (next, n int, escapedNext, insideNext uint64, odd bool)

// structuralAVX2 and strictAVX2 read blocks of 64 bytes while whole ones are left.
//
//go:noescape
func structuralAVX2(data []byte, i int) int

//go:noescape
func strictAVX2(data []byte, i int) int

// Tables are looked up by the low and by the high half of a byte, which is in all
// the classes whose bits both entries have.
var (
	// The one class is what may follow a backslash, but for u.
	escapeLow  = [16]byte{0x2: 1 | 4 | 8, 0xF: 1, 0xC: 2, 0x6: 4, 0xE: 4, 0x4: 8}
	escapeHigh = [16]byte{0x2: 1 /* " / */, 0x5: 2 /* \ */, 0x6: 4 /* b f n */, 0x7: 8 /* r t */}

	// From the top bit down: the letters A to F, 8 and 9, 0 to 7, D, u.
	hexLow = [16]byte{
		0x20, 0x20 | 0x80, 0x20 | 0x80, 0x20 | 0x80, 0x20 | 0x80 | 0x10, 0x20 | 0x80 | 0x08, 0x20 | 0x80, 0x20, 0x40, 0x40,
	}
	hexHigh = [16]byte{0x3: 0x20 | 0x40, 0x4: 0x80 | 0x10, 0x6: 0x80 | 0x10, 0x7: 0x08}
)

// What two bytes in a row may do wrong in UTF-8, after Keiser and Lemire,
// "Validating UTF-8 in less than one instruction per byte": a fault is certain
// if its bit stands in the entries of the first byte's high half, of its low half
// and of the second byte's high half.
const (
	short     = 1 << iota // a lead without its continuation
	stray                 // a continuation after ASCII
	overlong2             // C0 or C1 starts what fits in one byte
	overlong3             // E0 80..9F fits in two
	surrogate             // ED A0..BF
	large                 // F4 90..BF, or F5..FF before 90..BF
	edge4                 // F0 80..8F fits in three; F5..FF before 80..8F is too large
	pair                  // two continuations: right only as third or fourth byte
	anyLow    = short | stray | pair
	anyCont   = stray | overlong2 | pair
)

var (
	firstHigh = [16]byte{
		stray, stray, stray, stray, stray, stray, stray, stray, pair, pair, pair, pair,
		short | overlong2, short, short | overlong3 | surrogate, short | large | edge4,
	}
	firstLow = [16]byte{
		0x0: anyLow | overlong2 | overlong3 | edge4, 0x1: anyLow | overlong2, 0x2: anyLow, 0x3: anyLow, 0x4: anyLow | large,
		0x5: anyLow | large | edge4, 0x6: anyLow | large | edge4, 0x7: anyLow | large | edge4, 0x8: anyLow | large | edge4,
		0x9: anyLow | large | edge4, 0xA: anyLow | large | edge4, 0xB: anyLow | large | edge4, 0xC: anyLow | large | edge4,
		0xD: anyLow | large | edge4 | surrogate, 0xE: anyLow | large | edge4, 0xF: anyLow | large | edge4,
	}
	secondHigh = [16]byte{
		short, short, short, short, short, short, short, short,
		anyCont | overlong3 | edge4, anyCont | overlong3 | large, anyCont | surrogate | large, anyCont | surrogate | large,
		short, short, short, short,
	}
	// completeTail holds the largest bytes a block may end with if no rune is to
	// hang over its end.
	completeTail = [32]byte{
		255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
		255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 0xEF, 0xDF, 0xBF,
	}
)
