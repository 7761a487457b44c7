package proxy

import (
	"cmp"
	"context"
	"errors"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/refusal"
	"github.com/pare-llm/pare/wire"
)

// sizeLesson is what a refusal for size teaches about later requests: a limit below what was
// refused. It is zero if nothing can be counted.
func (a *aim) sizeLesson(r *wire.Request) Learned {
	l := Learned{Rules: []string{refusal.Overflow}, Short: a.short}
	if a.heal.Messages > 0 {
		l.Messages = a.heal.Messages
		return l
	}
	sent := r
	if a.sent != nil {
		sent = a.sent
	}
	if a.heal.Bytes != 0 {
		n := sent.Tokens(byteCounter{})
		l.Bytes = a.guess(n, len(sent.Raw()))
		if most := a.heal.Bytes; most > 0 && most < len(sent.Raw()) {
			l.Bytes = scaled(n, most, len(sent.Raw()))
		}
		return l
	}
	c := a.exact(a.model(r))
	if c == nil {
		return Learned{}
	}
	first := *a
	first.heal = nil
	p, _ := first.fitting(r)
	n := sent.Tokens(c)
	l.Limit = a.limit(n, len(sent.Raw()))
	if p.Window != nil && !first.inBytes {
		l.Limit = least0(l.Limit, p.Window.Tokens)
	}
	return l
}

// fitted plans by a policy. A limit that was learned may be a guess that is too low: then the
// request is made as small as it can be, which is below whatever was refused.
func (a *aim) fitted(ctx context.Context, p *pare.Policy, in *wire.Request) (*pare.Plan, error) {
	pl, err := p.Plan(ctx, in)
	var small *pare.WindowTooSmall
	guessed := a.heal == nil && a.known.Limit+a.known.Bytes > 0 || a.heal != nil && a.heal.Rule == refusal.Overflow && a.heal.Limit == 0
	if !guessed || !errors.As(err, &small) || small.Unit != "tokens" {
		return pl, err
	}
	w := *p.Window
	w.Tokens, w.Low, w.LowPercent = small.Minimum, 0, 0
	p.Window = &w
	return p.Plan(ctx, in)
}

// smaller reports whether what a plan makes of a request is surely too large for its provider,
// by a rule that says how large it may be. The next plan heeds it as if the provider had said
// so. A plan for a limit of bytes may have to be made several times: what stands around the
// content is not counted.
func (a *aim) smaller(p *pare.Policy, pl *pare.Plan) bool {
	if a.smalls == maxSmalls || a.heal != nil && a.heal.Rule != refusal.Overflow {
		return false
	}
	if a.cramped(p, pl) {
		a.smalls++
		return true
	}
	why, ok := refusal.Refusal{}, false
	if a.heal != nil && a.heal.Bytes > 0 {
		why, ok = *a.heal, len(pl.Result().Raw()) > a.heal.Bytes
	}
	for _, f := range pl.Left() {
		if says, sized := refusal.TooLarge(f.Message); sized && says.Bytes+says.Messages > 0 {
			why, ok = says, true
		}
	}
	if ok {
		a.heal, a.sent, a.smalls = &why, pl.Result(), a.smalls+1
		a.known = a.known.join(a.taught)
	}
	return ok
}

// maxSmalls bounds how often a request is planned for because the plan before was too large.
const maxSmalls = 4

// cramped reports whether a stable window for a limit that is a guess leaves hardly any room
// for what follows: the next request would be cut again, and begin with other bytes. As the
// limit is a guess in any case, a lower one is as good.
func (a *aim) cramped(p *pare.Policy, pl *pare.Plan) bool {
	if a.heal == nil || a.heal.Limit > 0 || a.heal.Bytes > 0 || p.Window == nil || p.Window.LowPercent == 0 || p.Window.Tokens == 0 {
		return false
	}
	c, limit := counterOf(p, ""), p.Window.Tokens
	low := limit * p.Window.LowPercent / 100
	if c == nil || pl.Result().Tokens(c) <= limit-(limit-low)/2 {
		return false
	}
	a.most = limit - (limit-low)/4
	return true
}

