package picture

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/pare-llm/pare/cmd/internal/screen"
	"github.com/pare-llm/pare/internal/tally"
	"github.com/pare-llm/pare/wire"
)

// A Tally is the use of the tokens of a transcript.
type Tally struct {
	tally.Tally
	Tokens       int
	Beside       int // tokens that are not in the file: the system prompt and the tools
	Estimated    bool
	Window, Room int
	Share        *float64 // of the room; nil if the window is not known
	Recorded     int      // tokens that the API counted for the last reply; 0 if unknown
	IsOverWindow bool
	Outlook      string // what is left at this pace; "" if unknown
}

// RenderTallyLine returns one line, for a transcript of many.
func (s Style) RenderTallyLine(from string, n *Tally) []byte {
	taken := screen.Line(strings.Repeat(" ", 8) + screen.Bar(0, 12)) // aligns the tables of a tally
	if n.Share != nil {
		taken = screen.Line(screen.Percent(*n.Share)+" ") + s.Paint.Place(screen.Bar(*n.Share, 12))
	}
	return screen.Appendf(nil, "%11s tokens  %s  %s\n", screen.Grouped(n.Tokens), taken, from)
}

// RenderTally returns the use of the tokens of a transcript.
func (s Style) RenderTally(from string, req *wire.Request, n *Tally) []byte {
	var b bytes.Buffer
	screen.Fprintf(&b, "%s  %s\n\n", s.Paint.Bold(from), s.Paint.Faint(s.DescribeRequest(req, Count(req))))
	screen.Fprintf(&b, "  %s", s.Paint.Bold(screen.Grouped(n.Tokens)+" tokens"))
	switch {
	case n.Recorded > 0 && n.Recorded == n.Tokens:
		screen.Fprint(&b, s.Paint.Faint(", counted by the API"))
	case n.Recorded > 0:
		screen.Fprint(&b, s.Paint.Faint(fmt.Sprintf(", %s of them counted by the API, the rest estimated", screen.Grouped(n.Recorded))))
	case n.Estimated:
		screen.Fprint(&b, s.Paint.Faint(", estimated"))
	}
	if n.Share != nil {
		screen.Fprintf(&b, " · %s of the %s tokens available (window %s, %s kept for the reply)",
			strings.TrimSpace(screen.Percent(*n.Share)), screen.Grouped(n.Room), screen.Grouped(n.Window), screen.Grouped(n.Window-n.Room))
	}
	if n.Outlook != "" {
		screen.Fprintf(&b, "\n  %s", s.Paint.Faint(n.Outlook))
	}
	if n.IsOverWindow {
		screen.Fprintf(&b, "\n  %s", s.Paint.Fault("over-window: the provider refuses it; pare trim shortens it"))
	}
	if n.Unread > 0 {
		screen.Fprintf(&b, "\n  %s", s.Paint.Faint(fmt.Sprintf("of %d messages, %d are replaced by the provider's compaction and do not count", n.Messages, n.Unread)))
	}
	b.WriteString("\n\n")
	s.writeBars(&b, n.Tokens, []tokenPart{
		{"not in the file", n.Beside}, {"system prompt", n.Head.System}, {"tools", n.Head.Tools}, {"other fields", n.Head.Other}, {"text", n.Kinds.Text}, {"thinking", n.Kinds.Thinking},
		{"calls", n.Kinds.Calls}, {"results", n.Kinds.Results}, {"media", n.Kinds.Media}, {"compaction", n.Kinds.Compaction}, {"other", n.Kinds.Other}, {"message overhead", n.Marks},
	})
	if n.Beside > 0 {
		screen.Fprintf(&b, "  %s\n", s.Paint.Faint("not in the file: the system prompt and the tools, which the agent sends and the API has counted"))
	}
	b.WriteByte('\n')
	s.writeBars(&b, n.Tokens, []tokenPart{
		{"not in the file", n.Beside}, {"by system", n.Roles.System}, {"by user", n.Roles.User}, {"by assistant", n.Roles.Assistant}, {"by tools", n.Roles.Tool}, {"by others", n.Roles.Other},
	})
	if len(n.ByMessage) > 0 {
		b.WriteByte('\n')
		var parts []tokenPart
		for _, m := range n.ByMessage {
			parts = append(parts, tokenPart{fmt.Sprintf("%*d  %-9s", len(fmt.Sprint(n.Messages-1)), m.Message, m.Role), m.Tokens})
		}
		s.writeBars(&b, n.Tokens, parts)
	}
	b.WriteByte('\n')
	return b.Bytes()
}

type tokenPart struct {
	name   string
	tokens int
}

// writeBars writes the parts that have tokens.
func (s Style) writeBars(b *bytes.Buffer, total int, parts []tokenPart) {
	widest := 16 // a backslash before the quote would escape it
	for _, p := range parts {
		widest = max(widest, screen.Columns(p.name))
	}
	for _, p := range parts {
		if p.tokens == 0 {
			continue
		}
		of := float64(p.tokens) / float64(total)
		line := screen.Printf("  %-*s %11s  %s  %s", widest, p.name, screen.Grouped(p.tokens), screen.Percent(of), s.Paint.Place(strings.TrimSpace(screen.Bar(of, 32))))
		screen.Fprintln(b, screen.TrimRight(line))
	}
}
