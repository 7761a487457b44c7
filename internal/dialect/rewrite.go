package dialect

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
)

// A BlockEdit replaces what a block says by a text. It is a value that many goroutines
// may use.
type BlockEdit struct {
	Block transcript.BlockID
	Text  string
}

// An Insertion is a new message that says a text. It is a value that many goroutines may
// use.
type Insertion struct {
	Before int // the message it stands in front of; the number of messages: the end
	Role   transcript.Role
	Text   string
}

// pathWithin returns the path that a block had in an earlier state of the request, or
// "" if it is new since then.
func (r *Request) pathWithin(before *Request, b transcript.BlockID) string {
	blk, w := r.t.Block(b), r.where[b]
	return r.pathIn(before, origin{blk.Message, w.in, int(w.index)})
}

// pathsIn is PathIn for a block that several have been joined to: the paths of all. The
// slice is good until room is used again.
func (r *Request) pathsIn(before *Request, b transcript.BlockID, room *Paths) []string {
	w := r.where[b]
	return room.in(r, before, origin{r.t.Blocks()[b].Message, w.in, int(w.index)})
}

// messagePathIn is PathIn for a message.
func (r *Request) messagePathIn(before *Request, i int) string {
	return r.pathIn(before, atMessage(i))
}

// messageIn returns which message of an earlier state a message was made from, alone or with
// others; -1 if it is new since then.
func (r *Request) messageIn(before *Request, i int) int {
	for k := len(r.steps) - 1; k >= len(before.steps) && i >= 0; k-- {
		i = r.steps[k].messages[i].message
	}
	return i
}

// rewrite returns the request without some blocks, with others edited and with new
// messages. A message that loses its last block goes. Blocks that cannot be edited without
// harm, such as signed thinking, are left as they are. Nothing to do returns the
// request itself. The result may need Repair: removal makes new neighbours. It is what plans
// are carried out with; whoever only wants a valid history calls Repair, or package pare.
func (r *Request) rewrite(drop []transcript.BlockID, edits []BlockEdit, insert ...Insertion) (*Request, []Change, error) {
	return r.rewriteSince(r, drop, edits, insert...)
}

// rewriteSince is Rewrite; the paths of the changes, which are what follows from it, are
// those of an earlier state.
func (r *Request) rewriteSince(before *Request, drop []transcript.BlockID, edits []BlockEdit, insert ...Insertion) (*Request, []Change, error) {
	if len(drop)+len(edits)+len(insert) == 0 {
		return r, nil, nil
	}
	d := newDraft(r)
	for _, n := range insert {
		d.insertMessage(n.Before, r.g.textMessage(n.Role, n.Text), d.fresh())
	}
	d.dropBlocks(drop)
	m := &repairer{draft: d, before: before}
	m.moveMarks()
	d.edits.expect(len(edits))
	for _, e := range edits {
		if !d.gone[e.Block] {
			m.say(e.Block, e.Text)
		}
	}
	if d.clean() {
		return r, nil, nil
	}
	m.tellMembers()
	next, err := d.carryOut()
	if err != nil {
		return nil, nil, fmt.Errorf("rewrite: %w", err)
	}
	return next, m.changes, nil
}

// carryOut writes the draft and parses what it wrote the way the request was.
func (d *draft) carryOut() (*Request, error) {
	step := d.plan()
	raw, err := jsonspan.Splice(d.raw, step.edits)
	if err != nil {
		return nil, err
	}
	next, err := d.readBack(raw)
	if err != nil {
		return nil, err
	}
	next.steps[len(next.steps)-1] = step
	return next, nil
}

// readBack parses what a draft wrote, with room for its step.
func (d *draft) readBack(raw []byte) (*Request, error) {
	o := d.o
	o.Model = d.head.model
	// What was valid stays valid, and what we add is; only flaws need a second look.
	o.Structural = o.Structural || len(d.flaws) == 0
	next, err := Parse(raw, o)
	if err != nil {
		return nil, err
	}
	next.steps, next.o.Structural = append(slices.Clone(d.steps), nil), d.o.Structural
	return next, nil
}

