package pare

import (
	"fmt"
	"slices"

	"github.com/pare-llm/pare/internal/needs"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// A Decision is the verdict on one atom, with all reasons that led to it. Many goroutines
// may read it.
type Decision struct {
	Atom    transcript.AtomID `json:"atom"`
	Action  Action            `json:"action"`
	Reasons []Reason          `json:"reasons"`
	// Protected is set if a vote to keep every byte stood.
	Protected bool `json:"protected,omitempty"`
}

// poll lets every rule vote.
func (p *Pipeline) poll(r *wire.Request) (*votes, error) {
	t := r.Transcript()
	v := &votes{drop: make([][]Reason, len(t.Atoms())), protect: make([][]Reason, len(t.Atoms()))}
	for i, rule := range p.rules {
		if err := rule.vote(r, &Ballot{rule: rule.Name, t: t, votes: v, before: p.before(i)}); err != nil {
			return nil, fmt.Errorf("rule %s: %w", rule.Name, err)
		}
	}
	return v, nil
}

// vote lets the rule fill in its ballot, and closes it.
func (rule *Rule) vote(r *wire.Request, b *Ballot) error {
	defer blame("rule " + rule.Name)
	process, err := rule.Prepare(r)
	if err != nil || process == nil {
		return err
	}
	process(b)
	b.closed = true
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

// settle turns all votes into one verdict per atom. Protection spreads along
// needs first, so a later drop can never meet it; then drops spread backwards.
// The outcome is the least fixpoint of both and does not depend on any order.
func settle(r *wire.Request, v *votes) ([]Decision, blockEdits) {
	t := r.Transcript()
	graph := needs.New(t, v.needs)
	out := make([]Decision, len(t.Atoms()))
	for i := range out {
		out[i].Atom = transcript.AtomID(i)
	}

	if t.Compacted() { // it stays, and what it stands for is not read
		for b := transcript.BlockID(0); b <= t.Start(); b++ {
			if a := t.AtomOf(b); len(v.protect[a]) == 0 {
				v.protect[a] = []Reason{{"compaction", "the provider has compacted the history up to here", a}}
			}
		}
	}
	var protected, dropped []transcript.AtomID
	for a, reasons := range v.protect {
		if len(reasons) > 0 {
			out[a].Protected, out[a].Reasons = true, reasons
			protected = append(protected, transcript.AtomID(a))
		}
	}
	graph.Protect(protected, func(a, via transcript.AtomID) bool {
		if out[a].Protected {
			return false
		}
		out[a].Protected, out[a].Reasons = true, []Reason{{out[via].Reasons[0].Rule, "needed by what is protected", via}}
		return true
	})

	for a, reasons := range v.drop {
		if len(reasons) > 0 && !out[a].Protected {
			out[a].Action, out[a].Reasons = ActionDrop, reasons
			dropped = append(dropped, transcript.AtomID(a))
		}
	}
	graph.Drop(dropped, func(a, via transcript.AtomID) bool {
		if out[a].Action == ActionDrop {
			return false
		}
		out[a].Action, out[a].Reasons = ActionDrop, []Reason{{out[via].Reasons[0].Rule, "needs what is dropped", via}}
		return true
	})
	return out, settleEdits(r, v, out)
}

// settleEdits lets the shortest edit of each block stand where its atom is kept and
// not protected.
func settleEdits(r *wire.Request, v *votes, out []Decision) blockEdits {
	t := r.Transcript()
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
		d := &out[t.AtomOf(id)]
		if d.Protected || d.Action == ActionDrop || !r.Editable(id) {
			continue
		}
		best, first := &v.edits[uint32(all[0])], len(reasons)
		for _, i := range all {
			e := &v.edits[uint32(i)]
			if len(e.text) < len(best.text) || len(e.text) == len(best.text) && e.text < best.text {
				best = e
			}
			reasons = append(reasons, e.reason)
		}
		d.Action = ActionEdit
		if own := slices.Clip(reasons[first:]); d.Reasons == nil {
			d.Reasons = own
		} else {
			d.Reasons = append(d.Reasons, own...)
		}
		edits, why = append(edits, wire.BlockEdit{Block: id, Text: best.text}), append(why, best.reason)
	}
	return blockEdits{edits, func(i int) Reason { return why[i] }}
}
