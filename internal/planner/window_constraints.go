package planner

import (
	"slices"
	"sort"

	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/internal/needs"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// constraints are the content that must stay and the votes of the rules, for a history of the first
// messages of a request. A stable window looks at many such histories, one for each earlier
// request.
type constraints struct {
	t      *transcript.Transcript
	end    int     // the number of messages
	pinned atomSet // atoms that stay
	locked atomSet // atoms of which every byte stays
	votes  windowVotes
	needs  *needs.Graph // including the needs that rules demand
}

// windowVotes are the settled votes of the rules of a window. The zero value has no votes.
type windowVotes struct {
	drop, protect []bool                        // by atom; no atom is in both
	edits         map[transcript.BlockID]string // not nil if rules have voted
	needs         [][2]transcript.AtomID        // the second atom is kept if the first is
}

// An atomSet is a set of atoms that remembers their order.
type atomSet struct {
	members []bool // by atom
	list    []transcript.AtomID
}

func newAtomSet(atoms int) atomSet { return atomSet{members: make([]bool, atoms)} }

func (s *atomSet) has(a transcript.AtomID) bool { return s.members[a] }

// add adds an atom and reports whether it is new.
func (s *atomSet) add(a transcript.AtomID) bool {
	if s.members[a] {
		return false
	}
	s.members[a] = true
	s.list = append(s.list, a)
	return true
}

// blocks returns how many blocks the history has.
func (c *constraints) blocks() int { return blockCount(c.t, c.end) }

// exchanges returns the exchanges that begin in the history.
func (c *constraints) exchanges() []transcript.Exchange { return exchangesIn(c.t, c.end) }

// readExchanges returns the exchanges of the history that the provider reads.
func (c *constraints) readExchanges() []transcript.Exchange {
	exchanges := c.exchanges()
	return exchanges[min(compactedExchanges(c.t), len(exchanges)):]
}

// blockCount returns how many blocks the first messages have.
func blockCount(t *transcript.Transcript, messages int) int {
	if messages == 0 {
		return 0
	}
	return int(t.Messages()[messages-1].End)
}

// exchangesIn returns the exchanges that begin in the first messages.
func exchangesIn(t *transcript.Transcript, messages int) []transcript.Exchange {
	exchanges, blocks := t.Exchanges(), blockCount(t, messages)
	return exchanges[:sort.Search(len(exchanges), func(i int) bool { return int(firstBlock(&exchanges[i])) >= blocks })]
}

// compactedExchanges returns how many exchanges begin in the part that the provider has compacted.
func compactedExchanges(t *transcript.Transcript) int {
	n := 0
	for n < len(t.Exchanges()) && firstBlock(&t.Exchanges()[n]) < t.Start() {
		n++
	}
	return n
}

// oldExchanges returns all exchanges except the most recent ones.
func oldExchanges(exchanges []transcript.Exchange, recent int) []transcript.Exchange {
	return exchanges[:max(len(exchanges)-recent, 0)]
}

// firstBlock returns the call of an exchange or, if it has none, its first result.
func firstBlock(x *transcript.Exchange) transcript.BlockID {
	if x.Call != transcript.NoBlock {
		return x.Call
	}
	return x.Results[0]
}

// constraintsAt returns the constraints of the history that ends after some messages. If cold is
// set, the rules for cold caches vote instead of the window's rules.
func (s *windowSearch) constraintsAt(end int, cold bool) (*constraints, error) {
	c := &constraints{
		t: s.t, end: end, needs: s.index.needs,
		pinned: newAtomSet(len(s.t.Atoms())), locked: newAtomSet(len(s.t.Atoms())),
	}
	var err error
	if cold {
		c.votes, err = s.pollCold(end)
	} else {
		c.votes, err = s.poll(end)
	}
	if err != nil {
		return nil, err
	}
	if len(c.votes.needs) > 0 {
		c.needs = needs.New(s.t, c.votes.needs)
	}
	s.pin(c)
	return c, nil
}

// poll lets the rules vote on the history of the first messages. Blocks that rules have edited at
// an earlier request keep their text.
func (s *windowSearch) poll(end int) (windowVotes, error) {
	if s.p.w.Rules == nil {
		return windowVotes{}, nil
	}
	r, err := s.beginning(end)
	if err != nil {
		return windowVotes{}, err
	}
	votes, err := s.p.vote(s.p.w.Rules, r)
	if err != nil {
		return windowVotes{}, err
	}
	for b := range votes.edits {
		s.meter.forget(b)
	}
	for b, text := range s.texts.edits {
		if s.chain != nil && s.chain.levels[b] == levelEdited {
			votes.edits[b] = text
		}
	}
	s.texts.edits = votes.edits
	return votes, nil
}

// pollCold lets the rules for cold caches vote on the history of the first messages. Blocks that an
// earlier request has cut keep their text.
func (s *windowSearch) pollCold(end int) (windowVotes, error) {
	isCut := func(b transcript.BlockID) bool { return s.chain.levels[b] != levelFull }
	votes, err := s.coldVotes(beginning{
		messages: end,
		request:  func() (*wire.Request, error) { return s.beginning(end) },
		isCut:    isCut,
	})
	if err != nil {
		return windowVotes{}, err
	}
	if s.texts.edits == nil {
		s.texts.edits = make(map[transcript.BlockID]string)
	}
	for b, text := range votes.edits {
		if isCut(b) {
			delete(votes.edits, b)
			continue
		}
		s.meter.forget(b)
		s.texts.edits[b] = text
	}
	return votes, nil
}

// A beginning is the first messages of a history, and the cuts of earlier requests in them.
type beginning struct {
	messages int
	request  func() (*wire.Request, error) // see windowSearch.beginning
	isCut    func(transcript.BlockID) bool // reports whether an earlier request has cut a block
}

// beginning returns a request of the first messages, with the blocks and atoms numbered as in the
// whole request.
func (s *windowSearch) beginning(messages int) (*wire.Request, error) {
	if messages == len(s.t.Messages()) {
		return s.r, nil
	}
	var later []transcript.BlockID
	for b := blockCount(s.t, messages); b < len(s.t.Blocks()); b++ {
		later = append(later, transcript.BlockID(b))
	}
	r, _, err := dialect.Rewrite(s.r, later, nil)
	return r, err
}

// pin adds the content that must stay to c: the content that the provider has compacted, the
// system's messages, summaries, the task, the newest turn, the last MinKeep messages, everything
// that rules protect, and everything that any of these need.
func (s *windowSearch) pin(c *constraints) {
	if c.end == 0 {
		return
	}
	t, w := s.t, &s.p.w
	if t.IsCompacted() {
		for b := transcript.BlockID(0); b <= t.Start(); b++ {
			c.lock(t.AtomOf(b))
		}
	}
	s.pinHeldMessages(c)
	spoken, first, last := numbersBefore(s.index.spoken, c.end), -1, -1
	if len(spoken) > 0 {
		first, last = spoken[0], spoken[len(spoken)-1]
	}
	if first >= 0 && w.Unpin&PinTask == 0 {
		c.pinMessage(first)
		if i := slices.IndexFunc(spoken, s.hasUserWords); i >= 0 {
			c.pinMessage(spoken[i])
		}
	}
	end := s.endToKeep(c, last)
	if n := blockCount(t, end); n > 0 {
		c.pinned.add(t.AtomOf(transcript.BlockID(n - 1))) // a history must not become empty
	}
	for _, a := range s.index.unfinishedAtoms(t, c.end) {
		c.lock(a)
	}
	if w.Unpin&PinNewest == 0 {
		if last >= 0 {
			c.pinMessage(last)
		}
		for _, i := range slices.Backward(spoken) {
			if s.hasUserWords(i) {
				c.pinMessage(i)
				break
			}
		}
		c.pinTurnBefore(end)
	}
	for _, m := range t.Messages()[max(c.end-w.MinKeep, 0):c.end] {
		for b := m.First; b < m.End; b++ {
			c.lock(t.AtomOf(b))
		}
	}
	for a, isProtected := range c.votes.protect {
		if isProtected && a < len(t.Atoms()) {
			c.lock(transcript.AtomID(a))
		}
	}
	c.spread(&c.pinned)
	c.spread(&c.locked)
}

// pinHeldMessages pins summaries and messages of the system.
func (s *windowSearch) pinHeldMessages(c *constraints) {
	for _, held := range s.index.heldBefore(c.end) {
		if held.isSummary || s.p.w.Unpin&PinSystem == 0 {
			c.pinMessage(held.message)
		}
	}
}

// endToKeep returns the number of messages up to the last one that must stay. If the provider
// rejects the end of the history, trailing messages of the assistant without calls may go.
func (s *windowSearch) endToKeep(c *constraints, lastOfUser int) int {
	end := c.end
	if !s.p.unended || c.end != len(s.t.Messages()) || lastOfUser < 0 {
		return end
	}
	for end > lastOfUser+1 {
		m := s.t.Messages()[end-1]
		if m.Role != transcript.Assistant || hasCalls(s.t, m) {
			break
		}
		end--
	}
	return end
}

func (c *constraints) lock(a transcript.AtomID) {
	c.pinned.add(a)
	c.locked.add(a)
}

// pinMessage pins the blocks of a message that are not results.
func (c *constraints) pinMessage(i int) {
	m := &c.t.Messages()[i]
	for b := m.First; b < m.End; b++ {
		if kind := c.t.Block(b).Kind; kind != transcript.Result && kind != transcript.ServerResult {
			c.pinned.add(c.t.AtomOf(b))
		}
	}
}

// pinTurnBefore pins the turn that ends before message end.
func (c *constraints) pinTurnBefore(end int) {
	messages := c.t.Messages()
	for i := end - 1; i >= 0 && messages[i].Turn == messages[end-1].Turn; i-- {
		for b := messages[i].First; b < messages[i].End; b++ {
			c.pinned.add(c.t.AtomOf(b))
		}
	}
}

// spread adds the atoms to a set that its members need.
func (c *constraints) spread(set *atomSet) {
	c.needs.Protect(slices.Clone(set.list), func(a, _ transcript.AtomID) bool { return set.add(a) })
}

// hasUserWords reports whether a message contains words of the user. A message in which the user
// speaks may contain only attachments, and an unknown block counts as an attachment.
func (s *windowSearch) hasUserWords(message int) bool {
	m := s.t.Messages()[message]
	if m.Role != transcript.User || !UserSpeaks(m) {
		return false
	}
	for b := m.First; b < m.End; b++ {
		if s.t.Block(b).Kind == transcript.Text && dialect.PersonsWords(s.r.Text(b)) != "" {
			return true
		}
	}
	return false
}

// hasCalls reports whether a message has calls.
func hasCalls(t *transcript.Transcript, m transcript.Message) bool {
	for b := m.First; b < m.End; b++ {
		if t.Block(b).Kind == transcript.Call {
			return true
		}
	}
	return false
}

// userSpeaks reports whether the user speaks in message i.
func (s *windowSearch) userSpeaks(i int) bool { return UserSpeaks(s.t.Messages()[i]) }
