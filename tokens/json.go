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
	a, b, c, d := hexDigit[raw[2]], hexDigit[raw[3]], hexDigit[raw[4]], hexDigit[raw[5]]
	return rune(a)<<12 | rune(b)<<8 | rune(c)<<4 | rune(d), a|b|c|d >= 0
}

// hexDigit has the value of each digit, or -1.
var hexDigit = func() (t [256]int8) {
	for i := range t {
		t[i] = -1
	}
	for i, c := range "0123456789" {
		t[c] = int8(i)
	}
	for i, c := range "abcdef" {
		t[c], t[c-'a'+'A'] = int8(10+i), int8(10+i)
	}
	return t
}()
