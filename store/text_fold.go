package store

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// maxWord limits the bytes of an indexed word; the databases have a limit.
const maxWord = 1000

// fold returns the text as it is indexed and searched on every database: words of letters and
// digits, in lower case and without accents, separated by single spaces. Folding twice changes
// nothing.
func fold(text string) string {
	var out strings.Builder
	word := 0
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

// A phrase is a sequence of words to search for.
type phrase struct {
	text   string // as given
	folded string
}

// foldPhrases folds phrases, and drops those without letters and digits.
func foldPhrases(said []string) (all []phrase) {
	for _, s := range said {
		if w := fold(s); w != "" {
			all = append(all, phrase{s, w})
		}
	}
	return all
}
