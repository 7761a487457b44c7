package proxy

import (
	"cmp"
	"context"
	"errors"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/refusal"
	"github.com/pare-llm/pare/wire"
)

// learnSizeLimit returns a limit below the size of a refused request. It returns the zero value
// if nothing can be counted.
func (a *planInput) learnSizeLimit(r *wire.Request) Learned {
	l := Learned{Rules: []string{refusal.Overflow}, Short: a.clearingInsufficient}
	if a.retryOf.Messages > 0 {
		l.Messages = a.retryOf.Messages
		return l
	}
	sent := r
	if a.firstAttempt != nil {
		sent = a.firstAttempt
	}
	if a.retryOf.Bytes != 0 {
		n := sent.Tokens(byteCounter{})
		l.Bytes = a.guessLimit(n, len(sent.Raw()))
		if most := a.retryOf.Bytes; most > 0 && most < len(sent.Raw()) {
			l.Bytes = scaled(n, most, len(sent.Raw()))
		}
		return l
	}
	c := a.exactCounter(a.model(r))
	if c == nil {
		return Learned{}
	}
	first := *a
	first.retryOf = nil
	p, _ := first.policyFor(r)
	n := sent.Tokens(c)
	l.Limit = a.estimateLimit(n, len(sent.Raw()))
	if p.Window != nil && !first.limitInBytes {
		l.Limit = minNonZero(l.Limit, p.Window.Tokens)
	}
	return l
}

// planWithin plans with a policy. A learned limit may be a guess that is too low; then the
// request becomes as small as possible, which is below everything that was refused.
func (a *planInput) planWithin(ctx context.Context, p *pare.Policy, in *wire.Request) (*pare.Plan, error) {
	pl, err := p.Plan(ctx, in)
	var small *pare.WindowTooSmall
	guessed := a.retryOf == nil && a.learned.Limit+a.learned.Bytes > 0 || a.retryOf != nil && a.retryOf.Rule == refusal.Overflow && a.retryOf.Limit == 0
	if !guessed || !errors.As(err, &small) || small.Unit != "tokens" {
		return pl, err
	}
	w := *p.Window
	w.Tokens, w.Low, w.LowPercent = small.Minimum, 0, 0
	p.Window = &w
	return p.Plan(ctx, in)
}

// shrinkFurther reports whether the plan's result is certainly too large for the provider, by a
// rule that states a size. It modifies a, so that the next plan applies that size as if the
// provider had stated it. A limit of bytes may need several plans, because only content is
// counted.
func (a *planInput) shrinkFurther(p *pare.Policy, pl *pare.Plan) bool {
	if a.shrinkAttempts == maxShrinkAttempts || a.retryOf != nil && a.retryOf.Rule != refusal.Overflow {
		return false
	}
	if a.isCramped(p, pl) {
		a.shrinkAttempts++
		return true
	}
	why, ok := refusal.Refusal{}, false
	if a.retryOf != nil && a.retryOf.Bytes > 0 {
		why, ok = *a.retryOf, len(pl.Result().Raw()) > a.retryOf.Bytes
	}
	for _, f := range pl.Remaining() {
		if says, sized := refusal.TooLarge(f.Message); sized && says.Bytes+says.Messages > 0 {
			why, ok = says, true
		}
	}
	if ok {
		a.retryOf, a.firstAttempt, a.shrinkAttempts = &why, pl.Result(), a.shrinkAttempts+1
		a.learned = a.learned.join(a.newlyLearned)
	}
	return ok
}

// maxShrinkAttempts bounds how often a request is planned again because it is too large.
const maxShrinkAttempts = 4

// isCramped reports whether a stable window with a guessed limit leaves hardly any room for later
// requests. It lowers the bound for the guess then, because the next request would be cut again
// and begin with other bytes.
func (a *planInput) isCramped(p *pare.Policy, pl *pare.Plan) bool {
	if a.retryOf == nil || a.retryOf.Limit > 0 || a.retryOf.Bytes > 0 || p.Window == nil || p.Window.LowPercent == 0 || p.Window.Tokens == 0 {
		return false
	}
	c, limit := counterOf(p, ""), p.Window.Tokens
	low := limit * p.Window.LowPercent / 100
	if c == nil || pl.Result().Tokens(c) <= limit-(limit-low)/2 {
		return false
	}
	a.maxGuess = limit - (limit-low)/4
	return true
}

