package planner

import (
	"context"
	"errors"

	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/wire"
)

// Unchanged returns the plan that leaves r as it is, without a check.
func Unchanged(r *wire.Request) *Plan {
	return &Plan{steps: []Step{{From: r, To: r}}}
}

// Repair returns the plan that only repairs r.
func Repair(ctx context.Context, r *wire.Request, o Options) (*Plan, error) {
	return Prune(ctx, nil, r, o)
}

// Prune repairs r, lets the rules vote on it and carries out their decisions. A nil pipeline has no
// rules.
func Prune(ctx context.Context, p *Pipeline, r *wire.Request, o Options) (plan *Plan, err error) {
	o = o.guarded()
	defer CatchFault(&plan, &err)
	d, err := p.planDraft(ctx, r, o)
	if err != nil {
		return nil, err
	}
	if err := checkPromises(d.input(), repairedRequest(d.steps), d.result(), 0); err != nil {
		return nil, err
	}
	return d.plan(o), nil
}

// Trim makes r fit a window. It repairs r, and then takes the steps of the window as far as they
// are needed: it lets the rules vote, clears old results, shortens long ones, drops exchanges,
// drops turns, and shortens pinned content. A larger limit keeps everything that a smaller one
// keeps. A request that fits stays as it is, and so does a request that continues a conversation on
// the server. The error is a *WindowTooSmall if the content that must stay does not fit.
func Trim(ctx context.Context, r *wire.Request, w Window, o Options) (plan *Plan, err error) {
	if dialect.Delta(r) != "" {
		return Repair(ctx, r, o)
	}
	if w, err = w.ForModel(r.Model(), r); err != nil {
		return nil, err
	}
	if err := w.validate(o); err != nil {
		return nil, err
	}
	defer CatchFault(&plan, &err)
	p, err := newWindowPlanner(ctx, r, w, o)
	if err != nil {
		return nil, err
	}
	fitted, err := p.fitMarked()
	if err != nil {
		return nil, err
	}
	return p.plan(fitted), nil
}

// Compact replaces the head of r by a summary, at the cut that [transcript.Transcript.Split] finds.
// The plan is empty, with the event compaction_skipped, if there is no cut, r is small enough, or,
// without a summarizer, a note would not be smaller than the head. The error is a *CompactionError.
func Compact(ctx context.Context, c *Compactor, r *wire.Request) (*Plan, error) {
	return c.compact(ctx, unchangedDraft(r), c.Options)
}

// CompactNamed is Compact for callers that archive the removed content themselves. Name returns the
// handle of the content that is removed now or, given handles, of their content together.
func CompactNamed(ctx context.Context, c *Compactor, r *wire.Request, name func(together ...string) string) (*Plan, error) {
	o := c.Options
	o.name = name
	return c.compact(ctx, unchangedDraft(r), o)
}

// CompactPruned prunes r and then compacts it.
func CompactPruned(ctx context.Context, c *Compactor, p *Pipeline, r *wire.Request, o CompactOptions) (plan *Plan, err error) {
	o.Options = o.guarded()
	defer CatchFault(&plan, &err)
	d, err := p.planDraft(ctx, r, o.Options)
	if err != nil {
		return nil, err
	}
	return c.compact(ctx, d, o)
}

// TrimWithSummaries makes r fit a window, like Trim, and replaces the exchanges and turns that it
// drops by summaries. It reserves MaxTokens of the window for all summaries. If a summary fails,
// the event compaction_failed reports it, and a line describes the removed content instead.
func TrimWithSummaries(ctx context.Context, c *Compactor, r *wire.Request, w Window, o Options) (plan *Plan, err error) {
	if w, err = w.ForModel(r.Model(), r); err != nil {
		return nil, err
	}
	if c.Summarize == nil || w.Tokens == 0 {
		return Trim(ctx, r, w, o)
	}
	if err := errors.Join(w.validate(o), c.validate(o)); err != nil {
		return nil, err
	}
	defer CatchFault(&plan, &err)
	p, err := newWindowPlanner(ctx, r, w, o)
	if err != nil {
		return nil, err
	}
	fitted, err := c.fitWithSummaries(ctx, p)
	if err != nil {
		return nil, err
	}
	return p.plan(fitted), nil
}
