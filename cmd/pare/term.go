package main

import (
	"io"
	"os"

	"golang.org/x/term"

	"github.com/pare-llm/pare/cmd/internal/picture"
	"github.com/pare-llm/pare/cmd/internal/screen"
)

// colour reports whether what goes to out is to be coloured. A flag beats the
// environment, the environment beats the terminal.
func (env *environment) wantsColor(out io.Writer, when string) bool {
	switch {
	case when != "auto":
		return when == "always"
	case env.getenv("NO_COLOR") != "" || env.getenv("TERM") == "dumb":
		return false
	}
	return isTerminal(out)
}

func isTerminal(v any) bool {
	f, ok := v.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// width returns how many columns a report may take.
func (env *environment) width(out io.Writer) int {
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

// report is how reports to out look.
func (env *environment) newStyle(out io.Writer, when string) report {
	return report{picture.Style{Paint: palette(env.wantsColor(out, when)), Width: env.width(out)}}
}
