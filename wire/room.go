package wire

import "github.com/pare-llm/pare/transcript"

// A room is the memory of a lent result. The next one but two is written there again: what
// both begin with stays where it is.
type room struct {
	ends    []int // see loose
	pages   pages
	whole   pages // all memory of the pages, which may begin later
	builder transcript.Builder
	trail   trail // its messages and edits
	holds   *Request
	tail    transcript.Run // many messages of the scribe's last result: which the room holds, and where
	// The first so many messages, blocks and edits are those of the scribe's last result.
	messages, blocks, edits int
}

// hold notes the memory that pages lie in, which they may have left.
func (w *pages) hold(p *pages) {
	w.messages, w.extra, w.frame = memory(p.messages, w.messages), memory(p.extra, w.extra), memory(p.frame, w.frame)
	w.blocks, w.where = memory(p.blocks, w.blocks), memory(p.where, w.where)
}

// A desk is memory that a rewriting works with and the next one works with again.
type desk struct {
	gone, settled, taken, touched, drop []bool // see draft; nothing is set but in what is in use
	left                                []int
	used                                []used
	other                               []transcript.BlockID
	others                              []int
	known                               []stretch
}

// What a draft has looked at: messages and their blocks.
type used struct {
	from, end   int
	first, last transcript.BlockID
}

// clean makes room for so many messages and blocks, of which nothing is set. As little is cleared
// as the last draft has looked at.
func (k *desk) clean(messages, blocks int) {
	if messages <= len(k.drop) && blocks <= len(k.gone) {
		for _, u := range k.used {
			clear(k.gone[u.first:u.last])
			clear(k.settled[u.first:u.last])
			clear(k.taken[u.from:u.end])
			clear(k.touched[u.from:u.end])
			clear(k.drop[u.from:u.end])
		}
		k.used = k.used[:0]
		return
	}
	if k.used != nil { // and it will grow again
		messages, blocks = messages+messages/2, blocks+blocks/2
	}
	flags := make([]bool, 2*blocks+3*messages) // one array for all of them
	of := func(n int) (part []bool) { part, flags = flags[:n:n], flags[n:]; return part }
	k.gone, k.settled, k.taken, k.touched, k.drop = of(blocks), of(blocks), of(messages), of(messages), of(messages)
	k.left, k.used = make([]int, messages), k.used[:0]
}

// use notes that messages are looked at.
func (k *desk) use(ms []transcript.Message, from, end int) {
	k.used = append(k.used, used{from, end, endOf(ms, from), endOf(ms, end)})
}

// free returns the room for the next result. The last one stays where it is, and so does the
// last one for the request before.
func (s *Scribe) free(r *Request) *room {
	if !s.Lend {
		return nil
	}
	if r != s.asked {
		s.held, s.asked = s.in, r
	}
	for i := range s.rooms {
		if q := &s.rooms[i]; q != s.held && q != s.in {
			return q
		}
	}
	return nil
}

// moved notes that the last result has this front in common with the one before and stands
// in a room; if there is no front, nothing is known of any room.
func (s *Scribe) moved(f *front, in *room, next *Request) {
	messages, blocks, edits := 0, 0, 0
	s.since, s.again = nil, nil
	if f != nil {
		s.since, s.again = f.out, f.again
		messages, blocks = f.at+1, int(endOf(f.out.t.Messages(), f.at+1))
		edits = editsTo(f.trail().edits, f.end)
	}
	for i := range s.rooms {
		q := &s.rooms[i]
		q.messages, q.blocks, q.edits = min(q.messages, messages), min(q.blocks, blocks), min(q.edits, edits)
		q.tail = f.longest(q.tail)
	}
	if s.in = in; in != nil {
		in.holds, in.messages, in.blocks = next, len(next.t.Messages()), len(next.t.Blocks())
		in.tail = transcript.Run{N: in.messages}
		in.edits, next.lent = len(in.trail.edits), s
	}
}

// runs are all messages that were taken over from the last result, in order.
func (f *front) runs() []transcript.Run {
	return append([]transcript.Run{{N: f.at + 1}}, f.again...)
}

// longest is as much as there is in one piece of a run of messages of the last result in the next
// one.
func (f *front) longest(r transcript.Run) (best transcript.Run) {
	if f == nil || r.N == 0 {
		return best
	}
	for _, x := range f.runs() {
		lo, hi := max(r.Now, x.Was), min(r.Now+r.N, x.Was+x.N)
		if hi-lo > best.N {
			best = transcript.Run{Now: lo + x.Now - x.Was, Was: lo + r.Was - r.Now, N: hi - lo}
		}
	}
	return best
}

// Same is how many messages a lent request is known to have in common with another one of
// its scribe's, from the first one on. There may be more.
func (r *Request) Same(o *Request) int {
	if s := r.lent; s != nil && s == o.lent && s.out == r {
		for i := range s.rooms {
			if s.rooms[i].holds == o {
				return s.rooms[i].messages
			}
		}
	}
	return 0
}

// tidy gathers the last result if most of the bytes that it lies in are of none any more.
func (s *Scribe) tidy() {
	const much = 1 << 19
	if s.of == nil || s.out.loose == nil || len(s.out.raw) <= 2*s.out.Size()+much {
		return
	}
	s.out = s.out.gatheredWith(cap(s.out.raw)) // they will be as many again
	for i := range s.rooms {                   // where messages lie there, they do not any more
		s.rooms[i].messages, s.rooms[i].blocks, s.rooms[i].tail = 0, 0, transcript.Run{}
	}
}
