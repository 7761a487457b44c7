package ui

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/internal/fullness"
	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/internal/planner"
	"github.com/pare-llm/pare/internal/tally"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// Options says what to show beside the messages. The zero value shows nothing else. Many
// goroutines may read it.
type Options struct {
	Source   string         // how the user calls the conversation
	Title    string         // what it is about. Default: what the user says first
	Agent    string         // that keeps it; "": none
	Findings []wire.Finding // what is wrong with it
	Plan     *pare.Plan     // what would be done to it; nil: nothing is
	// Size is how much it takes of the window, and counts its parts. Its zero value takes four bytes
	// for a token and 1,600 tokens for a picture.
	Size fullness.Size
	// Line tells the line that message i comes from; nil: unknown.
	Line func(i int) int
	// Notes are what is known of each message; those that are missing are not.
	Notes []Note
}

// New makes the page of a request. A plan must be one for r.
func New(r *wire.Request, o Options) *Page {
	s := o.Size
	p := &Page{Source: o.Source, Title: cmp.Or(o.Title, Title(r)), Agent: o.Agent, Dialect: r.Dialect.String(), Profile: r.Profile.Name, Model: r.Model(), Checked: true,
		Window: s.Room(), Whole: s.Window, Guess: s.Guess && s.Window > 0, Recorded: s.Recorded, Over: s.Over()}
	p.Before = side(r, o)
	p.Before.Faults = faults(o.Findings)
	for i := range p.Before.Messages {
		if o.Line != nil {
			p.Before.Messages[i].Line = o.Line(i)
		}
		if i < len(o.Notes) {
			p.Before.Messages[i].Note = o.Notes[i]
		}
	}
	if o.Plan == nil {
		return p
	}
	at := places{r, make(map[string]int)}
	for b := range r.Transcript().Blocks() {
		at.blocks[r.Path(transcript.BlockID(b))] = b
	}
	p.changes(o.Plan, at)
	p.kept(o.Plan, at)
	p.after(o.Plan, at, o)
	return p
}

// Title is the beginning of what a person says first in a request; "": nobody says anything.
func Title(r *wire.Request) string {
	const most = 80
	t := r.Transcript()
	for b, blk := range t.Blocks() {
		if blk.Kind != transcript.Text || t.Messages()[blk.Message].Role != transcript.User {
			continue
		}
		text := dialect.PersonsWords(r.Text(transcript.BlockID(b)))
		words := []rune(strings.Join(strings.Fields(text[:min(len(text), 8*most)]), " "))
		if len(words) == 0 || words[0] == '<' || strings.HasPrefix(string(words), "Caveat:") {
			continue
		}
		if len(words) > most {
			words = append(words[:most-1], '…')
		}
		return valid(string(words))
	}
	return ""
}

// side reads one state of a request.
func side(r *wire.Request, o Options) Side {
	t := r.Transcript()
	s := Side{Head: head(r, o, tally.Of(r, o.counter(), false)), Messages: make([]Message, 0, len(t.Messages()))}
	var pics album
	for i, m := range t.Messages() {
		msg := Message{Role: m.Role.String(), Path: r.MessagePath(i), Unread: i < t.StartMessage(), Blocks: make([]Block, 0, m.End-m.First)}
		for b := m.First; b < m.End; b++ {
			msg.Blocks = append(msg.Blocks, block(r, b, o, &pics))
		}
		s.Messages = append(s.Messages, msg)
	}
	for _, x := range t.Exchanges() {
		e := Exchange{Call: int(x.Call), Results: make([]int, 0, len(x.Results)), State: x.State.String(), Server: x.Server, Guessed: x.Guessed}
		for _, b := range x.Results {
			e.Results = append(e.Results, int(b))
		}
		s.Exchanges = append(s.Exchanges, e)
	}
	return s
}

func (o *Options) counter() wire.Counter {
	if c := o.Size.Counter(); c != nil {
		return c
	}
	return quarters{}
}

