// Package plain makes text from elsewhere (conversations, names of files, models and tools,
// messages of other programs) safe to show: it cannot move a cursor, change colours, turn a line around, or look like
// a line that it is not. Beside that it makes numbers easy to read.
package plain

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Grouped writes n with its thousands apart.
func Grouped(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Line is text from elsewhere on one line. Tabs and line breaks become spaces, whatever else
// cannot be printed becomes a dot.
func Line(s string) string {
	if printable(s) {
		return s
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t' || r == '\n' || r == '\r':
			return ' '
		case unicode.IsPrint(r):
			return r
		}
		return '·'
	}, s)
}

// printable reports whether Line would change nothing.
func printable(s string) bool {
	for i := 0; i < len(s); {
		if c := s[i]; c < utf8.RuneSelf {
			if c < ' ' || c == 0x7f {
				return false
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 || !unicode.IsPrint(r) {
			return false
		}
		i += n
	}
	return true
}

// JSON is a JSON text, on one line if it was, that can be printed as it is: control
// characters, those that turn or hide text, and bytes that are no text are written as
// escapes. It means the same, but for the bytes that were no text.
func JSON(text []byte) []byte {
	for i := 0; i < len(text); {
		if text[i] < utf8.RuneSelf && text[i] != 0x7f {
			i++
			continue
		}
		r, n := utf8.DecodeRune(text[i:])
		if hidden(r, n) {
			return escape(text, i)
		}
		i += n
	}
	return text
}

// hidden reports whether a rune, read from n bytes, is not to stand in JSON as it is.
func hidden(r rune, n int) bool {
	return r == utf8.RuneError && n == 1 || r >= 0x7f && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
}

// escape is text with escapes from byte i on.
func escape(text []byte, i int) []byte {
	const hex = "0123456789abcdef"
	out := append(make([]byte, 0, len(text)+64), text[:i]...)
	unit := func(u rune) {
		out = append(out, '\\', 'u', hex[u>>12&15], hex[u>>8&15], hex[u>>4&15], hex[u&15])
	}
	for i < len(text) {
		r, n := utf8.DecodeRune(text[i:])
		switch {
		case !hidden(r, n):
			out = append(out, text[i:i+n]...)
		case r > 0xffff:
			r -= 0x10000
			unit(0xd800 + r>>10)
			unit(0xdc00 + r&0x3ff)
		default:
			unit(r)
		}
		i += n
	}
	return out
}

// Marshal is v as JSON that can be printed as it is. Signs that matter to HTML alone stay.
func Marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return JSON(bytes.TrimSuffix(b.Bytes(), []byte{'\n'})), nil
}
