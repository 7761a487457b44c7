package screen

import (
	"fmt"
	"strings"
	"time"

	"github.com/pare-llm/pare/internal/plain"
)

// Plural returns a number with its noun.
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// IsAre returns the verb for n things.
func IsAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// FromTo returns a change in size, with the difference in percent.
func FromTo(before, after int, unit string) string {
	s := fmt.Sprintf("%s → %s %s", Grouped(before), Grouped(after), unit)
	if before > 0 && before != after {
		s += fmt.Sprintf(" (%+.1f %%)", 100*float64(after-before)/float64(before))
	}
	return s
}

// Grouped returns n with separators between thousands.
func Grouped(n int) string { return plain.Grouped(n) }

// Percent returns a share in percent with a fixed width.
func Percent(share float64) string { return fmt.Sprintf("%5.1f %%", 100*share) }

// Bar draws a share in a number of cells, with a resolution of an eighth of a cell.
func Bar(share float64, cells int) string {
	eighths := min(int(share*float64(8*cells)+0.5), 8*cells)
	s := strings.Repeat("█", eighths/8)
	if rest := eighths % 8; rest > 0 {
		s += string([]rune(" ▏▎▍▌▋▊▉")[rest])
	}
	return s + strings.Repeat(" ", cells-Columns(s))
}

// ClipFront shortens s from the front to at most n columns, because the end of a path identifies it
// best.
func ClipFront(s string, n int) string {
	for i := range s {
		if Columns(s[i:]) <= n-1 {
			if i == 0 {
				return s
			}
			return "…" + s[i:]
		}
		if i == 0 && Columns(s) <= n {
			return s
		}
	}
	return s
}

// Ago returns the time between then and now for people.
func Ago(now, then time.Time) string {
	d := now.Sub(then)
	switch {
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return Plural(int(d.Minutes()), "minute") + " ago"
	case d < 24*time.Hour:
		return Plural(int(d.Hours()), "hour") + " ago"
	case d < 60*24*time.Hour:
		return Plural(int(d.Hours()/24), "day") + " ago"
	}
	return then.Format("2006-01-02")
}
