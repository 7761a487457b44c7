package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"
	"golang.org/x/term"
)

// colour reports whether what goes to out is to be coloured. A flag beats the
// environment, the environment beats the terminal.
func (w *world) colour(out io.Writer, when string) bool {
	switch {
	case when != "auto":
		return when == "always"
	case w.getenv("NO_COLOR") != "" || w.getenv("TERM") == "dumb":
		return false
	}
	return isTerminal(out)
}

func isTerminal(v any) bool {
	f, ok := v.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// width returns how many columns a report may take.
func (w *world) width(out io.Writer) int {
	const most, least = 110, 60
	if f, ok := out.(*os.File); ok {
		if n, _, err := term.GetSize(int(f.Fd())); err == nil && n > 0 {
			return max(least, min(n, most))
		}
	}
	return 100
}

// A palette paints, or leaves everything as it is.
type palette bool

func (p palette) paint(code, s string) string {
	if !p || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (p palette) bold(s string) string   { return p.paint("1", s) }
func (p palette) faint(s string) string  { return p.paint("2", s) }
func (p palette) fault(s string) string  { return p.paint("1;31", s) }
func (p palette) advice(s string) string { return p.paint("1;33", s) }
func (p palette) place(s string) string  { return p.paint("36", s) }
func (p palette) good(s string) string   { return p.paint("32", s) }

// plain makes text from a transcript or a file name safe to print: it cannot move
// the cursor, change colours or turn the line around.
func plain(s string) string {
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

// columns is how wide s stands on a terminal, sign by sign as people see them: a flag or
// a face with its colour is one, two columns wide.
func columns(s string) int { return displaywidth.String(s) }

// clip cuts s to at most n columns, the last one an ellipsis.
func clip(s string, n int) string {
	if columns(s) <= n {
		return s
	}
	return strings.TrimRight(displaywidth.TruncateString(s, n-1, ""), " ") + "…"
}

// wrap breaks s between words into lines of at most n columns; a longer word gets
// a line of its own.
func wrap(s string, n int) []string {
	var lines []string
	for _, paragraph := range strings.Split(s, "\n") {
		line := ""
		for _, word := range strings.Fields(paragraph) {
			switch {
			case line == "":
				line = word
			case columns(line)+1+columns(word) <= n:
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

// quoted is a file name as a shell takes it.
func quoted(name string) string {
	safe := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-/+,:@%=~", r)
	}
	if name != "" && name[0] != '~' && name[0] != '-' && strings.IndexFunc(name, func(r rune) bool { return !safe(r) }) < 0 {
		return name
	}
	if strings.HasPrefix(name, "-") {
		name = "./" + name
	}
	return "'" + strings.ReplaceAll(plain(name), "'", `'\''`) + "'"
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func isAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}
