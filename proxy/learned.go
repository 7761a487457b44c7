package proxy

import (
	"slices"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/refusal"
	"github.com/pare-llm/pare/wire"
)

// aimed reports whether a lesson is about rules, and not only about size.
func (l Learned) affectsRules() bool {
	return l.Drop || l.Clear > 0 || slices.ContainsFunc(l.Rules, func(rule string) bool { return rule != refusal.Overflow && rule != providerEditsRefused })
}

// heed takes over what a lesson says about how a request is read.
func (a *planInput) applyLearnedProfile() {
	if a.learned.Profile != "" && a.retryOf == nil {
		a.parseOptions.Profile = a.learned.Profile
	}
}

// heeding adds to a policy what was learned of the conversation: the window that the
// provider has shown, and the rules that it holds requests to. It returns the size of the
// request if that had to be counted, and false if nothing is known of a limit.
func (a *planInput) applyLearnedLimits(r *wire.Request, p *pare.Policy) (size int, limited bool) {
	p.Check.Strict = p.Check.Strict || a.learned.Strict
	if a.learned.Bytes > 0 && len(r.Raw()) > a.learned.Bytes {
		a.limitBytes(r, p, a.learned.Bytes)
		limited = true
	} else if a.learned.Limit > 0 {
		model := a.model(r)
		if c := a.exactCounter(model); c != nil && mayExceed(r.Raw(), a.learned.Limit, c) {
			a.limitTokens(p, c, a.learned.Limit)
			size, limited = r.Tokens(c), true
		}
	}
	if a.learned.Messages > 0 {
		if !limited {
			w := a.baseWindow()
			w.LowPercent, w.Low = 0, 0
			p.Window = &w
		}
		p.Window.Messages, limited, a.windowEnforced = minNonZero(p.Window.Messages, a.learned.Messages), true, true
	}
	return size, limited
}

// lesson is what is to be learned if a request that is healed by a policy is accepted.
func (a *planInput) learnFromRefusal(r *wire.Request) Learned {
	l := Learned{Rules: []string{a.retryOf.Rule}}
	switch {
	case a.retryOf.Rule == providerEditsRefused:
		l.Own = true
	case a.retryOf.Rule != refusal.Overflow:
		if slices.Contains(thinkingRules, a.retryOf.Rule) && !a.retriesByDropping(r) {
			l.Thinking = len(r.Transcript().Messages())
		}
		if v := a.retryOf.Vendor(); slices.Contains(wire.Profiles(a.parseOptions.Dialect), v) {
			l.Profile = v
		}
		l.Strict = a.isStrict
	default:
		return a.newlyLearned
	}
	return l
}
