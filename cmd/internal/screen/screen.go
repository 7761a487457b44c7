package screen

import (
	"strings"

	"github.com/clipperhouse/displaywidth"

	"github.com/pare-llm/pare/internal/plain"
)

// OneLine returns text, made safe, with each run of white space replaced by one space.
func OneLine(s string) string { return strings.Join(strings.Fields(plain.Line(s)), " ") }

// Columns returns the width of s on a terminal. It counts graphemes: a flag or an emoji with a skin
// tone is one character of two columns.
func Columns[S ~string](s S) int { return displaywidth.String(string(s)) }

// Clip shortens s to at most n columns. The last one is an ellipsis.
func Clip[S ~string](s S, n int) S {
	if Columns(s) <= n {
		return s
	}
	return S(strings.TrimRight(displaywidth.TruncateString(string(s), n-1, ""), " ") + "…")
}

// Wrap breaks s, made safe, between words into lines of at most n columns. A longer word gets its
// own line. Line breaks in s count as spaces.
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

// Paragraphs wraps each line of s as a paragraph. s is a text of the program, or every line of the
// output gets a mark that shows its source.
func Paragraphs(s string, n int) []string {
	var lines []string
	for p := range strings.SplitSeq(s, "\n") {
		lines = append(lines, Wrap(p, n)...)
	}
	return lines
}
