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

	of    *Request // nil: nothing is remembered
	drop  []transcript.BlockID
	edits []BlockEdit
	out   *Request
	asked *Request // rewritten last, remembered or not
	rooms [3]room
	in    *room            // of out; nil: it is not lent
	held  *room            // of the last result for the request before
	since *Request         // the result before the last one; nil: nothing is known of it
	again []transcript.Run // messages of the last one that are its messages
	desk  desk
	wrote int // bytes behind fronts, or whole results
	said  int // blocks that were dropped or edited otherwise than before
}

// A front is the beginning of a rewritten request: message upTo of the one that is rewritten
// is message at of it, and everything in front of that came out as it would now. Without any
// message both are -1.
type front struct {
	out      *Request
	upTo, at int
	from     int   // the first message behind it that may come out otherwise; those between go as they went
	end      int   // in the bytes of the one that is rewritten
	echo     echo  // behind it
	in       *room // for the result; nil: it gets memory of its own
	desk     *desk
	spare    pages            // of the parser that works in the room
	again    []transcript.Run // what was taken over from out, in order
}

// Rewrite is [Request.RewriteSince]. What is dropped and edited must be sorted by block.
func (s *Scribe) Rewrite(r, before *Request, drop []transcript.BlockID, edits []BlockEdit, insert ...Insertion) (*Request, []Change, error) {
	if s == nil || len(insert) > 0 || len(drop)+len(edits) == 0 || r.shares || slices.ContainsFunc(r.notes, func(n note) bool { return n.fault == tooManyCacheMarks }) {
		return r.RewriteSince(before, drop, edits, insert...)
	}
	s.tidy()
	if f := s.front(r, drop, edits); f != nil {
		in := s.free(r)
		if next, changes, ok := r.rewriteBehind(f, in, before, drop, edits); ok {
			if proveCarried {
				fresh, want, err := r.RewriteSince(before, drop, edits)
				if err != nil || !reflect.DeepEqual(changes, want) {
					panic(fmt.Sprintf("wire: rewriting all of it gives %v, %v", err, want))
				}
				next.gathered().mustBe(fresh)
				f.mustRepeat(next)
			}
			s.wrote, s.said = s.wrote+f.wrote(next), s.said+f.echo.fresh
			s.moved(f, in, next)
			s.keep(r, next, drop, edits, changes)
			return next, changes, nil
		}
	}
	s.free(r) // what is in use
	s.moved(nil, nil, nil)
	next, changes, err := r.RewriteSince(before, drop, edits)
	if err == nil {
		s.wrote, s.said = s.wrote+len(next.raw), s.said+len(drop)+len(edits)
		s.keep(r, next, drop, edits, changes)
	}
	return next, changes, err
}

