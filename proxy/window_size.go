package proxy

import (
	"bytes"
	"net/http"
	"strings"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/planner"
	"github.com/pare-llm/pare/internal/tally"
	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/wire"
)

// policyFor returns the policy for a request, and the size of the request if it was counted. The
// model's own window only applies to requests that are certainly larger than it, and only if the
// window is known.
func (a *planInput) policyFor(r *wire.Request) (*pare.Policy, int) {
	p := *a.policy
	if a.isCountOnly {
		p.Window, p.Rules, p.Compact = nil, planner.Arriving(p.Rules), nil
		return &p, 0
	}
	if a.retryOf != nil {
		return a.policyForRetry(r)
	}
	if size, limited := a.applyLearnedLimits(r, &p); limited {
		return &p, size
	}
	if p.Window == nil || !p.Window.ModelTokens || p.Window.Tokens != 0 {
		return &p, 0
	}
	w := *p.Window
	p.Window = &w
	model := a.model(r)
	m, known := lookupModel(model)
	size := 0
	if known {
		var over bool
		if size, over = a.exceedsWindow(r, m, &p); over {
			w.Tokens, a.windowEnforced = m.Input(min(r.MaxOutputTokens(), m.Output)), true
			if a.measuredLimit > 0 {
				w.Tokens = a.measuredLimit
			}
			return &p, size
		}
		if w.ModelCache && w.LowPercent > 0 {
			return &p, a.trimEarly(r, m, &w)
		}
	}
	if a.hasColdRules(&w) && w.LowPercent > 0 {
		if !known {
			return &p, a.applyColdRulesOnly(r, &w)
		}
		return &p, a.trimEarly(r, m, &w)
	}
	w.Tokens, w.ModelTokens, w.Low, w.LowPercent = 0, false, 0, 0
	if w.Messages == 0 && w.Exchanges == 0 && w.Turns == 0 {
		p.Window, p.Compact = nil, nil
		if !a.prunesAlways {
			p.Rules = planner.Arriving(p.Rules)
		}
	}
	return &p, size
}

// exceedsWindow reports whether a request is certainly larger than the window of its model, and
// returns its size if it was counted; then it modifies p to count in the same way. A request that
// is only estimated to be larger is sent, and retried if the provider refuses it, because a
// history that fits must not be cut.
func (a *planInput) exceedsWindow(r *wire.Request, m tokens.Model, p *pare.Policy) (size int, over bool) {
	model, window := a.model(r), a.contextWindow(m)
	if !mayExceed(r.Raw(), window, a.counterOf(model)) {
		return 0, false
	}
	c := a.exactCounter(model)
	p.Counter = func(string) (wire.Counter, error) { return c, nil }
	t := tally.Of(r, c, false)
	if a.lastRequest.providerTokens > window {
		return t.Tokens, false // the window is larger than we know
	}
	if leastTokens(&t, c, r.Raw()) > window {
		return t.Tokens, true
	}
	if over, scale := a.exceedsByUsage(t.Tokens, window, c, r.Raw()); over {
		a.measuredLimit = int(scale * float64(m.Input(min(r.MaxOutputTokens(), m.Output))))
		return t.Tokens, true
	}
	return t.Tokens, false
}

// trimEarly modifies a window so that it trims when that pays, before it is necessary.
func (a *planInput) trimEarly(r *wire.Request, m tokens.Model, w *pare.Window) (size int) {
	c := a.counterOf(a.model(r))
	if c == nil {
		return 0
	}
	size, room := r.Tokens(c), m.Input(min(r.MaxOutputTokens(), m.Output))
	w.Low = max(1, room*w.LowPercent/100)
	w.Tokens = max(room, size, w.Low+1)
	return size
}

// applyColdRulesOnly modifies a window so that a cold request loses only the blocks that the
// rules for cold requests vote for. Without a known window there is no size to trim to.
func (a *planInput) applyColdRulesOnly(r *wire.Request, w *pare.Window) (size int) {
	c := a.counterOf(a.model(r))
	if c == nil {
		return 0
	}
	size = r.Tokens(c)
	w.Low, w.Tokens = size+1, size+2
	return size
}

// contextWindow returns the window of a model. It does not subtract the reply, because many
// models accept requests that leave no room for the requested reply.
func (a *planInput) contextWindow(m tokens.Model) int {
	if a.wantsLongContext {
		return max(m.Window, longWindow)
	}
	return m.Window
}

// isOverWindow reports whether size tokens exceed the window of the model.
func (a *planInput) isOverWindow(r *wire.Request, size int) bool {
	m, known := lookupModel(a.model(r))
	return known && size > a.contextWindow(m)
}

// longWindow is the window that some models have only when they are asked for it, by a
// header that begins with longHeader.
const (
	// longWindow is the window of models that have it only with a beta whose name begins with
	// longHeader.
	longWindow = 1_000_000
	longHeader = "context-1m"
)

func wantsLongContext(h http.Header) bool {
	for _, v := range h["Anthropic-Beta"] {
		if strings.Contains(v, longHeader) {
			return true
		}
	}
	return false
}

// exactCounter returns the counter for a request that may be too large. It uses the published
// vocabulary of the model if there is one.
func (a *planInput) exactCounter(model string) wire.Counter {
	c := a.counterOf(model)
	if e, ok := c.(tokens.Estimator); ok {
		if x, ok := tokensx.ExactFor(model); ok {
			return e.Reading(x)
		}
	}
	return c
}

// leastTokens returns the smallest number of tokens that a request can have, given a count of it.
// Estimates are reduced by their stated error. Only half of the tools and media is certain,
// because vendors encode them in their own ways. Message overhead and thinking do not count: some
// models leave thinking out.
func leastTokens(t *tally.Tally, c wire.Counter, raw []byte) int {
	n := t.Head.System + t.Kinds.Text + t.Kinds.Calls + t.Kinds.Results + t.Head.Tools/2 + t.Kinds.Media/2
	if e, ok := c.(tokens.Estimator); ok {
		return tokensx.Least(e, n, isNonLatin(raw))
	}
	return n
}

// isNonLatin reports whether at least an eighth of a body is not in Latin script. It looks at
// samples.
func isNonLatin(raw []byte) bool {
	seen, other := 0, 0
	for piece := range sampleBody(raw) {
		seen += len(piece)
		for _, b := range piece {
			if b >= 0x80 {
				other++
			}
		}
		other += 6 * (bytes.Count(piece, []byte(`\u`)) - bytes.Count(piece, []byte(`\u00`)))
	}
	return other > seen/8
}

// sampleBody yields pieces from all parts of a body; a small body in one piece.
func sampleBody(raw []byte) func(yield func([]byte) bool) {
	const pieces, size = 32, 2 << 10
	return func(yield func([]byte) bool) {
		if len(raw) <= 2*pieces*size {
			yield(raw)
			return
		}
		for i := range pieces {
			at := i * (len(raw) - size) / (pieces - 1)
			if !yield(raw[at : at+size]) {
				return
			}
		}
	}
}

// mayExceed reports whether a body could have more than limit tokens, so that it is worth
// counting. It looks at samples. It overlooks images that are referenced by name; such requests
// are retried if the provider refuses them.
func mayExceed(raw []byte, limit int, c wire.Counter) bool {
	if limit <= 0 || c == nil || len(raw) <= limit {
		return false
	}
	seen, n := 0, 0
	for piece := range sampleBody(raw) {
		if len(piece) == len(raw) {
			return true
		}
		seen += len(piece)
		n += c.CountJSON(piece)
	}
	return 1.3*float64(n)/float64(seen)*float64(len(raw)) > float64(limit)
}
