package pare

import (
	"cmp"
	"context"

	"github.com/pare-llm/pare/archive"
	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/internal/planner"
	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/wire"
)

// A Policy describes how requests are planned: repair, rules, a window, a compaction and an
// archive. The zero value only repairs. A policy must not be modified while it is in use.
//
// With Rules alone, the rules vote on every request. With a Window, they vote only on requests that
// do not fit, so that the other requests keep their bytes and the provider's cache. With a
// Compactor, a summary replaces the content that the window drops or, without a window, everything
// before the cut that the compactor finds.
type Policy struct {
	// Off leaves every request as it is.
	Off bool
	// Repair controls how requests are repaired, Check which findings are repaired.
	Repair wire.Repair
	Check  wire.CheckOptions
	// Rules vote on the content that a request can do without. Nil: no rules.
	Rules *Pipeline
	// SkipFailedRules leaves out a rule that panics or returns an error, with all its votes.
	// Plan.Faults then contains the failure. Otherwise Plan returns it as its error.
	SkipFailedRules bool
	// Window limits the size of a request. Rules replace the rules of the window. Nil: no limit.
	Window *Window
	// Compact summarizes dropped content. The policy's Repair, Check, Sink and counter replace those
	// of the compactor. Nil: no summaries.
	Compact *Compactor
	// SummarizeLater writes missing summaries of a window in the background, for later requests. A
	// line takes the place of a missing summary. It is for summarizers that call a model.
	SummarizeLater bool
	// Archive receives everything that a plan removes, before Plan returns, and placeholders name its
	// items. If it fails, there is no plan. Nil: nothing is archived.
	Archive ArchiveWriter
	// Archived names archive items in placeholders although Archive is nil. The caller archives the
	// result of Plan.Archive.
	Archived bool
	// Sink, if set, is called with every event, by the goroutine that calls Plan.
	Sink func(Event)
	// Model replaces the model that requests name, unless it is "".
	Model string
	// Counter returns the token counter of a model. Nil: [tokens.For].
	Counter func(model string) (wire.Counter, error)
	// SkipTokenCounts leaves the token counts of receipts at zero.
	SkipTokenCounts bool
	// KeepInvalidThinking keeps thinking blocks that an earlier change in the request has made
	// invalid. The caller is responsible for telling the provider to drop them.
	KeepInvalidThinking bool
	// ProviderEdits lists changes that the provider may make instead of Pare, for callers that can
	// request them in headers, such as package proxy. Plan makes all changes itself.
	ProviderEdits ProviderEdits
}

// ProviderEdits lists changes that a provider can make itself. The zero value suits most callers.
type ProviderEdits struct {
	// DropThinking controls whether the provider drops thinking that a change has made invalid, so
	// that later thinking stays. Nil: if that costs less than leaving out all thinking after the
	// change.
	DropThinking *bool
	// ClearResults lets the provider clear old results if it binds thinking to the preceding content.
	// Its own changes do not invalidate thinking.
	ClearResults bool
}

// An ArchiveWriter stores content that is removed from histories. It must be safe for concurrent
// use.
type ArchiveWriter interface {
	Put(context.Context, ...archive.Item) error
}

// Plan plans a request: it repairs the request, lets the rules vote, makes it fit the window,
// summarizes and archives the removed content, and checks the result. A request that continues a
// conversation on the server has only new messages and is only repaired.
//
// The error is a *WindowTooSmall if the content that must stay does not fit, a *CompactionError if
// the summary of a policy without a window fails, an *UnknownModelError if the window of the model
// is not known, a *FaultError if a part of the policy fails, and the error of ctx after its end.
func (p *Policy) Plan(ctx context.Context, r *wire.Request) (plan *Plan, err error) {
	if p.Off {
		return planner.Unchanged(r), nil
	}
	defer planner.CatchFault(&plan, &err)
	o, err := p.options(r)
	if err != nil {
		return nil, err
	}
	if plan, err = p.plan(ctx, r, o); err != nil {
		return nil, err
	}
	if err := p.archive(ctx, plan); err != nil {
		return nil, &FaultError{Part: "archive", Err: err}
	}
	return plan, nil
}

