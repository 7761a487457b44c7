package jsonspan

import (
	"encoding/binary"
	"math/bits"
)

// IndexPair returns where a text first has two bytes side by side, or -1. The bits of fold
// are set in what they are compared with. It takes no longer if one of the two is often there
// without the other.
func IndexPair(text []byte, a, b, fold byte) int {
	const ones = 0x0101010101010101
	i := 0
	for ; i+9 <= len(text); i += 8 {
		first := binary.LittleEndian.Uint64(text[i:]) | ones*uint64(fold)
		second := binary.LittleEndian.Uint64(text[i+1:]) | ones*uint64(fold)
		x := (first ^ ones*uint64(a)) | (second ^ ones*uint64(b)) // zero where both are
		if zero := (x - ones) &^ x & (ones << 7); zero != 0 {
			return i + bits.TrailingZeros64(zero)/8
		}
	}
	for ; i+2 <= len(text); i++ {
		if text[i]|fold == a && text[i+1]|fold == b {
			return i
		}
	}
	return -1
}
