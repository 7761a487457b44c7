//go:build (!amd64 && !arm64) || purego

package jsonspan

// The portable runs; kernel_amd64.go says what a run is.

func structuralRun(_ []byte, i int) int { return i }

func strictRun(data []byte, i int) int { return swarRun(data, i) }

func quotes(data []byte, from, to int, dst []uint32, escaped, inside uint64, strict bool) (next, n int, escapedNext, insideNext uint64, odd bool) {
	return quotesWords(data, from, to, dst, escaped, inside, strict)
}

// blockMasks is for tests here: words are faster.
func blockMasks(b *[64]byte) (quote, slash, unusual uint64) { return masks(b) }
