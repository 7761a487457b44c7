package ladder

import (
	"bytes"
	"maps"
	"slices"

	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// A Memory is what was worked out for one request of a conversation, as far as it is true
// for the next one: what blocks cost, and what a stable window did. It changes nothing but
// the time that takes. It belongs to one window, counter and set of rules, and to one
// goroutine at a time. The zero value knows nothing.
type Memory struct {
	// Lend hands over what was worked out instead of a copy: nobody asks a ladder for costs
	// or texts once the next one stands.
	Lend bool

	request *wire.Request
	ours    []bool
	reserve int
	costs   []cost
	cleared []string // by block: placeholders; nil: none
	short   map[transcript.BlockID]shortened
	past    *remembered // at the last request but one; nil: a stable window had done nothing
	latest  *remembered // at the last one; nil: the same, or what it did may depend on what follows
	steep   bool        // rungs that drop nothing were not enough
	above   int         // a limit of tokens, the only one, that it was not within as it came; zero: none
	shed    *shed       // nil: nothing is lent
}

// remembered is a past at a request. What it was at the last one but one does not depend on
// what came later, because every exchange that had begun is complete by now. So it is at the
// last one, if none that had begun there has gone on since.
type remembered struct {
	past
	end     int                 // messages that it had
	stood   int                 // messages that the history had when it was looked at last
	pinned  []transcript.AtomID // then, if the chain has a roster
	locked  []transcript.AtomID // the same
	chain   *chain              // levels, and who raised them; with a roster it is the one to go on with
	batches []Batch
	edits   map[transcript.BlockID]string
}

// heed takes over what blocks of the same messages cost, and what is said in their place.
func (l *Ladder) heed() {
	m := l.Memory
	if m == nil || m.request == nil || m.ours != nil || l.Ours != nil || !l.t.Continues(m.request.Transcript()) {
		l.shed.outline.forget()
		l.shed.trail = nil
	}
	if m == nil || m.request == nil || m.request.Dialect != l.Request.Dialect {
		return
	}
	l.same = m.same(l)
	n, blocks := blocksOf(l.t, l.same), len(l.t.Blocks())
	if l.Counter != nil {
		l.meter.costs = takeOver(m.costs, n, blocks, m.Lend)
	}
	for b := 0; b < n && l.Vote != nil && l.meter.costs != nil; b++ {
		c := &l.meter.costs[b]
		if c.level == byRules {
			c.level, c.edited = asIs, 0 // the rules may find other words
		}
		if c.writtenAt == byRules {
			c.writtenAt = asIs
		}
	}
	if m.cleared != nil {
		l.words.gone = takeOver(m.cleared, n, blocks, m.Lend)
	}
	if m.Lend && n == len(m.request.Transcript().Blocks()) {
		l.words.short = m.short
		return
	}
	for b, s := range m.short {
		if int(b) < n {
			l.words.keep(b, s)
		}
	}
}

// over reports whether the request before was not within the limit, which is one of tokens, so that
// this one cannot be, which begins with it and of which all is read.
func (l *Ladder) over() bool {
	m, w := l.Memory, &l.Window
	return m != nil && m.above > 0 && len(w.Limits) == 1 && w.Limits[0].Unit == Tokens && m.above >= w.Limits[0].Most && l.same == len(m.request.Transcript().Messages()) && !l.t.Compacted()
}

// takeOver returns a list of so many blocks that begins with the first n of another, or
// goes on in its place.
func takeOver[T any](from []T, n, blocks int, lent bool) []T {
	from = from[:min(n, len(from), blocks)]
	if !lent {
		to := make([]T, blocks)
		copy(to, from)
		return to
	}
	to := slices.Grow(from, blocks-len(from))[:blocks]
	clear(to[len(from):])
	return to
}

// same is how many messages the request begins with that are those of the one before, with
// the same of what stands around the list.
func (m *Memory) same(l *Ladder) int {
	was, now := m.request.Transcript(), l.t
	if was.Compacted() || now.Compacted() || len(was.Messages()) == 0 || len(now.Messages()) == 0 {
		return 0
	}
	a, b := was.Messages(), now.Messages()
	before, behind := m.request.Around()
	if is, goesOn := l.Request.Around(); !bytes.Equal(before, is) || !bytes.Equal(behind, goesOn) {
		return 0
	}
	if now.Continues(was) && m.ours == nil && l.Ours == nil {
		return min(len(a), len(b))
	}
	n := 0
	for n < min(len(a), len(b)) && a[n].Span == b[n].Span && a[n].End == b[n].End && bytes.Equal(was.Bytes(a[n].Span), now.Bytes(b[n].Span)) &&
		(m.ours == nil) == (l.Ours == nil) && (m.ours == nil || m.ours[n] == l.Ours[n]) {
		n++
	}
	return n
}

// recollect goes back to what was remembered of a stable window, if the history still
// begins with it.
func (l *Ladder) recollect(s *past) (end int, err error) {
	p := l.recall(s.high)
	if p == nil {
		return 0, nil
	}
	if p.chain == l.chain {
		*s, l.batches = p.past, p.batches
		if s.l = l; l.Window.PaysAfter != nil {
			l.scene = l.sceneAt(p.stood)
			for _, a := range p.pinned {
				l.scene.pinned.set(a)
			}
			for _, a := range p.locked {
				l.scene.locked.set(a)
			}
		}
		return p.end, nil
	}
	l.chain.restore(p.chain)
	l.batches = slices.Clip(p.batches) // nobody changes one
	l.words.edits = maps.Clone(p.edits)
	*s = p.past
	s.l, s.costs = l, slices.Clone(p.costs)
	l.past = p
	if l.Window.PaysAfter != nil || l.Vote != nil { // both look at what was pinned and voted then
		err = l.standAt(p.stood)
	}
	return p.end, err
}

// recall finds what was remembered and is still true; nil: nothing.
func (l *Ladder) recall(high int) *remembered {
	m := l.Memory
	if m == nil || m.reserve != l.Reserve || !l.memorable() {
		return nil
	}
	all := l.t.Messages()
	for _, p := range [...]*remembered{m.latest, m.past} {
		// Only where the model spoke next was it a request that led to this one.
		if p != nil && l.same >= p.end && p.end < len(all) && Begins(all, p.end) && p.high == high && m.sameAtoms(l.t, p.end) {
			return p
		}
	}
	return nil
}

// memorable reports whether what a window did depends on nothing but the history.
func (l *Ladder) memorable() bool {
	return len(l.Window.Limits) == 1 && l.Window.Priority == nil && l.Window.Cold == nil
}

// sameAtoms reports whether what had begun when there were so many messages is made of the
// same blocks.
func (m *Memory) sameAtoms(t *transcript.Transcript, messages int) bool {
	if t.Continues(m.request.Transcript()) {
		return true
	}
	was, now := m.request.Transcript().Atoms(), t.Atoms()
	for a := range was {
		if was[a].First >= messages {
			return true
		}
		if a >= len(now) || !slices.Equal(was[a].Blocks, now[a].Blocks) {
			return false
		}
	}
	return true
}

// remember returns a past for the next request; nil: there is nothing to remember.
func (l *Ladder) remember(s *past, end int) *remembered {
	if l.Memory == nil || l.trying || len(l.batches) == 0 || !l.memorable() || l.t.Compacted() {
		return nil
	}
	p := &remembered{past: *s, end: end, stood: l.scene.end, chain: l.chain, batches: l.batches, edits: maps.Clone(l.words.edits)}
	p.l = nil
	switch {
	case l.chain.roster == nil:
		p.costs = slices.Clone(s.costs)
		p.part(blocksOf(l.t, end))
	case l.Window.PaysAfter != nil:
		p.pinned, p.locked = slices.Clone(l.scene.pinned.all), slices.Clone(l.scene.locked.all)
	}
	return p
}

// part keeps the levels of so many blocks apart from the chain, which somebody changes.
func (p *remembered) part(blocks int) {
	p.chain = &chain{level: slices.Clone(p.chain.level[:blocks]), by: slices.Clone(p.chain.by[:blocks]), rungs: p.chain.rungs}
}

// kept returns the chain of the request before if the stable window of this one goes on with it, or
// a new one that the next can go on with; nil: it cannot.
func (l *Ladder) kept() (c *chain) {
	w := &l.Window
	if l.Memory == nil || !l.Memory.Lend || l.same == 0 || w.Low == 0 || !l.memorable() || w.Limits[0].Unit != Tokens || l.Vote != nil || l.Ours != nil || l.Unended || l.t.Compacted() {
		return nil
	}
	if p := l.recall(w.Limits[0].Most); p != nil && p.chain.roster != nil && p.chain.t.Continues(l.t) {
		c = p.chain
	} else {
		c = keptChain()
	}
	c.extend(l.t, l.shed.outline.facts)
	return c
}

// leave hands what was worked out over to the next request.
func (l *Ladder) leave() {
	shed := l.shed
	if c := l.chain; c != nil && c.roster == nil { // of which levels are left, and who raised them
		shed.steps, shed.ops, shed.queue = c.steps, c.ops, c.queue
		c.steps, c.ops, c.queue, c.left, c.facts = nil, nil, nil, nil, nil
	}
	m := l.Memory
	if m == nil || l.trying || !m.Lend {
		shed.back()
		l.shed = nil
	}
	if m != nil && !l.trying {
		costs, gone, short := l.meter.costs, l.words.gone, l.words.short
		if !m.Lend {
			costs, gone, short = slices.Clone(costs), slices.Clone(gone), maps.Clone(short)
		}
		*m = Memory{m.Lend, l.Request, l.Ours, l.Reserve, costs, gone, short, l.past, l.latest, l.steep || m.steep && l.same > 0, l.above, l.shed}
	}
}
