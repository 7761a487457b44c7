package picture

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/pare-llm/pare/cmd/internal/screen"
	"github.com/pare-llm/pare/wire"
)

// A Division is the cut of a transcript and the other possible cuts. Cuts are the numbers of the
// first message that stays. Its JSON follows the name of the transcript.
type Division struct {
	Cut     int   `json:"cut"`
	Head    int   `json:"head"`
	Tail    int   `json:"tail"`
	Cuts    []int `json:"cuts"`
	Inside  []int `json:"inside"`
	MinKeep int   `json:"-"` // the requested number of messages after the cut
	Within  bool  `json:"-"` // a run of tool calls may be cut
}

// RenderDivision returns the messages on both sides of the cut.
func (s Style) RenderDivision(from string, req *wire.Request, d *Division) []byte {
	var b bytes.Buffer
	screen.Fprintf(&b, "%s  %s\n", s.Paint.Bold(from), s.Paint.Faint(s.DescribeRequest(req, Count(req))))
	if d.Cut == 0 {
		s.writeNoCut(&b, d)
		return b.Bytes()
	}
	screen.Fprintf(&b, "  cut before message %s: %s, %s\n\n", s.Paint.Bold(fmt.Sprint(d.Cut)), formatGoing(d.Head), formatStaying(d.Tail))
	p := NewExcerpt(s, req.Transcript(), d.Cut, nil)
	digits := len(fmt.Sprint(d.Head + d.Tail - 1))
	p.DrawEnds(&b, 0, d.Head, digits)
	screen.Fprintf(&b, "    %s\n", s.Paint.Good(strings.Repeat("╌", 4)+" cut "+strings.Repeat("╌", 24)))
	p.DrawEnds(&b, d.Cut, d.Head+d.Tail, digits)
	b.WriteByte('\n')
	if others := listNumbers(d.Cuts, d.Cut); others != "" {
		screen.Fprintf(&b, "  %s\n\n", s.Paint.Faint("other cuts: "+others))
	}
	return b.Bytes()
}

// writeNoCut writes why there is no cut, and the flags that allow one.
func (s Style) writeNoCut(b *bytes.Buffer, d *Division) {
	screen.Fprintf(b, "  %s: nothing can be separated from the last %s\n", s.Paint.Bold("no cut"), screen.Plural(d.MinKeep, "message"))
	if len(d.Cuts) > 0 {
		screen.Fprintf(b, "  %s\n", s.Paint.Faint(fmt.Sprintf("it can be cut nearer the end, before message %s; --min-keep %d allows the first", listNumbers(d.Cuts, 0), d.Tail-d.Cuts[0])))
	}
	if n := lastCutUpTo(d.Inside, d.Tail-d.MinKeep); n > 0 && !d.Within {
		screen.Fprintf(b, "  %s\n", s.Paint.Faint(fmt.Sprintf("--inside would cut before message %d, in a run of tool use", n)))
	}
	b.WriteByte('\n')
}

// lastCutUpTo returns the last cut up to limit, or 0.
func lastCutUpTo(cuts []int, most int) int {
	last := 0
	for _, n := range cuts {
		if n <= most {
			last = n
		}
	}
	return last
}

// listNumbers returns the first numbers, without one of them.
func listNumbers(all []int, without int) string {
	var list []string
	for _, n := range all {
		if n == without {
			continue
		}
		if len(list) == 8 { // enough for a line
			list = append(list, "…")
			break
		}
		list = append(list, fmt.Sprint(n))
	}
	return strings.Join(list, ", ")
}

func formatGoing(n int) string {
	if n == 1 {
		return "1 message goes"
	}
	return fmt.Sprintf("%d messages go", n)
}

func formatStaying(n int) string {
	if n == 1 {
		return "1 stays"
	}
	return fmt.Sprintf("%d stay", n)
}
