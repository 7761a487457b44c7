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
type Picture struct {
	Style
	t     *transcript.Transcript
	focus int // the message with the marker; -1: none
	marks map[transcript.BlockID]string
	rows  []int // messages to show, sorted
	// line tells the line of a message, by which it is then called; nil: it is called by
	// its number.
	line func(int) int
}

// New makes a picture of any messages, see [Picture.Row]. The marker stands at focus, -1 is
// nowhere. A nil line calls messages by their numbers.
func New(style Style, t *transcript.Transcript, focus int, line func(int) int) *Picture {
	return &Picture{Style: style, t: t, focus: focus, marks: map[transcript.BlockID]string{}, line: line}
}

// Mark marks a block as faulty.
func (p *Picture) Mark(b transcript.BlockID) { p.marks[b] = "" }

// Of plans the picture of findings that are about one message, of the first most messages
// of the request.
func Of(style Style, req *wire.Request, found []wire.Finding, most int, line func(int) int) *Picture {
	p := New(style, req.Transcript(), found[0].Index, line)
	if p.focus < 0 {
		return p
	}
	for i := max(0, p.focus-1); i <= p.focus+1 && i < len(p.t.Messages()); i++ {
		p.rows = append(p.rows, i)
	}
	for _, f := range found {
		if f.Block == transcript.NoBlock {
			continue
		}
		note, other := p.explain(f, strings.TrimPrefix(strings.TrimPrefix(f.Path, req.Path(f.Block)), "."))
		if p.marks[f.Block] == "" {
			p.marks[f.Block] = note // of two findings, the first that has something to say
		}
		if other != transcript.NoBlock && len(p.rows) < 7 {
			p.rows = append(p.rows, p.t.Block(other).Message)
		}
	}
	slices.Sort(p.rows)
	p.rows = slices.DeleteFunc(slices.Compact(p.rows), func(m int) bool { return m >= most })
	return p
}

