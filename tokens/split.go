package tokens

import (
	"sync"
	"unicode"
	"unicode/utf8"
)

// The classes of a rune, as the patterns of the encodings know them. They are bits,
// so that a class of the pattern is a mask.
const (
	other   = 1 << iota
	space   // \s but not newline
	newline // \r or \n
	upper   // Lu, Lt
	lower   // Ll
	caseless
	mark
	number

	letter = upper | lower | caseless
	white  = space | newline
	// head and tail are the two letter classes of o200k: what a word may begin
	// with, and what it may go on with. Letters without case and marks are in both.
	head = upper | caseless | mark
	tail = lower | caseless | mark
)

// classes returns the class of every rune of the basic plane.
var classes = sync.OnceValue(func() *[1 << 16]uint8 {
	t := new([1 << 16]uint8)
	for i := range t {
		t[i] = other
	}
	fill := func(table *unicode.RangeTable, class uint8) {
		for _, r := range table.R16 {
			for c := uint32(r.Lo); c <= uint32(r.Hi); c += uint32(r.Stride) {
				t[c] = class
			}
		}
	}
	for _, c := range categories {
		fill(c.table, c.class)
	}
	t['\r'], t['\n'] = newline, newline
	return t
})

var categories = []struct {
	table *unicode.RangeTable
	class uint8
}{
	{unicode.White_Space, space},
	{unicode.Lu, upper},
	{unicode.Lt, upper},
	{unicode.Ll, lower},
	{unicode.Lm, caseless},
	{unicode.Lo, caseless},
	{unicode.M, mark},
	{unicode.N, number},
}

// asciiClass is classes for what most text consists of.
var asciiClass = func() (t [utf8.RuneSelf]uint8) {
	for c := range t {
		switch {
		case c >= 'a' && c <= 'z':
			t[c] = lower
		case c >= 'A' && c <= 'Z':
			t[c] = upper
		case c >= '0' && c <= '9':
			t[c] = number
		case c == '\r' || c == '\n':
			t[c] = newline
		case c == ' ' || c >= '\t' && c <= '\r':
			t[c] = space
		default:
			t[c] = other
		}
	}
	return t
}()

// classAt returns the class of the rune at i and where the next one begins; at the
// end of text it returns no class, which no mask contains.
func classAt(text []byte, i int) (class uint8, next int) {
	if i >= len(text) {
		return 0, i
	}
	if c := text[i]; c < utf8.RuneSelf {
		return asciiClass[c], i + 1
	}
	return wideClassAt(text, i)
}

func wideClassAt(text []byte, i int) (class uint8, next int) {
	r, n := utf8.DecodeRune(text[i:])
	if r < 1<<16 {
		return classes()[r], i + n
	}
	for _, c := range categories {
		if unicode.Is(c.table, r) {
			return c.class, i + n
		}
	}
	return other, i + n
}

// skip returns the end of the run of runes in mask that begins at i.
func skip(text []byte, i int, mask uint8) int {
	for i < len(text) {
		if c := text[i]; c < utf8.RuneSelf {
			if asciiClass[c]&mask == 0 {
				return i
			}
			i++
			continue
		}
		class, next := wideClassAt(text, i)
		if class&mask == 0 {
			return i
		}
		i = next
	}
	return i
}

