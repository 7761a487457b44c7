package planner

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/pare-llm/pare/archive"
	"github.com/pare-llm/pare/transcript"
)

// A Ballot collects the votes of one rule. It must only be used by the goroutine that runs the
// rule's [Process], until that returns.
type Ballot struct {
	rule    string
	t       *transcript.Transcript
	votes   *votes
	dropped map[transcript.AtomID]bool // see Dropped
	closed  bool

	archived bool                          // removed content is archived
	isCut    func(transcript.BlockID) bool // see IsCut; nil: no block is cut
}

// Drop votes to remove an atom. Votes on atoms that the transcript does not have are ignored.
func (b *Ballot) Drop(a transcript.AtomID, format string, args ...any) {
	if b.valid(a) {
		b.votes.drop = append(b.votes.drop, Reason{b.rule, formatReason(format, args), a})
	}
}

// Protect votes to keep every byte of an atom, and of all atoms that it needs.
func (b *Ballot) Protect(a transcript.AtomID, format string, args ...any) {
	if b.valid(a) {
		b.votes.protect = append(b.votes.protect, Reason{b.rule, formatReason(format, args), a})
	}
}

// Edit votes to replace the content of a block by a text. If several rules edit a block, the
// shortest text wins. Blocks that cannot be edited stay as they are. A text that is not valid UTF-8
// makes the rule fail with a FaultError.
func (b *Ballot) Edit(id transcript.BlockID, text string, format string, args ...any) {
	if id < 0 || int(id) >= len(b.t.Blocks()) || !b.valid(b.t.AtomOf(id)) {
		return
	}
	if !utf8.ValidString(text) {
		panic(&FaultError{"rule " + b.rule, errors.New("its edit holds bytes that are not UTF-8"), nil})
	}
	b.votes.edits = append(b.votes.edits, edit{id, text, Reason{b.rule, formatReason(format, args), b.t.AtomOf(id)}})
}

// Handle returns the name under which the archive keeps a block that is edited. It returns "" if
// nothing is archived or the block does not exist.
func (b *Ballot) Handle(id transcript.BlockID) string {
	if !b.archived || id < 0 || int(id) >= len(b.t.Blocks()) {
		return ""
	}
	return archive.ID(b.t.Bytes(b.t.Block(id).Span))
}

// formatReason formats the reason of a vote. Most reasons are plain texts, which need no
// formatting.
func formatReason(format string, args []any) string {
	if len(args) == 1 && format == "%s" {
		if text, ok := args[0].(string); ok {
			return text
		}
	}
	return fmt.Sprintf(format, args...)
}

// Together requires that two atoms are kept or dropped together.
func (b *Ballot) Together(x, y transcript.AtomID) {
	b.Needs(x, y)
	b.Needs(y, x)
}

// Needs requires that y is kept if x is kept.
func (b *Ballot) Needs(x, y transcript.AtomID) {
	if b.valid(x) && b.valid(y) && x != y {
		b.votes.needs = append(b.votes.needs, [2]transcript.AtomID{x, y})
	}
}

// Dropped reports whether a rule that runs before this one, by After or Before, voted to drop an
// atom.
func (b *Ballot) Dropped(a transcript.AtomID) bool {
	return b.valid(a) && b.dropped[a]
}

// IsCut reports whether an earlier request has cut a block that a rule votes on. Only rules with
// [WithReplay] can ask.
func IsCut(b *Ballot, id transcript.BlockID) bool { return b.isCut != nil && b.isCut(id) }

// valid reports whether the transcript has an atom. It panics after the poll, because the vote
// would be lost.
func (b *Ballot) valid(a transcript.AtomID) bool {
	if b.closed {
		panic("pare: rule " + b.rule + " votes after its Process has returned")
	}
	return a >= 0 && int(a) < len(b.t.Atoms())
}

// votes are the votes of one or more rules, in the order in which they were cast.
type votes struct {
	drop, protect []Reason // Via is the atom
	edits         []edit
	needs         [][2]transcript.AtomID // the second atom is kept if the first is
	faults        []*FaultError          // of rules that failed, and have no votes
}

// add appends the votes of another rule.
func (v *votes) add(other *votes) {
	v.drop = append(v.drop, other.drop...)
	v.protect = append(v.protect, other.protect...)
	v.edits = append(v.edits, other.edits...)
	v.needs = append(v.needs, other.needs...)
}

// An edit is a vote to replace the content of a block.
type edit struct {
	block  transcript.BlockID
	text   string
	reason Reason
}