// plan plans r with the planner that the policy needs.
func (p *Policy) plan(ctx context.Context, r *wire.Request, o Options) (*Plan, error) {
	switch {
	case dialect.Delta(r) != "":
		return planner.Repair(ctx, r, o)
	case p.Window == nil && p.Compact == nil:
		return planner.Prune(ctx, p.Rules, r, o)
	case p.Window == nil:
		c := p.Compact.Options
		c.Options, c.Archived = o, c.Archived || p.isArchived()
		return planner.CompactPruned(ctx, p.Compact, p.Rules, r, c)
	}
	w, err := p.window(r)
	if err != nil {
		return nil, err
	}
	if p.Compact != nil {
		return planner.TrimWithSummaries(ctx, p.Compact, r, w, o)
	}
	return planner.Trim(ctx, r, w, o)
}

// archive stores everything that a plan removes.
func (p *Policy) archive(ctx context.Context, plan *Plan) error {
	if p.Archive == nil {
		return nil
	}
	items := plan.Archive()
	if len(items) == 0 {
		return nil
	}
	defer planner.Blame("archive")
	return p.Archive.Put(ctx, items...)
}

// options returns the options for a request.
func (p *Policy) options(r *wire.Request) (Options, error) {
	o := Options{
		Repair:              p.Repair,
		Check:               p.Check,
		Sink:                p.Sink,
		SkipTokenCounts:     p.SkipTokenCounts,
		KeepInvalidThinking: p.KeepInvalidThinking,
		SkipFailedRules:     p.SkipFailedRules,
		SummarizeLater:      p.SummarizeLater,
		ArchiveHandles:      p.isArchived(),
	}
	if p.Counter == nil {
		o.Counter = tokens.For(p.model(r))
		return o, nil
	}
	defer planner.Blame("counter")
	counter, err := p.Counter(p.model(r))
	o.Counter = counter
	return o, err
}

// window returns the window for a request.
func (p *Policy) window(r *wire.Request) (Window, error) {
	w := *p.Window
	if p.Rules != nil {
		w.Rules = p.Rules
	}
	w.Archive = w.Archive || p.isArchived()
	return w.ForModel(p.model(r), r)
}

func (p *Policy) model(r *wire.Request) string { return cmp.Or(p.Model, r.Model()) }

// isArchived reports whether removed content is archived.
func (p *Policy) isArchived() bool { return p.Archive != nil || p.Archived }

// Parse parses a request body or a list of messages in any of the six dialects.
func Parse(body []byte) (*wire.Request, error) { return wire.Parse(body, wire.Options{}) }

// Fix repairs a request body or a list of messages. If there is nothing to repair, it returns body
// itself. If the error is a *RefusedError, the plan lists the remaining findings, and Plan.Result
// returns the best possible result. The caller must not modify body while it uses the plan.
func Fix(body []byte) ([]byte, *Plan, error) {
	return planBody(context.Background(), body, &Policy{})
}

// Fit repairs a request body and makes it fit a number of tokens. If limit is zero, it is the room
// that the window of the model leaves besides the reply. Tokens are estimated for the model that
// the body names. The error is a *[WindowTooSmall] if the content that must stay does not fit, and
// an *[UnknownModelError] if limit is zero and the model is unknown; otherwise it is that of [Fix].
func Fit(ctx context.Context, body []byte, limit int) ([]byte, *Plan, error) {
	window := &Window{Tokens: limit, ModelTokens: limit == 0}
	return planBody(ctx, body, &Policy{Window: window})
}

// planBody parses a body, plans it and applies the plan.
func planBody(ctx context.Context, body []byte, p *Policy) ([]byte, *Plan, error) {
	r, err := Parse(body)
	if err != nil {
		return nil, nil, err
	}
	plan, err := p.Plan(ctx, r)
	if err != nil {
		return nil, nil, err
	}
	out, err := plan.Apply()
	return out, plan, err
}