// splitO200k returns the end of the word that begins at i. It does what this
// pattern does, with \p{L} and \p{M} sorted into the head and tail classes above:
//
//	[^\r\n\p{L}\p{N}]?[head]*[tail]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//	|[^\r\n\p{L}\p{N}]?[head]+[tail]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//	|\p{N}{1,3}
//	| ?[^\s\p{L}\p{N}]+[\r\n/]*
//	|\s*[\r\n]+
//	|\s+(?!\S)
//	|\s+
func splitO200k(text []byte, i int) int {
	class, next := classAt(text, i)
	if class&(newline|letter|number) == 0 {
		// The optional rune in front. A mark may be that rune or the word's first
		// letter; the pattern prefers the former where a word can follow.
		if end := cased(text, next); end > 0 {
			return contraction(text, end)
		}
	}
	if class&(letter|mark) != 0 {
		if end := cased(text, i); end > 0 {
			return contraction(text, end)
		}
	}
	// Nothing with a lower-case end: a run of capitals, after a rune or not.
	if class&(newline|letter|number) == 0 {
		if end := skip(text, next, head); end > next {
			return contraction(text, end)
		}
	}
	if class&letter != 0 {
		return contraction(text, skip(text, i, head))
	}
	if class == number {
		return digits(text, i)
	}
	if end := symbols(text, i, class, next); end > 0 {
		for end < len(text) && (text[end] == '\r' || text[end] == '\n' || text[end] == '/') {
			end++
		}
		return end
	}
	return blanks(text, i)
}

// cased matches [head]*[tail]+ at i, or returns 0. Where no lower-case letter
// follows the heads, the pattern gives runes back until the last of them is one
// that may also be a tail.
func cased(text []byte, i int) int {
	last := 0
	for i < len(text) {
		class, next := classAt(text, i)
		if class == lower {
			return skip(text, next, tail)
		}
		if class&head == 0 {
			break
		}
		if class != upper {
			last = next
		}
		i = next
	}
	return last
}

// contraction steps over 's, 't, 're, 've, 'm, 'll or 'd at i, in any case.
func contraction(text []byte, i int) int {
	if i+1 >= len(text) || text[i] != '\'' {
		return i
	}
	switch text[i+1] | 0x20 {
	case 's', 't', 'm', 'd':
		return i + 2
	}
	if i+2 >= len(text) {
		return i
	}
	switch [2]byte{text[i+1] | 0x20, text[i+2] | 0x20} {
	case [2]byte{'r', 'e'}, [2]byte{'v', 'e'}, [2]byte{'l', 'l'}:
		return i + 3
	}
	if text[i+1] == 0xC5 && text[i+2] == 0xBF { // U+017F is an s where case does not count
		return i + 3
	}
	return i
}

// splitCL100k is splitO200k for the older pattern:
//
//	(?i:'s|'t|'re|'ve|'m|'ll|'d)
//	|[^\r\n\p{L}\p{N}]?\p{L}+
//	|\p{N}{1,3}
//	| ?[^\s\p{L}\p{N}]+[\r\n]*
//	|\s*[\r\n]+
//	|\s+(?!\S)
//	|\s+
func splitCL100k(text []byte, i int) int {
	if end := contraction(text, i); end > i {
		return end
	}
	class, next := classAt(text, i)
	if class&letter != 0 {
		return skip(text, next, letter)
	}
	if class == number {
		return digits(text, i)
	}
	if class != newline {
		if end := skip(text, next, letter); end > next {
			return end
		}
	}
	if end := symbols(text, i, class, next); end > 0 {
		return skip(text, end, newline)
	}
	return blanks(text, i)
}

// digits matches \p{N}{1,3}.
func digits(text []byte, i int) int {
	for range 3 {
		class, next := classAt(text, i)
		if class != number {
			break
		}
		i = next
	}
	return i
}

// symbols matches ` ?[^\s\p{L}\p{N}]+` at i, whose class and end are given, or
// returns 0.
func symbols(text []byte, i int, class uint8, next int) int {
	if class&(other|mark) != 0 {
		return skip(text, next, other|mark)
	}
	if text[i] != ' ' {
		return 0
	}
	if end := skip(text, next, other|mark); end > next {
		return end
	}
	return 0
}

// blanks matches the three patterns of white space, of which there is some at i:
// up to the last newline of the run; without one, all but the last blank, which
// belongs to the word that follows.
func blanks(text []byte, i int) int {
	end, line, last := i, 0, i
	for end < len(text) {
		class, next := classAt(text, end)
		if class&white == 0 {
			break
		}
		if class == newline {
			line = next
		}
		last, end = end, next
	}
	switch {
	case line > 0:
		return line
	case end == len(text) || last == i:
		return end
	}
	return last
}
