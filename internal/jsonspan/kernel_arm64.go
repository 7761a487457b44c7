//go:build arm64 && !purego

package jsonspan

// On arm64 the blocks of an index are looked at with NEON, which every such processor has;
// all else is the portable path.

func structuralRun(_ []byte, i int) int { return i }

func strictRun(data []byte, i int) int { return swarRun(data, i) }

func quotes(data []byte, from, to int, dst []uint32, escaped, inside uint64, strict bool) (next, n int, escapedNext, insideNext uint64, odd bool) {
	return quotesBlocks(data, from, to, dst, escaped, inside, strict)
}

// blockMasks is masks.
//
//go:noescape
func blockMasks(b *[64]byte) (quote, slash, unusual uint64)
