package main

import (
	"io"
	"os"

	"golang.org/x/term"

	"github.com/pare-llm/pare/cmd/internal/picture"
	"github.com/pare-llm/pare/cmd/internal/screen"
)

// wantsColor reports whether text for out is colored. The flag takes precedence over the
// environment, and the environment over the terminal.
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

// width returns the number of columns for reports to out.
func (env *environment) width(out io.Writer) int {
	const most, least = 110, 60
	if f, ok := out.(*os.File); ok {
		if n, _, err := term.GetSize(int(f.Fd())); err == nil && n > 0 {
			return max(least, min(n, most))
		}
	}
	return 100
}

// A palette paints text, or leaves it as it is if it is false.
type palette = screen.Palette

// Short names for functions that most commands use.
var (
	plural  = screen.Plural
	grouped = screen.Grouped
	isAre   = screen.IsAre
)

func (env *environment) newStyle(out io.Writer, when string) picture.Style {
	return picture.Style{Paint: palette(env.wantsColor(out, when)), Width: env.width(out)}
}