// explain says in a few words where a pair breaks, and which block is the other
// half. field is the part of the block that the finding is about.
func (p *Picture) explain(f wire.Finding, field string) (note string, other transcript.BlockID) {
	b := p.t.Block(f.Block)
	name := callName(b)
	x := p.t.ExchangeOf(f.Block)
	if x == transcript.NoExchange {
		return field, transcript.NoBlock
	}
	e := p.t.Exchanges()[x]
	switch f.Rule {
	case "orphan-call":
		if e.State == transcript.Open {
			return name + " ──✗ the history ends before its result", transcript.NoBlock
		}
		return name + " ──✗ no result follows", transcript.NoBlock
	case "orphan-result":
		return p.strayResult(f.Block)
	case "displaced-result":
		return p.displaced(e, f.Block, name)
	case "duplicate-result":
		if first := p.blockOf(transcript.Result, b.CallID); first != transcript.NoBlock && first < f.Block {
			return fmt.Sprintf("%s is answered already, in %s ✗── result", name, p.called(first)), first
		}
	case "duplicate-call-id":
		if first := p.blockOf(transcript.Call, b.CallID); first != transcript.NoBlock && first != f.Block {
			return fmt.Sprintf("%s is the id of the call in %s already", label(b), p.called(first)), first
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
func (p *Picture) strayResult(b transcript.BlockID) (string, transcript.BlockID) {
	name := label(p.t.Block(b))
	call := p.blockOf(transcript.Call, p.t.Block(b).CallID)
	switch {
	case call == transcript.NoBlock:
		return "no earlier call has this id", call
	case call > b:
		return fmt.Sprintf("the call %s comes after it, in %s", name, p.called(call)), call
	}
	return fmt.Sprintf("%s (%s) ──✗ is not answered from here", callName(p.t.Block(call)), p.called(call)), call
}

func (p *Picture) displaced(e transcript.Exchange, b transcript.BlockID, name string) (string, transcript.BlockID) {
	if e.Call == transcript.NoBlock || len(e.Results) == 0 {
		return "", transcript.NoBlock
	}
	other := e.Call
	if b == e.Call {
		other = e.Results[0]
	}
	between := p.message(e.Results[0]) - p.message(e.Call) - 1
	if between < 1 {
		return fmt.Sprintf("%s (%s) ──✗ result (%s)", name, p.called(e.Call), p.called(e.Results[0])), other
	}
	return fmt.Sprintf("%s (%s) ── %s in between ──✗ result (%s)", name, p.called(e.Call), messages(between), p.called(e.Results[0])), other
}

// blockOf returns the first block of that kind and id, or NoBlock.
func (p *Picture) blockOf(k transcript.Kind, id string) transcript.BlockID {
	for i, b := range p.t.Blocks() {
		if b.Kind == k && b.CallID == id && id != "" {
			return transcript.BlockID(i)
		}
	}
	return transcript.NoBlock
}

func (p *Picture) message(b transcript.BlockID) int { return p.t.Block(b).Message }

// called is the message of a block in a sentence.
func (p *Picture) called(b transcript.BlockID) string {
	if p.line != nil {
		return fmt.Sprint("line ", p.line(p.message(b)))
	}
	return fmt.Sprint("message ", p.message(b))
}

// number is what stands in front of a message.
func (p *Picture) number(m int) int {
	if p.line != nil {
		return p.line(m)
	}
	return m
}

// Draw draws what is planned.
func (p *Picture) Draw(b *bytes.Buffer) {
	if len(p.rows) == 0 {
		return
	}
	b.WriteByte('\n')
	digits := 0
	for _, m := range p.rows {
		digits = max(digits, len(fmt.Sprint(p.number(m))))
	}
	for i, m := range p.rows {
		if i > 0 && m > p.rows[i-1]+1 {
			screen.Fprintf(b, "      %s\n", p.Paint.Faint(fmt.Sprintf("%*s  %s", digits, "⋮", messages(m-p.rows[i-1]-1))))
		}
		p.Row(b, m, digits)
	}
}

// Row draws one message and, below it, what is wrong with its blocks.
func (p *Picture) Row(b *bytes.Buffer, m, digits int) {
	msg := p.t.Messages()[m]
	marker, role := screen.Text(" "), screen.Printf("%-9s", msg.Role)
	if msg.Role == transcript.Unknown {
		role = "?        "
	}
	number := screen.Printf("%*d", digits, p.number(m))
	if m == p.focus {
		marker, number, role = p.Paint.Fault("▶"), p.Paint.Bold(number), p.Paint.Bold(role)
	} else {
		number, role = p.Paint.Faint(number), p.Paint.Faint(role)
	}
	screen.Fprintf(b, "    %s %s  %s  ", marker, number, role)
	indent := 4 + 2 + digits + 2 + 9 + 2
	var notes []flag
	at := indent
	for i, t := range p.Fit(msg, p.Width-indent) {
		switch {
		case i > 0 && at+t.columns() > p.Width:
			b.WriteByte('\n')
			p.flags(b, notes)
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
			notes = append(notes, flag{at, t.note})
		}
		at += screen.Columns(shown)
		screen.Fprint(b, p.Colour(t, shown))
	}
	b.WriteByte('\n')
	p.flags(b, notes)
}

// A flag is a note that hangs from a column.
type flag struct {
	column int
	text   string
}

// flags draws the notes below a row, the last one first, so that the lines of the
// others can pass.
func (p *Picture) flags(b *bytes.Buffer, notes []flag) {
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
func (p *Picture) Colour(t Token, s string) screen.Text {
	switch {
	case t.Marked:
		return p.Paint.Fault(s)
	case t.kind == transcript.Call || t.kind == transcript.Result:
		return p.Paint.Place(s)
	}
	return p.Paint.Faint(s)
}

// A Token is a block in a few words.
type Token struct {
	Text   string
	kind   transcript.Kind
	Marked bool
	note   string
}

// tokens returns the blocks of a message, texts cut to room columns.
func (p *Picture) tokens(m transcript.Message, room int) []Token {
	var list []Token
	for id := m.First; id < m.End; id++ {
		b := p.t.Block(id)
		note, marked := p.marks[id]
		list = append(list, Token{p.words(b, room), b.Kind, marked, note})
	}
	if len(list) > 0 {
		return list
	}
	nothing := Token{Text: "(nothing)"}
	if raw := p.t.Bytes(m.Span); len(raw) > 0 && raw[0] != '{' {
		nothing.Text = screen.Clip(screen.OneLine(string(raw[:min(len(raw), 100)])), 20) // no message at all
	}
	return []Token{nothing}
}

// Fit returns the blocks of a message in at most width columns: texts are cut
// shorter before any block is left out. Marked ones stay even so, and the line
// will have to be broken.
func (p *Picture) Fit(m transcript.Message, width int) []Token {
	if most := m.First + 50; m.End > most && p.message(m.First) != p.focus {
		m.End = most // more than any line holds
	}
	var all []Token
	for _, room := range []int{64, 30, 16} {
		all = p.tokens(m, room)
		total := 0
		for _, t := range all {
			total += t.columns()
		}
		if total <= width+2 {
			return all
		}
	}
	return leaveOut(all, width)
}

// columns is what the token takes, with its mark and the space behind it.
func (t Token) columns() int {
	if t.Marked {
		return screen.Columns(t.Text) + 4
	}
	return screen.Columns(t.Text) + 2
}

// leaveOut keeps the marked tokens, then the first ones as far as they fit.
func leaveOut(all []Token, width int) []Token {
	const gap = 12 // room for "… 123 more"
	keep := make([]bool, len(all))
	used := 0
	take := func(i int) bool {
		n := all[i].columns()
		if used+n > width-gap && used > 0 {
			return false
		}
		keep[i], used = true, used+n
		return true
	}
	for i, t := range all {
		if t.Marked {
			keep[i], used = true, used+t.columns()
		}
	}
	for i := range all {
		if !keep[i] && !take(i) {
			break
		}
	}
	var shown []Token
	left := 0
	for i, t := range all {
		if keep[i] {
			if left > 0 {
				shown = append(shown, Token{Text: fmt.Sprintf("… %d more", left)})
			}
			shown, left = append(shown, t), 0
			continue
		}
		left++
	}
	if left > 0 {
		shown = append(shown, Token{Text: fmt.Sprintf("… %d more", left)})
	}
	return shown
}

// words is a block in a few words of at most room columns.
func (p *Picture) words(b transcript.Block, room int) string {
	switch b.Kind {
	case transcript.Text:
		if s := Start(p.t, b.Body, room); s != "" {
			return "“" + screen.Clip(s, room) + "”"
		}
		return "“”"
	case transcript.Call:
		return "call " + screen.Clip(screen.OneLine(b.Tool), 24) + "(" + short(b.CallID) + ")"
	case transcript.Result:
		s := "result ← " + label(b)
		if b.Failed {
			s += " (error)"
		}
		return s
	case transcript.ServerCall, transcript.ServerResult:
		return b.Kind.String() + " " + strings.TrimSpace(screen.Clip(screen.OneLine(b.Tool), 24)+" "+short(b.CallID))
	case transcript.Thinking:
		return "thinking"
	}
	return screen.Clip(screen.OneLine(p.typeOf(b.Span)), room)
}

// label names a call by its id, or where it has none by its tool.
func label(b transcript.Block) string {
	switch {
	case b.CallID != "":
		return short(b.CallID)
	case b.Tool != "":
		return screen.Clip(screen.OneLine(b.Tool), 24)
	}
	return "(no id)"
}

// callName is the label with the word call in front, if it does not say so itself.
func callName(b transcript.Block) string {
	name := label(b)
	if strings.HasPrefix(name, "call") {
		return name
	}
	return "call " + name
}

// short leaves out the middle of a long id; its ends tell it apart.
func short(id string) string {
	id = screen.OneLine(id)
	if runes := []rune(id); len(runes) > 32 {
		return string(runes[:18]) + "…" + string(runes[len(runes)-12:])
	}
	return id
}

// Start returns the beginning of a text, enough for room columns. It looks at a
// few bytes only, for the text may be a book.
func Start(t *transcript.Transcript, s transcript.Span, room int) string {
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
func (p *Picture) typeOf(span transcript.Span) string {
	raw := p.t.Bytes(span)
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
func (p *Picture) Ends(b *bytes.Buffer, from, to, digits int) {
	p.Row(b, from, digits)
	if to-from > 2 {
		screen.Fprintf(b, "      %s\n", p.Paint.Faint(fmt.Sprintf("%*s  %s", digits, "⋮", messages(to-from-2))))
	}
	if to-from > 1 {
		p.Row(b, to-1, digits)
	}
}

func messages(n int) string {
	if n == 1 {
		return "1 message"
	}
	return fmt.Sprintf("%d messages", n)
}
