package picture

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pare-llm/pare/cmd/internal/screen"
	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// A Style holds the width of the output and the palette that paints it.
type Style struct {
	Paint screen.Palette
	Width int
}

// An Excerpt draws some messages of a conversation, a line each. For a finding it shows the faulty
// message between its neighbors and, below it, notes on its blocks:
//
//	5  assistant  call run_tests(toolu_03)
//	▶ 6  user       result ← toolu_03  ✗ result ← toolu_02
//	╰─ no earlier call has this id
//	7  assistant  “All tests pass.”
type Excerpt struct {
	Style
	transcript *transcript.Transcript
	focus      int                           // the message with the marker; -1: none
	notes      map[transcript.BlockID]string // on faulty blocks; a note may be empty
	messages   []int                         // to draw, sorted
	lineOf     func(int) int                 // the line of a message in its file; nil: messages are numbered
}

// NewExcerpt returns an excerpt without messages; see [Excerpt.DrawMessage]. A focus of -1 marks no
// message. If lineOf is nil, messages are numbered.
func NewExcerpt(style Style, t *transcript.Transcript, focus int, line func(int) int) *Excerpt {
	return &Excerpt{Style: style, transcript: t, focus: focus, notes: map[transcript.BlockID]string{}, lineOf: line}
}

// Mark marks a block as faulty.
func (p *Excerpt) Mark(b transcript.BlockID) { p.notes[b] = "" }

// NewFindingExcerpt returns the excerpt for findings about one message. It shows only the first
// limit messages of the request.
func NewFindingExcerpt(style Style, req *wire.Request, findings []wire.Finding, most int, line func(int) int) *Excerpt {
	p := NewExcerpt(style, req.Transcript(), findings[0].Index, line)
	if p.focus < 0 {
		return p
	}
	for i := max(0, p.focus-1); i <= p.focus+1 && i < len(p.transcript.Messages()); i++ {
		p.messages = append(p.messages, i)
	}
	for _, finding := range findings {
		if finding.Block == transcript.NoBlock {
			continue
		}
		note, other := p.explainFinding(finding, strings.TrimPrefix(strings.TrimPrefix(finding.Path, req.Path(finding.Block)), "."))
		if p.notes[finding.Block] == "" {
			p.notes[finding.Block] = note // of several findings, the first that has a note
		}
		if other != transcript.NoBlock && len(p.messages) < 7 {
			p.messages = append(p.messages, p.transcript.Block(other).Message)
		}
	}
	slices.Sort(p.messages)
	p.messages = slices.DeleteFunc(slices.Compact(p.messages), func(m int) bool { return m >= most })
	return p
}

// explainFinding returns a note about the block of a finding, and the other half of its pair or
// NoBlock. field is the part of the block that the finding concerns.
func (p *Excerpt) explainFinding(finding wire.Finding, field string) (note string, other transcript.BlockID) {
	b := p.transcript.Block(finding.Block)
	name := describeCall(b)
	x := p.transcript.ExchangeOf(finding.Block)
	if x == transcript.NoExchange {
		return field, transcript.NoBlock
	}
	e := p.transcript.Exchanges()[x]
	switch finding.Rule {
	case "orphan-call":
		if e.State == transcript.Open {
			return name + " ──✗ the history ends before its result", transcript.NoBlock
		}
		return name + " ──✗ no result follows", transcript.NoBlock
	case "orphan-result":
		return p.explainOrphanResult(finding.Block)
	case "displaced-result":
		return p.explainDisplaced(e, finding.Block, name)
	case "duplicate-result":
		if first := p.findBlock(transcript.Result, b.CallID); first != transcript.NoBlock && first < finding.Block {
			return fmt.Sprintf("%s is answered already, in %s ✗── result", name, p.messageName(first)), first
		}
	case "duplicate-call-id":
		if first := p.findBlock(transcript.Call, b.CallID); first != transcript.NoBlock && first != finding.Block {
			return fmt.Sprintf("%s is the id of the call in %s already", callLabel(b), p.messageName(first)), first
		}
	case "server-tool-unpaired":
		if e.State == transcript.OrphanResult {
			return "no earlier call has this id", transcript.NoBlock
		}
		if len(e.Results) == 0 {
			return name + " ──✗ no result in its turn", transcript.NoBlock
		}
	}
	return field, transcript.NoBlock
}

