package pare

import (
	"github.com/pare-llm/pare/internal/ladder"
	"github.com/pare-llm/pare/wire"
)

// Mark is how everything begins that takes the place of something.
const Mark = wire.Mark

// Shorten keeps head bytes of the beginning of a text and tail bytes of its end, as
// whole lines where there are lines, with a marker between them that says how much
// is left out, by whom, and of which call. Text must be longer than both together.
func Shorten(text string, head, tail int, by, call string) string {
	return ladder.ShortenText(text, head, tail, by, call)
}
