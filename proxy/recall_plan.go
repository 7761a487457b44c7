package proxy

import (
	"context"
	"time"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/planner"
	"github.com/pare-llm/pare/proxy/internal/recall"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// An offer is the tool in a request, and where what it fetches is found.
type offer struct {
	tongue recall.Tongue
	source recall.Source
	bare   []byte // the request without the tool
}

// recalls reports whether requests of this aim may declare the tool.
func (a *aim) recalls() bool {
	return a.recall != nil && !a.unfitted && recall.For(a.read.Dialect) != nil
}

// worthIt is how many times the tool itself a window must have to be worth it.
const worthIt = 8

// fetched is the share of a window that is left for what is fetched: a sixteenth.
const fetched = 16

// roomier is a policy whose window leaves room for the tool and what it fetches; nil: there is
// none, and so no recall.
func (a *aim) roomier(p *pare.Policy, c wire.Counter) *pare.Policy {
	weight := recall.Weight(recall.For(a.read.Dialect), c)
	if p.Window.Tokens < worthIt*weight {
		a.recall = nil
		return nil
	}
	smaller, w := *p, *p.Window
	w.Tokens -= weight + w.Tokens/fetched
	w.Low = min(w.Low, w.Tokens-1)
	smaller.Window = &w
	return &smaller
}

// counts is the counter of a window in tokens from which something may have to be fetched; nil: it
// is not such a one.
func (a *aim) counts(p *pare.Policy, in *wire.Request) wire.Counter {
	if !a.recalls() || p.Window == nil || p.Window.Tokens == 0 {
		return nil
	}
	return counterOf(p, a.model(in))
}

// roomy is [aim.fitted] with room for the tool, where a plan is made only once, since summaries are
// written for it: for what does not fit.
func (a *aim) roomy(ctx context.Context, p *pare.Policy, in *wire.Request) (*pare.Plan, error) {
	if c := a.counts(p, in); c != nil && p.Compact != nil && in.Tokens(c) > p.Window.Tokens {
		if smaller := a.roomier(p, c); smaller != nil {
			if pl, err := a.fitted(ctx, smaller, in); err == nil {
				return pl, nil
			}
			a.recall = nil
		}
	}
	return a.fitted(ctx, p, in)
}

// spared is the plan for a window in which the tool and what it fetches find room, too, if one
// removes anything: what fits as it is is not cut for their sake. Where the tool would take
// too much there is no recall. Took is how long the plan has taken.
func (a *aim) spared(ctx context.Context, p *pare.Policy, in *wire.Request, pl *pare.Plan, took time.Duration) *pare.Plan {
	c := a.counts(p, in)
	if c == nil || p.Compact != nil || len(pl.Archive()) == 0 {
		return pl
	}
	smaller := a.roomier(p, c)
	if smaller == nil {
		return pl
	}
	if end, ok := ctx.Deadline(); ok && time.Until(end) < 2*took {
		a.recall = nil // no recall is better than no plan
		return pl
	}
	next, err := smaller.Plan(ctx, in)
	if err != nil {
		a.recall = nil
		return pl
	}
	return next
}

// restored puts back what was hidden from the client.
func (a *aim) restored(raw []byte) ([]byte, int) {
	if !a.recalls() {
		return raw, 0
	}
	known := a.recall.hidden.of(a.owner)
	if known == nil {
		return raw, 0
	}
	r, err := wire.Parse(raw, a.read)
	if err != nil {
		return raw, 0
	}
	return recall.Restore(r, known)
}

// names reports whether there may be something to fetch although nothing is removed now.
func (a *aim) names(raw []byte) bool {
	return a.recalls() && a.recall.Store != nil && recall.Names(raw)
}

// offered declares the tool in what a plan makes of a request, if there is something to
// fetch with it. In is what was planned for; restored are the calls that were put back.
func (o outcome) offered(a aim, in *wire.Request, pl *pare.Plan, restored int) outcome {
	if !a.recalls() || recall.Declared(a.raw) {
		return o
	}
	out := pl.Result()
	removed := pl.Archive()
	if restored == 0 && len(removed) == 0 && !a.names(out.Raw()) {
		return o
	}
	next, changes := a.unbound(out)
	if next == nil {
		return o
	}
	tongue := recall.For(a.read.Dialect)
	body, ok := tongue.Offer(next.Raw())
	if !ok {
		return o
	}
	if g, err := glance(body, a); err != nil || !g.Clean {
		return o
	}
	if o.body == nil {
		o.planned, o.plan = in, pl
	}
	o.offer = &offer{tongue: tongue, bare: out.Raw(), source: recall.Source{Requests: []*wire.Request{in, planner.RepairedRequest(pl)}, Removed: removed}}
	o.body = body
	o.changes = append(append(o.changes[:len(o.changes):len(o.changes)], changes...), wire.Change{
		Action: wire.ActionInsert, Rule: ruleRecall, Path: "tools", IDs: []string{}, Bytes: len(body) - len(next.Raw()),
		Reason: "a tool lets the model fetch what was removed",
	})
	return o
}

// ruleRecall is what receipts call everything that is done for the sake of recalls.
const ruleRecall = "recall"

// unbound is a request without the thinking that another tool makes invalid: models that
// bind thinking bind it to the tools, too. Nil: it cannot go.
func (a *aim) unbound(r *wire.Request) (*wire.Request, []wire.Change) {
	if a.kept || !wirex.BindsThinking(&r.Profile) {
		return r, nil
	}
	var drop []transcript.BlockID
	var changes []wire.Change
	for i, blk := range r.Transcript().Blocks() {
		if blk.Kind == transcript.Thinking {
			b := transcript.BlockID(i)
			drop = append(drop, b)
			changes = append(changes, wire.Change{
				Action: wire.ActionDrop, Rule: "thinking-altered", Path: r.Path(b), IDs: []string{}, Bytes: -blk.Span.Len(),
				Reason: "another tool makes this thinking invalid on this model",
			})
		}
	}
	if drop == nil {
		return r, nil
	}
	next, also, err := wirex.Rewrite(r, drop, nil)
	if err != nil {
		return nil, nil
	}
	m, err := wirex.Repair(next, a.policy.Repair, a.policy.Check)
	if err != nil || len(m.Left) > 0 {
		return nil, nil
	}
	return m.Request, append(append(changes, also...), m.Changes...)
}
