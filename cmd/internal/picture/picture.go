// Package picture draws conversations in the terminal: messages, a line each, with what is
// wrong with their blocks below them; plans; what tokens are spent on; all of it at once.
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

// A Style is how much room there is, and whether it is painted.
type Style struct {
	Paint screen.Palette
	Width int
}

// A Picture shows a faulty message between its neighbours, and where the other
// half of a pair is:
//
//	  5  assistant  call run_tests(toolu_03)
//	▶ 6  user       result ← toolu_03  ✗ result ← toolu_02
//	                                   ╰─ no earlier call has this id
//	  7  assistant  “All tests pass.”
type Excerpt struct {
	Style
	transcript *transcript.Transcript
	focus      int // the message with the marker; -1: none
	notes      map[transcript.BlockID]string
	messages   []int // messages to show, sorted
	// line tells the line of a message, by which it is then called; nil: it is called by
	// its number.
	lineOf func(int) int
}

// New makes a picture of any messages, see [Picture.Row]. The marker stands at focus, -1 is
// nowhere. A nil line calls messages by their numbers.
func NewExcerpt(style Style, t *transcript.Transcript, focus int, line func(int) int) *Excerpt {
	return &Excerpt{Style: style, transcript: t, focus: focus, notes: map[transcript.BlockID]string{}, lineOf: line}
}

// Mark marks a block as faulty.
func (p *Excerpt) Mark(b transcript.BlockID) { p.notes[b] = "" }

// Of plans the picture of findings that are about one message, of the first most messages
// of the request.
func NewFindingExcerpt(style Style, req *wire.Request, found []wire.Finding, most int, line func(int) int) *Excerpt {
	p := NewExcerpt(style, req.Transcript(), found[0].Index, line)
	if p.focus < 0 {
		return p
	}
	for i := max(0, p.focus-1); i <= p.focus+1 && i < len(p.transcript.Messages()); i++ {
		p.messages = append(p.messages, i)
	}
	for _, f := range found {
		if f.Block == transcript.NoBlock {
			continue
		}
		note, other := p.explainFinding(f, strings.TrimPrefix(strings.TrimPrefix(f.Path, req.Path(f.Block)), "."))
		if p.notes[f.Block] == "" {
			p.notes[f.Block] = note // of two findings, the first that has something to say
		}
		if other != transcript.NoBlock && len(p.messages) < 7 {
			p.messages = append(p.messages, p.transcript.Block(other).Message)
		}
	}
	slices.Sort(p.messages)
	p.messages = slices.DeleteFunc(slices.Compact(p.messages), func(m int) bool { return m >= most })
	return p
}

// explain says in a few words where a pair breaks, and which block is the other
// half. field is the part of the block that the finding is about.
func (p *Excerpt) explainFinding(f wire.Finding, field string) (note string, other transcript.BlockID) {
	b := p.transcript.Block(f.Block)
	name := describeCall(b)
	x := p.transcript.ExchangeOf(f.Block)
	if x == transcript.NoExchange {
		return field, transcript.NoBlock
	}
	e := p.transcript.Exchanges()[x]
	switch f.Rule {
	case "orphan-call":
		if e.State == transcript.Open {
			return name + " ──✗ the history ends before its result", transcript.NoBlock
		}
		return name + " ──✗ no result follows", transcript.NoBlock
	case "orphan-result":
		return p.explainOrphanResult(f.Block)
	case "displaced-result":
		return p.explainDisplaced(e, f.Block, name)
	case "duplicate-result":
		if first := p.findBlock(transcript.Result, b.CallID); first != transcript.NoBlock && first < f.Block {
			return fmt.Sprintf("%s is answered already, in %s ✗── result", name, p.messageName(first)), first
		}
	case "duplicate-call-id":
		if first := p.findBlock(transcript.Call, b.CallID); first != transcript.NoBlock && first != f.Block {
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

// strayResult explains a result that answers no call: the call may be missing, or
// stand where it does not count.
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

// blockOf returns the first block of that kind and id, or NoBlock.
func (p *Excerpt) findBlock(k transcript.Kind, id string) transcript.BlockID {
	for i, b := range p.transcript.Blocks() {
		if b.Kind == k && b.CallID == id && id != "" {
			return transcript.BlockID(i)
		}
	}
	return transcript.NoBlock
}

func (p *Excerpt) messageOf(b transcript.BlockID) int { return p.transcript.Block(b).Message }

// called is the message of a block in a sentence.
func (p *Excerpt) messageName(b transcript.BlockID) string {
	if p.lineOf != nil {
		return fmt.Sprint("line ", p.lineOf(p.messageOf(b)))
	}
	return fmt.Sprint("message ", p.messageOf(b))
}

// number is what stands in front of a message.
func (p *Excerpt) messageNumber(m int) int {
	if p.lineOf != nil {
		return p.lineOf(m)
	}
	return m
}

// Draw draws what is planned.
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

// Row draws one message and, below it, what is wrong with its blocks.
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

// A flag is a note that hangs from a column.
type blockNote struct {
	column int
	text   string
}

// flags draws the notes below a row, the last one first, so that the lines of the
// others can pass.
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

// Colour paints a token as what it is.
func (p *Excerpt) PaintLabel(t BlockLabel, s string) screen.Text {
	switch {
	case t.Marked:
		return p.Paint.Fault(s)
	case t.kind == transcript.Call || t.kind == transcript.Result:
		return p.Paint.Place(s)
	}
	return p.Paint.Faint(s)
}

// A Token is a block in a few words.
type BlockLabel struct {
	Text   string
	kind   transcript.Kind
	Marked bool
	note   string
}

// tokens returns the blocks of a message, texts cut to room columns.
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
		nothing.Text = screen.Clip(screen.OneLine(string(raw[:min(len(raw), 100)])), 20) // no message at all
	}
	return []BlockLabel{nothing}
}

// Fit returns the blocks of a message in at most width columns: texts are cut
// shorter before any block is left out. Marked ones stay even so, and the line
// will have to be broken.
func (p *Excerpt) FitLabels(m transcript.Message, width int) []BlockLabel {
	if most := m.First + 50; m.End > most && p.messageOf(m.First) != p.focus {
		m.End = most // more than any line holds
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

// columns is what the token takes, with its mark and the space behind it.
func (t BlockLabel) width() int {
	if t.Marked {
		return screen.Columns(t.Text) + 4
	}
	return screen.Columns(t.Text) + 2
}

// leaveOut keeps the marked tokens, then the first ones as far as they fit.
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

// words is a block in a few words of at most room columns.
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

// label names a call by its id, or where it has none by its tool.
func callLabel(b transcript.Block) string {
	switch {
	case b.CallID != "":
		return shortenID(b.CallID)
	case b.Tool != "":
		return screen.Clip(screen.OneLine(b.Tool), 24)
	}
	return "(no id)"
}

// callName is the label with the word call in front, if it does not say so itself.
func describeCall(b transcript.Block) string {
	name := callLabel(b)
	if strings.HasPrefix(name, "call") {
		return name
	}
	return "call " + name
}

// short leaves out the middle of a long id; its ends tell it apart.
func shortenID(id string) string {
	id = screen.OneLine(id)
	if runes := []rune(id); len(runes) > 32 {
		return string(runes[:18]) + "…" + string(runes[len(runes)-12:])
	}
	return id
}

// Start returns the beginning of a text, enough for room columns. It looks at a
// few bytes only, for the text may be a book.
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

// typeOf names a block that is none of the usual ones: by its type, or else by its
// first member.
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

// Ends draws the first and the last message of a run.
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