// say replaces what a block says.
func (m *repairer) say(b transcript.BlockID, text string) {
	blk := m.t.Block(b)
	switch blk.Kind {
	case transcript.Result:
		m.pen.sayResult(m, b, text)
	case transcript.Text:
		if blk.Body != blk.Span {
			q := quote(text)
			if m.inString(blk.Body) { // else it was something that no text may be
				q = q[1 : len(q)-1]
			}
			m.edit(jsonspan.Edit{Span: jsonspan.Span(blk.Body), New: q})
		}
	case transcript.Media:
		if m.where[b].in == inMember {
			return // where it stands, no text may
		}
		m.edit(jsonspan.Edit{Span: jsonspan.Span(blk.Span), New: m.g.text(m.t.Messages()[blk.Message].Role, text)})
	case transcript.Call:
		m.pen.sayCall(m, b, text)
	}
}

// editable reports whether a block's body can be replaced without harm: not signed
// thinking, and no output whose shape a text cannot take.
func (r *Request) editable(b transcript.BlockID) bool {
	switch blk := r.t.Block(b); blk.Kind {
	case transcript.Text:
		return blk.Body != blk.Span
	case transcript.Media:
		return r.where[b].in != inMember
	case transcript.Result:
		return r.g.takesText(r, blk)
	case transcript.Call:
		return r.where[b].in != inFunction && r.g.takesText(r, blk)
	}
	return false
}

// Text returns what a block says, as plain text: a result's or text's strings
// decoded, and what is no text by name.
func (r *Request) Text(b transcript.BlockID) string { return plainText(r.raw, r.t.Block(b).Body, 0) }

// compaction returns what a compaction of the provider's says: "" if b is none, or if
// nobody but the provider can read it.
func (r *Request) compaction(b transcript.BlockID) string {
	if int(b) >= len(r.t.Blocks()) {
		return ""
	}
	if blk := r.t.Block(b); blk.Kind != transcript.Compaction || blk.Body == blk.Span {
		return ""
	}
	return r.Text(b)
}

// Arguments returns the arguments of a call as the JSON text of an object, taken
// out of the string that the OpenAI APIs put it in; nil if the call has none.
func Arguments(t *transcript.Transcript, b transcript.BlockID) []byte {
	blk := t.Block(b)
	if blk.Body == blk.Span {
		return nil
	}
	raw := t.Bytes(blk.Body)
	if blk.Body.Start > 0 && t.Raw()[blk.Body.Start-1] == '"' { // a string's body lies between its quotes
		return jsonspan.Decode(nil, raw)
	}
	return raw
}

// Argument returns one argument of a call as text: strings decoded, anything else
// as JSON. It returns false if there is none of that name.
func Argument(t *transcript.Transcript, b transcript.BlockID, name string) (string, bool) {
	return jsonspan.FindText(Arguments(t, b), name)
}

// bindsThinking reports whether the model checks that nothing in front of a
// thinking block has changed: an edit invalidates all thinking behind it.
func (p *Profile) bindsThinking() bool {
	switch p.Family {
	case "fable", "mythos":
		return p.atLeast(5, 1)
	case "opus", "sonnet", "haiku":
		return p.atLeast(5, 5)
	}
	return p.Family == "claude" && strings.Contains(strings.ToLower(p.Model), "claude") && p.atLeast(5, 5)
}

// read lists the spans of the messages that the provider reads; of the first one, from the
// compaction on.
func (r *Request) read() []transcript.Span {
	var all []transcript.Span
	for _, m := range r.t.Messages()[r.t.StartMessage():] {
		all = append(all, m.Span)
	}
	if r.t.IsCompacted() {
		all[0].Start = r.t.Block(r.t.Start()).Span.Start
	}
	return all
}

// invalidThinking lists the thinking that changes since before have invalidated: all of it
// from the first message on that differs. It is bound from the provider's last compaction
// on. Models that do not bind thinking to what stands in front of it lose none. It is for
// those who rewrite, as package pare does.
func (r *Request) invalidThinking(before *Request) []transcript.BlockID {
	if !r.Profile.bindsThinking() {
		return nil
	}
	a, b := before.read(), r.read()
	n := 0
	for n < len(a) && n < len(b) && bytes.Equal(before.t.Bytes(a[n]), r.t.Bytes(b[n])) {
		n++
	}
	if n == len(a) {
		return nil // only appended to
	}
	same := r.t.StartMessage() + n
	var stale []transcript.BlockID
	for id, blk := range r.t.Blocks() {
		if blk.Kind == transcript.Thinking && blk.Message >= same {
			stale = append(stale, transcript.BlockID(id))
		}
	}
	return stale
}
