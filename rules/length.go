package rules

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"unicode/utf8"

	"github.com/pare-llm/pare/internal/jsonspan"
)

// decodedLen is how long the text of a JSON string is, given without its quotes, and
// whether ASCII characters are spelled as numbers in it. It is asked about everything that
// a rule would clear, so it goes by 64 bytes at a time, without a branch for each escape.
func decodedLen(raw []byte) (n int, odd bool) {
	var carry uint64 // one: the first byte is escaped by the last one before it
	at := 0
	for ; at+64 <= len(raw); at += 64 {
		slashes := slashesIn(raw[at : at+64])
		if slashes|carry == 0 {
			continue
		}
		// Every other backslash of a run begins an escape: where runs begin at even places,
		// subtracting them leaves the even ones up to their ends, and at odd ones the odd.
		const oddPlaces = 0xAAAAAAAAAAAAAAAA
		begin := slashes &^ carry
		codes := ((begin<<1 | oddPlaces) - begin) ^ oddPlaces // what begins an escape, and what ends a run of them
		if !allSimple(raw[at:], codes^(slashes|carry)) {
			break
		}
		n -= bits.OnesCount64(codes & slashes)
		carry = (codes & slashes) >> 63
	}
	rest, odd := decodedOneByOne(raw[at-int(carry):])
	return n + at + rest, odd
}

// slashesIn says which of 64 bytes are backslashes.
func slashesIn(raw []byte) (set uint64) {
	const ones, low, gather = 0x0101010101010101, 0x7F7F7F7F7F7F7F7F, 0x0002040810204081
	for i := 0; i < 64; i += 8 {
		x := binary.LittleEndian.Uint64(raw[i:]) ^ ones*'\\'
		zero := ^(x&low + low | x | low) // the highest bit of each byte that is zero
		set |= zero >> 7 * gather >> 49 & 0xFF << i
	}
	return set
}

// allSimple reports whether all escaped bytes are those of escapes of two bytes.
func allSimple(raw []byte, escaped uint64) bool {
	for ; escaped != 0; escaped &= escaped - 1 {
		switch raw[bits.TrailingZeros64(escaped)] {
		case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		default:
			return false
		}
	}
	return true
}

// decodedOneByOne is decodedLen, escape by escape.
func decodedOneByOne(raw []byte) (n int, odd bool) {
	for {
		i := bytes.IndexByte(raw, '\\')
		if i < 0 {
			return n + len(raw), odd
		}
		n, raw = n+i, raw[i:]
		r, size := jsonspan.Unescape(raw)
		if size == 0 { // kept as it stands
			n, raw = n+min(2, len(raw)), raw[min(2, len(raw)):]
			continue
		}
		n, raw, odd = n+utf8.RuneLen(r), raw[size:], odd || size > 2 && r < utf8.RuneSelf
	}
}
