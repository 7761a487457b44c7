package replay

import (
	"bytes"
	"slices"
	"sort"

	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// A view is the first n messages of a request, and what each of them costs.
type view struct {
	r    *wire.Request
	n    int
	sums []int         // by number of messages: what the first ones cost
	of   *wire.Request // that it is sent instead of; nil: it is the history itself
}

// start is the first message that the provider reads: the one with its last compaction.
func (v *view) start() int {
	t := v.r.Transcript()
	for i := v.n - 1; i > 0 && t.IsCompacted(); i-- {
		if compacts(t, i) {
			return i
		}
	}
	return 0
}

// compacts reports whether message i holds the provider's own compaction.
func compacts(t *transcript.Transcript, i int) bool {
	m := t.Messages()[i]
	return t.IsCompacted() && slices.ContainsFunc(t.Blocks()[m.First:m.End], func(b transcript.Block) bool { return b.Kind == transcript.Compaction })
}

// original is a message of the history that message i is, byte for byte: the one that it was
// made from, or the one as far from the end; -1: neither is.
func (v *view) original(whole *wire.Request, i int) int {
	for _, m := range [2]int{dialect.MessageIn(v.r, v.of, i), len(v.of.Transcript().Messages()) - v.n + i} {
		if m >= 0 && m < len(v.of.Transcript().Messages()) && bytes.Equal(v.message(i), whole.Transcript().Bytes(whole.Transcript().Messages()[m].Span)) {
			return m
		}
	}
	return -1
}

// cost is what message i costs. If it was sent before, that is known, and so it is of blocks that
// are those of the history.
func (v *view) cost(p *player, before *view, i int) int {
	if m := v.original(p.walk.whole, i); m >= 0 {
		return p.costs[m]
	}
	if before != nil && before.of != nil {
		if j := before.madeOf(dialect.MessageIn(v.r, v.of, i)); j >= 0 && bytes.Equal(before.message(j), v.message(i)) {
			return before.from(j, j+1)
		}
	}
	n := dialect.FrameTokens(p.setting.Counter)
	t, whole, is := v.r.Transcript(), p.walk.whole.Transcript(), v.r.Transcript().Messages()[i]
	var was transcript.Message
	if m := dialect.MessageIn(v.r, v.of, i); m >= 0 {
		was = whole.Messages()[m]
	}
	for b := is.First; b < is.End; b++ {
		// As many as are gone may stand in front of the one that it is; of a few that is looked up.
		at, few := was.First, min(was.First+max(was.End-was.First-(is.End-b), 0)+1, was.First+8, was.End)
		for at < few && !sameBlock(t, t.Block(b), whole, whole.Block(at)) {
			at++
		}
		if at < few {
			n += p.blocks[at]
			was.First = at + 1
			continue
		}
		n += dialect.BlockTokens(v.r, p.setting.Counter, b)
		was.First = min(was.First+1, was.End)
	}
	return n
}

// sameBlock reports whether two blocks are the same, byte for byte, and all that they say is inside.
func sameBlock(t *transcript.Transcript, a transcript.Block, u *transcript.Transcript, b transcript.Block) bool {
	from, to := a.Body.Start-a.Span.Start, a.Span.End-a.Body.End
	return from > 0 && to > 0 && from == b.Body.Start-b.Span.Start && to == b.Span.End-b.Body.End && a.Kind == b.Kind && a.Tool == b.Tool &&
		bytes.Equal(t.Bytes(a.Span), u.Bytes(b.Span))
}

// madeOf finds a message that was made of message m; -1: there is none in order.
func (v *view) madeOf(m int) int {
	j := sort.Search(v.n, func(j int) bool { return dialect.MessageIn(v.r, v.of, j) >= m })
	if m < 0 || j == v.n || dialect.MessageIn(v.r, v.of, j) != m {
		return -1
	}
	return j
}

// from is what the messages from one up to another cost.
func (v *view) from(first, end int) int { return v.sums[end] - v.sums[first] }

func (v *view) message(i int) []byte {
	return v.r.Transcript().Bytes(v.r.Transcript().Messages()[i].Span)
}

// shared is how many messages two requests begin with in common; -1 if not even
// what stands beside the list is the same.
func (v *view) shared(w *view) int {
	n := min(v.n, w.n)
	if v.r == w.r {
		return n
	}
	a, b := around(v.r)
	c, d := around(w.r)
	if !bytes.Equal(a, c) || !bytes.Equal(b, d) {
		return -1
	}
	for i := range n {
		if !bytes.Equal(v.message(i), w.message(i)) {
			return i
		}
	}
	return n
}

// bytes is how long the request is, and how much of that are the head and the first
// few messages.
func (v *view) bytes(first int) (all, beginning int) {
	before, behind := around(v.r)
	upTo := func(n int) int {
		if n == 0 {
			return len(before) + len(behind)
		}
		return v.r.Transcript().Messages()[n-1].Span.End + len(behind)
	}
	return upTo(v.n), upTo(max(first, 0))
}

// around returns the bytes in front of the first message of a request and behind the last one.
func around(r *wire.Request) (before, behind []byte) {
	ms := r.Transcript().Messages()
	if len(ms) == 0 {
		return r.Raw(), nil
	}
	return r.Raw()[:ms[0].Span.Start], r.Raw()[ms[len(ms)-1].Span.End:]
}
