package pare

import (
	"fmt"

	"github.com/pare-llm/pare/archive"
)

// A loss is what a summary stands for. Each summary says it in a line of its own, so that
// whoever reads it knows how much is gone and where it is kept.
type loss struct {
	blocks, bytes int
	archive       string // its name; "": not archived
}

// mostLost has the longest line.
var mostLost = loss{999_999_999, 999_999_999_999, archive.Name(nil)}

// below is how many tokens a summary may have if it may have so many with its line.
func below(most int, o Options) int { return max(1, most-o.weighText(mostLost.over(""))) }

// lossOf counts what was removed.
func lossOf(h *Removed) loss {
	t := h.Request.Transcript()
	l := loss{blocks: len(h.Blocks)}
	for _, b := range h.Blocks {
		l.bytes += t.Block(b).Span.Len()
	}
	return l
}

// over puts the line over a summary.
func (l loss) over(text string) string {
	kept := ""
	if l.archive != "" {
		kept = ", archived as " + l.archive
	}
	s := "s"
	if l.blocks == 1 {
		s = ""
	}
	return fmt.Sprintf("%s%d block%s of %d bytes, here in %d%s]\n%s", Mark, l.blocks, s, l.bytes, len(text), kept, text)
}
