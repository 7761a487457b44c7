package wire

import (
	"slices"

	"github.com/pare-llm/pare/transcript"
)

// run takes messages of a request over that have all moved by the same, with their ties and notes.
func (c *carrier) run(of *Request, from, end, shift int, ours filed) {
	m := of.t.Messages()[from]
	at, block := len(c.messages), transcript.BlockID(len(c.blocks))
	c.messages = slices.Grow(c.messages, end-from)[:at+1]
	turn := c.turnOf(m.Role)
	c.messages = c.messages[:at]
	c.over(of, from, end, shift, turn)
	c.turn = c.messages[len(c.messages)-1].Turn
	c.led(at)
	c.file(ours, at-from, block-m.First)
	if !c.loose() {
		c.Seek(c.messages[len(c.messages)-1].Span.End, c.Depth())
	}
}

// over copies messages of a request, which have all moved by the same, behind those that are filed.
// What the room holds already is taken from there: it is to be written anyway.
func (c *carrier) over(of *Request, from, end, shift, turn int) {
	ms := of.t.Messages()
	first, last := ms[from].First, ms[end-1].End
	to := seat{len(c.messages), transcript.BlockID(len(c.blocks)), turn}
	n, blocks := end-from, int(last-first)
	c.messages, c.extra, c.frame = longer(c.messages, n), longer(c.extra, n), longer(c.frame, n)
	c.blocks, c.where = longer(c.blocks, blocks), longer(c.where, blocks)
	behind := func(i int) seat {
		return seat{to.message + i - from, to.block + ms[i].First - first, to.turn + ms[i].Turn - ms[from].Turn}
	}
	lo, hi := end, end
	if f := c.front; f != nil && f.in != nil && of == f.out && shift == 0 {
		r, held := f.in.tail, f.in.holds
		was := r.Was - r.Now
		lo, hi = max(from, r.Now, to.message-was), min(end, r.Now+r.N)
		for lo < hi && int(held.t.Messages()[lo+was].First) < max(int(to.block), c.written) {
			lo++ // others are there now
		}
		if lo < hi {
			c.put(held, lo+was, hi+was, behind(lo), 0)
		} else {
			lo, hi = end, end
		}
	}
	if from < lo {
		c.put(of, from, lo, to, shift)
	}
	if hi < end {
		c.put(of, hi, end, behind(hi), shift)
	}
}

// A seat is which message, block and turn something is now.
type seat struct {
	message int
	block   transcript.BlockID
	turn    int
}

// put copies messages of a request, with their blocks, to where they are now.
func (c *carrier) put(of *Request, from, end int, to seat, shift int) {
	ms := of.t.Messages()[from:end]
	first, last := ms[0].First, ms[len(ms)-1].End
	by, older, turns := to.block-first, to.message-from, to.turn-ms[0].Turn
	messages := laid(c.messages[to.message:], ms)
	frames := laid(c.frame[to.message:], of.frame[from:end])
	laid(c.extra[to.message:], of.extra[from:end])
	blocks := laid(c.blocks[to.block:], of.t.Blocks()[first:last])
	laid(c.where[to.block:], of.where[first:last])
	if by != 0 || turns != 0 || shift != 0 {
		for i := range messages {
			m := &messages[i]
			m.Span.Start, m.Span.End = m.Span.Start+shift, m.Span.End+shift
			m.First, m.End, m.Turn = m.First+by, m.End+by, m.Turn+turns
		}
	}
	if older != 0 {
		for i := range blocks {
			blocks[i].Message += older
		}
	}
	if alike := (shifts{by: shift}); shift != 0 {
		for i := range frames {
			f := &frames[i]
			f.content, f.calls = alike.moved(f.content), alike.moved(f.calls)
		}
		for i := range blocks {
			alike.block(&blocks[i])
		}
	}
}

// longer is a list with n more elements, which are not written yet.
func longer[T any](all []T, n int) []T { return slices.Grow(all, n)[:len(all)+n] }

// laid copies a list to the beginning of another, if it is not that, and returns this beginning.
func laid[T any](to, from []T) []T {
	if len(from) > 0 && &to[0] != &from[0] {
		copy(to, from)
	}
	return to[:len(from)]
}