// limit is how many tokens, by our count, the provider takes of a request of which so many
// were sent, in so many bytes.
func (a *aim) limit(sent, bytes int) int {
	h := a.heal
	if h.Limit == 0 {
		return a.guess(sent, bytes)
	}
	most := h.Limit - h.Reply
	if h.Sent > sent || h.Sent > 0 && a.policy.Window != nil && a.policy.Window.LowPercent > 0 {
		// The provider counts otherwise. Where we count more, there must be some room for what
		// is left being of another kind, which the low mark gives.
		most = scaled(most, sent, h.Sent)
	}
	if most >= sent {
		// By our count it fits already, or the reply has no room left.
		return a.guess(sent, bytes)
	}
	return max(most, 1)
}

// guess is the limit if nobody says how much was too much: half of it, or as much as the
// provider has taken of this conversation before, if that is more. So each refusal takes at
// least as much away as all before it together, and there are few.
func (a *aim) guess(sent, bytes int) int {
	limit := sent / 2
	if 0 < a.accepted && a.accepted < bytes {
		// Other content of as many bytes may have some more tokens.
		limit = max(limit, scaled(sent, a.accepted, bytes)*19/20)
	}
	return max(least0(limit, a.most), 1)
}

// scaled is n times part of whole.
func scaled(n, part, whole int) int { return int(float64(n) * float64(part) / float64(whole)) }

// bare is the window of the policy without what the model's name would make of it. One that
// has no limits of its own is as stable as that of [Default]: a limit that was learned is kept
// for as long as the conversation lasts.
func (a *aim) bare() pare.Window {
	w := *Default().Window
	if a.policy.Window != nil {
		w = *a.policy.Window
	}
	w.ModelTokens, w.ModelCache, w.Cache = false, false, nil
	return w
}

// limited gives a policy a window of so many tokens, by a counter.
func (a *aim) limited(p *pare.Policy, c wire.Counter, limit int) {
	w := a.bare()
	w.Tokens, w.Low, a.must = limit, 0, true
	p.Rules, p.Compact, p.Window = a.policy.Rules, a.policy.Compact, &w
	p.Counter = func(string) (wire.Counter, error) { return c, nil }
}

// limitedBytes gives a policy a window of so many bytes, in which the tokens fit as well, if
// their limit is known. Summaries are measured in tokens: there are none.
func (a *aim) limitedBytes(r *wire.Request, p *pare.Policy, limit int) {
	c := byteCounter{tokens: a.exact(a.model(r))}
	most := a.known.Limit
	if w := a.policy.Window; most == 0 && w != nil {
		if m, known := lookup(a.model(r)); known && w.ModelTokens {
			most = m.Input(min(r.MaxOutputTokens(), m.Output))
		}
		most = cmp.Or(w.Tokens, most)
	}
	if most > 0 {
		c.each = float64(limit) / float64(most)
	}
	a.limited(p, c, limit)
	p.Compact, p.SkipTokenCounts = nil, true
	a.inBytes = true
}

// A byteCounter counts bytes in the place of tokens, for limits of bytes. Where there is a
// limit of tokens, too, what takes more of that counts as much more.
type byteCounter struct {
	tokens wire.Counter
	each   float64 // bytes that a token counts as; zero: tokens do not matter
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

// Overhead is that of marks such as {"role":"user","content":[{"type":"text","text":""}]},.
func (b byteCounter) Overhead(messages, tools int) int {
	return b.more(64*messages+64*tools, func() int { return b.tokens.Overhead(messages, tools) })
}

func (b byteCounter) more(bytes int, tokens func() int) int {
	if b.each == 0 || b.tokens == nil {
		return bytes
	}
	return max(bytes, int(b.each*float64(tokens())))
}
