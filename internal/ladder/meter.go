package ladder

import (
	"slices"

	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// A meter knows what blocks cost, in tokens. Each is counted when somebody asks.
type meter struct {
	r     *wire.Request
	c     wire.Counter // nil: nothing is counted
	words *words
	costs []cost             // by block: the last that was counted
	start transcript.BlockID // what stands in front of it is not read, and costs nothing
	frame int                // around a message
	head  int                // beside the list; -1: not counted yet
}

// A cost is what a block was found to cost: as it is, at the level asked for last, and as it
// was written at one.
type cost struct {
	asIs, edited, written int
	level, writtenAt      level // asIs: none
	counted               bool
}

func newMeter(r *wire.Request, c wire.Counter, w *words) *meter {
	m := &meter{r: r, c: c, words: w, start: r.Transcript().Start()}
	if c != nil {
		m.frame, m.head = wirex.FrameTokens(c), -1
		m.costs = make([]cost, len(r.Transcript().Blocks()))
	}
	return m
}

// of is what a block costs at a level.
func (m *meter) of(b transcript.BlockID, v level) int {
	if c := &m.costs[b]; v == asIs && c.counted {
		return c.asIs
	} else if v != asIs && c.level == v {
		return c.edited
	}
	return m.count(b, v)
}

// count counts a block that is not known at a level.
func (m *meter) count(b transcript.BlockID, v level) int {
	c := &m.costs[b]
	switch {
	case v == isGone || b < m.start:
		return 0
	case v == asIs:
		c.asIs, c.counted = wirex.BlockTokens(m.r, m.c, b), true
		return c.asIs
	}
	c.edited, c.level = wirex.SaidTokens(m.r, m.c, b, m.words.text(b, v)), v
	return c.edited
}

// forget lets a block be counted anew in other words.
func (m *meter) forget(b transcript.BlockID) {
	if m.costs != nil {
		m.costs[b].level, m.costs[b].writtenAt = asIs, asIs
	}
}

// asWritten is what a block costs that was written at a level and is block at of r now.
func (m *meter) asWritten(b transcript.BlockID, v level, r *wire.Request, at transcript.BlockID) int {
	c := &m.costs[b]
	if c.writtenAt != v {
		c.written, c.writtenAt = wirex.BlockTokens(r, m.c, at), v
	}
	return c.written
}

// headTokens counts what no step ever touches.
func (m *meter) headTokens() int {
	if m.head < 0 {
		m.head = wirex.HeadTokens(m.r, m.c)
	}
	return m.head
}

// tokens counts a request that came of the meter's; it may stop once it is above enough.
func (m *meter) tokens(r *wire.Request, enough int) int {
	t := r.Transcript()
	n := m.headTokens()
	for i := len(t.Messages()) - 1; i >= t.StartMessage() && n <= enough; i-- {
		if r != m.r {
			n += wirex.ReadTokens(r, m.c, i)
			continue
		}
		n += m.frame
		for b := t.Messages()[i].First; b < t.Messages()[i].End; b++ {
			n += m.of(b, asIs)
		}
	}
	return n
}

// measure counts a request; it may stop once it is above enough.
func (l *Ladder) measure(r *wire.Request, u Unit, enough int) int {
	t := r.Transcript()
	switch u {
	case Messages:
		return len(t.Messages()) - t.StartMessage()
	case Exchanges:
		return len(t.Exchanges()) - unread(t)
	case Turns:
		n := 0
		for _, m := range t.Messages()[t.StartMessage():] {
			if Speaks(m) {
				n++
			}
		}
		return n
	}
	return l.meter.tokens(r, enough)
}

// unread is how many exchanges begin in front of what the provider reads.
func unread(t *transcript.Transcript) int {
	n := 0
	for n < len(t.Exchanges()) && firstBlock(&t.Exchanges()[n]) < t.Start() {
		n++
	}
	return n
}

func (l *Ladder) within(r *wire.Request, m Limit) bool {
	return l.measure(r, m.Unit, m.Most) <= m.Most
}

func (l *Ladder) all(r *wire.Request, limits []Limit) bool {
	return !slices.ContainsFunc(limits, func(m Limit) bool { return !l.within(r, m) })
}

// withReserve adds the room for a summary, if the state that the chain is at needs one.
func (l *Ladder) withReserve(u Unit, n int) int {
	if u == Tokens && l.chain.losses > 0 {
		return n + l.Reserve
	}
	return n
}

// weigh measures the outcome of trying the state that the chain is at, with room for a
// summary. If finishing it had nothing to do, its blocks are those that the chain has
// left, and only edited ones need to be counted.
func (l *Ladder) weigh(o Outcome, u Unit, enough int) int {
	if u == Tokens && o.AsRewritten() {
		if n, ok := l.weighLeft(o.Request()); ok {
			return l.withReserve(u, n)
		}
	}
	return l.withReserve(u, l.measure(o.Request(), u, enough))
}

func (l *Ladder) weighLeft(r *wire.Request) (n int, ok bool) {
	t, m := r.Transcript(), l.meter
	if l.chain.blocks() != len(t.Blocks()) {
		return 0, false
	}
	n = m.headTokens() + (len(t.Messages())-t.StartMessage())*m.frame
	at := transcript.BlockID(0)
	for b, v := range l.chain.level {
		switch v {
		case isGone:
			continue
		case asIs:
			n += m.of(transcript.BlockID(b), asIs)
		default:
			n += m.asWritten(transcript.BlockID(b), v, r, at)
		}
		at++
	}
	return n, true
}
