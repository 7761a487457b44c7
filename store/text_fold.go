package store

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// maxWord is how many bytes of a word are looked at: a database has a bound.
const maxWord = 1000

// fold is a text as it is indexed and looked for, on every database: words of letters and
// digits, in lower case and without accents, parted by single spaces. Words that are folded are
// folded to themselves.
func fold(text string) string {
	var out strings.Builder
	word := 0 // bytes of the word at hand
	for _, r := range norm.NFD.String(strings.ToLower(text)) {
		switch {
		case unicode.Is(unicode.M, r): // an accent
		case unicode.In(r, unicode.L, unicode.N, unicode.Co):
			if word == 0 && out.Len() > 0 {
				out.WriteByte(' ')
			}
			if word += utf8.RuneLen(r); word <= maxWord {
				out.WriteRune(r)
			}
		default:
			word = 0
		}
	}
	return norm.NFC.String(out.String())
}

// A phrase is what is looked for: words that stand together.
type phrase struct {
	text   string // as it was asked for
	folded string // folded
}

// folded folds phrases. One without a letter or a digit is in no text, and is left out.
func foldPhrases(said []string) (all []phrase) {
	for _, s := range said {
		if w := fold(s); w != "" {
			all = append(all, phrase{s, w})
		}
	}
	return all
}
