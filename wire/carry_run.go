package wire

import (
	"slices"

	"github.com/pare-llm/pare/transcript"
)

// run takes messages of a request over that have all moved by the same, with their ties and notes.
func (c *carrier) run(of *Request, from, end, shift int, ours filed) {
	ms := of.t.Messages()[from:end]
	at, block := len(c.messages), transcript.BlockID(len(c.blocks))
	c.messages = slices.Grow(c.messages, len(ms))[:at+1]
	turn := c.turnOf(ms[0].Role)
	c.messages = c.messages[:at]
	c.over(of, from, end, shift, turn)
	c.turn = c.messages[len(c.messages)-1].Turn
	c.led(at)
	c.file(ours, at-from, block-ms[0].First)
	c.Seek(c.messages[len(c.messages)-1].Span.End, c.Depth())
}

// over copies messages of a request, which have all moved by the same, with their blocks behind
// those that are filed.
func (c *carrier) over(of *Request, from, end, shift, turn int) {
	ms := of.t.Messages()[from:end]
	first, last := ms[0].First, ms[len(ms)-1].End
	at, block := len(c.messages), len(c.blocks)
	by, older, turns := transcript.BlockID(block)-first, at-from, turn-ms[0].Turn
	c.messages, c.extra, c.frame = append(c.messages, ms...), append(c.extra, of.extra[from:end]...), append(c.frame, of.frame[from:end]...)
	c.blocks, c.where = append(c.blocks, of.t.Blocks()[first:last]...), append(c.where, of.where[first:last]...)
	messages, frames, blocks := c.messages[at:], c.frame[at:], c.blocks[block:]
	if by != 0 || turns != 0 {
		for i := range messages {
			m := &messages[i]
			m.First, m.End, m.Turn = m.First+by, m.End+by, m.Turn+turns
		}
	}
	for i := at; i < len(c.messages) && c.extra[i]&attaches != 0; i++ {
		c.setShown(i)
	}
	if older != 0 {
		for i := range blocks {
			blocks[i].Message += older
		}
	}
	if alike := (shifts{by: shift}); shift != 0 {
		for i := range frames {
			m, f := &messages[i], &frames[i]
			m.Span = transcript.Span{Start: m.Span.Start + shift, End: m.Span.End + shift}
			f.content, f.calls = alike.moved(f.content), alike.moved(f.calls)
		}
		for i := range blocks {
			alike.block(&blocks[i])
		}
	}
}
