package pare

import (
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/pare-llm/pare/archive"
	"github.com/pare-llm/pare/transcript"
)

// A Ballot takes the votes of one rule. It is the rule's only outlet, and belongs to the
// goroutine that calls Process, until that returns.
type Ballot struct {
	rule   string
	t      *transcript.Transcript
	votes  *votes
	before []string // rules whose votes may be seen
	seen   votes    // theirs, and others'
	gone   map[transcript.AtomID]bool
	closed bool

	archived bool // what is taken out is kept
	isCut    func(transcript.BlockID) bool
}

// Drop votes to remove an atom. A vote on one that the transcript does not have counts for
// nothing.
func (b *Ballot) Drop(a transcript.AtomID, format string, args ...any) {
	if b.valid(a) {
		b.votes.drop = append(b.votes.drop, Reason{b.rule, worded(format, args), a})
	}
}

// Protect votes to keep every byte of an atom, and of what it needs.
func (b *Ballot) Protect(a transcript.AtomID, format string, args ...any) {
	if b.valid(a) {
		b.votes.protect = append(b.votes.protect, Reason{b.rule, worded(format, args), a})
	}
}

// Edit votes to replace what a block says by a text. Of several edits of a block
// the shortest text wins. Blocks that cannot be edited keep what they say. A text that is
// not UTF-8, cut inside of a character, is the rule's fault: a FaultError.
func (b *Ballot) Edit(id transcript.BlockID, text string, format string, args ...any) {
	if id < 0 || int(id) >= len(b.t.Blocks()) || !b.valid(b.t.AtomOf(id)) {
		return
	}
	if !utf8.ValidString(text) {
		panic(&FaultError{"rule " + b.rule, errors.New("its edit holds bytes that are not UTF-8"), nil})
	}
	b.votes.edits = append(b.votes.edits, edit{id, text, Reason{b.rule, worded(format, args), b.t.AtomOf(id)}})
}

// Handle is the name under which the archive keeps what a block says if it is edited; "": there is
// no archive, or no such block.
func (b *Ballot) Handle(id transcript.BlockID) string {
	if !b.archived || id < 0 || int(id) >= len(b.t.Blocks()) {
		return ""
	}
	return archive.ID(b.t.Bytes(b.t.Block(id).Span))
}

// worded is the reason of a vote; many are given as they are.
func worded(format string, args []any) string {
	if len(args) == 1 && format == "%s" {
		if text, ok := args[0].(string); ok {
			return text
		}
	}
	return fmt.Sprintf(format, args...)
}

// Together demands that two atoms share one fate.
func (b *Ballot) Together(x, y transcript.AtomID) {
	b.Needs(x, y)
	b.Needs(y, x)
}

// Needs demands that y is kept if x is.
func (b *Ballot) Needs(x, y transcript.AtomID) {
	if b.valid(x) && b.valid(y) && x != y {
		b.votes.needs = append(b.votes.needs, [2]transcript.AtomID{x, y})
	}
}

// Dropped reports whether a rule that this one comes after voted to drop the atom.
func (b *Ballot) Dropped(a transcript.AtomID) bool {
	if !b.valid(a) {
		return false
	}
	if b.gone == nil {
		b.gone = make(map[transcript.AtomID]bool)
		for _, why := range b.seen.drop {
			if slices.Contains(b.before, why.Rule) {
				b.gone[why.Via] = true
			}
		}
	}
	return b.gone[a]
}

// valid guards against votes on atoms that are none, and after the poll.
func (b *Ballot) valid(a transcript.AtomID) bool {
	if b.closed {
		panic("pare: rule " + b.rule + " votes after its Process has returned")
	}
	return a >= 0 && int(a) < len(b.t.Atoms())
}

// votes is what rules said, in the order in which they said it.
type votes struct {
	drop, protect []Reason // by way of the atom itself
	edits         []edit
	needs         [][2]transcript.AtomID
	faults        []*FaultError // rules that failed, and have said nothing
}

// add puts what another rule said behind.
func (v *votes) add(said *votes) {
	v.drop, v.protect = append(v.drop, said.drop...), append(v.protect, said.protect...)
	v.edits, v.needs = append(v.edits, said.edits...), append(v.needs, said.needs...)
}

type edit struct {
	block  transcript.BlockID
	text   string
	reason Reason
}
