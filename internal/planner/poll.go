package planner

import (
	"context"
	"slices"
	"strings"

	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// poll lets every rule vote on r. A rule that fails is an error or, with SkipFailedRules, is left
// out with all its votes.
func (p *Pipeline) poll(ctx context.Context, r *wire.Request, o Options) (*votes, error) {
	v := new(votes)
	for i := range p.rules {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		rule := &p.rules[i]
		b := &Ballot{
			rule: rule.Name, t: r.Transcript(), votes: new(votes),
			dropped: droppedBy(p.visibleRules(rule.Name), v.drop), archived: o.ArchiveHandles,
		}
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

// droppedBy returns the atoms that some rules voted to drop.
func droppedBy(rules []string, votes []Reason) map[transcript.AtomID]bool {
	dropped := make(map[transcript.AtomID]bool)
	for _, why := range votes {
		if slices.Contains(rules, why.Rule) {
			dropped[why.Via] = true
		}
	}
	return dropped
}

// vote lets the rule fill in a ballot, and closes the ballot.
func (rule *Rule) vote(r *wire.Request, b *Ballot) (fault *FaultError) {
	part := "rule " + rule.Name
	defer func() {
		b.closed = true
		if p := recover(); p != nil {
			fault = newPanicFault(part, p)
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

// visibleRules returns the rules whose votes a rule may see: those that run before it, directly or
// through other rules, because of After and Before.
func (p *Pipeline) visibleRules(rule string) []string {
	var visible []string
	var visit func(name string)
	add := func(name string) {
		if !slices.Contains(visible, name) {
			visible = append(visible, name)
			visit(name)
		}
	}
	visit = func(name string) {
		for _, r := range p.rules {
			if slices.Contains(r.Before, name) || slices.Contains(r.Before, "?"+name) {
				add(r.Name)
			}
			if r.Name == name {
				for _, a := range r.After {
					add(strings.TrimPrefix(a, "?"))
				}
			}
		}
	}
	visit(rule)
	return visible
}

// Arriving returns the rules of p that vote on results as they arrive, with the rules that may
// protect something from them. It returns nil if there are none.
func Arriving(p *Pipeline) *Pipeline {
	arriving, _ := p.splitArriving()
	return arriving
}

// splitArriving separates the rules that vote on results as they arrive from all others. Rules that
// may protect old content are in both pipelines. A pipeline without rules is nil.
func (p *Pipeline) splitArriving() (arriving, rest *Pipeline) {
	switch {
	case p == nil || !slices.ContainsFunc(p.rules, func(r Rule) bool { return r.Arriving }):
		return nil, p
	case p.onlyArriving:
		return p, nil
	}
	arriving, rest = &Pipeline{onlyArriving: true}, new(Pipeline)
	for _, r := range p.rules {
		if r.Arriving || !r.Recent {
			arriving.rules = append(arriving.rules, r)
		}
		if !r.Arriving {
			rest.rules = append(rest.rules, r)
		}
	}
	if len(rest.rules) == 0 {
		rest = nil
	}
	return arriving, rest
}

// applyArriving adds the edits of rules that vote on results as they arrive. The other rules of the
// pipeline only protect. A nil pipeline adds nothing.
func (d draft) applyArriving(ctx context.Context, p *Pipeline, o Options) (draft, error) {
	if p == nil {
		return d, nil
	}
	repaired := d.result()
	v, err := p.poll(ctx, repaired, o)
	if err != nil {
		return draft{}, err
	}
	d.faults = v.faults
	v.drop, v.needs = nil, nil
	v.edits = slices.DeleteFunc(v.edits, func(e edit) bool { return !p.isArriving(e.reason.Rule) })
	s := settleRules(repaired, v)
	if len(s.edits) == 0 {
		return d, nil
	}
	s.decisions = nil // the plan reports the decisions of the other rules
	step, err := d.rewrite(s, nil, o)
	if err != nil {
		return draft{}, err
	}
	o.KeepInvalidThinking = true // the model has seen the edited results
	if d, err = d.with(step).finish(ctx, repaired, o); err != nil {
		return draft{}, err
	}
	d.sent = d.result()
	return d, nil
}

// isArriving reports whether a rule of the pipeline votes on results as they arrive.
func (p *Pipeline) isArriving(rule string) bool {
	return slices.ContainsFunc(p.rules, func(r Rule) bool { return r.Arriving && r.Name == rule })
}
