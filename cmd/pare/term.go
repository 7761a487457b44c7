package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/pare-llm/pare/internal/screen"
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
type palette = screen.Palette

// plain makes text from elsewhere safe to print.
func plain(s string) string { return screen.Plain(s) }

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
