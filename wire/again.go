package wire

import (
	"slices"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
)

// A stretch is messages in a row to which the same is done as the last time, whatever goes or
// comes around them. What stays of them is neither worded nor read a second time.
type stretch struct {
	from, end   int // of the request that is rewritten
	first, last int // the first and the last of them that stay
	at, n       int // those that stay, in the last result
}

// others lists the messages of some blocks, which are in order, that the request and the last one
// have in common.
func (s *Scribe) others(r *Request, blocks []transcript.BlockID) []int {
	all, common := s.desk.others[:0], r.t.Blocks()[:min(len(r.t.Blocks()), len(s.of.t.Blocks()))]
	for _, b := range blocks {
		if int(b) < len(common) {
			all = append(all, common[b].Message)
		}
	}
	s.desk.others = all
	return slices.Compact(all)
}

// stretches lists what lies between other messages, and in front of the first n.
func (s *Scribe) stretches(others []int, n int) []stretch {
	done := s.out.steps[len(s.out.steps)-1].messages
	all, from, at := s.desk.known[:0], 0, 0
	until := func(end int) {
		k := at + upTo(done[at:], end)
		if x := (stretch{from: from, end: end, at: at, n: k - at}); from < end {
			if x.n > 0 {
				x.first, x.last = done[at].message, done[k-1].message
			}
			all = append(all, x)
		}
		at = k
	}
	for _, m := range others {
		until(m)
		for from = m + 1; at < len(done) && done[at].message < from; {
			at++
		}
	}
	until(n)
	s.desk.known = all
	return all
}

// upTo is how many of some messages were in front of message m.
func upTo(all []origin, m int) int {
	return near(all, func(o *origin) bool { return o.message < m })
}

// near is how many elements come in front of one that probably is near the beginning.
func near[T any](all []T, before func(*T) bool) int {
	n := 1
	for n < len(all) && before(&all[n]) {
		n *= 2
	}
	lo, hi := n/2, min(n, len(all))
	for lo < hi {
		if mid := (lo + hi) / 2; before(&all[mid]) {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// write makes the draft do what is not known.
func (f *front) write(m *mender, drop []transcript.BlockID, edits []BlockEdit) {
	ms := m.t.Messages()
	for from, end := range m.messages.open() {
		first, last := endOf(ms, from), endOf(ms, end)
		drop, edits = behind(drop, first), editsBehind(edits, first)
		gone := drop[:len(drop)-len(behind(drop, last))]
		m.dropBlocks(gone)
		f.fresh += len(gone)
		for _, x := range edits {
			if x.Block >= last {
				break
			}
			if !m.gone[x.Block] {
				m.say(x.Block, x.Text)
				f.fresh++
			}
		}
	}
}

// origins adds to a trail what stays of a stretch.
func (f *front) origins(t *trail, s *stretch) {
	now, last, same := len(t.messages), f.trail(), 0
	if f.in != nil {
		same = f.in.messages
	}
	t.messages = extend(t.messages, last.messages, s.at, s.at+s.n, same)
	for k, from := range last.inner {
		if k.message >= s.at && k.message < s.at+s.n {
			t.inner[listKey{k.message + now - s.at, k.in}] = from
		}
	}
}

// edits adds to edits what was done to stretches.
func (f *front) edits(rest []jsonspan.Edit) []jsonspan.Edit {
	if f == nil {
		return rest
	}
	var all []jsonspan.Edit
	last, at, same := f.trail().edits, 0, 0
	if f.in != nil {
		all, same = f.in.trail.edits[:0], f.in.edits
	}
	for i := range f.known {
		s := &f.known[i]
		if s.n == 0 {
			continue
		}
		ms := f.of.t.Messages()
		begin, end := ms[s.first].Span.Start, ms[s.last].Span.End
		n := editsTo(rest, begin)
		all, rest = append(all, rest[:n]...), rest[n:]
		from := at + editsTo(last[at:], begin)
		at = from + editsTo(last[from:], end)
		all = extend(all, last, from, at, same)
	}
	return append(all, rest...)
}

// extend adds a part of another list. The first so many are the same in both; they need not be
// copied.
func extend[T any](to, from []T, a, b, same int) []T {
	if len(to) == a {
		if same = min(same, b); same > a {
			to, a = to[:same], same
		}
	}
	return append(to, from[a:b]...)
}

// stretch takes over what stays of messages that come out as they did. Where they stand behind
// something else than they did, the first of them may have to be read.
func (c *carrier) stretch(s *stretch) bool {
	for a, end := s.at, s.at+s.n; a < end; a++ {
		if c.sameFront(c.front.out, a) {
			return c.takeAgainAll(a, end)
		}
		i := c.front.trail().messages[a].message
		if _, ok := c.several(i, i+1); !ok {
			return false
		}
	}
	return true
}

// takeAgainAll takes messages a to end over from the last result: with what stands between them they
// come out as they did.
func (c *carrier) takeAgainAll(a, end int) bool {
	out, from := c.front.out, c.front.trail().messages
	ms, was := out.t.Messages()[a:end], c.d.t.Messages()
	i, j := from[a].message, from[end-1].message
	for len(c.edits) > 0 && c.edits[0].End <= was[i].Span.Start {
		c.pass()
	}
	start := was[i].Span.Start + c.shift
	shift := start - (out.End(a) - ms[0].Span.Len())
	c.edits, c.shift = c.edits[editsTo(c.edits, was[j].Span.End):], out.End(end-1)+shift-was[j].Span.End
	if c.loose() {
		c.end(out, a, end, shift)
		shift = 0 // they stay where they are
	} else if !c.Element() || c.Offset() != start {
		return false
	}
	c.left.of(i, j+1, was[i].First, was[j].End)
	c.front.again = append(c.front.again, transcript.Run{Now: len(c.messages), Was: a, N: end - a})
	c.run(out, a, end, shift, c.front.left.of(a, end, ms[0].First, ms[len(ms)-1].End))
	return true
}
