package proxy

import (
	"slices"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// tighter is what is left of a request whose provider says that it is too large, and not
// by how much.
const tighter = 0.85

// healing is the policy for a request that was refused: what is refused for its size gets
// a smaller window, what breaks a rule is held to all rules of all vendors.
func (a *aim) healing(r *wire.Request) (*pare.Policy, int) {
	first := *a
	first.heal = nil
	p, size := first.fitting(r)
	if a.heal.Rule != Overflow {
		p.Check.Strict = true
		return p, size
	}
	var w pare.Window
	if a.policy.Window != nil {
		w = *a.policy.Window
	}
	w.ModelTokens, w.ModelCache, w.Cache = false, false, nil
	if a.heal.Messages > 0 {
		w.Messages = a.heal.Messages
		p.Window = &w
		return p, size
	}
	c := a.exact(a.model(r))
	if c == nil {
		return p, size
	}
	p.Counter = func(string) (wire.Counter, error) { return c, nil }
	size = r.Tokens(c)
	sent := size
	if a.sent != nil {
		sent = a.sent.Tokens(c)
	}
	w.Tokens, w.Low = a.limit(sent), 0
	if a.heal.Limit == 0 {
		w.LowPercent = 0 // the limit is a guess: no more is cut than that
	}
	p.Rules, p.Compact, p.Window = a.policy.Rules, a.policy.Compact, &w
	return p, size
}

// limit is how many tokens, by our count, the provider takes of a request of which so many
// were sent.
func (a *aim) limit(sent int) int {
	h := a.heal
	if h.Limit == 0 {
		return int(tighter * float64(sent))
	}
	most := h.Limit - h.Reply
	if h.Sent > sent && h.Sent > 0 {
		// The provider counts more than we do.
		most = int(float64(most) * float64(sent) / float64(h.Sent))
	}
	if most >= sent {
		// By our count it fits already, or the reply has no room left.
		most = int(tighter * float64(sent))
	}
	return max(most, 1)
}

// strips are the rules that are healed by sending no thinking at all.
var strips = []string{
	"thinking-altered", "thinking-signature-missing", "thinking-signature-foreign", "thinking-required", "thinking-not-first", "thinking-not-enabled",
	"reasoning-foreign", "reasoning-item-orphan", "reasoning-item-missing", "reasoning-item-unresolvable", "reasoning-plaintext", "reasoning-unsupported",
}

// stripped is the request without the thinking that the provider refuses, if that is what
// it refuses.
func (a *aim) stripped(r *wire.Request) (*wire.Request, []wire.Change, error) {
	if a.heal == nil || !slices.Contains(strips, a.heal.Rule) {
		return r, nil, nil
	}
	var drop []transcript.BlockID
	var changes []wire.Change
	for i, blk := range r.Transcript().Blocks() {
		if blk.Kind != transcript.Thinking {
			continue
		}
		b := transcript.BlockID(i)
		drop = append(drop, b)
		changes = append(changes, wire.Change{
			Action: "drop", Rule: a.heal.Rule, Path: r.Path(b), IDs: []string{}, Bytes: -blk.Span.Len(),
			Reason: "the provider refused the request for its thinking",
		})
	}
	if drop == nil {
		return r, nil, nil
	}
	next, also, err := r.Rewrite(drop, nil)
	return next, append(changes, also...), err
}
