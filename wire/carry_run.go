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
	behind := func(i int) seat {
		return seat{to.message + i - from, to.block + ms[i].First - first, to.turn + ms[i].Turn - ms[from].Turn}
	}
	lo, hi, held := end, end, of // what the room holds, and was there
	was := 0
	if f := c.front; f != nil && f.in != nil && f.in.tail.N > 0 && of == f.out && shift == 0 {
		lo, hi = c.there(from, end)
		held, was = f.in.holds, f.in.tail.Was-f.in.tail.Now
		if now := behind(min(lo, end-1)); now.message < hi-lo {
			c.slide(lo+was-now.message, held.t.Messages()[lo+was].First-now.block)
		}
	}
	n, blocks := end-from, int(last-first)
	c.messages, c.extra, c.frame = longer(c.messages, n), longer(c.extra, n), longer(c.frame, n)
	c.blocks, c.where = longer(c.blocks, blocks), longer(c.where, blocks)
	if lo < hi {
		c.put(held, lo+was, hi+was, behind(lo), 0)
	}
	if from < lo {
		c.put(of, from, lo, to, shift)
	}
	if hi < end {
		c.put(of, hi, end, behind(hi), shift)
	}
}

// there is which of some messages of the last result, that come next, the room holds.
func (c *carrier) there(from, end int) (lo, hi int) {
	r, held := c.front.in.tail, c.front.in.holds.t.Messages()
	was, blocks := r.Was-r.Now, max(len(c.blocks), c.written)+int(c.later.block)
	lo, hi = max(from, r.Now, len(c.messages)+c.later.message-was), min(end, r.Now+r.N)
	for lo < hi && int(held[lo+was].First) < blocks {
		lo++ // others are there now
	}
	if lo >= hi {
		return end, end
	}
	return lo, hi
}

// end notes where messages of the last result end in the body, if all have moved by the same.
func (c *carrier) end(out *Request, from, end, shift int) {
	n := len(c.ends)
	c.ends = longer(c.ends, end-from)
	to := c.ends[n:]
	if out.loose == nil {
		for i, m := range out.t.Messages()[from:end] {
			to[i] = m.Span.End + shift
		}
		return
	}
	for i, at := range out.loose.ends[from:end] {
		to[i] = at + shift
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
	if by != 0 || turns != 0 {
		for i := range messages {
			m := &messages[i]
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
			m, f := &messages[i], &frames[i]
			m.Span = transcript.Span{Start: m.Span.Start + shift, End: m.Span.End + shift}
			f.content, f.calls = alike.moved(f.content), alike.moved(f.calls)
		}
		for i := range blocks {
			alike.block(&blocks[i])
		}
	}
}

// slide makes the pages of a room begin so many messages and blocks behind where those that it holds
// begin, with what is filed: what comes next, which is more, is there already.
func (c *carrier) slide(messages int, blocks transcript.BlockID) {
	p, w := &c.pages, &c.front.in.whole
	if by := messages - c.later.message; by != 0 && slides(p.messages, w.messages, by) && slides(p.extra, w.extra, by) && slides(p.frame, w.frame, by) {
		p.messages, p.extra, p.frame = slid(p.messages, w.messages, by), slid(p.extra, w.extra, by), slid(p.frame, w.frame, by)
		c.later.message = messages
	}
	if by := int(blocks - c.later.block); by != 0 && slides(p.blocks, w.blocks, by) && slides(p.where, w.where, by) {
		p.blocks, p.where = slid(p.blocks, w.blocks, by), slid(p.where, w.where, by)
		c.later.block, c.written = blocks, c.written-by
	}
}

// slides reports whether a list lies in memory, all of which is whole, and may begin so much later
// there, or earlier.
func slides[T any](all, whole []T, by int) bool {
	at := cap(whole) - cap(all)
	return at >= 0 && cap(all) > 0 && &all[:1][0] == &whole[:cap(whole)][at] && at+by >= 0 && len(all)+by <= cap(all)
}

// slid makes a list begin so much later, or earlier.
func slid[T any](all, whole []T, by int) []T {
	at := cap(whole) - cap(all) + by
	to := whole[at : at+len(all)]
	copy(to, all)
	return to
}

// memory is all of the memory that a list lies in; whole was that before the list grew.
func memory[T any](all, whole []T) []T {
	if slides(all, whole, 0) {
		return whole
	}
	return all
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
