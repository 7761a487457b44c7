package rules

import (
	"slices"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// ErrorPurging clears or drops failed calls if the same tool later succeeded on the same target.
// The target of a tool is its file, the command line of a tool that runs something, or else all
// arguments. An ErrorPurging is safe for concurrent use.
type ErrorPurging struct {
	// What to do with a failed call: "clear" its arguments and its result, "arguments" to clear them and keep what the tool said, or "drop" the exchange. Default: clear.
	Mode string `json:"mode,omitempty" enum:"clear,arguments,drop"`
	// Arguments and results that are shorter are left alone. Default: 512.
	MinBytes int `json:"min_bytes,omitempty"`
	Scope
}

// Rule returns the rule, or an [OptionErrors] for invalid options.
func (o ErrorPurging) Rule() (pare.Rule, error) {
	guard := o.compile()
	rule := pare.Rule{
		Name:   "error-purging",
		Doc:    "clear failed calls that a later success of the same tool on the same target made moot",
		Before: protectingRules(),
		Recent: true,
	}
	rule.Prepare = func(r *wire.Request) (pare.Process, error) {
		s := guard.view(r)
		return s.process(rule.Name, o.MinBytes, func() []uselessExchange {
			return s.healedFailures(sortFindings(s.findHealed(s.exchangesOf(anyTool))), o.Mode)
		}), nil
	}
	var wrong optionErrors
	wrong.checkMode(o.Mode, modeClear, modeArguments, modeDrop)
	wrong.checkMinimum("min_bytes", o.MinBytes, 0)
	wrong.checkScope(o.Scope)
	return rule, wrong.errorFor(rule)
}

// purpose identifies a tool and its target.
type purpose struct {
	tool   int
	kind   string
	file   string
	hash   uint64 // of a target that is not a file
	target string // canonical; empty where the hash is enough
}

// findHealed finds failed calls that a later call healed. It walks back from the end and parses
// only calls that may have the purpose of a failure. It stops looking at a tool when each of its
// failures has a later success.
func (s *historyView) findHealed(among []int) (all []laterFinding) {
	failed := s.findFailures(among)
	if len(failed) == 0 {
		return nil
	}
	rough, exact := make(map[purpose]bool), make(map[purpose]bool)
	aims := make(map[int]purpose, len(failed))
	first, open := make(map[int]int), make(map[int]int) // by tool: the first failure, and the number of purposes without a success
	for _, i := range failed {
		x := &s.t.Exchanges()[i]
		a, note, exactly := s.purposeOf(s.lookUpTool(x.Tool), x)
		if _, ok := first[a.tool]; !ok {
			first[a.tool] = i
		}
		if note {
			continue
		}
		rough[a] = true
		if a.target = string(dialect.Canonical(exactly)); !exact[a] {
			exact[a] = true
			open[a.tool]++
		}
		aims[i] = a
	}
	healed := make(map[purpose]int)
	for _, i := range slices.Backward(among) {
		if n := len(failed); n > 0 && failed[n-1] == i {
			failed = failed[:n-1]
			if by, ok := healed[aims[i]]; ok && s.callTurn(i) < s.callTurn(by) {
				x := &s.t.Exchanges()[i]
				u := s.readCall(s.lookUpTool(x.Tool), x)
				all = append(all, laterFinding{exchange: i, laterExchange: by, subject: subject{u.kind, u.file}})
			}
			continue
		}
		x := &s.t.Exchanges()[i]
		k := s.lookUpTool(x.Tool)
		if open[k.number] == 0 || i < first[k.number] {
			continue
		}
		a, note, exactly := s.purposeOf(k, x)
		if note || !rough[a] {
			continue
		}
		if a.target = string(dialect.Canonical(exactly)); !exact[a] {
			continue
		}
		if _, ok := healed[a]; !ok && s.outcome(x) == transcript.OutcomeSucceeded {
			healed[a] = i
			open[k.number]--
		}
	}
	return all
}

// healedFailures turns findings into votes.
func (s *historyView) healedFailures(found []laterFinding, mode string) []uselessExchange {
	all := make([]uselessExchange, 0, len(found))
	for _, f := range found {
		if s.isProtectedFile(f.subject.file) {
			continue
		}
		all = append(all, uselessExchange{
			exchange: f.exchange, subject: f.subject, reason: s.withLaterCall("it failed, and ", f.laterExchange, " succeeded"),
			keepResult: mode == modeArguments, drop: mode == modeDrop,
		})
	}
	return all
}

// findFailures lists the failed exchanges.
func (s *historyView) findFailures(among []int) (failed []int) {
	for _, i := range among {
		if x := &s.t.Exchanges()[i]; s.mayHaveFailed(x) && s.outcome(x) == transcript.OutcomeFailed {
			failed = append(failed, i)
		}
	}
	return failed
}

// purposeOf returns the purpose of a call as far as it is cheap to compute, whether its arguments
// have been cleared, and the bytes to compare for an exact answer.
func (s *historyView) purposeOf(k *numberedTool, x *transcript.Exchange) (a purpose, note bool, exactly []byte) {
	a = purpose{tool: k.number, kind: k.Kind}
	if k.Kind != kindSearch || k.Command != "" {
		u := s.readCall(k, x)
		a.kind = u.kind
		switch {
		case u.isCleared:
			return a, true, nil
		case u.kind == kindRun && u.target != nil:
			a.hash = hashValue(u.target)
			return a, false, u.target
		case u.kind != kindSearch && u.file != "":
			a.file = u.file
			return a, false, nil
		}
	}
	// A search in the same folder may look for something else.
	args := s.arguments(x.Call)
	if isClearedArguments(args) {
		return a, true, nil
	}
	a.hash = hashArguments(args)
	return a, false, args
}
