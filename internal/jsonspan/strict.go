package jsonspan

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

const (
	lows  = 0x0101010101010101
	highs = 0x8080808080808080
)

// strictEnd is stringEnd with the inside of the string checked on the way. It
// reads eight bytes at a time and looks closer only where one of them is a
// quote, a backslash, a control character or not ASCII.
func (s *Scanner) strictEnd(i int) int {
	data := s.data
	for {
		for i+8 <= len(data) {
			w := binary.LittleEndian.Uint64(data[i:])
			if m := special(w); m != 0 {
				i += bits.TrailingZeros64(m) >> 3
				break
			}
			i += 8
		}
		if i >= len(data) {
			s.fail(len(data), "the document ends in the middle of a string")
			return -1
		}
		switch c := data[i]; {
		case c == '"':
			return i
		case c == '\\':
			if i = s.escape(i); i < 0 {
				return -1
			}
		case c < ' ':
			s.fail(i, controlChar(c))
			return -1
		case c >= utf8.RuneSelf:
			r, n := utf8.DecodeRune(data[i:])
			if r == utf8.RuneError && n == 1 {
				s.fail(i, "bytes that are not UTF-8")
				return -1
			}
			i += n
		default:
			i++
		}
	}
}

// special marks, in the top bit of each byte, where w holds a quote, a
// backslash, a control character or a byte above ASCII. Marks above the lowest
// one may be wrong (a borrow runs upwards), so only the lowest is used.
func special(w uint64) uint64 {
	q := w ^ '"'*lows
	b := w ^ '\\'*lows
	return ((q - lows) &^ q & highs) | ((b - lows) &^ b & highs) | ((w - ' '*lows) &^ w & highs) | (w & highs)
}

func controlChar(c byte) string {
	const hex = "0123456789abcdef"
	return "a raw control character in a string; write it as \\u00" + string([]byte{hex[c>>4], hex[c&15]})
}

// escape checks the escape at i and returns the offset behind it, or -1 after an
// error.
func (s *Scanner) escape(i int) int {
	data := s.data
	if i+1 >= len(data) {
		s.fail(len(data), "the document ends in the middle of a string")
		return -1
	}
	if data[i+1] != 'u' {
		if !escapes[data[i+1]] {
			s.fail(i, "an unknown escape; only \\\" \\\\ \\/ \\b \\f \\n \\r \\t and \\u are legal")
			return -1
		}
		return i + 2
	}
	r, ok := hex4(data, i+2)
	if !ok {
		s.fail(i, "\\u needs four hexadecimal digits")
		return -1
	}
	if r < 0xD800 || r > 0xDFFF {
		return i + 6
	}
	if r < 0xDC00 && i+7 < len(data) && data[i+6] == '\\' && data[i+7] == 'u' {
		if lo, ok := hex4(data, i+8); ok && lo >= 0xDC00 && lo <= 0xDFFF {
			return i + 12
		}
	}
	s.flaw(LoneSurrogate, i)
	return i + 6
}

var escapes = [256]bool{'"': true, '\\': true, '/': true, 'b': true, 'f': true, 'n': true, 'r': true, 't': true}

// hex4 reads four hexadecimal digits at i.
func hex4(data []byte, i int) (rune, bool) {
	if i+4 > len(data) {
		return 0, false
	}
	var r rune
	for _, c := range data[i : i+4] {
		switch {
		case c >= '0' && c <= '9':
			r = r<<4 | rune(c-'0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			r = r<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return r, true
}
