package jsonspan

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// DecodedLen is how long the text of a string's content is (without quotes), and whether
// ASCII characters are spelled as numbers in it. It goes by 64 bytes at a time where all
// escapes are two bytes long.
func DecodedLen(content []byte) (n int, odd bool) {
	for at := 0; ; {
		next, short, escaped := shortEscapes(content, at)
		n += next - at - short
		at = next - escaped // of a half escape nothing has been counted
		for end := min(next+64, len(content)); at < end; {
			i := bytes.IndexByte(content[at:end], '\\')
			if i < 0 {
				n, at = n+end-at, end
				break
			}
			n, at = n+i, at+i
			r, size := Unescape(content[at:])
			if size == 0 { // kept as it stands
				size = min(2, len(content)-at)
				n, at = n+size, at+size
				continue
			}
			n, at, odd = n+utf8.RuneLen(r), at+size, odd || size > 2 && r < utf8.RuneSelf
		}
		if at >= len(content) {
			return n, odd
		}
	}
}

// shortEscapes reads blocks of 64 bytes from i on, while whole ones are left in which
// all escapes are two bytes long: where it stopped, how many escapes there are, and 1 if the
// last of them has its second byte behind that.
func shortEscapes(data []byte, i int) (next, n, escaped int) {
	var carry uint64 // one: the first byte is escaped by the last one before it
	for ; i+64 <= len(data); i += 64 {
		slashes := slashesIn(data[i : i+64])
		if slashes|carry == 0 {
			continue
		}
		// Every other backslash of a run begins an escape: where runs begin at even places,
		// subtracting them leaves the even ones up to their ends, and at odd ones the odd.
		const oddPlaces = 0xAAAAAAAAAAAAAAAA
		begin := slashes &^ carry
		codes := ((begin<<1 | oddPlaces) - begin) ^ oddPlaces // what begins an escape, and what ends a run of them
		if !allShort(data[i:], codes^(slashes|carry)) {
			break
		}
		n += bits.OnesCount64(codes & slashes)
		carry = (codes & slashes) >> 63
	}
	return i, n, int(carry)
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

// allShort reports whether all escaped bytes are those of escapes of two bytes.
func allShort(raw []byte, escaped uint64) bool {
	for ; escaped != 0; escaped &= escaped - 1 {
		if unescape[raw[bits.TrailingZeros64(escaped)]] == 0 {
			return false
		}
	}
	return true
}
