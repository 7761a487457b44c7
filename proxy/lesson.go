package proxy

import (
	"slices"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/refusal"
	"github.com/pare-llm/pare/wire"
)

// aimed reports whether a lesson is about rules, and not only about size.
func (l Learned) aimed() bool {
	return l.Drop || l.Clear > 0 || slices.ContainsFunc(l.Rules, func(rule string) bool { return rule != refusal.Overflow && rule != meansRefused })
}

// heed takes over what a lesson says about how a request is read.
func (a *aim) heed() {
	if a.known.Profile != "" && a.heal == nil {
		a.read.Profile = a.known.Profile
	}
}

// heeding adds to a policy what was learned of the conversation: the window that the
// provider has shown, and the rules that it holds requests to. It returns the size of the
// request if that had to be counted, and false if nothing is known of a limit.
func (a *aim) heeding(r *wire.Request, p *pare.Policy) (size int, limited bool) {
	p.Check.Strict = p.Check.Strict || a.known.Strict
	if a.known.Bytes > 0 && len(r.Raw()) > a.known.Bytes {
		a.limitedBytes(r, p, a.known.Bytes)
		limited = true
	} else if a.known.Limit > 0 {
		model := a.model(r)
		if c := a.exact(model); c != nil && mayExceed(r.Raw(), a.known.Limit, c) {
			a.limited(p, c, a.known.Limit)
			size, limited = r.Tokens(c), true
		}
	}
	if a.known.Messages > 0 {
		if !limited {
			w := a.bare()
			w.LowPercent, w.Low = 0, 0
			p.Window = &w
		}
		p.Window.Messages, limited, a.must = least0(p.Window.Messages, a.known.Messages), true, true
	}
	return size, limited
}

// lesson is what is to be learned if a request that is healed by a policy is accepted.
func (a *aim) lesson(r *wire.Request) Learned {
	l := Learned{Rules: []string{a.heal.Rule}}
	switch {
	case a.heal.Rule == meansRefused:
		l.Own = true
	case a.heal.Rule != refusal.Overflow:
		if slices.Contains(strips, a.heal.Rule) && !a.healsByDropping(r) {
			l.Thinking = len(r.Transcript().Messages())
		}
		if v := a.heal.Vendor(); slices.Contains(wire.Profiles(a.read.Dialect), v) {
			l.Profile = v
		}
		l.Strict = a.strict
	default:
		return a.taught
	}
	return l
}
