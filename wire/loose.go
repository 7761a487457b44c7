package wire

import (
	"slices"
	"sync/atomic"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
)

// A loose request is one whose changes were written behind the body. Messages that nobody has
// changed lie where they did, and so does what stands around the list; the others lie behind. The
// places of what is in a message are true; nobody may take what lies between two of them for what
// stands between them.
type loose struct {
	of    *Request        // that it was made of: what stands around the list and between messages is its
	ends  []int           // by message: where it ends in the body
	edits []jsonspan.Edit // make the body of that of of
	grown int             // by how much they make it longer
}

// Size is how many bytes the request has.
func (r *Request) Size() int {
	if r.loose == nil {
		return len(r.raw)
	}
	return len(r.loose.of.raw) + r.loose.grown
}

// End is where message i ends in the bytes of the request.
func (r *Request) End(i int) int {
	if r.loose == nil {
		return r.t.Messages()[i].Span.End
	}
	return r.loose.ends[i]
}

// Around returns the bytes in front of the first message and behind the last one.
func (r *Request) Around() (before, behind []byte) {
	if r.loose != nil {
		r = r.loose.of
	}
	all := r.t.Messages()
	if len(all) == 0 {
		return r.raw, nil
	}
	return r.raw[:all[0].Span.Start], r.raw[all[len(all)-1].Span.End:]
}

// Raw returns the bytes of the request. They may have to be put together, each time that somebody
// asks.
func (r *Request) Raw() []byte {
	if r.loose == nil {
		return r.raw
	}
	raw, err := jsonspan.Splice(r.loose.of.raw, r.loose.edits)
	if err != nil {
		panic(err) // they were taken when they were made
	}
	return raw
}

// gathered is the request with its bytes in one piece.
func (r *Request) gathered() *Request {
	if r.loose == nil {
		return r
	}
	raw, of := r.Raw(), r.loose.of
	messages, blocks, frames := slices.Clone(r.t.Messages()), slices.Clone(r.t.Blocks()), slices.Clone(r.frame)
	for i := range messages {
		m := &messages[i]
		moved := shifts{by: r.loose.ends[i] - m.Span.End}
		m.Span, frames[i] = moved.moved(m.Span), frame{moved.moved(frames[i].content), moved.moved(frames[i].calls)}
		for b := m.First; b < m.End; b++ {
			moved.block(&blocks[b])
		}
	}
	by := len(raw) - len(of.raw)
	whole := &Request{
		Dialect: r.Dialect, Profile: r.Profile, g: r.g, raw: raw, list: transcript.Span{Start: of.list.Start, End: of.list.End + by}, bare: r.bare,
		head: r.head, where: r.where, extra: r.extra, frame: frames, o: r.o, steps: r.steps, notes: r.notes, listNotes: r.listNotes, ties: r.ties,
		clean: atomic.LoadUint32(&r.clean), shares: r.shares,
	}
	whole.head.said = of.saidAfter(by)
	whole.t = r.t.Moved(raw, messages, blocks)
	return whole
}

// saidAfter is what the head says, if all that stands behind the list has moved.
func (r *Request) saidAfter(by int) []utterance {
	all := slices.Clone(r.head.said)
	for k := range all {
		if u := &all[k]; u.span.Start > r.list.Start {
			u.span = transcript.Span{Start: u.span.Start + by, End: u.span.End + by}
		}
	}
	return all
}

// write writes message m with edits behind all others and returns where it is now.
func (c *carrier) write(m *transcript.Message, edits []jsonspan.Edit) (start int) {
	start = len(c.raw)
	at := m.Span.Start
	for _, e := range edits {
		c.raw = append(append(c.raw, c.d.raw[at:e.Start]...), e.New...)
		at = e.End
	}
	c.raw = append(c.raw, c.d.raw[at:m.Span.End]...)
	return start
}

// readLoose reads an element that ends there.
func (c *carrier) readLoose(start, end int) bool {
	depth := 2
	if c.bare {
		depth = 1
	}
	c.Reset(c.raw, jsonspan.Structural)
	c.Seek(start, depth)
	c.element()
	return !c.Failed() && len(c.Flaws()) == 0 && c.Offset() == end
}