func block(r *wire.Request, id transcript.BlockID, o Options, pics *album) Block {
	t := r.Transcript()
	b := t.Block(id)
	out := Block{Kind: b.Kind.String(), Tool: valid(b.Tool), ID: valid(b.CallID), Path: r.Path(id), Failed: b.Failed}
	if id >= t.Start() {
		out.Tokens = dialect.BlockTokens(r, o.counter(), id)
	}
	switch b.Kind {
	case transcript.Compaction:
		if out.Text = dialect.Compaction(r, id); out.Text == "" {
			out.Text = fmt.Sprintf("[encrypted by the provider, %d bytes]", b.Span.Len())
		}
	case transcript.Media:
		out.Text = mediaText(t, b)
	case transcript.Call, transcript.ServerCall:
		out.Text = string(wire.Arguments(t, id))
	default:
		out.Text = r.Text(id)
	}
	out.Text = valid(out.Text)
	switch b.Kind {
	case transcript.Media, transcript.Result:
		out.Pictures = pics.of(t.Bytes(b.Span))
	}
	return out
}

// valid makes sure that text can be written as JSON without a change.
func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// quarters counts a token for every four bytes.
type quarters struct{}

func (quarters) Count(text []byte) int          { return (len(text) + 3) / 4 }
func (quarters) CountJSON(raw []byte) int       { return (len(raw) + 3) / 4 }
func (quarters) Media(string, []byte, bool) int { return 1600 }
func (quarters) Overhead(messages, _ int) int   { return 4 * messages }

// mediaText says what a picture or file is without showing its bytes.
func mediaText(t *transcript.Transcript, b transcript.Block) string {
	raw := t.Bytes(b.Span)
	name := "media"
	if len(raw) > 0 && raw[0] == '{' {
		if m, ok := jsonspan.Find(raw, jsonspan.Span{Start: 0, End: len(raw)}, "type"); ok {
			name = strings.Trim(string(raw[m.Value.Start:m.Value.End]), `"`)
		}
	}
	return fmt.Sprintf("[%s, %d bytes]", name, len(raw))
}

// heads are the members beside the messages that a model reads, by what they are.
var heads = map[string]string{
	"system": "system prompt", "instructions": "system prompt", "systemInstruction": "system prompt", "system_instruction": "system prompt",
	"tools": "tools", "toolConfig": "tools",
}

// head lists what takes room beside the words of the messages, as the tally has it.
func head(r *wire.Request, o Options, n tally.Tally) []Part {
	var parts []Part
	for _, p := range []Part{
		{"system prompt and tools, not in the file", "unseen", o.Size.Beside, ""}, {"system prompt", "head", n.Head.System, text(r, "system prompt")}, {"tools", "head", n.Head.Tools, text(r, "tools")},
		{"other fields", "marks", n.Head.Other, ""}, {"message overhead", "marks", n.Marks, ""},
	} {
		if p.Tokens > 0 {
			parts = append(parts, p)
		}
	}
	return parts
}

// text is what the members beside the messages say that are of one kind.
func text(r *wire.Request, kind string) string {
	raw := r.Raw()
	first := strings.IndexFunc(string(raw[:min(len(raw), 256)]), func(r rune) bool { return !strings.ContainsRune(" \t\r\n", r) })
	if first < 0 || raw[first] != '{' {
		return "" // the list alone
	}
	var all []string
	for _, m := range jsonspan.Members(raw, jsonspan.Span{Start: first, End: len(raw)}) {
		v := raw[m.Value.Start:m.Value.End]
		if heads[string(raw[m.Key.Start:m.Key.End])] != kind || len(v) < 3 || string(v) == "null" {
			continue
		}
		if v[0] == '"' {
			v = jsonspan.Decode(nil, v[1:len(v)-1])
		}
		all = append(all, valid(string(v)))
	}
	return strings.Join(all, "\n")
}

func faults(found []wire.Finding) []Fault {
	var all []Fault
	for _, f := range found {
		all = append(all, Fault{
			Rule: f.Rule, Path: f.Path, Says: valid(f.Message), Meaning: dialect.RuleSlugs()[f.Rule], Advice: f.Advice, Message: f.Index, Block: int(f.Block),
		})
	}
	return all
}

// places finds what a path of the original leads to.
type places struct {
	r      *wire.Request
	blocks map[string]int
}

// find returns the message and block that a path names or leads into, or -1.
func (p places) find(path string) (message, block int) {
	for at := path; at != ""; at = at[:max(0, strings.LastIndexByte(at, '.'))] {
		if b, ok := p.blocks[at]; ok {
			return p.r.Transcript().Block(transcript.BlockID(b)).Message, b
		}
	}
	parts := strings.SplitN(path, ".", 3)
	if len(parts) < 2 {
		return -1, -1
	}
	n, err := strconv.Atoi(parts[1])
	if err != nil || n < 0 || n >= len(p.r.Transcript().Messages()) || p.r.MessagePath(n) != parts[0]+"."+parts[1] {
		return -1, -1
	}
	return n, -1
}

