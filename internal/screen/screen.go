// Package screen measures, clips and wraps text for terminals, and makes text from
// elsewhere safe to print.
package screen

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"
)

// Plain makes text from a transcript or a file name safe to print: it cannot move
// the cursor, change colours or turn the line around.
func Plain(s string) string {
	clean := func(r rune) bool { return unicode.IsPrint(r) || r == '\n' }
	if strings.IndexFunc(s, func(r rune) bool { return !clean(r) }) < 0 && utf8.ValidString(s) {
		return s
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t' || r == '\r':
			return ' '
		case clean(r):
			return r
		}
		return '·'
	}, s)
}

// OneLine is text, made safe, with its line breaks made visible as spaces.
func OneLine(s string) string { return strings.Join(strings.Fields(Plain(s)), " ") }

// Columns is how wide s stands on a terminal, sign by sign as people see them: a flag or
// a face with its colour is one, two columns wide.
func Columns(s string) int { return displaywidth.String(s) }

// Clip cuts s to at most n columns, the last one an ellipsis.
func Clip(s string, n int) string {
	if Columns(s) <= n {
		return s
	}
	return strings.TrimRight(displaywidth.TruncateString(s, n-1, ""), " ") + "…"
}

// Wrap breaks s between words into lines of at most n columns; a longer word gets
// a line of its own.
func Wrap(s string, n int) []string {
	var lines []string
	for _, paragraph := range strings.Split(s, "\n") {
		line := ""
		for _, word := range strings.Fields(paragraph) {
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
		lines = append(lines, line)
	}
	return lines
}
