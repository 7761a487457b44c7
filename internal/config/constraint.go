package config

import (
	"fmt"
	"reflect"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/rules"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// A Constraint says what belongs together, for all rules and for the window: either
// Keep and Needs, or Together. Many goroutines may read it.
type Constraint struct {
	// Name of the constraint, such as edits-need-the-plan; no rule may have it.
	Name string `json:"name" required:"\"my-constraint\""`
	// What the constraint is about: while any of it is kept, all that needs names is kept, too. Default: none.
	Keep Selector `json:"keep,omitzero"`
	// What is kept while any of keep is; if some of this goes, all of keep goes with it. Default: none.
	Needs Selector `json:"needs,omitzero"`
	// What shares one fate: all of it is kept, or none. Default: none.
	Together Selector `json:"together,omitzero"`
	// Whether the constraint holds. Default: true.
	Enabled *bool `json:"enabled,omitempty"`
}

// A Selector names parts of a history as pin does, or by a condition about exchanges.
// Each entry of each list, and the condition, select something of their own. Many
// goroutines may read it.
type Selector struct {
	rules.Selection
	// Exchanges for which this expression holds, such as 'tool == "Bash" and failed'. Default: none.
	When string `json:"when,omitempty"`
}

func (s Selector) empty() bool { return reflect.ValueOf(s).IsZero() }

// ConstraintDoc is what a list of rules says about a constraint.
const ConstraintDoc = "hold together what belongs together"

// maxConstraints bounds what a file can cost each time it is used, maxTies what one
// constraint can: each of keep is tied to each of needs.
const (
	maxConstraints = 50
	maxTies        = 1 << 20
)

// A TiesError is the error for a constraint that selects so much of a history that
// it cannot be what was meant. Nothing was decided. Many goroutines may read it.
type TiesError struct {
	Constraint  string
	Keep, Needs int // how many atoms each selects
}

func (e *TiesError) Error() string {
	return fmt.Sprintf("constraint %s: %d in keep and %d in needs are too many to tie together; at most %d pairs are", e.Constraint, e.Keep, e.Needs, maxTies)
}

// entry compiles the constraint.
func (c *Constraint) entry(s *source, i int, tools []Tool) (entry, bool) {
	path := fmt.Sprintf("constraint.%d", i)
	s.checkGiven(path, reflect.ValueOf(c).Elem())
	s.checkName(path, c.Name)
	// What does not fit was reported, and is given all the same.
	given := func(key string, sel Selector) bool { return !sel.empty() || s.failedBelow(join(path, key)) }
	keep, needs, together := given("keep", c.Keep), given("needs", c.Needs), given("together", c.Together)
	switch {
	case together && keep:
		s.failKey(join(path, "keep"), "write two constraints, or remove it", "keep goes with needs, not with together")
	case together && needs:
		s.failKey(join(path, "needs"), "write two constraints, or remove it", "needs goes with keep, not with together")
	case keep && !needs:
		s.fail(path, "write "+s.assign("needs", s.inline("paths", `["PLAN.md"]`)), "needs is missing, which says what is kept with it")
	case needs && !keep:
		s.fail(path, "write "+s.assign("keep", s.inline("tools", `["Edit"]`)), "keep is missing, which says what needs it")
	case !together && !keep:
		s.fail(path, "write keep and needs, or together", "nothing is selected")
	}
	find := func(key string, sel Selector) seek { return sel.compile(s, join(path, key), c.Name, tools) }
	a, b, all := find("keep", c.Keep), find("needs", c.Needs), find("together", c.Together)
	rule := pare.Rule{Name: c.Name, Doc: ConstraintDoc, Prepare: func(r *wire.Request) (pare.Process, error) {
		if together {
			return bind(r, all)
		}
		return c.tie(r, a, b)
	}}
	return entry{rule: rule, path: path, sw: Switch{Enabled: c.Enabled}, byDefault: true}, c.Name != ""
}

// A seek returns the atoms of a request that are selected, each once, in order.
type seek func(*wire.Request) ([]transcript.AtomID, error)

// compile makes a selector ready and reports what is wrong with it.
func (sel Selector) compile(s *source, path, name string, tools []Tool) seek {
	sel.Table = tools
	find, err := rulesx.Compile(sel.Selection)
	s.failOptions(path, err)
	var p *program
	if v := s.values[join(path, "when")]; sel.When != "" || v != nil && v.kind == text {
		var refused *refusal
		if p, refused = compile(sel.When); refused != nil {
			s.failInside(join(path, "when"), refused)
		}
	}
	return func(r *wire.Request) ([]transcript.AtomID, error) {
		t := r.Transcript()
		selected := make([]bool, len(t.Atoms()))
		find(r, func(a transcript.AtomID, _ string) { selected[a] = true })
		if p != nil {
			w := newWalker(p, name, r, tools)
			for i, x := range t.Exchanges() {
				yes, err := w.holds(i)
				if err != nil {
					return nil, err
				}
				if yes {
					selected[t.AtomOf(firstBlock(x))] = true
				}
			}
		}
		var all []transcript.AtomID
		for a, yes := range selected {
			if yes {
				all = append(all, transcript.AtomID(a))
			}
		}
		return all, nil
	}
}

// tie makes each of a need all of b. The product is bounded.
func (c *Constraint) tie(r *wire.Request, a, b seek) (pare.Process, error) {
	keep, err := a(r)
	if err != nil {
		return nil, err
	}
	needs, err := b(r)
	switch {
	case err != nil:
		return nil, err
	case len(keep)*len(needs) > maxTies:
		return nil, &TiesError{c.Name, len(keep), len(needs)}
	}
	return func(ballot *pare.Ballot) {
		for _, x := range keep {
			for _, y := range needs {
				ballot.Needs(x, y)
			}
		}
	}, nil
}

// bind ties what is selected to its neighbour, which ties all of it.
func bind(r *wire.Request, find seek) (pare.Process, error) {
	all, err := find(r)
	if err != nil {
		return nil, err
	}
	return func(ballot *pare.Ballot) {
		for i := 1; i < len(all); i++ {
			ballot.Together(all[i-1], all[i])
		}
	}, nil
}
