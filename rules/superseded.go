package rules

import (
	"slices"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// SupersededWrites clears or drops writes and edits of a file that a later successful write
// replaced as a whole. Edits replace nothing, because a file is more than its edited lines. A
// failed write replaces nothing, and neither does a write in the same turn, because the order of
// the two is unknown. A SupersededWrites is safe for concurrent use.
type SupersededWrites struct {
	// What to do with a write that is superseded: "clear" its arguments and its result, or "drop" the exchange. Default: clear.
	Mode string `json:"mode,omitempty" enum:"clear,drop"`
	// Arguments and results that are shorter are left alone. Default: 512.
	MinBytes int `json:"min_bytes,omitempty"`
	// Leave edits alone and touch whole writes only. Default: false.
	KeepEdits bool `json:"keep_edits,omitempty"`
	Scope
}

// Rule returns the rule, or an [OptionErrors] for invalid options.
func (o SupersededWrites) Rule() (pare.Rule, error) {
	guard := o.compile()
	rule := pare.Rule{
		Name:   "superseded-writes",
		Doc:    "clear writes and edits of a file that a later successful write replaced as a whole",
		Before: protectingRules(),
		Recent: true,
	}
	writes := func(k *numberedTool) bool { return k.Kind == kindWrite || k.Kind == kindEdit }
	rule.Prepare = func(r *wire.Request) (pare.Process, error) {
		s := guard.view(r)
		return s.process(rule.Name, o.MinBytes, func() []uselessExchange {
			return s.supersededWrites(sortFindings(s.findSuperseded(s.exchangesOf(writes))), o)
		}), nil
	}
	var wrong optionErrors
	wrong.checkMode(o.Mode, modeClear, modeDrop)
	wrong.checkMinimum("min_bytes", o.MinBytes, 0)
	wrong.checkScope(o.Scope)
	return rule, wrong.errorFor(rule)
}

// findSuperseded walks back from the end, so that the first whole write of a file that it finds is
// the current one.
func (s *historyView) findSuperseded(among []int) (all []laterFinding) {
	holds := make(map[string]int) // by file: the latest exchange that wrote all of it
	xs := s.t.Exchanges()
	for _, i := range slices.Backward(among) {
		u := s.writtenBy(&xs[i])
		if u.file == "" {
			continue
		}
		by, ok := holds[u.file]
		switch {
		case !ok && u.kind == kindWrite && s.outcome(&xs[i]) == transcript.OutcomeSucceeded:
			holds[u.file] = i
		case ok && s.callTurn(i) < s.callTurn(by):
			all = append(all, laterFinding{exchange: i, laterExchange: by, subject: subject{u.kind, u.file}})
		}
	}
	return all
}

// writtenBy returns the write or edit of a call. Its file is empty if the call does neither.
func (s *historyView) writtenBy(x *transcript.Exchange) callUse {
	u := s.readCall(s.lookUpTool(x.Tool), x)
	if u.kind != kindWrite && u.kind != kindEdit {
		u.file = ""
	}
	return u
}

// supersededWrites turns findings into votes.
func (s *historyView) supersededWrites(found []laterFinding, o SupersededWrites) []uselessExchange {
	all := make([]uselessExchange, 0, len(found))
	for _, f := range found {
		if s.isProtectedFile(f.subject.file) || f.subject.kind == kindEdit && o.KeepEdits {
			continue
		}
		all = append(all, uselessExchange{exchange: f.exchange, subject: f.subject, reason: s.withLaterCall("the file was written as a whole by ", f.laterExchange, ""), drop: o.Mode == modeDrop})
	}
	return all
}

// callTurn returns the turn of an exchange's call.
func (s *historyView) callTurn(i int) int { return s.t.Messages()[s.callMessage(i)].Turn }
