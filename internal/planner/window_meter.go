package planner

import (
	"slices"

	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// A tokenMeter counts the tokens of blocks, and remembers them: counting is the most expensive part
// of a search.
type tokenMeter struct {
	r       *wire.Request
	counter wire.Counter // nil: nothing is counted
	texts   *replacementTexts
	costs   []blockCost        // by block; nil without a counter
	start   transcript.BlockID // the provider does not read earlier blocks, so they cost nothing
	frame   int                // tokens around a message
	head    int                // tokens outside of the list of messages; -1: not counted yet
}

// A blockCost is the number of tokens of a block: as it is, at the last level that was counted, and
// as it was written at a level.
type blockCost struct {
	full      int
	hasFull   bool
	replaced  int
	level     level // of replaced; levelFull: not counted
	written   int
	writtenAt level // of written; levelFull: not counted
}

func newTokenMeter(r *wire.Request, c wire.Counter, texts *replacementTexts) *tokenMeter {
	m := &tokenMeter{r: r, counter: c, texts: texts, start: r.Transcript().Start()}
	if c != nil {
		m.frame, m.head = dialect.FrameTokens(c), -1
		m.costs = make([]blockCost, len(r.Transcript().Blocks()))
	}
	return m
}

// tokensAt returns the tokens of a block at a level.
func (m *tokenMeter) tokensAt(b transcript.BlockID, v level) int {
	if v == levelGone || b < m.start {
		return 0
	}
	c := &m.costs[b]
	if v == levelFull {
		if !c.hasFull {
			c.full, c.hasFull = dialect.BlockTokens(m.r, m.counter, b), true
		}
		return c.full
	}
	if c.level != v {
		c.replaced, c.level = dialect.SaidTokens(m.r, m.counter, b, m.texts.text(b, v)), v
	}
	return c.replaced
}

// forget drops the counts of a block with a replaced text.
func (m *tokenMeter) forget(b transcript.BlockID) {
	if m.costs != nil {
		m.costs[b].level, m.costs[b].writtenAt = levelFull, levelFull
	}
}

// writtenTokens returns the tokens of a block that was written at a level and is block at of r now.
func (m *tokenMeter) writtenTokens(b transcript.BlockID, v level, r *wire.Request, at transcript.BlockID) int {
	c := &m.costs[b]
	if c.writtenAt != v {
		c.written, c.writtenAt = dialect.BlockTokens(r, m.counter, at), v
	}
	return c.written
}

// headTokens returns the tokens outside of the list of messages.
func (m *tokenMeter) headTokens() int {
	if m.head < 0 {
		m.head = dialect.HeadTokens(m.r, m.counter)
	}
	return m.head
}

// requestTokens returns the tokens of a request that was made from the meter's. It stops when the
// number is larger than enough.
func (m *tokenMeter) requestTokens(r *wire.Request, enough int) int {
	t := r.Transcript()
	n := m.headTokens()
	for i := len(t.Messages()) - 1; i >= t.StartMessage() && n <= enough; i-- {
		if r != m.r {
			n += dialect.ReadTokens(r, m.counter, i)
			continue
		}
		n += m.frame
		for b := t.Messages()[i].First; b < t.Messages()[i].End; b++ {
			n += m.tokensAt(b, levelFull)
		}
	}
	return n
}

// measure returns the size of a request. It stops when the size is larger than enough.
func (s *windowSearch) measure(r *wire.Request, u unit, enough int) int {
	t := r.Transcript()
	switch u {
	case unitMessages:
		return len(t.Messages()) - t.StartMessage()
	case unitExchanges:
		return len(t.Exchanges()) - compactedExchanges(t)
	case unitTurns:
		n := 0
		for _, m := range t.Messages()[t.StartMessage():] {
			if UserSpeaks(m) {
				n++
			}
		}
		return n
	}
	return s.meter.requestTokens(r, enough)
}

func (s *windowSearch) isWithin(r *wire.Request, l limit) bool {
	return s.measure(r, l.unit, l.most) <= l.most
}

func (s *windowSearch) isWithinAll(r *wire.Request, limits []limit) bool {
	return !slices.ContainsFunc(limits, func(l limit) bool { return !s.isWithin(r, l) })
}

// withReserve adds the room for a summary to a size, if the current state needs one.
func (s *windowSearch) withReserve(u unit, size int) int {
	if u == unitTokens && s.chain.lostBlocks > 0 {
		return size + s.reserve
	}
	return size
}

// measureAttempt returns the size of the attempt at the current state, with room for a summary. If
// finishing changed nothing, only the replaced blocks have to be counted.
func (s *windowSearch) measureAttempt(a attempt, u unit, enough int) int {
	r := a.result()
	hasSameBlocks := s.chain.remainingBlocks() == len(r.Transcript().Blocks())
	if u == unitTokens && a.asRewritten && hasSameBlocks {
		return s.withReserve(u, s.writtenTokens(r))
	}
	return s.withReserve(u, s.measure(r, u, enough))
}

// writtenTokens returns the tokens of a request with exactly the blocks that the current state
// keeps.
func (s *windowSearch) writtenTokens(r *wire.Request) int {
	t, m := r.Transcript(), s.meter
	n := m.headTokens() + (len(t.Messages())-t.StartMessage())*m.frame
	at := transcript.BlockID(0)
	for b, v := range s.chain.levels {
		switch v {
		case levelGone:
			continue
		case levelFull:
			n += m.tokensAt(transcript.BlockID(b), levelFull)
		default:
			n += m.writtenTokens(transcript.BlockID(b), v, r, at)
		}
		at++
	}
	return n
}

// searchCosts counts blocks with the meter of a search, which has counted most of them already.
type searchCosts struct{ s *windowSearch }

func (c searchCosts) blockTokens(b transcript.BlockID) int {
	m := c.s.meter
	if b < m.start { // the provider does not read it, but its removal is counted
		return dialect.BlockTokens(m.r, m.counter, b)
	}
	return m.tokensAt(b, levelFull)
}

func (c searchCosts) editTokens(e wire.BlockEdit) int {
	m := c.s.meter
	if e.Block < m.start {
		return dialect.SaidTokens(m.r, m.counter, e.Block, e.Text)
	}
	return m.tokensAt(e.Block, c.s.chain.levels[e.Block])
}
