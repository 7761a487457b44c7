package ladder

import (
	"maps"
	"slices"

	"github.com/pare-llm/pare/internal/needs"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// A scene is the history as it was when it had so many messages: what is pinned then, and
// what the rules want.
type scene struct {
	t      *transcript.Transcript
	end    int   // how many messages
	pinned flags // what stays
	locked flags // of what every byte stays
	votes  Votes
	needs  *needs.Graph // those that the rules demand included
}

// Flags are on some atoms.
type flags struct {
	on  []bool // by atom
	all []transcript.AtomID
	few [12]transcript.AtomID // where all is as long as they are few
}

func (f *flags) set(a transcript.AtomID) {
	if !f.on[a] {
		f.on[a], f.all = true, append(f.all, a)
	}
}

// begin takes all of them away and makes room for so many atoms.
func (f *flags) begin(atoms int) {
	for _, a := range f.all {
		f.on[a] = false
	}
	if f.all = f.all[:0]; f.all == nil {
		f.all = f.few[:0]
	}
	if n := len(f.on); n > 0 {
		f.on = slices.Grow(f.on[:min(n, atoms)], max(atoms-n, 0))[:atoms]
		clear(f.on[min(n, atoms):])
		return
	}
	f.on = make([]bool, atoms)
}

// sceneAt is where a history of so many messages is looked at: a climb looks at one at a time.
func (l *Ladder) sceneAt(end int) *scene {
	s := &l.stage
	s.t, s.end, s.votes, s.needs = l.t, end, Votes{}, l.scratch.outline.needs
	s.pinned.begin(len(l.t.Atoms()))
	s.locked.begin(len(l.t.Atoms()))
	return s
}

// vote lets the rules vote on the history of then and finds what is pinned.
func (l *Ladder) vote(end int) (*scene, error) {
	s := l.sceneAt(end)
	if err := l.poll(s); err != nil {
		return nil, err
	}
	if len(s.votes.Needs) > 0 {
		s.needs = needs.New(l.t, s.votes.Needs)
	}
	l.pin(s)
	return s, nil
}

// blocks is how many blocks the history has.
func (s *scene) blocks() int { return blocksOf(s.t, s.end) }

// exchanges are those of the history.
func (s *scene) exchanges() []transcript.Exchange { return exchangesOf(s.t, s.end) }

// read are the exchanges that the provider reads.
func (s *scene) read() []transcript.Exchange {
	all := s.exchanges()
	return all[min(unread(s.t), len(all)):]
}

// blocksOf is how many blocks the first messages have.
func blocksOf(t *transcript.Transcript, messages int) int {
	if messages == 0 {
		return 0
	}
	return int(t.Messages()[messages-1].End)
}

// exchangesOf are those that begin in the first messages.
func exchangesOf(t *transcript.Transcript, messages int) []transcript.Exchange {
	all, blocks := t.Exchanges(), blocksOf(t, messages)
	n := len(all)
	for n > 0 && int(firstBlock(&all[n-1])) >= blocks {
		n--
	}
	return all[:n]
}

// old leaves out the last exchanges.
func old(all []transcript.Exchange, recent int) []transcript.Exchange {
	return all[:max(len(all)-recent, 0)]
}

func firstBlock(x *transcript.Exchange) transcript.BlockID {
	if x.Call != transcript.NoBlock {
		return x.Call
	}
	return x.Results[0]
}

// poll lets the rules vote on the history.
func (l *Ladder) poll(s *scene) error {
	if l.freezing {
		return l.pollCold(s)
	}
	if l.Vote == nil {
		return nil
	}
	r, err := l.beginning(s)
	if err != nil {
		return err
	}
	if s.votes, err = l.Vote(r); err != nil {
		return err
	}
	for b := range s.votes.Edits {
		l.meter.forget(b) // what it cost in other words does not count
	}
	for b, text := range l.words.edits {
		if l.chain != nil && l.chain.level[b] == byRules { // what was said once is said again
			s.votes.Edits[b] = text
		}
	}
	l.words.edits = s.votes.Edits
	return nil
}

// pollCold lets the rules for cold moments vote on the history. It keeps the words of earlier cuts.
func (l *Ladder) pollCold(s *scene) (err error) {
	isCut := func(b transcript.BlockID) bool { return l.chain.level[b] != asIs }
	s.votes, err = l.VoteCold(Beginning{s.end, func() (*wire.Request, error) { return l.beginning(s) }, isCut})
	if err != nil {
		return err
	}
	if l.words.edits == nil {
		l.words.edits = make(map[transcript.BlockID]string)
	}
	maps.DeleteFunc(s.votes.Edits, func(b transcript.BlockID, _ string) bool { return isCut(b) })
	for b, text := range s.votes.Edits {
		l.meter.forget(b) // the cost of other words
		l.words.edits[b] = text
	}
	return nil
}

// beginning makes a request of the history of a scene. Its blocks and atoms are numbered as in the
// whole.
func (l *Ladder) beginning(s *scene) (*wire.Request, error) {
	if s.end == len(l.t.Messages()) {
		return l.Request, nil
	}
	var later []transcript.BlockID
	for b := s.blocks(); b < len(l.t.Blocks()); b++ {
		later = append(later, transcript.BlockID(b))
	}
	r, _, err := wirex.Rewrite(l.Request, later, nil)
	return r, err
}

// pin marks what stays.
func (l *Ladder) pin(s *scene) {
	if s.end == 0 {
		return
	}
	t, w := l.t, &l.Window
	all := t.Messages()[:s.end]
	hold := func(b transcript.BlockID) { s.pinned.set(t.AtomOf(b)) }
	lock := func(a transcript.AtomID) {
		s.pinned.set(a)
		s.locked.set(a)
	}
	spoken := func(m *transcript.Message) { // not the results that stand beside
		for b := m.First; b < m.End; b++ {
			if k := t.Blocks()[b].Kind; k != transcript.Result && k != transcript.ServerResult {
				hold(b)
			}
		}
	}
	if t.IsCompacted() { // it stays, and what it stands for is not looked at
		for b := transcript.BlockID(0); b <= t.Start(); b++ {
			lock(t.AtomOf(b))
		}
	}
	first, last := -1, -1
	marked := l.marked(s.end)
	for _, k := range marked {
		m := &all[k.message]
		if k.tells || m.Role == transcript.System && w.Unpin&System == 0 {
			spoken(m)
		}
		if l.speaks(k.message) {
			if first < 0 {
				first = k.message
			}
			last = k.message
		}
	}
	if first >= 0 && w.Unpin&Task == 0 {
		spoken(&all[first])
		if task := l.firstWords(marked); task >= 0 {
			spoken(&all[task])
		}
	}
	ends := s.end // behind the last message that must stay
	if l.Unended && s.end == len(t.Messages()) && last >= 0 {
		for ends > last+1 && all[ends-1].Role == transcript.Assistant && !l.calls(all[ends-1]) {
			ends--
		}
	}
	if n := blocksOf(t, ends); n > 0 {
		hold(transcript.BlockID(n - 1)) // a history never becomes empty
	}
	atoms := t.Atoms()
	if s.end < len(t.Messages()) {
		for a := range atoms {
			if atoms[a].Last >= s.end && atoms[a].First < s.end { // not all of it is there yet
				lock(transcript.AtomID(a))
			}
		}
	}
	if w.Unpin&Newest == 0 {
		if last >= 0 {
			spoken(&all[last])
		}
		if newest := l.lastWords(marked); newest >= 0 {
			spoken(&all[newest])
		}
		for i := ends - 1; i >= 0 && all[i].Turn == all[ends-1].Turn; i-- {
			for b := all[i].First; b < all[i].End; b++ {
				hold(b)
			}
		}
	}
	for i := max(len(all)-w.MinKeep, 0); i < len(all); i++ {
		for b := all[i].First; b < all[i].End; b++ {
			lock(t.AtomOf(b))
		}
	}
	for a, on := range s.votes.Protect {
		if on && a < len(s.pinned.on) {
			lock(transcript.AtomID(a))
		}
	}
	s.spread(&s.pinned)
	s.spread(&s.locked)
}

// firstWords returns the first marked message with words of a person, or -1. The person of an earlier
// one may only have attached something, and an unknown block counts as an attachment.
func (l *Ladder) firstWords(marked []mark) int {
	for _, k := range marked {
		if l.hasWords(k.message) {
			return k.message
		}
	}
	return -1
}

// lastWords returns the last marked message with words of a person, or -1.
func (l *Ladder) lastWords(marked []mark) int {
	for _, k := range slices.Backward(marked) {
		if l.hasWords(k.message) {
			return k.message
		}
	}
	return -1
}

// hasWords reports whether message i contains words of a person.
func (l *Ladder) hasWords(i int) bool {
	m := l.t.Messages()[i]
	if m.Role != transcript.User || !Speaks(m) {
		return false
	}
	for b := m.First; b < m.End; b++ {
		if l.t.Block(b).Kind == transcript.Text && wirex.PersonsWords(l.Request.Text(b)) != "" {
			return true
		}
	}
	return false
}

// calls reports whether a message holds calls.
func (l *Ladder) calls(m transcript.Message) bool {
	for b := m.First; b < m.End; b++ {
		if l.t.Block(b).Kind == transcript.Call {
			return true
		}
	}
	return false
}

// tells reports whether a message holds a summary of an earlier compaction.
func (l *Ladder) tells(m *transcript.Message) bool {
	if l.Window.Told == nil {
		return false
	}
	for b := m.First; b < m.End; b++ {
		if l.Window.Told(l.Request, b) {
			return true
		}
	}
	return false
}

// spread marks what marked atoms need.
func (s *scene) spread(f *flags) {
	s.needs.Protect(slices.Clip(f.all), func(a, _ transcript.AtomID) bool {
		fresh := !f.on[a]
		f.set(a)
		return fresh
	})
}

// Speaks reports whether a person speaks in a message.
func Speaks(m transcript.Message) bool { return m.Speaks && m.Role != transcript.System }

// TurnsSince counts, for each message, how often a person has spoken after it. What
// stands between two messages of the model counts once, and so do words that share
// a message with results.
func TurnsSince(t *transcript.Transcript) []int {
	ms := t.Messages()
	since := make([]int, len(ms))
	count, speaks := 0, false
	for i := len(ms) - 1; i >= 0; i-- {
		if ms[i].Role == transcript.Assistant && speaks {
			count, speaks = count+1, false
		}
		since[i] = count
		speaks = speaks || ms[i].Speaks
	}
	return since
}

// speaks reports whether a person speaks in message i.
func (l *Ladder) speaks(i int) bool { return Speaks(l.t.Messages()[i]) }
