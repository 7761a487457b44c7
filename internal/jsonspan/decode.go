package jsonspan

import (
	"bytes"
	"slices"
	"unicode/utf16"
	"unicode/utf8"
)

// Decode appends the text of a string's content (without quotes) to dst. A lone
// surrogate becomes U+FFFD; an escape that is not one is kept as it stands.
func Decode(dst, content []byte) []byte {
	if dst == nil {
		dst = make([]byte, 0, len(content)) // decoding makes nothing longer that is valid
	}
	for {
		i := bytes.IndexByte(content, '\\')
		if i < 0 || i+1 >= len(content) {
			return append(dst, content...)
		}
		dst = append(dst, content[:i]...)
		c := content[i+1]
		if c == 'u' {
			r, n := decodeU(content[i:])
			dst = utf8.AppendRune(dst, r)
			content = content[i+n:]
			continue
		}
		if plain := unescape[c]; plain != 0 {
			dst = append(dst, plain)
		} else {
			dst = append(dst, '\\', c)
		}
		content = content[i+2:]
	}
}

var unescape = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// Unescape decodes the escape that raw begins with, or the pair of them that is one
// character, and says how many bytes it takes: none if it is no escape. A lone surrogate
// is U+FFFD.
func Unescape(raw []byte) (r rune, size int) {
	if len(raw) < 2 || raw[0] != '\\' {
		return utf8.RuneError, 0
	}
	if plain := unescape[raw[1]]; plain != 0 {
		return rune(plain), 2
	}
	if raw[1] != 'u' {
		return utf8.RuneError, 0
	}
	return decodeU(raw)
}

// decodeU decodes the \u escape, or the pair of them, that b starts with.
func decodeU(b []byte) (rune, int) {
	r, ok := hex4(b, 2)
	if !ok {
		return utf8.RuneError, 2
	}
	if utf16.IsSurrogate(r) {
		if len(b) >= 12 && b[6] == '\\' && b[7] == 'u' {
			if lo, ok := hex4(b, 8); ok {
				if p := utf16.DecodeRune(r, lo); p != utf8.RuneError {
					return p, 12
				}
			}
		}
		return utf8.RuneError, 6
	}
	return r, 6
}

// word is the first eight bytes of a text.
func word(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 | uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// AppendQuote appends text as a JSON string, quotes included. Only what must be
// escaped is; invalid UTF-8 becomes U+FFFD.
func AppendQuote(dst []byte, text string) []byte {
	dst = append(slices.Grow(dst, len(text)+len(text)/8+2), '"')
	plain := 0 // everything from there on can be copied
	for i := 0; i < len(text); {
		for i+8 <= len(text) && special(word(text[i:])) == 0 {
			i += 8
		}
		if i >= len(text) {
			break
		}
		if c := text[i]; c >= ' ' && c < utf8.RuneSelf && c != '"' && c != '\\' {
			i++
			continue
		}
		dst = append(dst, text[plain:i]...)
		r, n := utf8.DecodeRuneInString(text[i:])
		i += n
		plain = i
		switch {
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r == '\n':
			dst = append(dst, '\\', 'n')
		case r == '\t':
			dst = append(dst, '\\', 't')
		case r == '\r':
			dst = append(dst, '\\', 'r')
		case r < ' ':
			const hex = "0123456789abcdef"
			dst = append(dst, '\\', 'u', '0', '0', hex[r>>4], hex[r&15])
		default:
			dst = utf8.AppendRune(dst, r)
		}
	}
	return append(append(dst, text[plain:]...), '"')
}
