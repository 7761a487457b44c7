package wire

import (
	"cmp"
	"slices"
	"sync/atomic"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
)

// A loose request is one of a scribe that lends. Its messages lie anywhere in raw, so that what
// comes out as it did the last time stays where it is, whatever goes or comes in front of it. The
// places of what is in a message are true; nobody may take what lies between two of them for what
// stands between them.
type loose struct {
	of   *Request // that it was made of: what stands around the list and between messages is its
	ends []int    // by message: where it ends in the body
	// edits make the body of that of of; nil: steps tell. If they are there, messages that nobody has
	// changed lie where they did, and so does what stands around the list; the rest lies behind.
	edits []jsonspan.Edit
	grown int // by how much they make it longer
}

// pieces reports whether raw is not the body.
func (r *Request) pieces() bool { return r.loose != nil || r.rest > 0 }

// Size is how many bytes the request has.
func (r *Request) Size() int {
	switch {
	case !r.pieces():
		return len(r.raw)
	case r.stays():
		return len(r.loose.of.raw) + r.loose.grown
	}
	_, behind := r.Around()
	return r.End(len(r.t.Messages())-1) + len(behind)
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
	return r.raw[:all[0].Span.Start], r.raw[cmp.Or(r.rest, all[len(all)-1].Span.End):]
}

// Raw returns the bytes of the request. Those of one that is lent, and of a beginning of a history,
// may have to be put together, each time that somebody asks.
func (r *Request) Raw() []byte { return r.rawWith(0) }

// rawWith is Raw; if bytes are put together, there is so much room for them.
func (r *Request) rawWith(room int) []byte {
	switch {
	case !r.pieces():
		return r.raw
	case r.stays():
		raw, err := jsonspan.Splice(r.loose.of.raw, r.loose.edits)
		if err != nil {
			panic(err) // they were taken when they were made
		}
		return raw
	}
	before, behind := r.Around()
	out := make([]byte, 0, max(room, r.Size()))
	if r.loose == nil {
		return append(append(out, r.raw[:r.End(len(r.t.Messages())-1)]...), behind...)
	}
	out = append(out, before...)
	from, of := r.steps[len(r.steps)-1].messages, r.loose.of
	for i, m := range r.t.Messages() {
		if i > 0 { // what stands behind a message stays with it
			k := from[i-1].message
			out = append(out, of.raw[of.t.Messages()[k].Span.End:of.t.Messages()[k+1].Span.Start]...)
		}
		out = append(out, r.t.Bytes(m.Span)...)
	}
	return append(out, behind...)
}

// gathered is the request with its bytes in one piece.
func (r *Request) gathered() *Request { return r.gatheredWith(0) }

// gatheredWith is gathered; there is so much room for the bytes.
func (r *Request) gatheredWith(room int) *Request {
	if !r.pieces() {
		return r
	}
	raw, of := r.rawWith(room), r
	messages, blocks, frames := r.t.Messages(), r.t.Blocks(), r.frame
	if r.loose != nil {
		of, messages, blocks, frames = r.loose.of, slices.Clone(messages), slices.Clone(blocks), slices.Clone(frames)
		for i := range messages {
			m := &messages[i]
			moved := shifts{by: r.loose.ends[i] - m.Span.End}
			m.Span, frames[i] = moved.moved(m.Span), frame{moved.moved(frames[i].content), moved.moved(frames[i].calls)}
			for b := m.First; b < m.End; b++ {
				moved.block(&blocks[b])
			}
		}
	}
	by := len(raw) - len(of.raw)
	whole := &Request{
		Dialect: r.Dialect, Profile: r.Profile, g: r.g, raw: raw, list: transcript.Span{Start: of.list.Start, End: of.list.End + by}, bare: r.bare,
		head: r.head, where: r.where, extra: r.extra, frame: frames, o: r.o, steps: r.steps, notes: r.notes, listNotes: r.listNotes, ties: r.ties,
		clean: atomic.LoadUint32(&r.clean), sound: r.sound, lore: r.lore, shares: r.shares, lent: r.lent,
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

// loose reports whether what is filed is a loose request.
func (c *carrier) loose() bool { return c.stay || c.front != nil && c.front.in != nil }

// write writes message m with edits behind all others and returns where it is now.
func (c *carrier) write(m *transcript.Message, edits []jsonspan.Edit) (start int) {
	start = len(c.raw)
	if size := m.Span.Len(); cap(c.raw)-start < size { // and more will come
		c.raw = slices.Grow(c.raw, size+start/2)
	}
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

// messageLoose files message i of the one before, which stays.
func (c *carrier) messageLoose(i int, m *transcript.Message, ours filed, edits []jsonspan.Edit, beyond bool) bool {
	if beyond || len(edits) > 0 && edits[0].Start < c.d.place(i).Start {
		return false
	}
	if c.stay {
		return c.messageBehind(i, m, ours, edits)
	}
	c.ends = append(c.ends, m.Span.End+c.shift)
	start := c.write(m, edits)
	if !c.sameFront(c.d.Request, i) || !c.d.rewords(m, edits, ours.notes) {
		return c.readLoose(start, len(c.raw))
	}
	return c.take(c.d.Request, i, m, &shifts{by: start - m.Span.Start, edits: edits}, ours)
}
