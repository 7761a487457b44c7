package ladder

import (
	"errors"
	"fmt"
	"slices"

	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// A Unit is what a limit counts.
type Unit string

const (
	Tokens    Unit = "tokens"
	Messages  Unit = "messages"
	Exchanges Unit = "exchanges"
	Turns     Unit = "turns"
)

// A Limit is the most of a unit that a history may have.
type Limit struct {
	Unit Unit
	Most int
}

// A Rung is a step of the ladder.
type Rung uint8

const (
	Rules         Rung = iota + 1 // what the rules vote for
	Clear                         // old results give way to a placeholder
	Shorten                       // huge results and arguments keep head and tail
	DropExchanges                 // exchanges go, also inside one long run of tool use
	DropTurns                     // turns go, but for what is pinned in them
	Squeeze                       // results and arguments that are pinned are shortened, then cleared
)

// Loses reports whether a rung takes away what a summary should tell.
func (r Rung) Loses() bool { return r == DropExchanges || r == DropTurns }

// A Pin is something that stays although it is old.
type Pin uint8

const (
	System Pin = 1 << iota // messages of the system
	Task                   // the first message in which a person speaks
	Newest                 // the last message in which a person speaks, and the last turn
)

// A Window is what a history must fit, and what goes first.
type Window struct {
	Limits    []Limit // in the order they are met
	MinKeep   int     // messages at the end of which every byte stays
	Unpin     Pin
	MiddleOut bool                                         // those in the middle go first
	Priority  func(*wire.Request, transcript.AtomID) int   // the lowest go first; nil: the oldest do
	Recent    int                                          // exchanges at the end whose results are not cleared
	Low       int                                          // the mark of a stable window; zero: it is none
	PaysAfter func(removed, kept int) int                  // the terms of a cache; nil: there are none
	Cold      []int                                        // requests before which the cache had expired, by how many messages they had, in order; nil: the clock is not known
	AllowTiny bool                                         // smaller than the smallest exchange
	Guides    func(*wire.Request) []bool                   // by exchange: whether the agent works by its text, which goes last; nil: none does
	Name      func(raw []byte) string                      // how a placeholder names what is archived; nil: it does not
	Told      func(*wire.Request, transcript.BlockID) bool // whether a block stands for what is gone already
}

// Votes are what rules want of a history. The zero value wants nothing.
type Votes struct {
	Drop, Protect []bool                        // by atom; settled: nothing is in both
	Edits         map[transcript.BlockID]string // not nil if there are rules
	Needs         [][2]transcript.AtomID        // the second is kept if the first is
}

// A Beginning is the first messages of a history, and what earlier requests left of them.
type Beginning struct {
	Messages int
	// Request makes a request of the messages. Its blocks and atoms are numbered as in the whole.
	Request func() (*wire.Request, error)
	// IsCut reports whether an earlier request has cut a block.
	IsCut func(transcript.BlockID) bool
}

// An Outcome is what came of trying a state.
type Outcome interface {
	Request() *wire.Request
	AsRewritten() bool // its blocks are those that the state has left, in order
	Sound() bool       // nothing is wrong with it that was not wrong before
}

// A Setting is what a ladder stands on.
type Setting struct {
	Request *wire.Request // repaired
	// Unended: the history ends with the assistant, which the provider refuses; that end may
	// go, or something is put behind it.
	Unended bool
	Window  Window
	Counter wire.Counter // nil if no limit is one of tokens
	// Vote asks the rules about the history, or a beginning of it; nil: there are none.
	Vote func(*wire.Request) (Votes, error)
	// VoteCold asks the rules for cold moments about the history or a beginning of it. Their edits of
	// blocks that were cut before do not count. Nil: there are no such rules.
	VoteCold func(Beginning) (Votes, error)
	// Try carries out the state that the ladder is at.
	Try func(*Ladder) (Outcome, error)
	// Stop says why the climb is to end before it is done; nil: nothing does.
	Stop func() error
	// Reserve is room for a summary, taken as soon as anything is lost.
	Reserve int
	// Mark is what a mark costs that will stand where something is lost; nil: there will be none.
	Mark func() int
}

// TooSmall is the error for a window that what must be kept does not fit.
type TooSmall struct {
	Limit   Limit
	Minimum int // exact
}

func (e *TooSmall) Error() string {
	return fmt.Sprintf("what must be kept needs %d %s, the limit is %d", e.Minimum, e.Limit.Unit, e.Limit.Most)
}

// A Ladder is one climb. It belongs to one goroutine.
type Ladder struct {
	Setting
	t       *transcript.Transcript
	scene   *scene // nil: nothing has been looked at
	stage   scene  // where it is
	chain   *chain // nil: nothing has been done
	meter   *meter
	words   *words
	scratch *scratch // nil: it has been given back
	batches []Batch
	trying  bool // only whether it fits is asked
	sparing bool // what loses anything will need room for a mark

	freezing bool // the rules for cold moments vote
}

// New returns a ladder.
func New(s Setting) *Ladder {
	l := &Ladder{Setting: s, t: s.Request.Transcript(), scratch: scratchPool.Get().(*scratch)}
	l.words = &words{r: s.Request, name: s.Window.Name}
	l.meter = newMeter(s.Request, s.Counter, l.words)
	return l
}

// errLoses says that whatever fits loses something.
var errLoses = errors.New("something is lost")

// Fit meets one limit after the other; a ladder fits once. The error is a *TooSmall if
// nothing fits, or one of Vote or Try.
//
// A mark counts: if anything is lost, the state is that of a window of fewer tokens, by what the
// mark costs, but not of fewer than what works. So the least limit is what it is without a mark,
// and a larger limit keeps whatever a smaller one keeps.
func (l *Ladder) Fit() (Outcome, error) {
	defer l.leave()
	limits := l.Window.Limits
	if l.Window.Low == 0 && l.all(l.Request, limits) {
		if out, err := l.Try(l); err != nil || !l.Unended || l.all(out.Request(), limits) {
			return out, err
		}
	}
	l.survey()
	i := slices.IndexFunc(limits, func(m Limit) bool { return m.Unit == Tokens })
	l.sparing = l.Mark != nil && i >= 0
	out, err := l.meetAll(limits)
	if !l.sparing || err != errLoses && (err != nil || l.chain.losses == 0) {
		return out, err
	}
	l.sparing = false
	full, less := limits[i], slices.Clone(limits)
	less[i].Most = max(full.Most-l.Mark(), l.Window.Low+1)
	out, err = l.meetAll(less)
	small := new(TooSmall)
	switch {
	case !errors.As(err, &small):
		return out, err
	case small.Limit.Unit == Tokens && small.Minimum > full.Most:
		return nil, &TooSmall{full, small.Minimum}
	case small.Limit.Unit == Tokens:
		full.Most = small.Minimum
	}
	less[i] = full
	return l.meetAll(less)
}

// meetAll climbs from the history as it is.
func (l *Ladder) meetAll(limits []Limit) (done Outcome, err error) {
	l.batches = nil
	l.putBack()
	if err := l.standAt(len(l.t.Messages())); err != nil {
		return nil, err
	}
	l.chain = newChain(l.t, l.scratch)
	for i, m := range limits {
		if done, err = l.meet(m, limits[:i]); err != nil {
			return nil, err
		}
	}
	return done, nil
}

// leave gives the memory back that only a climb needs. Of the chain, levels are left, and who raised them.
func (l *Ladder) leave() {
	l.putBack()
	l.scratch.back()
	l.scratch = nil
}

func (l *Ladder) putBack() {
	if c := l.chain; c != nil {
		l.scratch.steps, l.scratch.ops, l.scratch.queue = c.steps, c.ops, c.queue
		c.steps, c.ops, c.queue, c.left, c.facts = nil, nil, nil, nil, nil
	}
}

// standAt looks at the history as it was when it had so many messages.
func (l *Ladder) standAt(end int) (err error) {
	l.scene, err = l.vote(end)
	return err
}

// Batches are what a stable window did at earlier requests and at this one.
func (l *Ladder) Batches() []Batch { return l.batches }

// Rung returns which rung has touched a block, zero if none has, and whether the block is
// gone.
func (l *Ladder) Rung(b transcript.BlockID) (by Rung, gone bool) {
	if l.chain == nil {
		return 0, false
	}
	return l.chain.by[b], l.chain.level[b] == isGone
}

// Todo is what brings the request to the state that the ladder is at: what goes, what others say
// instead, and how many blocks each rung has touched.
func (l *Ladder) Todo() (drop []transcript.BlockID, edits []wire.BlockEdit, rungs [Squeeze + 1]int) {
	if l.chain == nil {
		return nil, nil, rungs
	}
	rungs = l.chain.rungs
	rungs[0] = 0 // which is nobody
	drop, edits = make([]transcript.BlockID, 0, l.chain.gone), make([]wire.BlockEdit, 0, l.chain.touched()-l.chain.gone)
	for b, by := range l.chain.by {
		switch v := l.chain.level[b]; {
		case by == 0:
		case v == isGone:
			drop = append(drop, transcript.BlockID(b))
		default:
			edits = append(edits, wire.BlockEdit{Block: transcript.BlockID(b), Text: l.words.text(transcript.BlockID(b), v)})
		}
	}
	return drop, edits, rungs
}

// Cost is what a block of the setting's request costs as it is, in tokens. It is not
// counted again.
func (l *Ladder) Cost(b transcript.BlockID) int {
	if b < l.meter.start { // it is not sent, but it is counted when it goes
		return wirex.BlockTokens(l.meter.r, l.meter.c, b)
	}
	return l.meter.of(b, asIs)
}

// SaidCost is what it costs in the state that the ladder is at. Nor is that counted again.
func (l *Ladder) SaidCost(b transcript.BlockID) int {
	v := l.chain.level[b]
	if b < l.meter.start {
		return wirex.SaidTokens(l.meter.r, l.meter.c, b, l.words.text(b, v))
	}
	return l.meter.of(b, v)
}

// Locked reports whether every byte of an atom stays.
func (l *Ladder) Locked(a transcript.AtomID) bool { return l.scene != nil && l.scene.locked.on[a] }

// Frame is what the marks around a message cost, in tokens.
func (l *Ladder) Frame() int { return l.meter.frame }

// Lost lists, batch by batch, the blocks that are dropped on the rungs of exchanges and
// turns.
func (l *Ladder) Lost() [][]transcript.BlockID {
	if l.chain == nil || l.chain.losses == 0 {
		return nil
	}
	of := make([]int, len(l.chain.level)) // by block: its batch, from 1 on
	for i, b := range l.batches {
		for _, g := range b.gone {
			if of[g] == 0 {
				of[g] = i + 1
			}
		}
	}
	all := make([][]transcript.BlockID, len(l.batches)+1)
	for b, v := range l.chain.level {
		if v == isGone && l.chain.by[b].Loses() {
			i := of[b]
			if i == 0 {
				i = len(all) // gone since the last batch
			}
			all[i-1] = append(all[i-1], transcript.BlockID(b))
		}
	}
	return slices.DeleteFunc(all, func(list []transcript.BlockID) bool { return len(list) == 0 })
}
