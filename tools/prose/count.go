package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
)

// A group is a set of give-away words with one cause.
type group struct {
	name  string
	words string
}

var groups = []group{
	{"what-clauses", "what whatever"},
	{"persons", "nobody somebody whoever who"},
	{"posture", "stands stand stood lies lie goes gone speaks"},
	{"saying", "says said tells told asks asked looks wants knows lets"},
	{"place", "beside behind front apart alone"},
	{"quaint", "likewise mend mends mended mending puts begins piece room matter"},
}

// groupOf maps each give-away word to the name of its group.
var groupOf = mapWords(groups)

func mapWords(all []group) map[string]string {
	byWord := make(map[string]string)
	for _, g := range all {
		for word := range strings.FieldsSeq(g.words) {
			byWord[word] = g.name
		}
	}
	return byWord
}

// splitWords returns the words of a line in lower case.
func splitWords(line string) []string {
	return strings.FieldsFunc(strings.ToLower(line), func(r rune) bool { return !unicode.IsLetter(r) && r != '\'' })
}

// fileCount is the count of one file.
type fileCount struct {
	path           string
	words, flagged int
}

func (f fileCount) rate() float64 { return perThousand(f.flagged, f.words) }

// count is the count of all texts of one kind.
type count struct {
	words, flagged int
	byGroup        map[string]int
	files          []fileCount
}

func (c *count) add(t text) {
	if c.byGroup == nil {
		c.byGroup = make(map[string]int)
	}
	f := fileCount{path: t.path}
	for _, l := range t.lines {
		for _, word := range splitWords(l.text) {
			f.words++
			if g := groupOf[word]; g != "" {
				f.flagged++
				c.byGroup[g]++
			}
		}
	}
	c.words += f.words
	c.flagged += f.flagged
	c.files = append(c.files, f)
}

func (c *count) rate() float64 { return perThousand(c.flagged, c.words) }

func perThousand(part, whole int) float64 {
	if whole == 0 {
		return 0
	}
	return 1000 * float64(part) / float64(whole)
}

// print writes the rates and the files with the highest ones. Files with fewer than five
// flagged words are left out: their rates say little.
func (c *count) print(w io.Writer, k kind, top int) {
	fmt.Fprintf(w, "%s: %.1f per 1,000 of %d words (%s)\n", k, c.rate(), c.words, c.byGroupText())
	var worst []fileCount
	for _, f := range c.files {
		if f.flagged >= 5 {
			worst = append(worst, f)
		}
	}
	slices.SortFunc(worst, func(a, b fileCount) int {
		return cmp.Or(cmp.Compare(b.rate(), a.rate()), cmp.Compare(a.path, b.path))
	})
	for _, f := range worst[:min(top, len(worst))] {
		fmt.Fprintf(w, "%6.0f  %4d words  %s\n", f.rate(), f.flagged, f.path)
	}
}

func (c *count) byGroupText() string {
	var parts []string
	for _, g := range groups {
		parts = append(parts, fmt.Sprintf("%s %.1f", g.name, perThousand(c.byGroup[g.name], c.words)))
	}
	return strings.Join(parts, ", ")
}