// changes lists the receipts, each with its place.
func (p *Page) changes(plan *pare.Plan, at places) {
	for _, c := range plan.Changes() {
		m, b := at.find(c.Path)
		p.Changes = append(p.Changes, Change{
			Action: string(c.Action), Rule: c.Rule, Reason: valid(c.Reason), Path: c.Path, IDs: c.IDs, Tokens: c.Tokens, Message: m, Block: b,
		})
	}
}

// kept notes which blocks the rules protect, and why.
func (p *Page) kept(plan *pare.Plan, at places) {
	t := planner.RepairedRequest(plan).Transcript()
	seen := make(map[Reason]int)
	flat := p.Before.flat()
	for _, d := range plan.Decisions() {
		if !d.Protected || len(d.Reasons) == 0 {
			continue
		}
		why := Reason{d.Reasons[0].Rule, valid(d.Reasons[0].Text)}
		if seen[why] == 0 {
			p.Kept = append(p.Kept, why)
			seen[why] = len(p.Kept)
		}
		for _, b := range t.Atoms()[d.Atom].Blocks {
			if _, old := at.find(dialect.PathIn(planner.RepairedRequest(plan), at.r, b)); old >= 0 {
				flat[old].Kept = seen[why]
			}
		}
	}
}

// flat lists the blocks of a side in order.
func (s *Side) flat() []*Block {
	var all []*Block
	for i := range s.Messages {
		for j := range s.Messages[i].Blocks {
			all = append(all, &s.Messages[i].Blocks[j])
		}
	}
	return all
}

// after reads the result of the plan, and follows each of its blocks back.
func (p *Page) after(plan *pare.Plan, at places, o Options) {
	out := plan.Result()
	s := side(out, o)
	s.Faults = faults(plan.Remaining())
	before := p.Before.flat()
	stays := make([]bool, len(before))
	var fresh []*Block
	for i, b := range s.flat() {
		old, ok := at.blocks[dialect.PathIn(out, at.r, transcript.BlockID(i))]
		if !ok {
			fresh = append(fresh, b)
			continue
		}
		stays[old] = true
		b.From, b.Kept = old+1, before[old].Kept
		if before[old].Text == b.Text {
			b.Same, b.Text = true, ""
		}
	}
	in := p.inserts()
	var gone []int // blocks that were edited and are not found again, in order
	for _, c := range p.Changes {
		if c.Block >= 0 && !stays[c.Block] && (c.Action == "edit" || c.Action == "archive" || c.Action == "move") {
			gone = append(gone, c.Block)
		}
	}
	slices.Sort(gone)
	for _, b := range fresh {
		if b.Change = p.inserted(b, &in); b.Change > 0 {
			continue
		}
		// A result without a call becomes a quotation of it: the next one that is
		// missing. Looking no further than a few keeps this linear.
		for k, old := range gone[:min(len(gone), 8)] {
			if words := before[old].Text; words != "" && strings.Contains(b.Text, words) {
				b.From = old + 1
				gone = slices.Delete(gone, k, k+1)
				break
			}
		}
	}
	p.After = &s
}

// inserts are the changes that put something in and whose block was not found yet.
type inserts struct {
	byID map[string][]int // about a call
	rest []int            // about none
}

func (p *Page) inserts() inserts {
	in := inserts{byID: make(map[string][]int)}
	for i, c := range p.Changes {
		switch {
		case c.Action != "insert":
		case len(c.IDs) == 0:
			in.rest = append(in.rest, i)
		default:
			in.byID[c.IDs[0]] = append(in.byID[c.IDs[0]], i)
		}
	}
	return in
}

// inserted returns the change that put in a new block, plus one, or 0: the one about
// the same call, or else the one whose reason quotes the text.
func (p *Page) inserted(b *Block, in *inserts) int {
	if same := in.byID[b.ID]; b.ID != "" && len(same) > 0 {
		in.byID[b.ID] = same[1:]
		return same[0] + 1
	}
	// Few: a turn that was missing, at most one at each end and behind each result.
	for k, i := range in.rest {
		if b.Text != "" && strings.Contains(p.Changes[i].Reason, b.Text) {
			in.rest = slices.Delete(in.rest, k, k+1)
			return i + 1
		}
	}
	return 0
}
