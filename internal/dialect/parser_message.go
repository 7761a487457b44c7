package dialect

import (
	"maps"
	"slices"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
)

// more is how many to make room for when n have been found up to an offset: about as
// many as the rest of the bytes will bring, so that a large index is moved once or
// twice and not twenty times.
func (p *parser) more(n, offset int) int {
	if n == 0 {
		return max(len(p.raw)/2048, 16)
	}
	if n < 256 || offset <= 0 {
		return max(n, 16)
	}
	rest := float64(n) * float64(len(p.raw)-offset) / float64(offset)
	return int(min(rest*1.02, float64(8*n))) + 16
}

// maxIndexed is how many messages, blocks and notes a request may have, each. What has more is no
// history, and would take hundreds of times its size in memory.
const maxIndexed = 500_000

// startMessage opens a message. Its role, turn and span may be set again when it
// ends, because members come in any order.
func (p *parser) startMessage(r transcript.Role, start, turn int) {
	if len(p.messages) == cap(p.messages) {
		more := p.more(len(p.messages), start)
		p.messages, p.extra, p.frame = slices.Grow(p.messages, more), slices.Grow(p.extra, more), slices.Grow(p.frame, more)
	}
	n := len(p.messages)
	if n >= maxIndexed {
		p.Stop()
	}
	p.messages = p.messages[:n+1]
	m := &p.messages[n] // written where it stays, as a block is
	m.Role, m.Begins, m.Speaks = r, false, false
	m.Span.Start, m.Span.End, m.Turn = start, 0, turn
	m.First, m.End = transcript.BlockID(len(p.blocks)), 0
	p.extra = append(p.extra, 0)
	p.frame = append(p.frame, frame{})
}

// endMessage closes the message opened last.
func (p *parser) endMessage(s jsonspan.Span, begins bool) {
	m := &p.messages[len(p.messages)-1]
	m.Span, m.End, m.Begins = tspan(s), transcript.BlockID(len(p.blocks)), begins
	p.turn = m.Turn
	var f facts
	if m.Role == transcript.User {
		switch p.g.presenceIn(p.raw, p.blocks[m.First:]) {
		case writes:
			m.Speaks = true
		case shows:
			f |= attaches | shown
		case belonging:
			f |= attaches
		}
	}
	for i := m.First; i < m.End; i++ {
		b := &p.blocks[i]
		switch b.Kind {
		case transcript.Result:
			f |= hasResults
		case transcript.Call:
			f |= hasCalls | hasOthers
		default:
			f |= hasOthers
		}
	}
	p.extra[len(p.extra)-1] |= f
	p.setShown(len(p.messages) - 1)
}

// setShown sets whether a person speaks in message i, and so begins a turn, if a person writes nothing
// there. An attachment that follows results belongs to them: in several dialects a result cannot hold
// a picture.
func (p *parser) setShown(i int) {
	if p.extra[i]&attaches == 0 {
		return
	}
	follows, goesOn := false, false
	if i > 0 {
		before := &p.messages[i-1]
		follows = !before.Speaks && (p.extra[i-1]&hasResults != 0 || p.extra[i-1]&attaches != 0 && !before.Begins)
		goesOn = p.extra[i]&p.extra[i-1]&loosePart != 0 // a turn made of parts
	}
	m := &p.messages[i]
	m.Speaks = p.extra[i]&shown != 0 && !follows
	m.Begins = !follows && !goesOn
}

// turnOf returns the turn of a message of a role: that of the message in front of it, if
// that is of the same role and the dialect takes the two for one.
func (p *parser) turnOf(r transcript.Role) int {
	if n := len(p.messages); n > 1 && p.messages[n-2].Role == r && p.g.joins[r] {
		return p.turn
	}
	return p.turn + 1
}

// closeRole sets the role of message i from its member.
func (p *parser) closeRole(i int, f field) {
	switch {
	case f.absent():
		p.note(roleMissing, -1, "", "")
		p.extra[i] |= badRole
	case f.kind != jsonspan.String:
		p.note(wrongType, -1, "role", "expected a string, found "+f.kind.String())
		p.extra[i] |= badRole
	default:
		r := p.g.role(p.symbol(f))
		if r == transcript.Unknown {
			p.note(unknownRole, -1, "", p.text(f))
			p.extra[i] |= badRole
		}
		p.messages[i].Role = r
	}
}

// stringContent adds the one block of a message whose content is a string.
func (p *parser) stringContent(f field) {
	i := len(p.messages) - 1
	p.extra[i] |= stringBody
	if f.empty() {
		p.extra[i] |= emptyList
		return
	}
	p.file(transcript.Text, quoted(f.span), tspan(f.span), place{in: inString})
	if p.blank(f) {
		p.extra[i] |= blankText
		p.noteBlock(blankTextBlock, "", "")
	}
}

