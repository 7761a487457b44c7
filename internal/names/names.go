// Package names finds the names in a text that somebody may need again to the letter:
// identifiers, parts of paths, numbers. Plain words are none, because anybody can think of
// them without having read the text.
package names

import (
	"cmp"
	"slices"
	"strings"
)

const (
	shortest = 4
	longest  = 64
)

// Each calls found with every name in a text, in order, as often as it occurs. A name is a
// run of letters, digits, underscores and hyphens that no sentence would have: it has an
// underscore or a hyphen inside, an upper-case letter behind a lower-case one, letters and
// digits, or is a number of four digits and more.
func Each(text string, found func(name string)) {
	for i := 0; i < len(text); {
		if class[text[i]] == 0 {
			i++
			continue
		}
		from := i
		for i < len(text) && class[text[i]] != 0 {
			i++
		}
		if name := trim(text[from:i]); len(name) >= shortest && len(name) <= longest && odd(name) {
			found(name)
		}
	}
}

// Hash tells names and lines apart, on every machine in the same way.
func Hash(text string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(text) {
		h = (h ^ uint64(text[i])) * 1099511628211
	}
	return h
}

const (
	lower = 1 << iota
	upper
	digit
	joint
)

// class is what each byte may be in a name; zero: it ends one.
var class = func() (c [256]byte) {
	for b := range 26 {
		c['a'+b], c['A'+b] = lower, upper
	}
	for b := range 10 {
		c['0'+b] = digit
	}
	c['_'], c['-'] = joint, joint
	return c
}()

// trim takes underscores and hyphens off both ends.
func trim(s string) string {
	for len(s) > 0 && class[s[0]] == joint {
		s = s[1:]
	}
	for len(s) > 0 && class[s[len(s)-1]] == joint {
		s = s[:len(s)-1]
	}
	return s
}

// odd reports whether a run of characters is no plain word.
func odd(s string) bool {
	var all byte
	for i := range len(s) {
		c := class[s[i]]
		if c == joint || c == upper && i > 0 && class[s[i-1]] == lower {
			return true
		}
		all |= c
	}
	return all&digit != 0
}

// Frequent sorts names by how often they occur, the most frequent first; of equals, by their letters.
func Frequent(count map[string]int) []string {
	all := make([]string, 0, len(count))
	for name := range count {
		all = append(all, name)
	}
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(count[b]-count[a], cmp.Compare(a, b)) })
	return all
}

// Digest lists the first of some names, at most so many, in at most so many bytes.
func Digest(all []string, most, room int) string {
	n, size := 0, 0
	for n < len(all) && n < most && size+len(all[n])+1 <= room {
		size += len(all[n]) + 1
		n++
	}
	return strings.Join(all[:n], " ")
}
