package summary

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// How much of one block a model is shown.
const (
	maxText   = 8 << 10
	maxArgs   = 1 << 10
	maxResult = 3 << 10
)

// Render writes what was removed as plain text for a model to read: who speaks, what
// is called with which arguments, what comes back, each shortened if it is long. It
// has at most max bytes; what is left out in the middle for that is said. Zero or
// less: no limit. Thinking is left out.
func Render(h pare.Removed, max int) string {
	var parts []string
	for _, b := range h.Blocks {
		if p := rendered(h, b); p != "" {
			parts = append(parts, defuse(p))
		}
	}
	all := strings.Join(parts, "\n\n")
	if max <= 0 || len(all) <= max {
		return all
	}
	return middleOut(parts, max)
}

// rendered writes one block.
func rendered(h pare.Removed, b transcript.BlockID) string {
	t := h.Request.Transcript()
	blk := t.Block(b)
	role := t.Messages()[blk.Message].Role
	tool := blk.Tool
	if x := t.ExchangeOf(b); tool == "" && x != transcript.NoExchange {
		tool = t.Exchanges()[x].Tool
	}
	tool = line(tool, 64)
	switch blk.Kind {
	case transcript.Thinking:
		return ""
	case transcript.Call, transcript.ServerCall:
		return fmt.Sprintf("ASSISTANT CALLS %s: %s", tool, headAndTail(plain(string(wire.Arguments(t, b))), maxArgs))
	case transcript.Result, transcript.ServerResult:
		how := ""
		if blk.Failed {
			how = " (FAILED)"
		}
		return fmt.Sprintf("RESULT OF %s%s: %s", tool, how, headAndTail(plain(h.Request.Text(b)), maxResult))
	case transcript.Compaction:
		return "SUMMARY BY THE PROVIDER: " + headAndTail(plain(dialect.Compaction(h.Request, b)), maxText)
	case transcript.Media:
		return strings.ToUpper(role.String()) + ": [a picture or a document]"
	}
	if h.Level > 1 {
		return "SUMMARY: " + headAndTail(plain(h.Text(b)), maxText)
	}
	who, text := strings.ToUpper(role.String()), h.Text(b)
	if role == transcript.User && dialect.PersonsWords(text) == "" || role == transcript.Assistant && dialect.OwnReply(text) {
		who = "NOTE, SAID BY NOBODY"
	}
	return who + ": " + headAndTail(plain(text), maxText)
}

// middleOut keeps the beginning, where the goal is, and more of the end.
func middleOut(parts []string, max int) string {
	note := func(n int) string { return fmt.Sprintf("[… left out for room: %d of %d entries …]", n, len(parts)) }
	room := max - len(note(len(parts))) - 4 // and the blank lines around it
	if room <= 0 {
		return shorten(note(len(parts)), max)
	}
	var head, tail []string
	for left := room / 3; len(head) < len(parts); {
		p := parts[len(head)]
		if len(p)+2 > left {
			if len(head) == 0 { // of the first, which may be the task, something stays
				p = headAndTail(p, left-2)
				head = append(head, p)
				room -= len(p) + 2
			}
			break
		}
		head = append(head, p)
		left -= len(p) + 2
		room -= len(p) + 2
	}
	for i := len(parts) - 1; i >= len(head); i-- {
		p := parts[i]
		if len(p)+2 > room {
			if len(tail) == 0 && room > 2 {
				tail = append(tail, headAndTail(p, room-2))
			}
			break
		}
		tail = append(tail, p)
		room -= len(p) + 2
	}
	slices.Reverse(tail)
	n := len(parts) - len(head) - len(tail)
	return strings.Join(append(append(head, note(n)), tail...), "\n\n")
}