// speaks reports whether message i is the user's and holds no results.
func (p *parser) speaks(i int) bool {
	if p.messages[i].Role != transcript.User {
		return false
	}
	for b := int(p.messages[i].First); b < len(p.blocks); b++ {
		if p.blocks[b].Kind == transcript.Result {
			return false
		}
	}
	return true
}

// tieThinking joins the thinking of message i, which is sent back whole or not at
// all, and makes its calls need it.
func (p *parser) tieThinking(i int) {
	first := transcript.NoBlock
	for b := p.messages[i].First; int(b) < len(p.blocks); b++ {
		switch p.blocks[b].Kind {
		case transcript.Thinking:
			if first != transcript.NoBlock {
				p.ties = append(p.ties, transcript.Tie{From: first, To: b, Mutual: true})
				continue
			}
			first = b
		case transcript.Call, transcript.ServerCall:
			if first != transcript.NoBlock {
				p.ties = append(p.ties, transcript.Tie{From: b, To: first})
			}
		}
	}
}

// dropBlocks forgets the blocks of message i, before its content is read: that may stand
// twice. What is noted of the members beside it stays.
func (p *parser) dropBlocks(i int) {
	first := p.messages[i].First
	if int(first) < len(p.blocks) {
		maps.DeleteFunc(p.servers, func(_ string, b transcript.BlockID) bool { return b >= first })
	}
	p.unfile(int(first))
	from := len(p.notes)
	for from > 0 && p.notes[from-1].message == int32(i) {
		from--
	}
	p.notes = append(p.notes[:from], slices.DeleteFunc(p.notes[from:], func(n note) bool { return n.fault != foreignMember })...)
	for len(p.ties) > 0 && p.ties[len(p.ties)-1].From >= first {
		p.ties = p.ties[:len(p.ties)-1]
	}
}

// unfile takes the blocks from one on off again.
func (p *parser) unfile(n int) {
	p.blocks, p.where = p.blocks[:n], p.where[:n]
}

// block adds a block to the message that is being read.
func (p *parser) block(b transcript.Block, w place) {
	if b.Body.End == 0 {
		b.Body = b.Span
	}
	b.Message = len(p.messages) - 1
	*p.file(b.Kind, b.Span, b.Body, w) = b
}

// file is block for the usual ones, which are written where they stay: to copy a block that
// was just written member by member takes longer than to write it.
func (p *parser) file(k transcript.Kind, span, body transcript.Span, w place) *transcript.Block {
	n := len(p.blocks)
	if n == cap(p.blocks) {
		more := p.more(n, span.Start)
		p.blocks, p.where = slices.Grow(p.blocks, more), slices.Grow(p.where, more)
	}
	if n >= maxIndexed {
		p.Stop()
	}
	p.blocks, p.where = p.blocks[:n+1], append(p.where, w)
	b := &p.blocks[n]
	b.Message = len(p.messages) - 1
	b.Kind, b.Family, b.Failed, b.Continues = k, 0, false, false
	b.Span, b.Body = span, body
	b.CallID, b.Tool = "", ""
	return b
}

// note writes down something about block b, or about the message if b is -1.
func (p *parser) note(f fault, b int, sub, arg string) {
	if len(p.notes) >= maxIndexed {
		p.Stop()
		return
	}
	p.notes = append(p.notes, note{f, int32(len(p.messages) - 1), int32(b), sub, arg})
}

// noteBlock writes down something about the block added last.
func (p *parser) noteBlock(f fault, sub, arg string) { p.note(f, len(p.blocks)-1, sub, arg) }

// noteHead writes down something about the request beside its messages.
func (p *parser) noteHead(f fault, path, arg string) {
	if len(p.notes) >= maxIndexed {
		p.Stop()
		return
	}
	p.notes = append(p.notes, note{f, -1, -1, path, arg})
}

// wantString notes a member that should be a string and is not. Missing and null
// ones are for the caller to judge.
func (p *parser) wantString(f *field, b int, name string) {
	if !f.absent() && f.kind != jsonspan.String {
		p.note(wrongType, b, name, "expected a string, found "+f.kind.String())
	}
}

// plainID reports whether id fits ^[a-zA-Z0-9_-]+$.
func plainID[T string | []byte](id T) bool {
	for i := range len(id) {
		if !plainBytes[id[i]] {
			return false
		}
	}
	return len(id) > 0
}

// plainBytes is a table, for the letters of an id are hard to predict.
var plainBytes = func() (t [256]bool) {
	for _, c := range []byte("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") {
		t[c] = true
	}
	return t
}()
