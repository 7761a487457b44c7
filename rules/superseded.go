package rules

import (
	"slices"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// SupersededWrites clears or drops writes and edits of a file that a later message
// replaces as a whole, successfully. A later edit supersedes nothing: what it
// changes is not all there is. Neither does a write that failed, or one that was
// made in the same turn, because nobody knows which of the two came first. It is a value
// that many goroutines may use.
type SupersededWrites struct {
	// What to do with a write that is superseded: "clear" its arguments and its result, or "drop" the exchange. Default: clear.
	Mode string `json:"mode,omitempty" enum:"clear,drop"`
	// Arguments and results that are shorter are left alone. Default: 512.
	MinBytes int `json:"min_bytes,omitempty"`
	// Leave edits alone and touch whole writes only. Default: false.
	KeepEdits bool `json:"keep_edits,omitempty"`
	Scope
}

// Rule returns the rule, or what is wrong with its options.
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

// superseded walks back from the end, so that the first whole write it meets of a
// file is the one that holds.
func (s *historyView) findSuperseded(among []int) (all []laterFinding) {
	holds := make(map[string]int) // file → the latest exchange that wrote it whole
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

// written is what a call writes or edits; its file is "" if it does neither.
func (s *historyView) writtenBy(x *transcript.Exchange) callUse {
	u := s.readCall(s.lookUpTool(x.Tool), x)
	if u.kind != kindWrite && u.kind != kindEdit {
		u.file = ""
	}
	return u
}

// overwritten says what is to be done about what was superseded.
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

// turn returns the turn of an exchange's call.
func (s *historyView) callTurn(i int) int { return s.t.Messages()[s.callMessage(i)].Turn }
