package pare

import (
	"slices"

	"github.com/pare-llm/pare/wire"
)

// part parts rules into those that vote on results as they arrive, with those that may protect
// something from them, and all others. Nil: there are none.
func (p *Pipeline) part() (first, rest *Pipeline) {
	switch {
	case p == nil || !slices.ContainsFunc(p.rules, func(r Rule) bool { return r.Arriving }):
		return nil, p
	case p.first:
		return p, nil
	}
	first, rest = &Pipeline{first: true}, new(Pipeline)
	for _, r := range p.rules {
		if r.Arriving || !r.Recent {
			first.rules = append(first.rules, r)
		}
		if !r.Arriving {
			rest.rules = append(rest.rules, r)
		}
	}
	if len(rest.rules) == 0 {
		rest = nil
	}
	return first, rest
}

// Arriving are the rules that vote on results as they arrive, and nothing else is voted on by them;
// nil: there are none.
func (p *Pipeline) arriving() *Pipeline {
	first, _ := p.part()
	return first
}

// arrive does what rules want of results that arrive, and returns the plan that goes on from there.
// Of the other rules only what they protect counts.
func (p *Plan) arrive(first *Pipeline, o Options) (*Plan, error) {
	if first == nil {
		return p, nil
	}
	v, err := first.poll(p.repaired, o)
	if err != nil {
		return nil, err
	}
	p.faults = v.faults
	v.drop, v.needs = nil, nil
	v.edits = slices.DeleteFunc(v.edits, func(e edit) bool {
		return !slices.ContainsFunc(first.rules, func(r Rule) bool { return r.Arriving && r.Name == e.reason.Rule })
	})
	_, edits := p.decide(v)
	if len(edits.all) == 0 {
		p.decisions = nil
		return p, nil
	}
	if err := p.carryOut(nil, edits, o, nil); err != nil {
		return nil, err
	}
	o.KeepInvalidThinking = true // it is bound to what is made here
	if err := p.finish(o); err != nil {
		return nil, err
	}
	next := p.further()
	next.sent = p.out
	return next, nil
}

// before is what the model saw when it thought what it did: the request as it came, with what was
// shortened as it arrived.
func (p *Plan) before() *wire.Request {
	if p.sent != nil {
		return p.sent
	}
	return p.in
}
