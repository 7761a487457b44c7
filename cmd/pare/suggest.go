package main

import (
	"cmp"
	"slices"
	"strings"
)

// didYouMean returns a sentence that names the candidates closest to name, or ""
// if none is close.
func didYouMean(name string, candidates []string) string {
	close := suggest(name, candidates)
	if len(close) == 0 {
		return ""
	}
	return "did you mean " + strings.Join(close, " or ") + "?"
}

// suggest returns up to three candidates that name may be a slip of, best first.
func suggest(name string, candidates []string) []string {
	type guess struct {
		text     string
		distance int
	}
	name = strings.ToLower(name)
	var guesses []guess
	for _, c := range candidates {
		d := distance(name, strings.ToLower(c))
		if len(name) >= 3 && strings.Contains(strings.ToLower(c), name) {
			d = min(d, 2) // half a name is a good guess too
		}
		if d <= 1+len(name)/4 {
			guesses = append(guesses, guess{c, d})
		}
	}
	slices.SortFunc(guesses, func(a, b guess) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(a.text, b.text))
	})
	var best []string
	for _, g := range guesses {
		if len(best) < 3 && g.distance <= guesses[0].distance+1 {
			best = append(best, g.text)
		}
	}
	return best
}

// distance counts the letters to insert, delete or replace to turn a into b
// (Levenshtein). Quadratic, in the length of two names.
func distance(a, b string) int {
	if len(a) > 100 || len(b) > 100 {
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
