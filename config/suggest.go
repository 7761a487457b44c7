package config

import (
	"fmt"
	"strings"
)

// pick words a hint that names the choice closest to what was written, or else all
// of them.
func pick(written string, choices []string) string {
	if near := nearest(written, choices); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return oneOf(choices)
}

// oneOf lists choices.
func oneOf(choices []string) string {
	switch len(choices) {
	case 0:
		return ""
	case 1:
		return "write " + quoted(choices)
	}
	return "write one of " + quoted(choices)
}

func quoted(words []string) string {
	q := make([]string, len(words))
	for i, w := range words {
		q[i] = fmt.Sprintf("%q", w)
	}
	return strings.Join(q, ", ")
}

// nearest returns the choice that word may be a slip of, or "". Of equally near
// ones the first wins.
func nearest(word string, choices []string) string {
	best, least := "", 2
	if n := len(word); n > 3 {
		least = 3 + min(n, 8)/8
	}
	for _, c := range choices {
		d := distance(fold(word), fold(c))
		if len(word) >= 3 && strings.HasPrefix(fold(c), fold(word)) {
			d = min(d, 1) // half a name is a good guess too
		}
		if d < least {
			best, least = c, d
		}
	}
	return best
}

// fold makes spellings of a name equal that differ in case and in the kind of
// hyphen only.
func fold(s string) string { return strings.ReplaceAll(strings.ToLower(s), "-", "_") }

// distance counts the letters to insert, delete or replace to turn a into b.
// Quadratic, in the length of two names.
func distance(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
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
