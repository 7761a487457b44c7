package wire

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
)

// A Scribe rewrites the requests of a conversation, one after the other. It remembers what
// came of the last one: where the next begins with the same messages and the same is done to
// them, that is taken over, and only the rest is written and read. It changes nothing but
// the time that takes. The zero value remembers nothing, and so does a nil Scribe. It is for
// one goroutine.
type Scribe struct {
	// Lend lets results use the memory of earlier ones: one is good until the second request
	// from then on is rewritten, and as long as the request that it was made of.
	Lend bool

	of     *Request // nil: nothing is remembered
	docket *Docket  // that these are of
	drop   []transcript.BlockID
	edits  []BlockEdit
	out    *Request
	asked  *Request // rewritten last, remembered or not
	rooms  [3]room
	in     *room            // of out; nil: it is not lent
	held   *room            // of the last result for the request before
	since  *Request         // the result before the last one; nil: nothing is known of it
	again  []transcript.Run // messages of the last one that are its messages
	desk   desk
	wrote  int // bytes behind fronts, or whole results
	said   int // blocks that were dropped or edited otherwise than before
}

// A front is what the result for a request has in common with the last one. The first of it are
// its first messages: at is the last of them, -1 if there is none.
type front struct {
	of, out *Request  // what is rewritten, and the last result
	known   []stretch // of what is rewritten, in order
	at      int
	from    int              // the first message that may come out otherwise; those between go as they went
	end     int              // of message at, in the bytes of the one that is rewritten
	in      *room            // for the result; nil: it gets memory of its own
	spare   pages            // of the parser that works in the room
	left    filed            // of the last result, behind what has been taken over
	again   []transcript.Run // what was taken over from it behind message at, in order
	fresh   int              // blocks that are dropped or edited in messages that are not known
}

// trail is that of the last result.
func (f *front) trail() *trail { return f.out.steps[len(f.out.steps)-1] }

// Rewrite is [Request.RewriteSince]. What is dropped and edited must be sorted by block.
func (s *Scribe) Rewrite(r, before *Request, drop []transcript.BlockID, edits []BlockEdit, insert ...Insertion) (*Request, []Change, error) {
	return s.RewriteAs(r, before, &Docket{Drop: drop, Edits: edits}, insert...)
}

// RewriteAs is Rewrite of what a docket says.
func (s *Scribe) RewriteAs(r, before *Request, d *Docket, insert ...Insertion) (*Request, []Change, error) {
	drop, edits := d.Drop, d.Edits
	if s == nil || len(insert) > 0 || len(drop)+len(edits) == 0 || r.shares || slices.ContainsFunc(r.notes, func(n note) bool { return n.fault == tooManyCacheMarks }) {
		return r.RewriteSince(before, drop, edits, insert...)
	}
	s.tidy()
	if f := s.front(r, d); f != nil {
		in := s.free(r)
		if next, changes, ok := r.rewriteBehind(f, &s.desk, in, before, drop, edits); ok {
			if proveCarried {
				fresh, want, err := r.RewriteSince(before, drop, edits)
				if err != nil || !reflect.DeepEqual(changes, want) {
					panic(fmt.Sprintf("wire: rewriting all of it gives %v, %v", err, want))
				}
				next.gathered().mustBe(fresh)
				f.mustRepeat(next)
			}
			s.wrote, s.said = s.wrote+f.wrote(next), s.said+f.fresh
			s.moved(f, in, next)
			s.keep(r, next, d, endOf(r.t.Messages(), f.from), changes)
			return next, changes, nil
		}
	}
	s.free(r) // what is in use
	s.moved(nil, nil, nil)
	next, changes, err := r.RewriteSince(before, drop, edits)
	if err == nil {
		s.wrote, s.said = s.wrote+len(next.raw), s.said+len(drop)+len(edits)
		s.keep(r, next, d, 0, changes)
	}
	return next, changes, err
}

// keep remembers a rewrite, if nothing followed from it that would have to be told again. Of blocks
// in front of one the docket says what is remembered.
func (s *Scribe) keep(r, next *Request, d *Docket, from transcript.BlockID, changes []Change) {
	d.read, d.stirred = nil, d.stirred[:0]
	if s.of = nil; next == r || len(changes) > 0 {
		return
	}
	drop, edits := d.Drop, d.Edits
	if s.Lend {
		more, said := behind(drop, from), editsBehind(edits, from)
		drop, edits = append(s.drop[:len(drop)-len(more)], more...), append(s.edits[:len(edits)-len(said)], said...)
	}
	s.of, s.docket, s.drop, s.edits, s.out, d.read = r, d, drop, edits, next, s
}

// Again calls yield with runs of n messages of a lent request that are, byte for byte, those of
// another one, which was lent before it: which they are now, and which they were. They come in
// order, and there may be others.
func (r *Request) Again(o *Request, yield func(now, was, n int)) {
	if s := r.lent; s != nil && s.out == r && s.since == o {
		for _, x := range s.again {
			yield(x.Now, x.Was, x.N)
		}
	}
}

// front returns what the last result and that of r have in common.
func (s *Scribe) front(r *Request, d *Docket) *front {
	if s.of == nil || !r.t.Continues(s.of.t) || r.loose != nil || s.out.stays() || r.head.listKind != jsonspan.Array {
		return nil
	}
	known := s.stretches(s.others(r, s.differing(d)), min(len(r.t.Messages()), len(s.of.t.Messages())))
	f := &front{of: r, out: s.out, known: known, at: -1, end: r.list.Start + 1, left: filed{s.out.ties, s.out.notes[s.out.listNotes:]}}
	if len(known) > 0 && known[0].from == 0 {
		f.at, f.from = known[0].n-1, known[0].end
	}
	if f.at >= 0 {
		f.end = r.t.Messages()[known[0].last].Span.End
	}
	return f
}

