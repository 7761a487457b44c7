// Package grapheme finds places where a text can be cut without splitting a character that a
// reader sees as one: a letter with its accents, a flag, an emoji with a skin tone, a Hangul
// syllable. It follows the rules of Unicode Annex 29, and keeps together a few sequences more
// than those rules ask for.
package grapheme

import (
	"unicode"
	"unicode/utf8"
)

// maxCluster is how many code points may precede a cut in the same character. A longer pile of
// accents is cut between two code points.
const maxCluster = 64

const (
	zeroWidthJoiner    = '\u200d'
	zeroWidthNonJoiner = '\u200c'
)

// Cut returns the largest offset of text that is at most limit and does not split a character.
// A character of more than 64 code points is cut between two of them.
func Cut(text string, limit int) int {
	if limit >= len(text) {
		return len(text)
	}
	last := max(limit, 0)
	for last > 0 && !utf8.RuneStart(text[last]) {
		last--
	}
	at := last
	for range maxCluster {
		if at == 0 || isBoundary(text, at) {
			return at
		}
		_, size := utf8.DecodeLastRuneInString(text[:at])
		at -= size
	}
	return last
}

// isBoundary reports whether a character ends at an offset inside text that begins a code point.
func isBoundary(text string, at int) bool {
	before, _ := utf8.DecodeLastRuneInString(text[:at])
	after, _ := utf8.DecodeRuneInString(text[at:])
	switch {
	case before == '\r' && after == '\n':
		return false
	case unicode.IsControl(before) || unicode.IsControl(after):
		return true
	case extends(after), before == zeroWidthJoiner, unicode.Is(unicode.Prepended_Concatenation_Mark, before):
		return false
	case isRegional(before) && isRegional(after):
		return regionalsAtEnd(text[:at])%2 == 0
	case unicode.IsLetter(after) && endsWithLinker(text[:at]):
		return false
	}
	return !joinsHangul(before, after)
}

// extends reports whether a code point belongs to the character before it.
func extends(r rune) bool {
	isSkinTone := r >= 0x1f3fb && r <= 0x1f3ff
	isTag := r >= 0xe0020 && r <= 0xe007f
	return unicode.Is(unicode.M, r) || r == zeroWidthJoiner || r == zeroWidthNonJoiner || isSkinTone || isTag ||
		unicode.Is(unicode.Other_Grapheme_Extend, r) || r == 0x0e33 || r == 0x0eb3
}

// endsWithLinker reports whether there is a virama among the marks that text ends with.
func endsWithLinker(text string) bool {
	for len(text) > 0 {
		r, size := utf8.DecodeLastRuneInString(text)
		if isConjunctLinker(r) {
			return true
		}
		if !extends(r) {
			return false
		}
		text = text[:len(text)-size]
	}
	return false
}

// isConjunctLinker reports whether a code point is a virama, which joins two consonants.
func isConjunctLinker(r rune) bool {
	switch r {
	case 0x094d, 0x09cd, 0x0acd, 0x0b4d, 0x0c4d, 0x0d4d, 0x1039, 0x17d2, 0x1a60, 0xa9c0, 0x1133d, 0x1193e:
		return true
	}
	return false
}

func isRegional(r rune) bool { return r >= 0x1f1e6 && r <= 0x1f1ff }

// regionalsAtEnd counts the regional indicators that text ends with. Two of them are a flag.
func regionalsAtEnd(text string) (n int) {
	for len(text) > 0 {
		r, size := utf8.DecodeLastRuneInString(text)
		if !isRegional(r) {
			break
		}
		n++
		text = text[:len(text)-size]
	}
	return n
}

// joinsHangul reports whether two parts of a Hangul syllable belong together.
func joinsHangul(before, after rune) bool {
	isLeading := func(r rune) bool { return r >= 0x1100 && r <= 0x115f || r >= 0xa960 && r <= 0xa97c }
	isVowel := func(r rune) bool { return r >= 0x1160 && r <= 0x11a7 || r >= 0xd7b0 && r <= 0xd7c6 }
	isTrailing := func(r rune) bool { return r >= 0x11a8 && r <= 0x11ff || r >= 0xd7cb && r <= 0xd7fb }
	isSyllable := func(r rune) bool { return r >= 0xac00 && r <= 0xd7a3 }
	switch {
	case isLeading(before):
		return isLeading(after) || isVowel(after) || isSyllable(after)
	case isVowel(before), isSyllable(before) && (before-0xac00)%28 == 0:
		return isVowel(after) || isTrailing(after)
	case isTrailing(before), isSyllable(before):
		return isTrailing(after)
	}
	return false
}