// estimateLimit returns the provider's limit in tokens as Pare counts them.
func (a *planInput) estimateLimit(sent, bytes int) int {
	h := a.retryOf
	if h.Limit == 0 {
		return a.guessLimit(sent, bytes)
	}
	most := h.Limit - h.Reply
	if h.Sent > sent || h.Sent > 0 && a.policy.Window != nil && a.policy.Window.LowPercent > 0 {
		// The provider counts differently. If Pare counts more, the remaining content may be of
		// another kind than the removed content; the low mark leaves room for that.
		most = scaled(most, sent, h.Sent)
	}
	if most >= sent {
		// By our count it fits already, or the reply has no room left.
		return a.guessLimit(sent, bytes)
	}
	return max(most, 1)
}

// guessLimit returns a limit if the provider states none: half of the refused size, or as much as
// the provider has accepted of this conversation, if that is more. Each refusal removes at least
// as much as all before it, so that there are few.
func (a *planInput) guessLimit(sent, bytes int) int {
	limit := sent / 2
	if 0 < a.acceptedBytes && a.acceptedBytes < bytes {
		// Other content of as many bytes may have some more tokens.
		limit = max(limit, scaled(sent, a.acceptedBytes, bytes)*19/20)
	}
	return max(minNonZero(limit, a.maxGuess), 1)
}

// scaled returns n * part / whole.
func scaled(n, part, whole int) int { return int(float64(n) * float64(part) / float64(whole)) }

// baseWindow returns the policy's window without limits that follow from the model. A window
// without limits is as stable as that of [Default], because a learned limit applies for the whole
// conversation.
func (a *planInput) baseWindow() pare.Window {
	w := *Default().Window
	if a.policy.Window != nil {
		w = *a.policy.Window
	}
	w.ModelTokens, w.ModelCache, w.Cache = false, false, nil
	return w
}

// limitTokens modifies a policy: it sets a window of so many tokens, counted by c.
func (a *planInput) limitTokens(p *pare.Policy, c wire.Counter, limit int) {
	w := a.baseWindow()
	w.Tokens, w.Low, a.windowEnforced = limit, 0, true
	p.Rules, p.Compact, p.Window = a.policy.Rules, a.policy.Compact, &w
	p.Counter = func(string) (wire.Counter, error) { return c, nil }
}

// limitBytes modifies a policy: it sets a window of so many bytes that also satisfies a known
// limit of tokens. It disables summaries, which are measured in tokens.
func (a *planInput) limitBytes(r *wire.Request, p *pare.Policy, limit int) {
	c := byteCounter{tokens: a.exactCounter(a.model(r))}
	most := a.learned.Limit
	if w := a.policy.Window; most == 0 && w != nil {
		if m, known := lookupModel(a.model(r)); known && w.ModelTokens {
			most = m.Input(min(r.MaxOutputTokens(), m.Output))
		}
		most = cmp.Or(w.Tokens, most)
	}
	if most > 0 {
		c.each = float64(limit) / float64(most)
	}
	a.limitTokens(p, c, limit)
	p.Compact, p.SkipTokenCounts = nil, true
	a.limitInBytes = true
}

// A byteCounter counts bytes instead of tokens. If there is also a limit of tokens, content with
// many tokens counts for more bytes.
type byteCounter struct {
	tokens wire.Counter
	each   float64 // bytes per token; zero: tokens do not matter
}

func (b byteCounter) Count(text []byte) int {
	return b.more(len(text), func() int { return b.tokens.Count(text) })
}

func (b byteCounter) CountJSON(raw []byte) int {
	return b.more(len(raw), func() int { return b.tokens.CountJSON(raw) })
}

func (b byteCounter) Media(mime string, data []byte, low bool) int {
	return b.more(len(data), func() int { return b.tokens.Media(mime, data, low) })
}

// Overhead returns the bytes of markup such as
// {"role":"user","content":[{"type":"text","text":""}]}.
func (b byteCounter) Overhead(messages, tools int) int {
	return b.more(64*messages+64*tools, func() int { return b.tokens.Overhead(messages, tools) })
}

func (b byteCounter) more(bytes int, tokens func() int) int {
	if b.each == 0 || b.tokens == nil {
		return bytes
	}
	return max(bytes, int(b.each*float64(tokens())))
}