// endOf is the end of the blocks of the first n messages.
func endOf(ms []transcript.Message, n int) transcript.BlockID {
	if n == 0 {
		return 0
	}
	return ms[n-1].End
}

// rewriteBehind rewrites what a front leaves, in a room.
func (r *Request) rewriteBehind(f *front, on *desk, in *room, before *Request, drop []transcript.BlockID, edits []BlockEdit) (*Request, []Change, bool) {
	f.in = in
	d := newDraftBetween(r, f, on)
	m := &mender{draft: d, before: before}
	f.write(m, drop, edits)
	m.tellMembers()
	step := d.plan()
	if len(step.messages) == 0 {
		return nil, nil, false // nothing stays, and what stands around the list would stand around nothing
	}
	raw, ok := f.out.raw, true
	if in == nil {
		raw, ok = f.splice(d.raw, step.edits[editsTo(step.edits, f.end):])
	} else {
		in.trail = trail{messages: step.messages, edits: step.edits}
	}
	if !ok {
		return nil, nil, false
	}
	next, err := d.readBack(raw, step.edits, f)
	if next == nil || err != nil {
		return nil, nil, false
	}
	next.steps[len(next.steps)-1] = step
	return next, m.changes, true
}

// splice writes what stands behind the front with edits, and the front before it.
func (f *front) splice(raw []byte, edits []jsonspan.Edit) ([]byte, bool) {
	size, at := len(raw)-f.end, f.end
	for _, e := range edits {
		if e.Start < at {
			return nil, false
		}
		size, at = size+len(e.New)-e.Len(), e.End
	}
	out := append(make([]byte, 0, f.outEnd()+size), f.out.raw[:f.outEnd()]...)
	at = f.end
	for _, e := range edits {
		out = append(append(out, raw[at:e.Start]...), e.New...)
		at = e.End
	}
	return append(out, raw[at:]...), true
}

// outEnd is where the front ends.
func (f *front) outEnd() int {
	if f.at < 0 {
		return f.end // what stands in front of the list is the same
	}
	return f.out.End(f.at)
}

// wrote is how many bytes were written behind the front.
func (f *front) wrote(next *Request) int {
	if next.loose != nil {
		return len(next.raw) - len(f.out.raw)
	}
	return len(next.raw) - f.outEnd()
}

// editsTo is how many edits begin in front of an offset.
func editsTo(edits []jsonspan.Edit, end int) int {
	return near(edits, func(e *jsonspan.Edit) bool { return e.Start < end })
}

// behind makes the carrier go on behind a front.
func (c *carrier) behind(f *front) bool {
	out := f.out
	ms := out.t.Messages()[:f.at+1]
	blocks := int(endOf(ms, f.at+1))
	m, b := 0, 0
	if f.in != nil {
		m, b = min(f.in.messages, f.at+1), min(f.in.blocks, blocks)
		p := &f.in.pages
		p.messages, p.blocks, p.where, p.extra, p.frame = p.messages[:m], p.blocks[:b], p.where[:b], p.extra[:m], p.frame[:m]
		p.ties, p.notes = p.ties[:0], append(p.notes[:0], c.parser.notes...)
		f.spare, c.pages, c.ends = c.pages, *p, f.in.ends[:m]
		c.end(out, m, f.at+1, 0)
	}
	if m <= f.at {
		c.over(out, m, f.at+1, 0, ms[m].Turn)
	}
	c.led(0)
	for _, t := range out.ties {
		if int(max(t.From, t.To)) >= blocks {
			break
		}
		c.parser.ties = append(c.parser.ties, t)
	}
	for _, n := range out.notes[out.listNotes:] {
		if n.message < 0 || int(n.message) > f.at {
			break
		}
		c.parser.notes = append(c.parser.notes, n)
	}
	c.left.of(f.from, f.from, endOf(c.d.t.Messages(), f.from), 0) // without those of what stands in front
	c.edits = c.edits[editsTo(c.edits, f.end):]
	if f.at >= 0 {
		c.turn, c.shift = ms[f.at].Turn, f.outEnd()-f.end
	}
	if c.loose() || f.at < 0 {
		return true
	}
	if !c.Element() {
		return false
	}
	c.Seek(f.outEnd(), c.Depth())
	return true
}

// mustRepeat panics if what was taken over from the last result is not the same in the next.
func (f *front) mustRepeat(next *Request) {
	at := func(r *Request, i int) []byte { return r.t.Bytes(r.t.Messages()[i].Span) }
	for _, x := range f.again {
		for k := range x.N {
			if !bytes.Equal(at(f.out, x.Was+k), at(next, x.Now+k)) {
				panic(fmt.Sprintf("wire: message %d is not the one that was taken over", x.Now+k))
			}
		}
	}
}

// mustBe panics if a request is not what rewriting all of it gives.
func (r *Request) mustBe(fresh *Request) {
	a, b := r.steps[len(r.steps)-1], fresh.steps[len(fresh.steps)-1]
	if !bytes.Equal(r.raw, fresh.raw) || !slices.Equal(a.messages, b.messages) || !reflect.DeepEqual(a.inner, b.inner) || !reflect.DeepEqual(a.edits, b.edits) {
		panic(fmt.Sprintf("wire: %s is not what rewriting all of it gives, %s", r.raw, fresh.raw))
	}
	r.mustEqual(fresh)
}
