package wire

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
)

// proveCarried is set by tests, also by those of package pare: every index that was carried over is compared with a fresh
// reading of the same bytes.
var proveCarried bool

// A carrier makes the index of a changed request from that of the one before. Messages
// that no edit touches are taken over, with their places shifted; the others, and new ones,
// are read.
type carrier struct {
	*parser
	d     *draft
	edits []jsonspan.Edit  // that are still to come
	shift int              // by how much those in front have moved everything behind them
	left  filed            // of the one before
	runs  []transcript.Run // of messages that were taken over as they are
}

// carryOver returns the changed request, or false if all of it has to be read: because its
// head changed, or the scanner has flaws to tell, or an element of the dialect cannot be
// read by itself.
func (d *draft) carryOver(raw []byte, o Options, edits []jsonspan.Edit) (*Request, bool) {
	if !d.carries(edits) {
		return nil, false
	}
	if next, ok := d.reworded(raw, edits); ok {
		next.o = o
		return next, true
	}
	p := parsers.Get().(*parser)
	defer p.release()
	p.reset(raw, d.Dialect, jsonspan.Structural)
	p.Reset(raw, jsonspan.Structural) // not ahead: most of it is not read
	c := &carrier{parser: p, d: d, edits: edits, left: filed{d.ties, d.notes[d.listNotes:]}}
	c.head, c.bare = d.head, d.bare
	if d.borrowed {
		c.head.tools, c.head.deferred = maps.Clone(c.head.tools), maps.Clone(c.head.deferred)
		c.head.betas = slices.Clone(c.head.betas)
	}
	p.notes = append(p.notes, d.notes[:d.listNotes]...)
	c.listNotes = d.listNotes
	if !c.messagesOver() {
		return nil, false
	}
	p.notes = append(p.notes, c.left.notes...) // what is left is about the head
	c.head.said = d.saidAfter(len(raw) - len(d.raw))
	next := c.requestBy(d.Profile, c.pair)
	next.o = o
	return next, true
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

// pair pairs what was filed, as far as that was not done in the one before.
func (c *carrier) pair(x transcript.Index) *transcript.Transcript {
	if c.d.borrowed {
		return transcriptx.New(x)
	}
	return transcriptx.NewAfter(x, c.d.t, c.runs)
}

// beyond reports whether an edit reaches out of the list.
func (d *draft) beyond(edits []jsonspan.Edit) bool {
	list := d.messages.span
	return len(edits) > 0 && (edits[0].Start <= list.Start || edits[len(edits)-1].End >= list.End)
}

// carries reports whether the index of the changed request can be made from this one's.
func (d *draft) carries(edits []jsonspan.Edit) bool {
	return d.g.apart && len(d.flaws) == 0 && d.head.listKind == jsonspan.Array && !d.beyond(edits) && !d.shares
}

// messagesOver files all messages, in their new order.
func (c *carrier) messagesOver() bool {
	c.list.Start = c.d.list.Start
	depth := 1
	if c.bare {
		depth = 0
	}
	c.Seek(c.list.Start, depth)
	c.Enter()
	l := &c.d.messages
	puts, n := sortedKeys(l.put), l.len()
	for i := 0; i <= n; {
		for len(puts) > 0 && puts[0] < i {
			puts = puts[1:]
		}
		end := n // of what nothing is put into
		if len(puts) > 0 && puts[0] == i {
			for range l.put[i] {
				if !c.read() {
					return false
				}
			}
			puts = puts[1:]
		}
		if len(puts) > 0 {
			end = puts[0]
		}
		if i == n {
			break
		}
		var ok bool
		if i, ok = c.several(i, end); !ok {
			return false
		}
	}
	c.left.of(n, n, transcript.BlockID(len(c.d.t.Blocks())), 0) // without those of what goes
	if c.Element() || c.Failed() || c.asked != nil {
		return false
	}
	c.list.End = c.Offset()
	return true
}

// read reads the element that comes next.
func (c *carrier) read() bool {
	if !c.Element() {
		return false
	}
	c.element()
	return !c.Failed()
}

// message files message i of the one before, if it stays.
func (c *carrier) message(i int) bool {
	m := &c.d.t.Messages()[i]
	place := m.Span
	for len(c.edits) > 0 && c.edits[0].End <= place.Start {
		c.pass()
	}
	moved := shifts{by: c.shift, edits: c.edits}
	for len(c.edits) > 0 && c.edits[0].End <= place.End && c.edits[0].Start < place.End {
		c.pass()
	}
	moved.edits = moved.edits[:len(moved.edits)-len(c.edits)]
	beyond := len(c.edits) > 0 && c.edits[0].Start < place.End
	if c.d.messages.drop[i] {
		c.left.ours(i, m)
		return true
	}
	ours := c.left.ours(i, m)
	switch {
	case beyond || !c.sameFront(c.d.Request, i) || !c.d.rewords(m, moved.edits, ours.notes):
		return c.read()
	default:
		return c.take(c.d.Request, i, m, &moved, ours)
	}
}

// several takes message i over, and as many behind it as can be taken at once, up to end.
func (c *carrier) several(i, end int) (next int, ok bool) {
	if n := c.untouched(i, end); n > i {
		return n, c.takeRun(i, n)
	}
	return i + 1, c.message(i)
}

// untouched returns the end of the run of messages from i on that stay as they are.
func (c *carrier) untouched(i, end int) int {
	ms, drop := c.d.t.Messages(), c.d.messages.drop[:end]
	for len(c.edits) > 0 && c.edits[0].End <= ms[i].Span.Start {
		c.pass()
	}
	until := math.MaxInt
	if len(c.edits) > 0 {
		until = c.edits[0].Start
	}
	n := i
	for n < end && !drop[n] && ms[n].Span.End <= until {
		n++
	}
	if n > i && !c.sameFront(c.d.Request, i) {
		return i
	}
	return n
}

// takeRun takes messages over that stay as they are.
func (c *carrier) takeRun(from, end int) bool {
	ms := c.d.t.Messages()[from:end]
	if !c.Element() || c.Offset() != ms[0].Span.Start+c.shift {
		return false
	}
	c.runs = append(c.runs, transcript.Run{Now: len(c.messages), Was: from, N: end - from})
	c.run(c.d.Request, from, end, c.shift, c.left.of(from, end, ms[0].First, ms[len(ms)-1].End))
	return true
}

// file files ties and notes that are those of messages and blocks with other numbers.
func (c *carrier) file(o filed, older int, by transcript.BlockID) {
	for _, t := range o.ties {
		c.parser.ties = append(c.parser.ties, transcript.Tie{From: t.From + by, To: t.To + by, Mutual: t.Mutual})
	}
	for _, n := range o.notes {
		n.message += int32(older)
		if n.block >= 0 {
			n.block += int32(by)
		}
		c.parser.notes = append(c.parser.notes, n)
	}
}

// shifts say by how much the parts of a message have moved: all of it, and what stands
// behind edits.
type shifts struct {
	by    int
	edits []jsonspan.Edit
}

// moved is where a span around edits is now, or beside them.
func (m *shifts) moved(s transcript.Span) transcript.Span {
	if s == (transcript.Span{}) { // there is none
		return s
	}
	to := transcript.Span{Start: s.Start + m.by, End: s.End + m.by}
	for _, e := range m.edits {
		if e.End <= s.Start {
			to.Start += len(e.New) - e.Len()
		}
		if e.Start < s.End {
			to.End += len(e.New) - e.Len()
		}
	}
	return to
}

// block moves the next block, of whose text an edit may have made another.
func (m *shifts) block(b *transcript.Block) {
	for len(m.edits) > 0 && m.edits[0].End <= b.Span.Start {
		m.by += len(m.edits[0].New) - m.edits[0].Len()
		m.edits = m.edits[1:]
	}
	grown := 0
	if len(m.edits) > 0 && m.edits[0].Start < b.Span.End {
		grown = len(m.edits[0].New) - m.edits[0].Len()
	}
	b.Span = transcript.Span{Start: b.Span.Start + m.by, End: b.Span.End + m.by + grown}
	b.Body = transcript.Span{Start: b.Body.Start + m.by, End: b.Body.End + m.by + grown}
}

// pass goes on to the next edit.
func (c *carrier) pass() {
	c.shift += len(c.edits[0].New) - c.edits[0].Len()
	c.edits = c.edits[1:]
}

// take takes message i of a request over.
func (c *carrier) take(of *Request, i int, m *transcript.Message, s *shifts, o filed) bool {
	if !c.Element() || c.Offset() != m.Span.Start+s.by {
		return false
	}
	c.startMessage(m.Role, m.Span.Start+s.by, 0)
	at := len(c.messages) - 1
	to := &c.messages[at]
	first := to.First
	*to = *m
	to.Span, to.First, to.End = s.moved(m.Span), first, first+m.End-m.First
	to.Turn = c.turnOf(m.Role)
	c.turn = to.Turn
	c.extra[at] = of.extra[i]
	c.setShown(at)
	c.frame[at] = frame{s.moved(of.frame[i].content), s.moved(of.frame[i].calls)}
	for b := m.First; b < m.End; b++ {
		blk := of.t.Block(b)
		s.block(&blk)
		c.block(blk, of.where[b])
	}
	c.led(at)
	c.file(o, at-i, first-m.First)
	c.Seek(to.Span.End, c.Depth())
	return true
}

// mustEqual panics if a request that was carried over is not what a fresh reading gives.
func (r *Request) mustEqual(fresh *Request) {
	for _, e := range []struct {
		what string
		same bool
	}{
		{"head", reflect.DeepEqual(r.head, fresh.head)}, {"profile", reflect.DeepEqual(r.Profile, fresh.Profile)},
		{"list", r.list == fresh.list && r.bare == fresh.bare && r.Dialect == fresh.Dialect},
		{"messages", slices.Equal(r.t.Messages(), fresh.t.Messages())}, {"blocks", slices.Equal(r.t.Blocks(), fresh.t.Blocks())},
		{"places", slices.Equal(r.where, fresh.where)}, {"facts", slices.Equal(r.extra, fresh.extra)}, {"frames", slices.Equal(r.frame, fresh.frame)},
		{"ties", slices.Equal(r.ties, fresh.ties)}, {"all ties", slices.Equal(transcriptx.Ties(r.t), transcriptx.Ties(fresh.t))},
		{"notes", slices.Equal(r.notes, fresh.notes) && r.listNotes == fresh.listNotes}, {"flaws", slices.Equal(r.flaws, fresh.flaws)},
		{"exchanges", slices.EqualFunc(r.t.Exchanges(), fresh.t.Exchanges(), func(a, b transcript.Exchange) bool { return reflect.DeepEqual(a, b) })}, {"options", r.o == fresh.o},
	} {
		if !e.same {
			panic(fmt.Sprintf("wire: %s are not what a reading gives, of %s", e.what, r.raw))
		}
	}
	for _, o := range []CheckOptions{{}, {Strict: true}, {Advice: true}, {Strict: true, Advice: true}} {
		if r.clean&o.bit() != 0 && len(fresh.Check(o)) > 0 {
			panic(fmt.Sprintf("wire: %v are found in what was taken for clean, %s", fresh.Check(o), r.raw))
		}
	}
}
