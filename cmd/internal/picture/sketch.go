package picture

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/pare-llm/pare/cmd/internal/screen"
	"github.com/pare-llm/pare/cmd/internal/ui"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// A Sketch draws a whole conversation: the window as one line, and each message as a line with a
// bar as long as its tokens.
//
//	3 assistant ▏      65  “The commit …”  call Read(toolu_03)  call Read(toolu_04)
//	4 user      ████ 3,996  result ← toolu_03  result ← toolu_04
//	✎ edit  deduplication  -2,215 tokens
type Sketch struct {
	Style
	From     string
	Request  *wire.Request
	Findings []wire.Finding
	Page     *ui.Page
	LineOf   func(int) int // the line of each message in a session file; may be nil
}

// barWidth is the width of the longest bar.
const barWidth = 12

// Render returns the drawing.
func (s Sketch) Render() []byte {
	var b bytes.Buffer
	screen.Fprintf(&b, "%s  %s\n", s.Paint.Bold(s.From), s.Paint.Faint(s.DescribeRequest(s.Request, Count(s.Request))))
	s.writeWindow(&b)
	p := NewExcerpt(s.Style, s.Request.Transcript(), -1, s.LineOf)
	for _, finding := range s.Findings {
		if finding.Block != transcript.NoBlock {
			p.Mark(finding.Block)
		}
	}
	most := 1
	for _, m := range s.Page.Before.Messages {
		most = max(most, sumTokens(m))
	}
	digits := 1
	for i := range s.Page.Before.Messages {
		digits = max(digits, len(fmt.Sprint(s.messageNumber(i))))
	}
	faults, changes := s.groupByMessage()
	s.writeNotes(&b, digits, faults[-1], changes[-1])
	for i, m := range s.Page.Before.Messages {
		s.writeMessage(&b, p, i, digits, sumTokens(m), most, len(faults[i]) > 0)
		s.writeNotes(&b, digits, faults[i], changes[i])
	}
	return b.Bytes()
}

func sumTokens(m ui.Message) (n int) {
	for _, b := range m.Blocks {
		n += b.Tokens
	}
	return n
}

// groupByMessage returns findings and changes by their message; -1 has the others.
func (s Sketch) groupByMessage() (map[int][]wire.Finding, map[int][]ui.Change) {
	faults, changes := map[int][]wire.Finding{}, map[int][]ui.Change{}
	for _, finding := range s.Findings {
		faults[finding.Index] = append(faults[finding.Index], finding)
	}
	for _, c := range s.Page.Changes {
		changes[c.Message] = append(changes[c.Message], c)
	}
	return faults, changes
}

// windowParts are the kinds of content in a window, with a letter for terminals without color.
var windowParts = []struct {
	letter byte
	code   screen.Text
	word   string
}{
	{'s', "90", "system and tools"}, {'u', "34", "user"}, {'a', "32", "assistant"}, {'t', "35", "thinking"}, {'c', "33", "calls"}, {'r', "37", "results"}, {'o', "36", "other"}, {'m', "90", "message overhead"},
}

// overheadPart is the index of the message overhead in windowParts.
const overheadPart = 7

// findPart returns the index in windowParts of a block.
func findPart(role, kind string) int {
	switch kind {
	case "thinking":
		return 3
	case "call", "server call":
		return 4
	case "result", "server result":
		return 5
	case "text":
		switch role {
		case "system":
			return 0
		case "user":
			return 1
		case "assistant":
			return 2
		case "tool":
			return 5
		}
	}
	return 6
}

// writeWindow writes the window as one line in the order of the conversation, and the size of each
// part.
func (s Sketch) writeWindow(b *bytes.Buffer) {
	sums := make([]int, len(windowParts))
	total := 0
	var runs []struct{ part, tokens int }
	add := func(part, n int) {
		sums[part] += n
		total += n
		runs = append(runs, struct{ part, tokens int }{part, n})
	}
	marks := 0
	for _, h := range s.Page.Before.Head {
		if h.Kind == "marks" {
			marks += h.Tokens
			continue
		}
		add(0, h.Tokens)
	}
	for _, m := range s.Page.Before.Messages {
		for _, k := range m.Blocks {
			add(findPart(m.Role, k.Kind), k.Tokens)
		}
	}
	add(overheadPart, marks)
	width := s.Width - 2
	line := make([]byte, 0, width)
	at := 0
	for _, r := range runs {
		at += r.tokens
		for len(line) < at*width/max(1, total) {
			line = append(line, byte(r.part))
		}
	}
	b.WriteString("\n  ")
	for len(line) > 0 {
		n := 1
		for n < len(line) && line[n] == line[0] {
			n++
		}
		p := windowParts[line[0]]
		if s.Paint {
			screen.Fprint(b, s.Paint.Paint(p.code, strings.Repeat("█", n)))
		} else {
			screen.Fprint(b, strings.Repeat(string(p.letter), n))
		}
		line = line[n:]
	}
	b.WriteString("\n  ")
	for i, p := range windowParts {
		if sums[i] == 0 {
			continue
		}
		key := screen.Line(string(p.letter) + " ")
		if s.Paint {
			key = s.Paint.Paint(p.code, "█ ")
		}
		screen.Fprintf(b, "%s%s %s  ", key, p.word, s.Paint.Faint(screen.Grouped(sums[i])))
	}
	b.Truncate(b.Len() - 2)
	s.writeShare(b, total)
}

