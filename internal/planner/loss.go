package planner

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/pare-llm/pare/transcript"
)

// A loss is the content that a summary replaces. A line before each summary describes it, so that a
// reader knows how much is missing and where it is archived.
type loss struct {
	level                int // 1: a part of the conversation; n: summaries of level n-1
	turns, blocks, bytes int
	archive              string // the handle of the content, or ""
	pinned               bool   // the caller wrote the summary: it stays as it is
}

// lossOf returns the loss of removed content.
func lossOf(h *Removed) loss {
	t := h.Request.Transcript()
	l := loss{level: 1, blocks: len(h.Blocks)}
	previous := -1
	for _, b := range h.Blocks {
		l.bytes += t.Block(b).Span.Len()
		i := t.Block(b).Message
		m := t.Messages()[i]
		if i != previous && m.Begins && m.Role != transcript.System {
			l.turns++
		}
		previous = i
	}
	return l
}

// plus returns the loss of two summaries together. It has no archive.
func (l loss) plus(o loss) loss {
	return loss{level: max(l.level, o.level), turns: l.turns + o.turns, blocks: l.blocks + o.blocks, bytes: l.bytes + o.bytes}
}

// withText returns a summary with the line about its loss before it.
func (l loss) withText(text string) string {
	var b strings.Builder
	b.WriteString(Mark)
	if l.level > 1 {
		fmt.Fprintf(&b, "level %d: ", l.level)
	}
	if l.turns > 0 {
		fmt.Fprintf(&b, "%s, ", countNoun(l.turns, "turn"))
	}
	fmt.Fprintf(&b, "%s of %d bytes, here in %d", countNoun(l.blocks, "block"), l.bytes, len(text))
	if l.archive != "" {
		b.WriteString(", archived as " + l.archive)
	}
	if l.pinned {
		b.WriteString(", stays as it is")
	}
	return b.String() + "]\n" + text
}

// countNoun returns a number with a noun in the singular or plural.
func countNoun(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// lossLine matches the line before a summary. Earlier versions did not count turns.
var lossLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^` + regexp.QuoteMeta(Mark) + `(?:level (\d{1,9}): )?(?:(\d{1,9}) turns?, )?(\d{1,9}) blocks? of (\d{1,15}) bytes, here in (\d{1,9})(?:, archived as (\S+?))?(, stays as it is)?\]$`)
})

// parseLoss parses the line before a summary. Size is the number of bytes of the summary.
func parseLoss(line string) (l loss, size int, ok bool) {
	m := lossLine().FindStringSubmatch(line)
	if m == nil {
		return loss{}, 0, false
	}
	number := func(i int) int {
		n, _ := strconv.Atoi(m[i]) // "" is 0
		return n
	}
	l = loss{level: max(number(1), 1), turns: number(2), blocks: number(3), bytes: number(4), archive: m[6], pinned: m[7] != ""}
	return l, number(5), true
}

// A record is a summary with its loss. A summary without a line about its loss was not written by
// Pare: it has level 0, and stays as it is.
type record struct {
	loss
	text string
}

func (r record) String() string {
	if r.level == 0 {
		return r.text
	}
	return r.withText(r.text)
}

// handleLinePrefix begins the line after a summary in which earlier versions of the store named the
// archive.
const handleLinePrefix = Mark + "archived as "

// parseRecords parses the summaries of earlier compactions, the oldest first.
func parseRecords(text string) (records []record) {
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimSpace(text) {
		line, rest, _ := strings.Cut(text, "\n")
		handle, isHandle := strings.CutPrefix(line, handleLinePrefix)
		if isHandle && len(records) > 0 {
			last := &records[len(records)-1]
			if last.archive == "" {
				last.archive = strings.TrimSuffix(handle, "]")
			}
			text = rest
			continue
		}
		l, size, ok := parseLoss(line)
		if !ok {
			l, rest, size = loss{pinned: true}, text, -1
		}
		if !isRecordEnd(rest, size) {
			size = nextRecord(rest)
		}
		records = append(records, record{l, strings.TrimSpace(rest[:size])})
		text = rest[size:]
	}
	return records
}

// isRecordEnd reports whether a record can end at an offset. The user may have edited the text, so
// that the size in the line before the record is wrong.
func isRecordEnd(text string, at int) bool {
	if at < 0 || at > len(text) {
		return false
	}
	rest := text[at:]
	return rest == "" || strings.HasPrefix(rest, "\n\n"+Mark) || strings.HasPrefix(rest, "\n"+handleLinePrefix)
}

// nextRecord returns the offset of the next line about a loss or a handle, or of the end.
func nextRecord(text string) int {
	for at := 0; at < len(text); {
		i := strings.Index(text[at:], "\n"+Mark)
		if i < 0 {
			break
		}
		at += i + 1
		line, _, _ := strings.Cut(text[at:], "\n")
		if _, _, ok := parseLoss(line); ok || strings.HasPrefix(line, handleLinePrefix) {
			return at
		}
	}
	return len(text)
}

// joinRecords returns summaries as they are written in a history.
func joinRecords(records []record) string {
	texts := make([]string, len(records))
	for i, r := range records {
		texts[i] = r.String()
	}
	return strings.Join(texts, "\n\n")
}
