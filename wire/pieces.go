package wire

import (
	"io"
	"slices"
	"sync/atomic"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
)

// A large body need not be in memory twice to be changed. If there is room behind it, messages that
// change are written there, and the result is a loose request over the same memory. Its body is that
// of the request at its base, with edits: it is written in pieces. What is made of such a result goes
// behind it again; positions are those in the body as long as edits are planned, and those in memory
// as long as somebody looks at the bytes.

// base is the request in one piece that r is made of, or r itself.
func (r *Request) base() *Request {
	if r.loose != nil {
		return r.loose.of
	}
	return r
}

// WriteTo writes the bytes of the request: those that [Request.Raw] returns, which need not be put
// together for that.
func (r *Request) WriteTo(w io.Writer) (n int64, err error) {
	write := func(raw []byte) {
		if err == nil && len(raw) > 0 {
			var k int
			k, err = w.Write(raw)
			n += int64(k)
		}
	}
	if r.loose == nil {
		write(r.Raw())
		return n, err
	}
	raw, at := r.loose.of.raw, 0
	for _, e := range r.loose.edits {
		write(raw[at:e.Start])
		write(e.New)
		at = e.End
	}
	write(raw[at:])
	return n, err
}

// place is where message i stands in the body.
func (r *Request) place(i int) transcript.Span {
	at := r.t.Messages()[i].Span
	if r.loose != nil {
		end := r.loose.ends[i]
		return transcript.Span{Start: end - at.Len(), End: end}
	}
	return at
}

// whereList is where the list stands in the body.
func (r *Request) whereList() transcript.Span {
	if r.loose == nil {
		return r.list
	}
	return transcript.Span{Start: r.loose.of.list.Start, End: r.loose.of.list.End + r.loose.grown}
}

// between returns what a list wants to know of the bytes between messages that lie anywhere; nil if
// they do not.
func (r *Request) between() func(i int) []byte {
	if r.loose == nil {
		return nil
	}
	edits, shift := r.loose.edits, 0 // that are still to come
	at := 0
	return func(i int) []byte {
		s := transcript.Span{Start: r.loose.of.list.Start + 1, End: r.place(i + 1).Start}
		if i >= 0 {
			s.Start = r.loose.ends[i]
		}
		if s.Start < at { // mostly they are asked for in order
			edits, shift = r.loose.edits, 0
		}
		at = s.Start
		return part(r.loose.of.raw, &edits, &shift, s)
	}
}

// part returns a part of what edits make of raw. It passes those in front of it.
func part(raw []byte, edits *[]jsonspan.Edit, shift *int, s transcript.Span) (out []byte) {
	for len(*edits) > 0 && (*edits)[0].Start+*shift+len((*edits)[0].New) <= s.Start {
		*shift += len((*edits)[0].New) - (*edits)[0].Len()
		*edits = (*edits)[1:]
	}
	at, by := s.Start, *shift // in what is made, and from there to raw
	for _, e := range *edits {
		begin := e.Start + by
		if begin >= s.End {
			break
		}
		if at < begin {
			out = append(out, raw[at-by:e.Start]...)
			at = begin
		}
		end := min(begin+len(e.New), s.End)
		out = append(out, e.New[at-begin:end-begin]...)
		at, by = end, by+len(e.New)-e.Len()
	}
	if at < s.End {
		out = append(out, raw[at-by:s.End-by]...)
	}
	return out
}

// inBody moves edits to where they are in the body: they come as the bytes lie.
func (d *draft) inBody(edits []jsonspan.Edit) []jsonspan.Edit {
	if d.loose == nil {
		return edits
	}
	if d.lie == nil {
		d.lie = make([]int, len(d.t.Messages()))
		for i := range d.lie {
			d.lie[i] = i
		}
		ms := d.t.Messages()
		slices.SortFunc(d.lie, func(a, b int) int { return ms[a].Span.Start - ms[b].Span.Start })
	}
	all := slices.Clone(edits)
	for k := range all {
		by := d.from(all[k].Start)
		all[k].Start, all[k].End = all[k].Start+by, all[k].End+by
	}
	slices.SortStableFunc(all, compareEdits)
	return all
}

