package wire

import (
	"unicode"
	"unicode/utf8"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
)

// What a message has to be for its index to be carried over: reworded at most, and behind what it
// stood behind.

// rewords reports whether edits of message m put one text in the place of another in its
// results, and change nothing else that a reading would find. No edits do so, too.
func (d *draft) rewords(m *transcript.Message, edits []jsonspan.Edit, notes []note) bool {
	if len(edits) == 0 {
		return true
	}
	for i := range notes {
		if !aside(notes[i].fault) {
			return false // it may be about the text that was there
		}
	}
	end := 0
	for b := m.First; b < m.End; b++ {
		blk := &d.t.Blocks()[b]
		if blk.Span.Start < end {
			return false // not in order
		}
		end = blk.Span.End
		if len(edits) == 0 || edits[0].Start >= end {
			continue
		}
		e := &edits[0]
		if blk.Kind != transcript.Result || !d.inString(blk.Body) || quoted(jsonspan.Span(blk.Body)) != transcript.Span(e.Span) || !says(e.New) || !says(d.raw[e.Start:e.End]) {
			return false
		}
		edits = edits[1:]
	}
	return len(edits) == 0
}

// aside reports whether a fault of a result has nothing to do with its text: results of
// Chat bear the name of no tool, and ids that not everybody takes.
func aside(f fault) bool {
	return f == idNotNine || f == resultNameMissing || f == idTooLong || f == repeatedItemID
}

// says reports whether a value is a string that begins with a word, perhaps behind white
// space.
func says(raw []byte) bool {
	if len(raw) < 3 || raw[0] != '"' {
		return false
	}
	text := behindSpace(raw[1 : len(raw)-1])
	r, _ := utf8.DecodeRune(text)
	if r == '\\' {
		r, _ = jsonspan.Unescape(text)
	}
	return r != utf8.RuneError && !unicode.IsSpace(r)
}

// sameFront reports whether message i of a request stands behind what it stood behind there, as far
// as it cares: where thoughts are elements, they are tied to what follows, and parts that stand in a
// row are one turn.
func (c *carrier) sameFront(of *Request, i int) bool {
	if !c.g.flat {
		return true
	}
	if of.extra[i]&loosePart != 0 && (behindPart(of.extra[:i]) || behindPart(c.extra)) {
		return false
	}
	n := lead(of.t.Messages()[:i], of.t.Blocks(), of.where)
	return n >= 0 && n == lead(c.messages, c.blocks, c.where)
}

// behindPart reports whether the last of some messages is a part that stands by itself.
func behindPart(extra []facts) bool { return len(extra) > 0 && extra[len(extra)-1]&loosePart != 0 }

// lead is how many blocks in front of the end of some messages a thought stands that leads what the
// model does next in its turn; 0: none does, -1: one may, far in front.
func lead(ms []transcript.Message, blocks []transcript.Block, where []place) int {
	const far = 32
	for i := len(ms) - 1; i >= 0 && ms[i].Role == transcript.Assistant && ms[i].Turn == ms[len(ms)-1].Turn; i-- {
		if isThought(&ms[i], blocks, where) {
			return int(ms[len(ms)-1].End - ms[i].First)
		}
		if i == len(ms)-far {
			return -1
		}
	}
	return 0
}

// isThought reports whether a message is an element that is a thought.
func isThought(m *transcript.Message, blocks []transcript.Block, where []place) bool {
	return m.End == m.First+1 && blocks[m.First].Kind == transcript.Thinking && where[m.First].in == inMessage
}

// led notes which thought leads what comes behind messages that were taken over, from one on.
func (c *carrier) led(from int) {
	ms := c.messages
	for i := len(ms) - 1; c.g.flat && i >= from && ms[i].Turn == ms[len(ms)-1].Turn; i-- {
		if isThought(&ms[i], c.blocks, c.where) {
			c.thought = int(ms[i].First) + 1
			return
		}
	}
}
