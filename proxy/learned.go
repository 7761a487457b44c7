package proxy

import (
	"slices"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/refusal"
	"github.com/pare-llm/pare/wire"
)

// affectsRules reports whether there is knowledge about rules, not only about sizes.
func (l Learned) affectsRules() bool {
	return l.Drop || l.Clear > 0 || slices.ContainsFunc(l.Rules, func(rule string) bool { return rule != refusal.Overflow && rule != providerEditsRefused })
}

// applyLearnedProfile modifies the parse options: a learned profile replaces the request's,
// except in a retry.
func (a *planInput) applyLearnedProfile() {
	if a.learned.Profile != "" && a.retryOf == nil {
		a.parseOptions.Profile = a.learned.Profile
	}
}

// applyLearnedLimits modifies a policy: it adds the limits that the provider has shown, and the
// rules that it applies. It returns the size of the request if that was counted, and whether a
// limit applies.
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

// learnFromRefusal returns the value to learn if a retried request is accepted.
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