// explainOrphanResult returns a note about a result without a call: the call is missing, or is in a
// place where it does not count.
func (p *Excerpt) explainOrphanResult(b transcript.BlockID) (string, transcript.BlockID) {
	name := callLabel(p.transcript.Block(b))
	call := p.findBlock(transcript.Call, p.transcript.Block(b).CallID)
	switch {
	case call == transcript.NoBlock:
		return "no earlier call has this id", call
	case call > b:
		return fmt.Sprintf("the call %s comes after it, in %s", name, p.messageName(call)), call
	}
	return fmt.Sprintf("%s (%s) ──✗ is not answered from here", describeCall(p.transcript.Block(call)), p.messageName(call)), call
}

// explainDisplaced returns a note about a result that does not follow its call, and the other half
// of the pair.
func (p *Excerpt) explainDisplaced(e transcript.Exchange, b transcript.BlockID, name string) (string, transcript.BlockID) {
	if e.Call == transcript.NoBlock || len(e.Results) == 0 {
		return "", transcript.NoBlock
	}
	other := e.Call
	if b == e.Call {
		other = e.Results[0]
	}
	between := p.messageOf(e.Results[0]) - p.messageOf(e.Call) - 1
	if between < 1 {
		return fmt.Sprintf("%s (%s) ──✗ result (%s)", name, p.messageName(e.Call), p.messageName(e.Results[0])), other
	}
	return fmt.Sprintf("%s (%s) ── %s in between ──✗ result (%s)", name, p.messageName(e.Call), pluralMessages(between), p.messageName(e.Results[0])), other
}

// findBlock returns the first block of a kind with an id, or NoBlock.
func (p *Excerpt) findBlock(k transcript.Kind, id string) transcript.BlockID {
	for i, b := range p.transcript.Blocks() {
		if b.Kind == k && b.CallID == id && id != "" {
			return transcript.BlockID(i)
		}
	}
	return transcript.NoBlock
}

func (p *Excerpt) messageOf(b transcript.BlockID) int { return p.transcript.Block(b).Message }

// messageName returns the message of a block for a sentence.
func (p *Excerpt) messageName(b transcript.BlockID) string {
	if p.lineOf != nil {
		return fmt.Sprint("line ", p.lineOf(p.messageOf(b)))
	}
	return fmt.Sprint("message ", p.messageOf(b))
}

// messageNumber returns the line or the number of a message.
func (p *Excerpt) messageNumber(m int) int {
	if p.lineOf != nil {
		return p.lineOf(m)
	}
	return m
}

// Draw writes the messages of the excerpt.
func (p *Excerpt) Draw(b *bytes.Buffer) {
	if len(p.messages) == 0 {
		return
	}
	b.WriteByte('\n')
	digits := 0
	for _, m := range p.messages {
		digits = max(digits, len(fmt.Sprint(p.messageNumber(m))))
	}
	for i, m := range p.messages {
		if i > 0 && m > p.messages[i-1]+1 {
			screen.Fprintf(b, "      %s\n", p.Paint.Faint(fmt.Sprintf("%*s  %s", digits, "⋮", pluralMessages(m-p.messages[i-1]-1))))
		}
		p.DrawMessage(b, m, digits)
	}
}

// DrawMessage writes one message and the notes on its blocks. digits is the width of message
// numbers.
func (p *Excerpt) DrawMessage(b *bytes.Buffer, m, digits int) {
	msg := p.transcript.Messages()[m]
	marker, role := screen.Text(" "), screen.Printf("%-9s", msg.Role)
	if msg.Role == transcript.Unknown {
		role = "?        "
	}
	number := screen.Printf("%*d", digits, p.messageNumber(m))
	if m == p.focus {
		marker, number, role = p.Paint.Fault("▶"), p.Paint.Bold(number), p.Paint.Bold(role)
	} else {
		number, role = p.Paint.Faint(number), p.Paint.Faint(role)
	}
	screen.Fprintf(b, "    %s %s  %s  ", marker, number, role)
	indent := 4 + 2 + digits + 2 + 9 + 2
	var notes []blockNote
	at := indent
	for i, t := range p.FitLabels(msg, p.Width-indent) {
		switch {
		case i > 0 && at+t.width() > p.Width:
			b.WriteByte('\n')
			p.drawNotes(b, notes)
			screen.Fprint(b, strings.Repeat(" ", indent))
			notes, at = nil, indent
		case i > 0:
			b.WriteString("  ")
			at += 2
		}
		shown := t.Text
		if t.Marked {
			shown = "✗ " + t.Text
		}
		if t.note != "" {
			notes = append(notes, blockNote{at, t.note})
		}
		at += screen.Columns(shown)
		screen.Fprint(b, p.PaintLabel(t, shown))
	}
	b.WriteByte('\n')
	p.drawNotes(b, notes)
}

