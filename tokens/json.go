package tokens

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// unescape decodes the content of a JSON string. Without escapes it returns raw
// itself. It never fails: what is no escape stands for itself.
func unescape(raw []byte) []byte {
	at := bytes.IndexByte(raw, '\\')
	if at < 0 {
		return raw
	}
	plain := make([]byte, 0, len(raw))
	for {
		plain = append(plain, raw[:at]...)
		r, n := escape(raw[at:])
		plain = utf8.AppendRune(plain, r)
		raw = raw[at+n:]
		if at = bytes.IndexByte(raw, '\\'); at < 0 {
			return append(plain, raw...)
		}
	}
}

// escape decodes the escape sequence that raw begins with and tells how many bytes
// it takes. Half a surrogate pair is U+FFFD. A backslash that begins no sequence is
// a backslash.
func escape(raw []byte) (r rune, n int) {
	if len(raw) > 1 {
		if c := escaped[raw[1]]; c != 0 {
			return rune(c), 2
		}
	}
	return unicodeEscape(raw)
}

// escaped has the meaning of the escapes of two bytes.
var escaped = [256]byte{'n': '\n', '"': '"', '\\': '\\', '/': '/', 't': '\t', 'r': '\r', 'b': '\b', 'f': '\f'}

func unicodeEscape(raw []byte) (r rune, n int) {
	r, ok := hex4(raw)
	if !ok {
		return '\\', 1
	}
	if !utf16.IsSurrogate(r) {
		return r, 6
	}
	if low, ok := hex4(raw[6:]); ok {
		if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
			return pair, 12
		}
	}
	return utf8.RuneError, 6
}

// hex4 reads \uXXXX.
func hex4(raw []byte) (r rune, ok bool) {
	if len(raw) < 6 || raw[0] != '\\' || raw[1] != 'u' {
		return 0, false
	}
	for _, c := range raw[2:6] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}