// keep remembers a rewrite, if nothing followed from it that would have to be told again.
func (s *Scribe) keep(r, next *Request, drop []transcript.BlockID, edits []BlockEdit, changes []Change) {
	if s.of = nil; next != r && len(changes) == 0 {
		if s.Lend {
			drop, edits = append(s.drop[:0], drop...), append(s.edits[:0], edits...)
		}
		s.of, s.drop, s.edits, s.out = r, drop, edits, next
	}
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

// front returns the beginning that the last result and that of r have in common.
func (s *Scribe) front(r *Request, drop []transcript.BlockID, edits []BlockEdit) *front {
	if s.of == nil || !r.t.Continues(s.of.t) || r.loose != nil || s.out.stays() {
		return nil
	}
	same := transcript.BlockID(min(len(r.t.Blocks()), len(s.of.t.Blocks())))
	for i := 0; i < max(len(drop), len(s.drop)); i++ {
		if a, b := blockAt(drop, i, same), blockAt(s.drop, i, same); a != b || a >= same {
			same = min(a, b, same)
			break
		}
	}
	for i := 0; i < max(len(edits), len(s.edits)); i++ {
		if i < min(len(edits), len(s.edits)) && edits[i] == s.edits[i] && edits[i].Block < same {
			continue
		}
		if i < len(edits) {
			same = min(same, edits[i].Block)
		}
		if i < len(s.edits) {
			same = min(same, s.edits[i].Block)
		}
		break
	}
	first := min(len(r.t.Messages()), len(s.of.t.Messages())) // that may come out otherwise
	if int(same) < len(r.t.Blocks()) {
		first = min(first, r.t.Block(same).Message)
	}
	step := s.out.steps[len(s.out.steps)-1]
	at, _ := slices.BinarySearchFunc(step.messages, first, func(o origin, m int) int { return o.message - m })
	f := &front{out: s.out, desk: &s.desk, upTo: -1, at: at - 1, from: first, end: r.list.Start + 1, echo: s.echo(r, drop, edits, first-1, at-1)}
	if f.at >= 0 {
		f.upTo = step.messages[f.at].message
		f.end = r.t.Messages()[f.upTo].Span.End
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

func blockAt(all []transcript.BlockID, i int, none transcript.BlockID) transcript.BlockID {
	if i < len(all) {
		return all[i]
	}
	return none
}

// rewriteBehind rewrites what stands behind a front.
func (r *Request) rewriteBehind(f *front, in *room, before *Request, drop []transcript.BlockID, edits []BlockEdit) (*Request, []Change, bool) {
	from := endOf(r.t.Messages(), f.from)
	d := newDraftFrom(r, f.from, f.upTo, f.desk)
	m := &mender{draft: d, before: before}
	f.echo.write(m, behind(drop, from), editsBehind(edits, from))
	m.tellMembers()
	step := d.plan()
	if f.at < 0 && len(step.messages) == 0 {
		return nil, nil, false // nothing stays, and what stands around the list would stand around nothing
	}
	done := f.out.steps[len(f.out.steps)-1]
	f.echo.join(d, step, done, f)
	f.in = in
	raw, ok := f.out.raw, true
	if in == nil {
		raw, ok = f.splice(r.raw, step.edits)
	}
	if !ok {
		return nil, nil, false
	}
	next, err := d.readBack(raw, step.edits, f)
	if next == nil || err != nil {
		return nil, nil, false
	}
	next.steps[len(next.steps)-1] = done.with(step, f)
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
func (t *trail) editsTo(end int) int {
	n, _ := slices.BinarySearchFunc(t.edits, end, func(e jsonspan.Edit, end int) int { return e.Start - end })
	return n
}

// with is the trail of a front, which is t's, and what was done behind it.
func (t *trail) with(rest *trail, f *front) *trail {
	all := &trail{inner: make(map[listKey][]origin, len(t.inner)+len(rest.inner))}
	n, done := f.at+1, t.editsTo(f.end)
	m, e := 0, 0
	if q := f.in; q != nil {
		m, e = min(q.messages, n), min(q.edits, done)
		all.messages, all.edits = q.trail.messages[:m], q.trail.edits[:e]
	}
	all.messages = append(slices.Grow(all.messages, n-m+len(rest.messages)), t.messages[m:n]...)
	all.messages = append(all.messages, rest.messages...)
	all.edits = append(slices.Grow(all.edits, done-e+len(rest.edits)), t.edits[e:done]...)
	all.edits = append(all.edits, rest.edits...)
	if f.in != nil {
		f.in.trail = trail{messages: all.messages, edits: all.edits}
	}
	for k, from := range t.inner {
		if k.message <= f.at {
			all.inner[k] = from
		}
	}
	for k, from := range rest.inner {
		k.message += f.at + 1
		all.inner[k] = from
	}
	return all
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
		for i := m; i <= f.at; i++ {
			c.ends = append(c.ends, out.End(i))
		}
	}
	c.messages = append(c.messages, ms[m:]...)
	c.blocks = append(c.blocks, out.t.Blocks()[b:blocks]...)
	c.where = append(c.where, out.where[b:blocks]...)
	c.extra = append(c.extra, out.extra[m:f.at+1]...)
	c.frame = append(c.frame, out.frame[m:f.at+1]...)
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
