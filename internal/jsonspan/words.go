package jsonspan

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// not takes every byte of ASCII but zero to the top bit.
const not = highs - lows

// quotesWords is quotes in portable words of eight bytes, which may begin anywhere. What is
// known of a byte stands in the top bit of its place, so that nothing has to be moved together.
// It needs room in dst for the quotes of one more word.
func quotesWords(data []byte, from, to int, dst []uint32, escaped, inside uint64, strict bool) (next, n int, escapedNext, insideNext uint64, odd bool) {
	i, first := from, escaped
	for {
		i, first = plainWords(data[:to], i, first)
		// What is not plain comes in groups: the word behind it is looked at here, too.
		for more := true; more; {
			if i+8 > to || len(dst)-n < 8 {
				return i, n, first, inside, false
			}
			v, size := binary.LittleEndian.Uint64(data[i:]), 8
			if high := v & highs; high != 0 { // as if something plain came instead
				size = bits.TrailingZeros64(high) >> 3
				ascii := uint64(1)<<(8*size) - 1
				v = v&ascii | 'a'*lows&^ascii
			}
			slash := (highs - (v ^ '\\'*lows)) & highs
			esc, last := slash<<8|first<<7, slash>>63
			if slash&esc != 0 {
				esc, last = escapedInWord(slash, first<<7)
			}
			quote := (highs - (v ^ '"'*lows)) & highs
			other := esc & (v ^ 'n'*lows + not) & (v ^ 't'*lows + not) &^ (quote | slash)
			quote &^= esc
			if strict {
				if other != 0 && !legalInWord(data, i, other) {
					return i, n, first, inside, true
				}
				if control := ^(v + ('\x80'-' ')*lows) & highs; control != 0 && control&(insideInWord(quote)^inside) != 0 {
					return i, n, first, inside, true
				}
			}
			count := int(quote >> 7 * lows >> 56)
			at := (*[8]uint32)(dst[n:])
			at[0] = uint32(i + bits.TrailingZeros64(quote)>>3) // whether there is one or not
			quote &= quote - 1
			at[1] = uint32(i + bits.TrailingZeros64(quote)>>3)
			if count > 2 {
				thirdQuotes(at, i, quote)
			}
			n += count
			inside ^= -uint64(count & 1)
			first = last
			more = uint64(count|size&7)|other != 0
			if i += size; size < 8 {
				if i = runes(data, i, to, strict); i < 0 {
					return ^i, n, 0, inside, true
				}
			}
		}
	}
}

// thirdQuotes writes down where the quotes behind the second one of the word at i stand.
func thirdQuotes(at *[8]uint32, i int, quote uint64) {
	for k := 2; quote&(quote-1) != 0; k++ {
		quote &= quote - 1
		at[k&7] = uint32(i + bits.TrailingZeros64(quote)>>3)
	}
}

// runes moves on from i to the next byte of ASCII, or to the first rune that does not begin in
// front of to. In a strict scan it returns the complement of where there is no rune.
func runes(data []byte, i, to int, strict bool) int {
	for i < to && data[i] >= utf8.RuneSelf {
		r, k := utf8.DecodeRune(data[i:])
		if strict && r == utf8.RuneError && k == 1 {
			return ^i
		}
		i += k
	}
	return i
}

// plainWords moves on from i over words of ASCII in which nothing happens but \", \n and \t.
// First is 1 if the byte at i is escaped.
func plainWords(data []byte, i int, first uint64) (int, uint64) {
	bare := first<<7 ^ 0x80 // its top bit says that the byte at i is not escaped; the others tell nothing
	for i >= 0 && i <= len(data)-16 {
		v := binary.LittleEndian.Uint64(data[i : i+8])
		notSlash := v ^ '\\'*lows + not
		if unplain(v, notSlash, bare) {
			break
		}
		bare = notSlash >> 56
		i += 8
		v = binary.LittleEndian.Uint64(data[i : i+8])
		notSlash = v ^ '\\'*lows + not
		if unplain(v, notSlash, bare) {
			break
		}
		bare = notSlash >> 56
		i += 8
	}
	return i, bare>>7&1 ^ 1
}

// unplain reports whether a word is not plain. A byte that is not escaped is no quote; one that
// is is a quote, an n or a t; none is a control character (a borrow runs upwards, but only from
// one) or beyond ASCII.
func unplain(v, notSlash, bare uint64) bool {
	right := notSlash<<8 | bare | (highs - (v ^ 'n'*lows)) | (highs - (v ^ 't'*lows))
	return (right^(v^'"'*lows+not)|(v-' '*lows)|v)&highs != 0
}

// escapedInWord works out what backslashes of a word escape, one after the other, and what
// they do to the first byte of the next.
func escapedInWord(slash, first uint64) (esc, next uint64) {
	esc = first
	for ; slash != 0; slash &= slash - 1 {
		if b := slash & -slash; b&esc == 0 {
			esc |= b << 8
			next = b >> 63
		}
	}
	return esc, next
}

// legalInWord is legal for the word at i.
func legalInWord(data []byte, i int, escaped uint64) bool {
	for ; escaped != 0; escaped &= escaped - 1 {
		if !legalEscape(data, i+bits.TrailingZeros64(escaped)>>3) {
			return false
		}
	}
	return true
}

// insideInWord marks the bytes behind an odd number of quotes of their word.
func insideInWord(quote uint64) uint64 {
	quote ^= quote << 8
	quote ^= quote << 16
	return quote ^ quote<<32
}