// writeShare writes how full the window is, before and after a plan.
func (s Sketch) writeShare(b *bytes.Buffer, total int) {
	screen.Fprintf(b, "\n  %s tokens", screen.Grouped(total))
	after := total
	if a := s.Page.After; a != nil {
		after = 0
		for _, h := range a.Head {
			after += h.Tokens
		}
		for _, m := range a.Messages {
			after += sumTokens(m)
		}
	}
	if w := s.Page.Window; w > 0 {
		share := func(n int) screen.Text { return screen.Printf("%.1f %%", 100*float64(n)/float64(w)) }
		screen.Fprintf(b, ", %s", share(total))
		if share(after) != share(total) { // an empty bar, for an unknown window
			screen.Fprintf(b, " → %s", share(after))
		}
		screen.Fprintf(b, " of the %s tokens available", screen.Grouped(w))
		if s.Page.Guess {
			b.WriteString(" (a guess: the model is not known)")
		}
	}
	if s.Page.After != nil {
		screen.Fprintf(b, "; %s after %s", screen.Grouped(after), screen.Plural(len(s.Page.Changes), "change"))
	}
	b.WriteString("\n\n")
}

func (s Sketch) writeMessage(b *bytes.Buffer, p *Excerpt, i, digits, n, most int, faulty bool) {
	m := s.Request.Transcript().Messages()[i]
	number := screen.Printf("%*d", digits, s.messageNumber(i))
	mark := screen.Text(" ")
	if faulty {
		mark, number = s.Paint.Fault("✗"), s.Paint.Bold(number)
	} else {
		number = s.Paint.Faint(number)
	}
	role := fmt.Sprintf("%-9s", m.Role)
	screen.Fprintf(b, "%s %s %s %s %s ", mark, number, role, s.Paint.Place(screen.Bar(barShare(n, most), barWidth)), s.Paint.Faint(fmt.Sprintf("%7s", screen.Grouped(n))))
	room := s.Width - s.textColumn(digits)
	used := 0
	for k, t := range p.FitLabels(m, room) {
		shown := t.Text
		if t.Marked {
			shown = "✗ " + shown
		}
		if k > 0 && used+2+screen.Columns(shown) > room {
			screen.Fprint(b, s.Paint.Faint(" …"))
			break
		}
		used += 2 + screen.Columns(shown)
		screen.Fprint(b, " ", p.PaintLabel(t, shown))
		if used < room {
			b.WriteByte(' ')
		}
	}
	b.Truncate(len(bytes.TrimRight(b.Bytes(), " ")))
	b.WriteByte('\n')
}

// messageNumber returns the line or the number of a message.
func (s Sketch) messageNumber(i int) int {
	if s.LineOf != nil {
		return s.LineOf(i)
	}
	return i
}

// textColumn returns the column at which the text of a message begins.
func (s Sketch) textColumn(digits int) int { return 2 + digits + 1 + 9 + 1 + barWidth + 1 + 7 + 2 }

// writeNotes writes the findings and changes of a message.
func (s Sketch) writeNotes(b *bytes.Buffer, digits int, faults []wire.Finding, changes []ui.Change) {
	pad := strings.Repeat(" ", s.textColumn(digits))
	for _, finding := range faults {
		screen.Fprintf(b, "%s%s\n", pad, s.FindingTitle(finding))
	}
	for _, c := range changes {
		action := screen.Line(c.Action)
		switch action {
		case "drop":
			action = s.Paint.Fault(action)
		case "insert":
			action = s.Paint.Good(action)
		default:
			action = s.Paint.Advice(action)
		}
		path := c.Path
		if path == "" {
			path = "(new)"
		}
		size := ""
		if c.Tokens != 0 {
			size = fmt.Sprintf("  %+d tokens", c.Tokens)
		}
		screen.Fprintf(b, "%s~ %s  %s  %s%s\n", pad, action, s.Paint.Place(path), c.Rule, s.Paint.Faint(size))
	}
}

// barShare returns the share of a bar. Every value above zero is at least an eighth of a column.
func barShare(n, most int) float64 {
	if n <= 0 || most <= 0 {
		return 0
	}
	return max(float64(n)/float64(most), 1.0/(8*barWidth))
}
