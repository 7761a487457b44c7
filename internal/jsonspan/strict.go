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

// strictEnd is stringEnd with the inside of the string checked on the way. Runs
// of plain bytes are left to strictRun; what it stops at is looked at here.
func (s *Scanner) strictEnd(i int) int {
	data := s.data
	for {
		i = strictRun(data, i)
		if i >= len(data) {
			s.fail(len(data), midString)
			return -1
		}
		switch c := data[i]; {
		case c == '"':
			return i
		case c == '\\':
			// \u escapes come in rows; a new run for each would cost more than itself.
			for i < len(data) && data[i] == '\\' {
				if i = s.escape(i); i < 0 {
					return -1
				}
			}
		case c < ' ':
			s.fail(i, controlChar(c))
			return -1
		case c >= utf8.RuneSelf:
			r, n := utf8.DecodeRune(data[i:])
			if r == utf8.RuneError && n == 1 {
				s.fail(i, notUTF8)
				return -1
			}
			i += n
		default:
			i++
		}
	}
}

// swarRun moves from i to the next byte that needs a closer look, which an escape
// of two bytes does not, or to the last few bytes of data.
func swarRun(data []byte, i int) int {
	for i+8 <= len(data) {
		m := special(binary.LittleEndian.Uint64(data[i:]))
		if m == 0 {
			i += 8
			continue
		}
		i += bits.TrailingZeros64(m) >> 3
		if data[i] != '\\' || i+1 >= len(data) || !escapes[data[i+1]] {
			return i
		}
		i += 2
	}
	return i
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
	end, lone, reason := escapeEnd(s.data, i)
	if reason != "" {
		s.fail(end, reason)
		return -1
	}
	if lone {
		s.flaw(LoneSurrogate, i)
	}
	return end
}

// escapeEnd returns the offset behind the escape at i and whether it is half of a pair, or
// the offset of the fault and a reason.
func escapeEnd(data []byte, i int) (end int, lone bool, reason string) {
	if i+1 >= len(data) {
		return len(data), false, midString
	}
	if data[i+1] != 'u' {
		if !escapes[data[i+1]] {
			return i, false, "an unknown escape; only \\\" \\\\ \\/ \\b \\f \\n \\r \\t and \\u are legal"
		}
		return i + 2, false, ""
	}
	r, ok := hex4(data, i+2)
	if !ok {
		return i, false, "\\u needs four hexadecimal digits"
	}
	if r < 0xD800 || r > 0xDFFF {
		return i + 6, false, ""
	}
	if r < 0xDC00 && i+7 < len(data) && data[i+6] == '\\' && data[i+7] == 'u' {
		if lo, ok := hex4(data, i+8); ok && lo >= 0xDC00 && lo <= 0xDFFF {
			return i + 12, false, ""
		}
	}
	return i + 6, true, ""
}

var escapes = [256]bool{'"': true, '\\': true, '/': true, 'b': true, 'f': true, 'n': true, 'r': true, 't': true}

// hex4 reads four hexadecimal digits at i.
func hex4(data []byte, i int) (rune, bool) {
	if i+4 > len(data) {
		return 0, false
	}
	b := data[i : i+4 : i+4]
	r := int32(hexValue[b[0]])<<12 | int32(hexValue[b[1]])<<8 | int32(hexValue[b[2]])<<4 | int32(hexValue[b[3]])
	return r, r >= 0
}

// hexValue is negative, and makes every sum of it so, for what is no digit. It is
// a table because the digits of a \u escape are hard to predict.
var hexValue = func() (t [256]int8) {
	for i := range t {
		t[i] = -1
	}
	for i := range 10 {
		t['0'+i] = int8(i)
	}
	for i := range 6 {
		t['a'+i], t['A'+i] = int8(10+i), int8(10+i)
	}
	return t
}()
