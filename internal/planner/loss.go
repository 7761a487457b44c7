package planner

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/pare-llm/pare/transcript"
)

// A loss is what a summary stands for. Each summary says it in a line of its own, so that
// whoever reads it knows how much is gone and where it is kept.
type loss struct {
	level                int // 1: of the conversation itself; above: of summaries of the level below
	turns, blocks, bytes int
	archive              string // the handle of what it stands for; "": not archived
	pinned               bool   // the caller wrote it: it stays as it is
}

// lossOf counts what was removed.
func lossOf(h *Removed) loss {
	t := h.Request.Transcript()
	l := loss{level: 1, blocks: len(h.Blocks)}
	last := -1
	for _, b := range h.Blocks {
		l.bytes += t.Block(b).Span.Len()
		if m := t.Block(b).Message; m != last {
			if last = m; t.Messages()[m].Begins && t.Messages()[m].Role != transcript.System {
				l.turns++
			}
		}
	}
	return l
}

// and is the loss of two summaries together.
func (l loss) and(o loss) loss {
	return loss{level: max(l.level, o.level), turns: l.turns + o.turns, blocks: l.blocks + o.blocks, bytes: l.bytes + o.bytes}
}

// over puts the line over a summary.
func (l loss) over(text string) string {
	var b strings.Builder
	b.WriteString(Mark)
	if l.level > 1 {
		fmt.Fprintf(&b, "level %d: ", l.level)
	}
	if l.turns > 0 {
		fmt.Fprintf(&b, "%s, ", several(l.turns, "turn"))
	}
	fmt.Fprintf(&b, "%s of %d bytes, here in %d", several(l.blocks, "block"), l.bytes, len(text))
	if l.archive != "" {
		b.WriteString(", archived as " + l.archive)
	}
	if l.pinned {
		b.WriteString(", stays as it is")
	}
	return b.String() + "]\n" + text
}

func several(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// lossLines reads the line over a summary; earlier versions did not count turns.
var lossLines = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^` + regexp.QuoteMeta(Mark) + `(?:level (\d{1,9}): )?(?:(\d{1,9}) turns?, )?(\d{1,9}) blocks? of (\d{1,15}) bytes, here in (\d{1,9})(?:, archived as (\S+?))?(, stays as it is)?\]$`)
})

// readLoss reads the line over a summary, and how many bytes that has.
func readLoss(line string) (l loss, size int, ok bool) {
	m := lossLines().FindStringSubmatch(line)
	if m == nil {
		return l, 0, false
	}
	n := func(i int) int { v, _ := strconv.Atoi(m[i]); return v }
	return loss{level: max(n(1), 1), turns: n(2), blocks: n(3), bytes: n(4), archive: m[6], pinned: m[7] != ""}, n(5), true
}

// A record is a summary with what it stands for. One without a line over it was written by
// somebody else: it has no level, and stays as it is.
type record struct {
	loss
	text string
}

func (r record) String() string {
	if r.level == 0 {
		return r.text
	}
	return r.over(r.text)
}

// recordsOf takes the summaries of earlier compactions apart, the oldest first.
func recordsOf(text string) (all []record) {
	const handle = Mark + "archived as " // earlier versions of the store wrote it under the summary
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimSpace(text) {
		line, rest, _ := strings.Cut(text, "\n")
		l, size, ok := readLoss(line)
		if at, found := strings.CutPrefix(line, handle); found && len(all) > 0 {
			if last := &all[len(all)-1]; last.archive == "" {
				last.archive = strings.TrimSuffix(at, "]")
			}
			text = rest
			continue
		}
		if !ok {
			l, rest, size = loss{pinned: true}, text, -1
		}
		if !(size >= 0 && size <= len(rest) && (size == len(rest) || strings.HasPrefix(rest[size:], "\n\n"+Mark) || strings.HasPrefix(rest[size:], "\n"+handle))) {
			size = nextRecord(rest, handle)
		}
		all = append(all, record{l, strings.TrimSpace(rest[:size])})
		text = rest[size:]
	}
	return all
}

// nextRecord is where the next line over a summary stands, or the end.
func nextRecord(text, handle string) int {
	for at := 0; at < len(text); {
		i := strings.Index(text[at:], "\n"+Mark)
		if i < 0 {
			break
		}
		at += i + 1
		line, _, _ := strings.Cut(text[at:], "\n")
		if _, _, ok := readLoss(line); ok || strings.HasPrefix(line, handle) {
			return at
		}
	}
	return len(text)
}

// join writes summaries down as they stand in a history.
func join(all []record) string {
	texts := make([]string, len(all))
	for i, r := range all {
		texts[i] = r.String()
	}
	return strings.Join(texts, "\n\n")
}
