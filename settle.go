package pare

import (
	"slices"
	"strings"

	"github.com/pare-llm/pare/internal/needs"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// How settlement works.
//
// All votes are taken before any is counted. Rules look at the history first (Prepare), then
// vote. A Ballot takes Drop and Protect for atoms, Edit for a block (replace what it says by a
// text), and constraints: Needs(x, y), y is kept if x is, and Together(x, y), both ways. They
// join the needs that come from the dialect's one-way ties. Then:
//
//   1. Protection spreads. Every protected atom protects what it needs, and so on.
//   2. Drops on protected atoms fall away.
//   3. Drops spread backwards. What needs a dropped atom is dropped, and so on.
//
// Can step 3 drop something protected? Only if a protected atom needed a dropped one; but then
// step 1 has protected that one, and step 2 has taken its drop away. So both steps are least
// fixpoints over fixed sets, and the outcome is the same in whatever order votes come or
// queues are worked off. Nor can constraints contradict each other: any set of needs can be
// met by protecting more.
//
// Edits stand where the atom is neither dropped nor protected and the block can be edited; of
// several the shortest text wins, and of equally short ones the first in byte order. A
// decision carries all reasons, and for what was pulled in, the atom that pulled (Via).
//
// After and Before say whose votes a rule may see (Ballot.Dropped), nothing else. Compile
// derives an order: by constraint, then by name, so the order in which rules are given does
// not matter. Names that are missing, circles and rules that exclude each other are errors
// that name the rules, before anything runs.

// A Decision is the verdict on one atom, with all reasons that led to it. Many goroutines
// may read it.
type Decision struct {
	Atom    transcript.AtomID `json:"atom"`
	Action  wire.Action       `json:"action"`
	Reasons []Reason          `json:"reasons"`
	// Protected is set if a vote to keep every byte stood.
	Protected bool `json:"protected,omitempty"`
}

// poll lets every rule vote on a request by itself. A rule that fails is an error, or is left
// out with all its votes.
func (p *Pipeline) poll(r *wire.Request, o Options) (*votes, error) {
	v := new(votes)
	for i, rule := range p.rules {
		if err := o.context().Err(); err != nil {
			return nil, err
		}
		b := &Ballot{rule: rule.Name, t: r.Transcript(), votes: new(votes), seen: *v, before: p.before(i), archived: o.archived}
		fault := rule.vote(r, b)
		switch {
		case fault == nil:
			v.add(b.votes)
		case o.SkipFailedRules:
			v.faults = append(v.faults, fault)
		default:
			return nil, fault
		}
	}
	return v, nil
}

// vote lets the rule fill in its ballot, and closes it.
func (rule *Rule) vote(r *wire.Request, b *Ballot) (fault *FaultError) {
	part := "rule " + rule.Name
	defer func() {
		b.closed = true
		if p := recover(); p != nil {
			fault = faultOf(part, p)
		}
	}()
	process, err := rule.Prepare(r)
	if err != nil {
		return &FaultError{part, err, nil}
	}
	if process != nil {
		process(b)
	}
	return nil
}

// before lists the rules that rule i says it comes after, directly or not.
func (p *Pipeline) before(i int) []string {
	var seen []string
	var walk func(name string)
	walk = func(name string) {
		for _, r := range p.rules {
			if slices.Contains(r.Before, name) || slices.Contains(r.Before, "?"+name) {
				if !slices.Contains(seen, r.Name) {
					seen = append(seen, r.Name)
					walk(r.Name)
				}
			}
			if r.Name != name {
				continue
			}
			for _, a := range r.After {
				if a = trimOptional(a); !slices.Contains(seen, a) {
					seen = append(seen, a)
					walk(a)
				}
			}
		}
	}
	walk(p.rules[i].Name)
	return seen
}

func trimOptional(name string) string {
	if name != "" && name[0] == '?' {
		return name[1:]
	}
	return name
}

// decide makes decisions of votes, and returns what is to be dropped and edited.
func (p *Plan) decide(v *votes) ([]transcript.BlockID, blockEdits) {
	decisions, edits := settle(p.repaired, v)
	if slices.ContainsFunc(decisions, func(d Decision) bool { return d.Action == wire.ActionDrop }) {
		decisions = keepLast(dropIdleThoughts(p.repaired.Transcript(), decisions))
	}
	p.decisions = decisions
	return p.dropped(), edits
}

// keepAll decides to keep every atom of t.
func keepAll(t *transcript.Transcript) []Decision {
	all := make([]Decision, len(t.Atoms()))
	for i := range all {
		all[i].Atom, all[i].Action = transcript.AtomID(i), wire.ActionKeep
	}
	return all
}

// settle turns all votes into one verdict per atom. It protects the task and the person's newest words
// where rules would drop them, because no rule may.
func settle(r *wire.Request, v *votes) ([]Decision, blockEdits) {
	decisions, edits := settleVotes(r, v)
	task, newest := personTexts(r)
	var saved []Reason
	for _, p := range slices.Concat(task, newest) {
		if a := r.Transcript().AtomOf(p.block); decisions[a].Action == wire.ActionDrop {
			saved = append(saved, Reason{"user-words", "the task and the newest words of the user stay", a})
		}
	}
	if len(saved) == 0 {
		return decisions, edits
	}
	protecting := *v
	protecting.protect = slices.Concat(v.protect, saved)
	return settle(r, &protecting)
}

// settleVotes turns votes into verdicts. Protection spreads along
// needs first, so a later drop can never meet it; then drops spread backwards.
// The outcome is the least fixpoint of both and does not depend on any order.
func settleVotes(r *wire.Request, v *votes) ([]Decision, blockEdits) {
	t := r.Transcript()
	graph := needs.New(t, v.needs)
	out := keepAll(t)
	marked := func(is func(*Decision) bool) (all []transcript.AtomID) {
		if graph == nil {
			return nil // nothing spreads
		}
		for a := range out {
			if is(&out[a]) {
				all = append(all, transcript.AtomID(a))
			}
		}
		return all
	}
	for _, why := range v.protect {
		d := &out[why.Via]
		d.Protected, d.Reasons = true, append(d.Reasons, why)
	}
	if transcriptx.Compacted(t) { // it stays, and what it stands for is not read
		for b := transcript.BlockID(0); b <= transcriptx.Start(t); b++ {
			if a := t.AtomOf(b); !out[a].Protected {
				out[a].Protected, out[a].Reasons = true, []Reason{{"compaction", "the provider has compacted the history up to here", a}}
			}
		}
	}
	graph.Protect(marked(func(d *Decision) bool { return d.Protected }), func(a, via transcript.AtomID) bool {
		if out[a].Protected {
			return false
		}
		out[a].Protected, out[a].Reasons = true, []Reason{{out[via].Reasons[0].Rule, "needed by what is protected", via}}
		return true
	})

	for _, why := range v.drop {
		if d := &out[why.Via]; !d.Protected {
			d.Action, d.Reasons = wire.ActionDrop, append(d.Reasons, why)
		}
	}
	graph.Drop(marked(func(d *Decision) bool { return d.Action == wire.ActionDrop }), func(a, via transcript.AtomID) bool {
		if out[a].Action == wire.ActionDrop {
			return false
		}
		out[a].Action, out[a].Reasons = wire.ActionDrop, []Reason{{out[via].Reasons[0].Rule, "needs what is dropped", via}}
		return true
	})
	return out, settleEdits(r, v, out)
}

// settleEdits lets the shortest edit of each block stand where its atom is kept and
// not protected.
func settleEdits(r *wire.Request, v *votes, out []Decision) blockEdits {
	t := r.Transcript()
	var guarded []personText // that an edit must not remove
	if len(v.edits) > 0 {
		task, newest := personTexts(r)
		guarded = slices.Concat(task, newest)
	}
	order := make([]uint64, len(v.edits)) // by block, and then as they were made
	for i := range order {
		order[i] = uint64(v.edits[i].block)<<32 | uint64(i)
	}
	slices.Sort(order)
	edits, why := make([]wire.BlockEdit, 0, len(v.edits)), make([]Reason, 0, len(v.edits))
	reasons := make([]Reason, 0, len(v.edits)) // of all decisions
	for len(order) > 0 {
		id, n := transcript.BlockID(order[0]>>32), 1
		for n < len(order) && order[n]>>32 == order[0]>>32 {
			n++
		}
		all := order[:n]
		order = order[n:]
		for _, p := range guarded {
			if p.block == id {
				all = slices.DeleteFunc(slices.Clone(all), func(i uint64) bool { return !strings.Contains(v.edits[uint32(i)].text, p.words) })
			}
		}
		d := &out[t.AtomOf(id)]
		if len(all) == 0 || d.Protected || d.Action == wire.ActionDrop || !wirex.Editable(r, id) {
			continue
		}
		best, first := &v.edits[uint32(all[0])], len(reasons)
		for _, i := range all {
			e := &v.edits[uint32(i)]
			if e.beats(best) {
				best = e
			}
			reasons = append(reasons, e.reason)
		}
		d.Action = wire.ActionEdit
		if own := slices.Clip(reasons[first:]); d.Reasons == nil {
			d.Reasons = own
		} else {
			d.Reasons = append(d.Reasons, own...)
		}
		edits, why = append(edits, wire.BlockEdit{Block: id, Text: best.text}), append(why, best.reason)
	}
	return blockEdits{edits, func(i int) Reason { return why[i] }}
}

// beats reports whether an edit stands in the place of another one of the same block.
func (e *edit) beats(o *edit) bool {
	return len(e.text) < len(o.text) || len(e.text) == len(o.text) && e.text < o.text
}

// dropIdleThoughts drops thinking that loses everything it led to: the rest of its message
// or, where it is a message by itself, what follows it in its turn.
func dropIdleThoughts(t *transcript.Transcript, all []Decision) []Decision {
	ms := t.Messages()
	thinks := func(i int) bool {
		for b := ms[i].First; b < ms[i].End; b++ {
			if t.Block(b).Kind != transcript.Thinking {
				return false
			}
		}
		return ms[i].First < ms[i].End
	}
	for i := 0; i < len(ms); {
		first := i
		goesOn := func() bool { return i < len(ms) && ms[i].Turn == ms[first].Turn }
		for goesOn() && thinks(i) {
			i++
		}
		if i == first {
			i++
		} else {
			for goesOn() && !thinks(i) {
				i++
			}
		}
		dropIdle(t, all, ms[first].First, ms[i-1].End)
	}
	return all
}

// dropIdle drops the thinking among some blocks if all the others are dropped.
func dropIdle(t *transcript.Transcript, all []Decision, first, end transcript.BlockID) {
	var cause *Decision
	for b := first; b < end; b++ {
		d := &all[t.AtomOf(b)]
		switch {
		case t.Block(b).Kind == transcript.Thinking:
		case d.Action == wire.ActionDrop:
			cause = d
		default:
			return
		}
	}
	for b := first; b < end && cause != nil; b++ {
		if d := &all[t.AtomOf(b)]; d.Action != wire.ActionDrop && !d.Protected {
			d.Action = wire.ActionDrop
			d.Reasons = append(d.Reasons, Reason{cause.Reasons[0].Rule, "thinking that leads to nothing any more", cause.Atom})
		}
	}
}

// keepLast keeps the last atom if the rules would leave nothing: a history must not
// become empty.
func keepLast(all []Decision) []Decision {
	if len(all) == 0 || slices.ContainsFunc(all, func(d Decision) bool { return d.Action != wire.ActionDrop }) {
		return all
	}
	last := &all[len(all)-1]
	last.Action = wire.ActionKeep
	last.Reasons = append(last.Reasons, Reason{"", "a history must not become empty", last.Atom})
	return all
}

// dropped lists the blocks of the atoms that go, in order.
func (p *Plan) dropped() (drop []transcript.BlockID) {
	t, drops := p.repaired.Transcript(), 0
	for _, d := range p.decisions {
		if d.Action == wire.ActionDrop {
			drops += len(t.Atoms()[d.Atom].Blocks)
		}
	}
	if drops == 0 {
		return nil
	}
	drop = make([]transcript.BlockID, 0, drops)
	for b := range t.Blocks() {
		if id := transcript.BlockID(b); p.decisions[t.AtomOf(id)].Action == wire.ActionDrop {
			drop = append(drop, id)
		}
	}
	return drop
}
