// Package screen writes for people: it makes text from elsewhere safe to print, measures,
// clips, wraps and paints it.
//
// What people read is [Text]. Whatever else is printed ([Printf] and its kin) or painted
// ([Palette]) is taken for text from elsewhere and is made safe on its way: it stays on its line and
// cannot touch the terminal. So nothing has to be remembered, and the compiler says where a
// string was taken for a Text; tools/house sees to it that commands print in no other way.
package screen

import (
	"strings"

	"github.com/clipperhouse/displaywidth"

	"github.com/pare-llm/pare/internal/plain"
)

// OneLine is text, made safe, with white space of any length made one space.
func OneLine(s string) string { return strings.Join(strings.Fields(plain.Line(s)), " ") }

// Columns is how wide s stands on a terminal, sign by sign as people see them: a flag or
// a face with its colour is one, two columns wide.
func Columns[S ~string](s S) int { return displaywidth.String(string(s)) }

// Clip cuts s to at most n columns, the last one an ellipsis.
func Clip[S ~string](s S, n int) S {
	if Columns(s) <= n {
		return s
	}
	return S(strings.TrimRight(displaywidth.TruncateString(string(s), n-1, ""), " ") + "…")
}

// Wrap breaks s, made safe, between words into lines of at most n columns; a longer word
// gets a line of its own. Where a line ends is for n to say, never for s.
func Wrap(s string, n int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(plain.Line(s)) {
		switch {
		case line == "":
			line = word
		case Columns(line)+1+Columns(word) <= n:
			line += " " + word
		default:
			lines = append(lines, line)
			line = word
		}
	}
	return append(lines, line)
}

// Paragraphs wraps a text of several paragraphs: one of our own, or one whose every line
// gets a mark that says whose it is.
func Paragraphs(s string, n int) []string {
	var lines []string
	for p := range strings.SplitSeq(s, "\n") {
		lines = append(lines, Wrap(p, n)...)
	}
	return lines
}
