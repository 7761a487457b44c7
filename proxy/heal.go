package proxy

import (
	"slices"
	"strings"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// tighter is what is left of a request whose provider says that it is too large, and not
// by how much.
const tighter = 0.85

// healing is the policy for a request that was refused: what is refused for its size gets
// a smaller window, what breaks a rule is held to the rules of the vendor that it belongs to,
// or of all vendors.
func (a *aim) healing(r *wire.Request) (*pare.Policy, int) {
	first := *a
	first.heal = nil
	p, size := first.fitting(r)
	if a.heal.Rule != Overflow {
		p.Check.Strict = p.Check.Strict || a.strict
		return p, size
	}
	if a.heal.Messages > 0 {
		w := a.bare()
		w.Messages = a.heal.Messages
		p.Window = &w
		return p, size
	}
	c := a.exact(a.model(r))
	if c == nil {
		return p, size
	}
	size = r.Tokens(c)
	sent := size
	if a.sent != nil {
		sent = a.sent.Tokens(c)
	}
	limit := a.limit(sent)
	if p.Window != nil {
		limit = least0(limit, p.Window.Tokens)
	}
	a.limited(p, c, limit)
	if a.heal.Limit == 0 {
		p.Window.LowPercent = 0 // the limit is a guess: no more is cut than that
	}
	return p, size
}

// bare is the window of the policy without what the model's name would make of it.
func (a *aim) bare() pare.Window {
	var w pare.Window
	if a.policy.Window != nil {
		w = *a.policy.Window
	}
	w.ModelTokens, w.ModelCache, w.Cache = false, false, nil
	return w
}

// limited gives a policy a window of so many tokens, by a counter.
func (a *aim) limited(p *pare.Policy, c wire.Counter, limit int) {
	w := a.bare()
	w.Tokens, w.Low = limit, 0
	p.Rules, p.Compact, p.Window = a.policy.Rules, a.policy.Compact, &w
	p.Counter = func(string) (wire.Counter, error) { return c, nil }
}

// limit is how many tokens, by our count, the provider takes of a request of which so many
// were sent.
func (a *aim) limit(sent int) int {
	h := a.heal
	if h.Limit == 0 {
		return int(tighter * float64(sent))
	}
	most := h.Limit - h.Reply
	if h.Sent > sent || h.Sent > 0 && a.policy.Window != nil && a.policy.Window.LowPercent > 0 {
		// The provider counts otherwise. Where we count more, there must be some room for what
		// is left being of another kind, which the low mark gives.
		most = int(float64(most) * float64(sent) / float64(h.Sent))
	}
	if most >= sent {
		// By our count it fits already, or the reply has no room left.
		most = int(tighter * float64(sent))
	}
	return max(most, 1)
}

const (
	foreignSignature = "thought-signature-foreign" // a signature of thought that belongs elsewhere
	missingReasoning = "reasoning-item-missing"    // an item that names reasoning which is not there
)

// strips are the rules that are healed by sending no thinking at all.
var strips = []string{
	foreignSignature, "thinking-altered", "thinking-signature-missing", "thinking-signature-foreign", "thinking-required", "thinking-not-first", "thinking-not-enabled",
	"reasoning-foreign", "reasoning-item-orphan", missingReasoning, "reasoning-item-unresolvable", "reasoning-plaintext", "reasoning-unsupported",
}

// stripped is the request without the thinking that the provider refuses, or has refused
// before, if that is what it refuses. Thinking that it has written since is good.
func (a *aim) stripped(r *wire.Request) (*wire.Request, []wire.Change, error) {
	rule, upto := a.thoughtless(r)
	if rule == "" {
		return r, nil, nil
	}
	var changes []wire.Change
	if rule == foreignSignature || strings.HasPrefix(rule, "reasoning-") {
		// It may sit on a call or a text, which stay. Items that name reasoning which is not
		// sent are refused for it.
		next, unsigned, err := r.Unsigned(rule, upto)
		if err != nil || len(unsigned) > 0 && (rule == foreignSignature || rule == missingReasoning) {
			return next, unsigned, err
		}
		r, changes = next, unsigned
	}
	var drop []transcript.BlockID
	for i, blk := range r.Transcript().Blocks() {
		if blk.Kind != transcript.Thinking || blk.Message >= upto {
			continue
		}
		b := transcript.BlockID(i)
		drop = append(drop, b)
		changes = append(changes, wire.Change{
			Action: "drop", Rule: rule, Path: r.Path(b), IDs: []string{}, Bytes: -blk.Span.Len(),
			Reason: "the provider refused the request for its thinking",
		})
	}
	if drop == nil {
		return r, changes, nil
	}
	next, also, err := r.Rewrite(drop, nil)
	return next, append(changes, also...), err
}

// thoughtless says for which rule the thinking of the first messages is left out, and of how
// many; "": for none.
func (a *aim) thoughtless(r *wire.Request) (rule string, messages int) {
	if a.heal != nil && slices.Contains(strips, a.heal.Rule) && !a.healsByDropping(r) {
		return a.heal.Rule, len(r.Transcript().Messages())
	}
	if a.known.Thinking == 0 {
		return "", 0
	}
	for _, rule := range a.known.Rules {
		if slices.Contains(strips, rule) {
			return rule, a.known.Thinking
		}
	}
	return "", 0
}
