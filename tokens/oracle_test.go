package tokens

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// The oracle counts by definition: it cuts a text by the published patterns, with the regexp
// package, and joins the bytes of each word one after the other. It is exact and quadratic, so
// it gets no long words. tools/engine compares with a port of tiktoken, and the vocabularies with
// the published ones.

const (
	shortened = `(?i:'s|'t|'re|'ve|'m|'ll|'d)`
	oneBlank  = `[\t-\r\x{85}\p{Z}]`
	tails     = `|\p{N}{1,3}| ?[^\t-\r\x{85}\p{Z}\p{L}\p{N}]+`
	// The last alternative stands for two: blanks that no word follows, and blanks.
	blankRuns = `|` + oneBlank + `*[\r\n]+|(` + oneBlank + `+))`
)

var patterns = map[string]*regexp.Regexp{
	"o200k_base": regexp.MustCompile(`^(?:[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+` + shortened + `?` +
		`|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*` + shortened + `?` + tails + `[\r\n/]*` + blankRuns),
	"cl100k_base": regexp.MustCompile(`^(?:` + shortened + `|[^\r\n\p{L}\p{N}]?\p{L}+` + tails + `[\r\n]*` + blankRuns),
}

// cut returns how long the first word of a text is.
func cut(pattern *regexp.Regexp, text string) int {
	m := pattern.FindStringSubmatchIndex(text)
	end := m[1]
	if m[2] >= 0 && end < len(text) { // blanks in front of a word leave it the last of them
		if _, last := utf8.DecodeLastRuneInString(text[:end]); last < end {
			end -= last
		}
	}
	return end
}

var encodings = []*Encoding{O200k(), CL100k()}

// truth is the oracle's count.
func truth(e *Encoding, text string) (n int) {
	text = strings.ToValidUTF8(string([]rune(text)), "\uFFFD")
	_, ranks := ranksOf(e)
	for pattern := patterns[e.Name()]; text != ""; {
		word := text[:cut(pattern, text)]
		n, text = n+byDefinition(word, ranks), text[len(word):]
	}
	return n
}

func agree(t *testing.T, text string) {
	t.Helper()
	for _, e := range encodings {
		if got, want := e.Count([]byte(text)), truth(e, text); got != want {
			t.Errorf("%s of %q: %d tokens, the oracle counts %d", e.Name(), clip(text), got, want)
		}
	}
}

func clip(s string) string {
	if len(s) > 300 {
		return s[:300] + "…"
	}
	return s
}
