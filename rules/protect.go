package rules

import (
	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// Protect keeps the selected messages and exchanges, whatever other rules vote. A Protect is safe
// for concurrent use.
type Protect struct {
	Selection
}

// Rule returns the rule, or an [OptionErrors] for invalid options.
func (o Protect) Rule() (pare.Rule, error) {
	find, _ := o.compile()
	rule := pare.Rule{
		Name: protectName,
		Doc:  "pin messages and exchanges by role, tool, path, marker, place or kind",
		Prepare: func(r *wire.Request) (pare.Process, error) {
			return func(b *pare.Ballot) {
				find(r, func(a transcript.AtomID, why string) { b.Protect(a, "%s", why) })
			}, nil
		},
	}
	var wrong optionErrors
	wrong.checkSelection(o.Selection)
	return rule, wrong.errorFor(rule)
}

const protectName = "protect"
