package planner

import (
	"cmp"
	"slices"
	"strings"

	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/internal/needs"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// A Decision is the verdict on one atom, with all reasons for it.
type Decision struct {
	Atom    transcript.AtomID `json:"atom"`
	Action  wire.Action       `json:"action"`
	Reasons []Reason          `json:"reasons"`
	// Protected is set if every byte of the atom stays because of a vote.
	Protected bool `json:"protected,omitempty"`
}

// A settlement is the verdict on a request: one decision per atom, and the edits of its blocks.
type settlement struct {
	decisions   []Decision
	edits       []wire.BlockEdit // by block
	editReasons []Reason         // by edit
}

// drops returns the blocks of all dropped atoms, in order.
func (s *settlement) drops(t *transcript.Transcript) []transcript.BlockID {
	var drops []transcript.BlockID
	for _, d := range s.decisions {
		if d.Action == wire.ActionDrop {
			drops = append(drops, t.Atoms()[d.Atom].Blocks...)
		}
	}
	slices.Sort(drops)
	return drops
}

// keepAll returns the decisions to keep every atom of t.
func keepAll(t *transcript.Transcript) []Decision {
	decisions := make([]Decision, len(t.Atoms()))
	for i := range decisions {
		decisions[i] = Decision{Atom: transcript.AtomID(i), Action: wire.ActionKeep}
	}
	return decisions
}

// settleRules settles the votes of rules. Thinking that led only to dropped atoms is dropped with
// them, and the last atom stays if the rules would drop all of them.
func settleRules(r *wire.Request, v *votes) settlement {
	s := settle(r, v)
	if slices.ContainsFunc(s.decisions, isDrop) {
		dropIdleThinking(r.Transcript(), s.decisions)
		keepLast(s.decisions)
	}
	return s
}

func isDrop(d Decision) bool { return d.Action == wire.ActionDrop }

// settle settles votes. It protects the task and the newest words of the user, because no rule may
// drop them.
func settle(r *wire.Request, v *votes) settlement {
	s := settleVotes(r, v)
	task, newest := personTexts(r)
	var saved []Reason
	for _, text := range slices.Concat(task, newest) {
		if a := r.Transcript().AtomOf(text.block); isDrop(s.decisions[a]) {
			saved = append(saved, Reason{"user-words", "the task and the newest words of the user stay", a})
		}
	}
	if len(saved) == 0 {
		return s
	}
	protecting := *v
	protecting.protect = slices.Concat(v.protect, saved)
	return settle(r, &protecting)
}

// settleVotes turns votes into one decision per atom.
//
//  1. Protection spreads to everything that a protected atom needs.
//  2. Drop votes on protected atoms are void.
//  3. The remaining drops spread to everything that needs a dropped atom.
//
// A drop never spreads to a protected atom: everything that a protected atom needs is protected
// too. Both spreads are least fixpoints, so the result does not depend on the order of the votes.
func settleVotes(r *wire.Request, v *votes) settlement {
	t := r.Transcript()
	graph := needs.New(t, v.needs)
	decisions := keepAll(t)
	protect(decisions, t, v.protect)
	graph.Protect(atomsWhere(decisions, graph, func(d Decision) bool { return d.Protected }), func(a, via transcript.AtomID) bool {
		if decisions[a].Protected {
			return false
		}
		decisions[a].Protected = true
		decisions[a].Reasons = []Reason{{decisions[via].Reasons[0].Rule, "needed by what is protected", via}}
		return true
	})
	for _, why := range v.drop {
		if d := &decisions[why.Via]; !d.Protected {
			d.Action, d.Reasons = wire.ActionDrop, append(d.Reasons, why)
		}
	}
	graph.Drop(atomsWhere(decisions, graph, isDrop), func(a, via transcript.AtomID) bool {
		if isDrop(decisions[a]) {
			return false
		}
		decisions[a].Action = wire.ActionDrop
		decisions[a].Reasons = []Reason{{decisions[via].Reasons[0].Rule, "needs what is dropped", via}}
		return true
	})
	edits, reasons := settleEdits(r, v.edits, decisions)
	return settlement{decisions, edits, reasons}
}

// protect modifies decisions to protect the atoms that votes protect, and the part of a history
// that the provider has compacted.
func protect(decisions []Decision, t *transcript.Transcript, votes []Reason) {
	for _, why := range votes {
		d := &decisions[why.Via]
		d.Protected, d.Reasons = true, append(d.Reasons, why)
	}
	if !t.IsCompacted() {
		return
	}
	for b := transcript.BlockID(0); b <= t.Start(); b++ {
		if d := &decisions[t.AtomOf(b)]; !d.Protected {
			d.Protected = true
			d.Reasons = []Reason{{"compaction", "the provider has compacted the history up to here", d.Atom}}
		}
	}
}

// atomsWhere returns the atoms whose decisions match. It returns nil for a nil graph, in which
// nothing spreads.
func atomsWhere(decisions []Decision, graph *needs.Graph, matches func(Decision) bool) (atoms []transcript.AtomID) {
	if graph == nil {
		return nil
	}
	for _, d := range decisions {
		if matches(d) {
			atoms = append(atoms, d.Atom)
		}
	}
	return atoms
}

// settleEdits returns the winning edit of each block, with its reason: the shortest text or, of
// equally short texts, the first in byte order. It modifies decisions, which have the reasons of
// all votes. Protected and dropped atoms, and blocks that cannot be edited, have no edits.
func settleEdits(r *wire.Request, votes []edit, decisions []Decision) (edits []wire.BlockEdit, reasons []Reason) {
	if len(votes) == 0 {
		return nil, nil
	}
	t := r.Transcript()
	task, newest := personTexts(r)
	personal := slices.Concat(task, newest)
	votes = slices.DeleteFunc(slices.Clone(votes), func(e edit) bool {
		d := &decisions[t.AtomOf(e.block)]
		return d.Protected || isDrop(*d) || !dialect.Editable(r, e.block) || losesWords(e, personal)
	})
	slices.SortStableFunc(votes, func(a, b edit) int { return cmp.Compare(a.block, b.block) })
	for len(votes) > 0 {
		n := 1
		for n < len(votes) && votes[n].block == votes[0].block {
			n++
		}
		d := &decisions[t.AtomOf(votes[0].block)]
		d.Action = wire.ActionEdit
		for _, e := range votes[:n] {
			d.Reasons = append(d.Reasons, e.reason)
		}
		best := slices.MinFunc(votes[:n], compareEdits)
		edits = append(edits, wire.BlockEdit{Block: best.block, Text: best.text})
		reasons = append(reasons, best.reason)
		votes = votes[n:]
	}
	return edits, reasons
}

// losesWords reports whether an edit would remove words of the user that must stay.
func losesWords(e edit, personal []personText) bool {
	return slices.ContainsFunc(personal, func(p personText) bool {
		return p.block == e.block && !strings.Contains(e.text, p.words)
	})
}

// compareEdits orders edits of one block; the first one wins.
func compareEdits(a, b edit) int {
	return cmp.Or(cmp.Compare(len(a.text), len(b.text)), cmp.Compare(a.text, b.text))
}

// dropIdleThinking modifies decisions to drop thinking of which everything that it led to is
// dropped: the rest of its message or, if the message contains only thinking, the following
// messages of its turn up to the next such message.
func dropIdleThinking(t *transcript.Transcript, decisions []Decision) {
	messages := t.Messages()
	for first := 0; first < len(messages); {
		end := first
		inTurn := func() bool { return end < len(messages) && messages[end].Turn == messages[first].Turn }
		for inTurn() && isThinking(t, messages[end]) {
			end++
		}
		if end == first {
			end++
		} else {
			for inTurn() && !isThinking(t, messages[end]) {
				end++
			}
		}
		dropIdleThinkingIn(t, decisions, messages[first].First, messages[end-1].End)
		first = end
	}
}

// isThinking reports whether a message contains thinking and nothing else.
func isThinking(t *transcript.Transcript, m transcript.Message) bool {
	for b := m.First; b < m.End; b++ {
		if t.Block(b).Kind != transcript.Thinking {
			return false
		}
	}
	return m.First < m.End
}

// dropIdleThinkingIn modifies decisions to drop the thinking in a range of blocks if all other
// blocks of the range are dropped.
func dropIdleThinkingIn(t *transcript.Transcript, decisions []Decision, first, end transcript.BlockID) {
	var cause *Decision
	for b := first; b < end; b++ {
		if t.Block(b).Kind == transcript.Thinking {
			continue
		}
		cause = &decisions[t.AtomOf(b)]
		if !isDrop(*cause) {
			return
		}
	}
	if cause == nil {
		return
	}
	for b := first; b < end; b++ {
		if d := &decisions[t.AtomOf(b)]; !isDrop(*d) && !d.Protected {
			d.Action = wire.ActionDrop
			d.Reasons = append(d.Reasons, Reason{cause.Reasons[0].Rule, "thinking that leads to nothing any more", cause.Atom})
		}
	}
}

// keepLast modifies decisions to keep the last atom if all atoms are dropped, because a history
// must not become empty.
func keepLast(decisions []Decision) {
	if len(decisions) == 0 || slices.ContainsFunc(decisions, func(d Decision) bool { return !isDrop(d) }) {
		return
	}
	last := &decisions[len(decisions)-1]
	last.Action = wire.ActionKeep
	last.Reasons = append(last.Reasons, Reason{"", "a history must not become empty", last.Atom})
}
