// Package suggest finds the names that a misspelt one may stand for.
package suggest

import (
	"cmp"
	"slices"
	"strings"
)

// most is how many names are worth reading in a hint.
const most = 3

// Near returns up to three choices that word may be a slip of, the nearest first and
// equally near ones by the alphabet. Case and the kind of hyphen do not matter, and half
// a name is a good guess too.
func Near(word string, choices []string) []string {
	type guess struct {
		text     string
		distance int
	}
	word = fold(word)
	var guesses []guess
	for _, c := range choices {
		if d := distance(word, fold(c)); d <= 1+len(word)/4 {
			guesses = append(guesses, guess{c, d})
		}
	}
	slices.SortStableFunc(guesses, func(a, b guess) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(a.text, b.text))
	})
	var best []string
	for _, g := range guesses {
		if len(best) < most && g.distance <= guesses[0].distance+1 {
			best = append(best, g.text)
		}
	}
	return best
}

// Nearest returns the first of [Near], or "".
func Nearest(word string, choices []string) string {
	if near := Near(word, choices); len(near) > 0 {
		return near[0]
	}
	return ""
}

// Sentence asks whether one of the nearest choices was meant; "" if none is near.
func Sentence(word string, choices []string) string {
	near := Near(word, choices)
	if len(near) == 0 {
		return ""
	}
	return "did you mean " + strings.Join(near, " or ") + "?"
}

// fold makes spellings of a name equal that differ in case and in the kind of hyphen
// only.
func fold(s string) string { return strings.ReplaceAll(strings.ToLower(s), "-", "_") }

// distance is how far a choice is from a word: edits, or less if the word is a part of
// it.
func distance(word, choice string) int {
	d := edits(word, choice)
	switch {
	case len(word) < 3:
	case strings.HasPrefix(choice, word):
		d = min(d, 1)
	case strings.Contains(choice, word):
		d = min(d, 2)
	}
	return d
}

// maxName bounds what is compared: edits is quadratic in it.
const maxName = 100

// edits counts the letters to insert, delete or replace to turn a into b (Levenshtein).
func edits(a, b string) int {
	if len(a) > maxName || len(b) > maxName {
		return max(len(a), len(b))
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			swap := diagonal
			if a[i] != b[j] {
				swap++
			}
			diagonal = row[j+1]
			row[j+1] = min(swap, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
