package main

import (
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/pare-llm/pare/internal/picture"
	"github.com/pare-llm/pare/internal/plain"
	"github.com/pare-llm/pare/internal/screen"
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

// Words that most commands need.
var (
	plural  = screen.Plural
	grouped = screen.Grouped
	isAre   = screen.IsAre
)

// quoted is a name as a shell takes it, on one line and without a sign that a terminal
// obeys: what is copied from the screen is what was meant, whoever chose the name.
func quoted(name string) string {
	safe := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-/+,:@%=~", r)
	}
	if strings.HasPrefix(name, "-") {
		name = "./" + name
	}
	if name != "" && name[0] != '~' && strings.IndexFunc(name, func(r rune) bool { return !safe(r) }) < 0 {
		return name
	}
	if plain.Line(name) == name {
		return "'" + strings.ReplaceAll(name, "'", `'\''`) + "'"
	}
	var text []byte
	for _, c := range []byte(name) {
		switch {
		case c == '\'' || c == '\\':
			text = append(text, '\\', c)
		case c >= ' ' && c < 0x7f:
			text = append(text, c)
		default: // three digits, so that what follows is not taken for one
			text = append(text, '\\', '0'+c>>6, '0'+c>>3&7, '0'+c&7)
		}
	}
	return "$'" + string(text) + "'"
}

// report is how reports to out look.
func (w *world) report(out io.Writer, when string) report {
	return report{picture.Style{Paint: palette(w.colour(out, when)), Width: w.width(out)}}
}
