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
	of    *Request // nil: nothing is remembered
	drop  []transcript.BlockID
	edits []BlockEdit
	out   *Request
}

// A front is the beginning of a rewritten request: message upTo of the one that is rewritten
// is message at of it, and everything in front of that came out as it would now.
type front struct {
	out      *Request
	upTo, at int
	end      int // in the bytes of the one that is rewritten
}

// Rewrite is [Request.RewriteSince]. What is dropped and edited must be sorted by block.
func (s *Scribe) Rewrite(r, before *Request, drop []transcript.BlockID, edits []BlockEdit, insert ...Insertion) (*Request, []Change, error) {
	if s == nil || len(insert) > 0 || len(drop)+len(edits) == 0 || r.g.flat || slices.ContainsFunc(r.notes, func(n note) bool { return n.fault == tooManyCacheMarks }) {
		return r.RewriteSince(before, drop, edits, insert...)
	}
	if f := s.front(r, drop, edits); f != nil {
		if next, changes, ok := r.rewriteBehind(f, before, drop, edits); ok {
			if proveCarried {
				fresh, want, err := r.RewriteSince(before, drop, edits)
				if err != nil || !reflect.DeepEqual(changes, want) {
					panic(fmt.Sprintf("wire: rewriting all of it gives %v, %v", err, want))
				}
				next.mustBe(fresh)
			}
			s.keep(r, next, drop, edits, changes)
			return next, changes, nil
		}
	}
	next, changes, err := r.RewriteSince(before, drop, edits)
	if err == nil {
		s.keep(r, next, drop, edits, changes)
	}
	return next, changes, err
}

// keep remembers a rewrite, if nothing followed from it that would have to be told again.
func (s *Scribe) keep(r, next *Request, drop []transcript.BlockID, edits []BlockEdit, changes []Change) {
	if s.of = nil; next != r && len(changes) == 0 {
		*s = Scribe{r, drop, edits, next}
	}
}

// front returns the beginning that the last result and that of r have in common.
func (s *Scribe) front(r *Request, drop []transcript.BlockID, edits []BlockEdit) *front {
	if s.of == nil || !r.t.Continues(s.of.t) {
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
	if at--; at < 0 {
		return nil
	}
	f := &front{out: s.out, upTo: step.messages[at].message, at: at}
	if f.end = r.t.Messages()[f.upTo].Span.End; len(step.edits) == 0 || step.edits[0].Start >= f.end {
		return nil // nothing has been done there
	}
	return f
}

func blockAt(all []transcript.BlockID, i int, none transcript.BlockID) transcript.BlockID {
	if i < len(all) {
		return all[i]
	}
	return none
}

// rewriteBehind rewrites what stands behind a front.
func (r *Request) rewriteBehind(f *front, before *Request, drop []transcript.BlockID, edits []BlockEdit) (*Request, []Change, bool) {
	from := r.t.Messages()[f.upTo].End
	n, _ := slices.BinarySearch(drop, from)
	k, _ := slices.BinarySearchFunc(edits, from, func(e BlockEdit, b transcript.BlockID) int { return int(e.Block - b) })
	d := newDraft(r)
	d.dropBlocks(drop[n:])
	m := &mender{draft: d, before: before}
	for _, e := range edits[k:] {
		if !d.gone[e.Block] {
			m.say(e.Block, e.Text)
		}
	}
	m.tellMembers()
	step := d.plan()
	done := f.out.steps[len(f.out.steps)-1]
	raw, err := jsonspan.Splice(r.raw, append([]jsonspan.Edit{{Span: jsonspan.Span{End: f.end}, New: f.out.raw[:f.outEnd()]}}, step.edits...))
	if err != nil {
		return nil, nil, false
	}
	next, err := d.readBack(raw, step.edits, f)
	if next == nil || err != nil {
		return nil, nil, false
	}
	next.steps[len(next.steps)-1] = done.with(step, f)
	return next, m.changes, true
}

// outEnd is where the front ends.
func (f *front) outEnd() int { return f.out.t.Messages()[f.at].Span.End }

// with is the trail of a front, which is t's, and what was done behind it.
func (t *trail) with(rest *trail, f *front) *trail {
	edits, _ := slices.BinarySearchFunc(t.edits, f.end, func(e jsonspan.Edit, end int) int { return e.Start - end })
	all := &trail{
		messages: slices.Concat(t.messages[:f.at+1], rest.messages[f.upTo+1:]), inner: make(map[listKey][]origin, len(t.inner)+len(rest.inner)),
		edits: slices.Concat(t.edits[:edits], rest.edits),
	}
	for k, from := range t.inner {
		if k.message <= f.at {
			all.inner[k] = from
		}
	}
	for k, from := range rest.inner {
		k.message += f.at - f.upTo
		all.inner[k] = from
	}
	return all
}

// behind makes the carrier go on behind a front.
func (c *carrier) behind(f *front) bool {
	out := f.out
	ms := out.t.Messages()[:f.at+1]
	blocks := int(ms[f.at].End)
	c.messages = append(c.messages, ms...)
	c.blocks = append(c.blocks, out.t.Blocks()[:blocks]...)
	c.where = append(c.where, out.where[:blocks]...)
	c.extra = append(c.extra, out.extra[:f.at+1]...)
	c.frame = append(c.frame, out.frame[:f.at+1]...)
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
	from := c.d.t.Messages()[f.upTo].End
	for len(c.ties) > 0 && max(c.ties[0].From, c.ties[0].To) < from {
		c.ties = c.ties[1:]
	}
	for len(c.notes) > 0 && c.notes[0].message >= 0 && int(c.notes[0].message) <= f.upTo {
		c.notes = c.notes[1:]
	}
	c.turn, c.last, c.shift = ms[f.at].Turn, f.upTo, f.outEnd()-f.end
	if !c.Element() {
		return false
	}
	c.Seek(f.outEnd(), c.Depth())
	return true
}

// mustBe panics if a request is not what rewriting all of it gives.
func (r *Request) mustBe(fresh *Request) {
	a, b := r.steps[len(r.steps)-1], fresh.steps[len(fresh.steps)-1]
	if !bytes.Equal(r.raw, fresh.raw) || !slices.Equal(a.messages, b.messages) || !reflect.DeepEqual(a.inner, b.inner) || !reflect.DeepEqual(a.edits, b.edits) {
		panic(fmt.Sprintf("wire: %s is not what rewriting all of it gives, %s", r.raw, fresh.raw))
	}
	r.mustEqual(fresh)
}
