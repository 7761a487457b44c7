package rules

import (
	"fmt"
	"slices"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// ErrorPurgingOptions are those of [ErrorPurging]; the zero value is the default.
type ErrorPurgingOptions struct {
	// What to do with a failed call: "clear" its arguments and its result, "arguments" to clear them and keep what the tool said, or "drop" the exchange. Default: clear.
	Mode Mode `json:"mode,omitempty" enum:"clear,arguments,drop"`
	// Arguments and results that are shorter are left alone. Default: 512.
	MinBytes int `json:"min_bytes,omitempty"`
	Scope
}

func (o ErrorPurgingOptions) validate() error {
	if err := o.Mode.validate(Clear, ClearArguments, Drop); err != nil {
		return err
	}
	if o.MinBytes < 0 {
		return fmt.Errorf("min_bytes: %d is less than 0", o.MinBytes)
	}
	return o.Scope.validate()
}

// Rule returns the rule, or what is wrong with the options.
func (o ErrorPurgingOptions) Rule() (pare.Rule, error) {
	return ErrorPurging(o), check(errorPurging, o.validate())
}

const errorPurging = "error-purging"

// ErrorPurging clears or drops failed calls that a later success of the same tool
// on the same target made moot. The target is the file; of a tool that runs
// something, what it runs; of any other, all arguments.
func ErrorPurging(o ErrorPurgingOptions) pare.Rule {
	table := o.tools()
	return pare.Rule{
		Name:   errorPurging,
		Doc:    "clear failed calls that a later success of the same tool on the same target made moot",
		Before: []string{"?" + toolPairing},
		Prepare: func(r *wire.Request) (pare.Process, error) {
			if err := o.validate(); err != nil {
				return nil, err
			}
			s := newSight(o.Scope, table, r)
			all := s.moot(o.Mode)
			return func(b *pare.Ballot) { s.ballots(errorPurging, o.MinBytes).vote(b, all) }, nil
		},
	}
}

// An aim is a tool and what it works on.
type aim struct {
	tool   int
	kind   Kind
	target string
}

// moot walks back from the end and knows what has succeeded later. Arguments are
// read only of tools that failed at some time before.
func (s *sight) moot(mode Mode) []victim {
	outcomes, first := s.failures()
	if len(first) == 0 {
		return nil
	}
	healed := make(map[aim]int)
	var all []victim
	for i, x := range slices.Backward(s.t.Exchanges()) {
		if outcomes[i] == unclear {
			continue
		}
		k := s.tool(x.Tool)
		if from, ok := first[k.number]; !ok || i < from {
			continue
		}
		a, u := s.aim(k, &x)
		if u.note {
			continue
		}
		by, ok := healed[a]
		switch {
		case outcomes[i] == succeeded && !ok:
			healed[a] = i
		case outcomes[i] == succeeded, !ok, s.turn(i) >= s.turn(by), s.spared(i, u.file):
		default:
			all = append(all, victim{
				exchange: i, use: u, why: "it failed, and " + s.later(by) + " succeeded",
				keepSaid: mode == ClearArguments, drop: mode == Drop,
			})
		}
	}
	slices.Reverse(all)
	return all
}

// failures judges all exchanges and returns, for each tool that failed, when it
// first did. What may not count is unclear.
func (s *sight) failures() (outcomes []outcome, first map[int]int) {
	outcomes = make([]outcome, len(s.t.Exchanges()))
	first = make(map[int]int)
	for i, x := range s.exchanges {
		outcomes[i] = s.outcome(x)
		k := s.tool(x.Tool)
		if _, ok := first[k.number]; !ok && outcomes[i] == failure {
			first[k.number] = i
		}
	}
	return outcomes, first
}

func (s *sight) aim(k *known, x *transcript.Exchange) (aim, use) {
	args := arguments(s.t, x.Call)
	u := s.use(k, args)
	a := aim{k.number, u.kind, u.target}
	switch {
	case u.note:
	case u.kind == Search || a.target == "" && u.file == "":
		// Where a search looks is not all it looks for.
		a.target = string(wire.Canonical(args))
	case u.kind != Run || a.target == "":
		a.target = u.file
	}
	return a, u
}
