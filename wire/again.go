package wire

import (
	"slices"

	"github.com/pare-llm/pare/transcript"
)

// An echo is what stands behind the front of the last result and comes out again as it did:
// the same is done to these messages, whatever goes or comes in between. They are neither
// worded nor read a second time.
type echo struct {
	again []bool  // by message of the request that is rewritten
	at    []int32 // the same: which message of the last result it became, from 1 on; 0: none
	left  filed   // of the last result
	fresh int     // blocks that are dropped or edited in other messages
}

// echo finds the messages behind message after, which is message at of the last result, that
// come out as they did.
func (s *Scribe) echo(r *Request, drop []transcript.BlockID, edits []BlockEdit, after, at int) echo {
	n := min(len(r.t.Messages()), len(s.of.t.Messages()))
	e := echo{again: zeros(&s.desk.again, len(r.t.Messages())), at: zeros(&s.desk.at, len(r.t.Messages())), left: filed{s.out.ties, s.out.notes[s.out.listNotes:]}}
	for i := after + 1; i < n; i++ {
		e.again[i] = true
	}
	blocks := r.t.Blocks()
	other := func(b transcript.BlockID) {
		if int(b) < len(blocks) { // of the last one, which may have been longer
			e.again[blocks[b].Message] = false
		}
	}
	from := endOf(r.t.Messages(), after+1)
	a, b := behind(drop, from), behind(s.drop, from)
	for len(a) > 0 || len(b) > 0 {
		switch {
		case len(b) == 0 || len(a) > 0 && a[0] < b[0]:
			other(a[0])
			a = a[1:]
		case len(a) == 0 || b[0] < a[0]:
			other(b[0])
			b = b[1:]
		default:
			a, b = a[1:], b[1:]
		}
	}
	x, y := editsBehind(edits, from), editsBehind(s.edits, from)
	for len(x) > 0 || len(y) > 0 {
		switch {
		case len(y) == 0 || len(x) > 0 && x[0].Block < y[0].Block:
			other(x[0].Block)
			x = x[1:]
		case len(x) == 0 || y[0].Block < x[0].Block:
			other(y[0].Block)
			y = y[1:]
		default:
			if x[0].Text != y[0].Text {
				other(x[0].Block)
			}
			x, y = x[1:], y[1:]
		}
	}
	done := s.out.steps[len(s.out.steps)-1].messages
	for j := at + 1; j < len(done); j++ {
		if m := done[j].message; m < n {
			e.at[m] = int32(j + 1)
		}
	}
	return e
}

// behind are the blocks from one on.
func behind(all []transcript.BlockID, from transcript.BlockID) []transcript.BlockID {
	n, _ := slices.BinarySearch(all, from)
	return all[n:]
}

// editsBehind are the edits of blocks from one on.
func editsBehind(all []BlockEdit, from transcript.BlockID) []BlockEdit {
	n, _ := slices.BinarySearchFunc(all, from, func(e BlockEdit, b transcript.BlockID) int { return int(e.Block - b) })
	return all[n:]
}

// write makes the draft do what is new; messages that went before go again.
func (e *echo) write(m *mender, drop []transcript.BlockID, edits []BlockEdit) {
	d := m.draft
	d.echoes = e.again
	var fresh []transcript.BlockID
	for _, b := range drop {
		if i := d.t.Blocks()[b].Message; !e.again[i] {
			fresh = append(fresh, b)
		} else if e.at[i] == 0 {
			d.gone[b], d.messages.drop[i], d.left[i] = true, true, 0
		}
	}
	d.dropBlocks(fresh)
	e.fresh = len(fresh)
	for _, x := range edits {
		if !e.again[d.t.Blocks()[x.Block].Message] && !d.gone[x.Block] {
			m.say(x.Block, x.Text)
			e.fresh++
		}
	}
}

// join adds to a step what the last one did to the messages that come out as they did.
func (e *echo) join(d *draft, step, last *trail, f *front) {
	stays := func(i int) bool { return i >= 0 && i < len(e.again) && e.again[i] && !d.messages.drop[i] }
	all := f.desk.edits[:0]
	done := last.edits[last.editsTo(f.end):]
	rest, ms, i := step.edits, d.t.Messages(), f.from
	for _, x := range done {
		for i < len(ms) && ms[i].Span.End <= x.Start {
			i++
		}
		if i == len(ms) || x.Start < ms[i].Span.Start || !stays(i) {
			continue // between messages, or not of these
		}
		for len(rest) > 0 && compareEdits(rest[0], x) < 0 {
			all, rest = append(all, rest[0]), rest[1:]
		}
		all = append(all, x)
	}
	if len(all) > 0 {
		step.edits = append(all, rest...)
		f.desk.edits = step.edits // which are taken into a trail
	}
	if len(last.inner) == 0 {
		return
	}
	now := make([]int, len(ms)) // by message: which one it is now
	for j, o := range step.messages {
		now[o.message] = j
	}
	for k, from := range last.inner {
		if i := last.messages[k.message].message; stays(i) {
			step.inner[listKey{now[i], k.in}] = from
		}
	}
}

// known reports whether message i is in the last result as it is now.
func (f *front) known(i int) bool { return f != nil && f.echo.again[i] && f.echo.at[i] > 0 }

// again reports whether message i can be taken over from the last result.
func (c *carrier) again(i int) bool {
	return c.front.known(i) && c.sameFront(c.front.out, int(c.front.echo.at[i])-1)
}

// takeAgain takes message i over from the last result; it is at an offset now.
func (c *carrier) takeAgain(f *front, i, offset int) bool {
	j := int(f.echo.at[i]) - 1
	m := &f.out.t.Messages()[j]
	ours := f.echo.left.ours(j, m)
	return c.take(f.out, j, m, &shifts{by: offset - m.Span.Start}, ours)
}

// together returns the end of the run of messages from i on that come out as they did, and one
// behind the other as they did: what stands between them is the same, too.
func (c *carrier) together(i, end int) int {
	l, f := &c.d.messages, c.front
	if i == end || !c.again(i) {
		return i
	}
	n := i
	for n < end && f.known(n) && !l.drop[n] && (n == i || f.echo.at[n] == f.echo.at[n-1]+1) {
		n++
	}
	return n
}

// takeAgainAll takes messages over from the last result, which come out together.
func (c *carrier) takeAgainAll(from, end int) bool {
	was, out := c.d.t.Messages()[from:end], c.front.out
	a, n := int(c.front.echo.at[from])-1, end-from
	ms := out.t.Messages()[a : a+n]
	begin, behind := was[0].Span.Start, was[n-1].Span.End
	for len(c.edits) > 0 && c.edits[0].End <= begin {
		c.pass()
	}
	start := begin + c.shift
	for len(c.edits) > 0 && c.edits[0].End <= behind && c.edits[0].Start < behind {
		c.pass()
	}
	shift := start - (out.End(a) - ms[0].Span.Len())
	if len(c.edits) > 0 && c.edits[0].Start < behind || out.End(a+n-1)+shift != behind+c.shift {
		return false
	}
	if c.loose() {
		for i := a; i < a+n; i++ {
			c.ends = append(c.ends, out.End(i)+shift)
		}
		shift = 0 // they stay where they are
	} else if !c.Element() || c.Offset() != start {
		return false
	}
	c.left.of(from, end, was[0].First, was[n-1].End)
	c.front.again = append(c.front.again, transcript.Run{Now: len(c.messages), Was: a, N: n})
	c.run(out, a, a+n, shift, c.front.echo.left.of(a, a+n, ms[0].First, ms[n-1].End))
	return true
}