// from is how far something that lies there is from its place in the body.
func (d *draft) from(start int) int {
	of, ms := d.loose.of, d.t.Messages()
	switch {
	case start <= of.list.Start:
		return 0
	case start >= of.list.End && start <= len(of.raw):
		return d.loose.grown
	}
	n, found := slices.BinarySearchFunc(d.lie, start, func(i, start int) int { return ms[i].Span.Start - start })
	if !found {
		n--
	}
	return d.loose.ends[d.lie[n]] - ms[d.lie[n]].Span.End
}

// splice writes the body with edits.
func (d *draft) splice(edits []jsonspan.Edit) ([]byte, error) {
	return jsonspan.Splice(d.base().raw, d.sinceBase(edits))
}

// sinceBase are the edits of the base that come to those of the one before and these.
func (d *draft) sinceBase(edits []jsonspan.Edit) []jsonspan.Edit {
	if d.loose == nil {
		return edits
	}
	return jsonspan.Compose(len(d.loose.of.raw), d.loose.edits, edits)
}

// takeRoom takes the room behind the request for its changes. It has one, for one result.
func (d *draft) takeRoom(edits []jsonspan.Edit) bool {
	return d.o.Room && cap(d.raw) > len(d.raw) && !d.borrowed && len(d.t.Messages()) > 0 && d.carries(edits) &&
		atomic.CompareAndSwapUint32(&d.Request.used, 0, 1)
}

// expect makes room for the index, which is about as large as that of what stays.
func (c *carrier) expect() {
	ms := len(c.d.messages.put)
	blocks := ms
	for i, m := range c.d.t.Messages() {
		if !c.d.messages.drop[i] {
			ms, blocks = ms+1, blocks+int(m.End-m.First)
		}
	}
	c.messages, c.extra, c.frame = slices.Grow(c.messages, ms), slices.Grow(c.extra, ms), slices.Grow(c.frame, ms)
	c.blocks, c.where, c.ends = slices.Grow(c.blocks, blocks), slices.Grow(c.where, blocks), slices.Grow(c.ends, ms)
	c.parser.notes, c.parser.ties = slices.Grow(c.parser.notes, len(c.d.notes)), slices.Grow(c.parser.ties, len(c.d.ties))
}

// insert files a new message.
func (c *carrier) insert(it *item) bool {
	if !c.stay {
		return c.read()
	}
	for len(c.gaps.edits) > 0 && c.gaps.edits[0].Start < it.gap {
		c.gaps.by += len(c.gaps.edits[0].New) - c.gaps.edits[0].Len()
		c.gaps.edits = c.gaps.edits[1:]
	}
	c.ends = append(c.ends, it.gap+c.gaps.by+it.at+len(it.raw))
	if !c.begin(len(it.raw)) {
		return false
	}
	start := len(c.raw)
	c.raw = append(c.raw, it.raw...)
	return c.readLoose(start, len(c.raw))
}

// begin begins to write so many bytes behind everything else; false if there is no room.
func (c *carrier) begin(size int) bool {
	if cap(c.raw)-len(c.raw) <= size {
		return false
	}
	c.raw = append(c.raw, ' ') // so that nothing adjoins
	return true
}

// messageBehind files message i of the one before with edits, in their places in the body.
func (c *carrier) messageBehind(i int, m *transcript.Message, ours filed, edits []jsonspan.Edit) bool {
	place := c.d.place(i)
	if len(edits) > 0 && edits[0].Start < place.Start {
		return false
	}
	c.ends = append(c.ends, place.End+c.shift)
	if len(edits) == 0 { // it stands behind another one
		return c.readLoose(m.Span.Start, m.Span.End)
	}
	size, by := m.Span.Len(), m.Span.Start-place.Start
	edits = slices.Clone(edits)
	for k := range edits {
		e := &edits[k]
		size += len(e.New) - e.Len()
		e.Start, e.End = e.Start+by, e.End+by
	}
	if !c.begin(max(size, m.Span.Len())) {
		return false
	}
	start := c.write(m, edits)
	if !c.sameFront(c.d.Request, i) || !c.d.rewords(m, edits, ours.notes) {
		return c.readLoose(start, len(c.raw))
	}
	return c.take(c.d.Request, i, m, &shifts{by: start - m.Span.Start, edits: edits}, ours)
}

// loosely is what makes a loose request of what was filed.
func (c *carrier) loosely() *loose {
	l := &loose{of: c.d.base(), ends: c.ends, edits: c.d.sinceBase(c.planned)}
	for _, e := range l.edits {
		l.grown += len(e.New) - e.Len()
	}
	return l
}