// A blockNote is a note below a column.
type blockNote struct {
	column int
	text   string
}

// drawNotes writes the notes below a line. It starts with the last note, so that the connecting
// lines of the others can pass.
func (p *Excerpt) drawNotes(b *bytes.Buffer, notes []blockNote) {
	for i := len(notes) - 1; i >= 0; i-- {
		n := notes[i]
		if left := n.column - screen.Columns(n.text) - 2; i == 0 && left > 4 && n.column+3+screen.Columns(n.text) > p.Width {
			screen.Fprintln(b, strings.Repeat(" ", left), p.Paint.Fault(n.text+" ─╯"))
			continue
		}
		at, line := 0, ""
		for _, m := range notes[:i] {
			line += strings.Repeat(" ", m.column-at) + "│"
			at = m.column + 1
		}
		line += strings.Repeat(" ", n.column-at) + "╰─ " + n.text
		screen.Fprintln(b, p.Paint.Fault(line))
	}
}

// PaintLabel paints text by the kind of its block.
func (p *Excerpt) PaintLabel(t BlockLabel, s string) screen.Text {
	switch {
	case t.Marked:
		return p.Paint.Fault(s)
	case t.kind == transcript.Call || t.kind == transcript.Result:
		return p.Paint.Place(s)
	}
	return p.Paint.Faint(s)
}

// A BlockLabel is a block in a few words.
type BlockLabel struct {
	Text   string
	kind   transcript.Kind
	Marked bool
	note   string
}

// blockLabels returns the labels of a message's blocks, with texts of at most room columns.
func (p *Excerpt) blockLabels(m transcript.Message, room int) []BlockLabel {
	var list []BlockLabel
	for id := m.First; id < m.End; id++ {
		b := p.transcript.Block(id)
		note, marked := p.notes[id]
		list = append(list, BlockLabel{p.describeBlock(b, room), b.Kind, marked, note})
	}
	if len(list) > 0 {
		return list
	}
	nothing := BlockLabel{Text: "(nothing)"}
	if raw := p.transcript.Bytes(m.Span); len(raw) > 0 && raw[0] != '{' {
		nothing.Text = screen.Clip(screen.OneLine(string(raw[:min(len(raw), 100)])), 20) // not an object
	}
	return []BlockLabel{nothing}
}

// FitLabels returns the labels of a message's blocks in at most width columns. It shortens texts
// before it drops labels, and keeps labels of faulty blocks even if the line becomes too long.
func (p *Excerpt) FitLabels(m transcript.Message, width int) []BlockLabel {
	if most := m.First + 50; m.End > most && p.messageOf(m.First) != p.focus {
		m.End = most // more than a line can hold
	}
	var all []BlockLabel
	for _, room := range []int{64, 30, 16} {
		all = p.blockLabels(m, room)
		total := 0
		for _, t := range all {
			total += t.width()
		}
		if total <= width+2 {
			return all
		}
	}
	return dropLabels(all, width)
}

// width returns the columns of the label with its mark and the space after it.
func (t BlockLabel) width() int {
	if t.Marked {
		return screen.Columns(t.Text) + 4
	}
	return screen.Columns(t.Text) + 2
}

// dropLabels returns the faulty labels and the first other labels that fit.
func dropLabels(all []BlockLabel, width int) []BlockLabel {
	const gap = 12 // room for "… 123 more"
	keep := make([]bool, len(all))
	used := 0
	take := func(i int) bool {
		n := all[i].width()
		if used+n > width-gap && used > 0 {
			return false
		}
		keep[i], used = true, used+n
		return true
	}
	for i, t := range all {
		if t.Marked {
			keep[i], used = true, used+t.width()
		}
	}
	for i := range all {
		if !keep[i] && !take(i) {
			break
		}
	}
	var shown []BlockLabel
	left := 0
	for i, t := range all {
		if keep[i] {
			if left > 0 {
				shown = append(shown, BlockLabel{Text: fmt.Sprintf("… %d more", left)})
			}
			shown, left = append(shown, t), 0
			continue
		}
		left++
	}
	if left > 0 {
		shown = append(shown, BlockLabel{Text: fmt.Sprintf("… %d more", left)})
	}
	return shown
}

// describeBlock returns a block in a few words. Texts have at most room columns.
func (p *Excerpt) describeBlock(b transcript.Block, room int) string {
	switch b.Kind {
	case transcript.Text:
		if s := TextStart(p.transcript, b.Body, room); s != "" {
			return "“" + screen.Clip(s, room) + "”"
		}
		return "“”"
	case transcript.Call:
		return "call " + screen.Clip(screen.OneLine(b.Tool), 24) + "(" + shortenID(b.CallID) + ")"
	case transcript.Result:
		s := "result ← " + callLabel(b)
		if b.Failed {
			s += " (error)"
		}
		return s
	case transcript.ServerCall, transcript.ServerResult:
		return b.Kind.String() + " " + strings.TrimSpace(screen.Clip(screen.OneLine(b.Tool), 24)+" "+shortenID(b.CallID))
	case transcript.Thinking:
		return "thinking"
	}
	return screen.Clip(screen.OneLine(p.blockTypeName(b.Span)), room)
}

// callLabel returns the id of a call, or its tool if it has no id.
func callLabel(b transcript.Block) string {
	switch {
	case b.CallID != "":
		return shortenID(b.CallID)
	case b.Tool != "":
		return screen.Clip(screen.OneLine(b.Tool), 24)
	}
	return "(no id)"
}

// describeCall returns the call label after the word call, unless the label starts with it.
func describeCall(b transcript.Block) string {
	name := callLabel(b)
	if strings.HasPrefix(name, "call") {
		return name
	}
	return "call " + name
}

// shortenID removes the middle of a long id. The ends are enough to recognize it.
func shortenID(id string) string {
	id = screen.OneLine(id)
	if runes := []rune(id); len(runes) > 32 {
		return string(runes[:18]) + "…" + string(runes[len(runes)-12:])
	}
	return id
}

// TextStart returns the start of a text, enough for room columns. It reads only a few bytes,
// because the text may be very long.
func TextStart(t *transcript.Transcript, s transcript.Span, room int) string {
	raw := t.Bytes(s)
	if most := 8 * room; len(raw) > most {
		raw = raw[:most]
		for len(raw) > 0 && !utf8.Valid(raw[max(0, len(raw)-utf8.UTFMax):]) && !utf8.RuneStart(raw[len(raw)-1]) {
			raw = raw[:len(raw)-1]
		}
	}
	return screen.OneLine(strings.ToValidUTF8(string(jsonspan.Decode(nil, raw)), ""))
}

// blockTypeName returns the type member of an unusual block, or else the name of its first member.
func (p *Excerpt) blockTypeName(span transcript.Span) string {
	raw := p.transcript.Bytes(span)
	var s jsonspan.Scanner
	s.Reset(raw, jsonspan.Structural)
	if s.Peek() != jsonspan.Object || !s.Enter() {
		return screen.Clip(screen.OneLine(string(raw[:min(len(raw), 100)])), 20)
	}
	first := ""
	for {
		k, ok := s.Key()
		if !ok {
			break
		}
		key := string(raw[k.Start:k.End])
		if first == "" {
			first = key
		}
		if key == "type" && s.Peek() == jsonspan.String {
			at := s.Str()
			return string(jsonspan.Decode(nil, raw[at.Start:at.End]))
		}
		s.Skip()
	}
	if first == "" {
		return "{}"
	}
	return first
}

// DrawEnds writes the first and the last message of the range from..to-1.
func (p *Excerpt) DrawEnds(b *bytes.Buffer, from, to, digits int) {
	p.DrawMessage(b, from, digits)
	if to-from > 2 {
		screen.Fprintf(b, "      %s\n", p.Paint.Faint(fmt.Sprintf("%*s  %s", digits, "⋮", pluralMessages(to-from-2))))
	}
	if to-from > 1 {
		p.DrawMessage(b, to-1, digits)
	}
}

func pluralMessages(n int) string {
	if n == 1 {
		return "1 message"
	}
	return fmt.Sprintf("%d messages", n)
}
