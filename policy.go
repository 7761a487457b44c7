package pare

import (
	"cmp"
	"context"
	"fmt"

	"github.com/pare-llm/pare/archive"
	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/wire"
)

// A Policy is what is done to a request, as a value: repair, rules, a window, a
// compaction, an archive. The zero value repairs. Many goroutines may use one policy, as
// long as nobody changes it.
//
// A policy with Rules alone lets them vote on every request. With a Window they are the
// first rung of its ladder: they vote when a request does not fit, so that one which does
// keeps its bytes, and the provider's cache. With a Compactor a summary stands in the
// place of what the window drops; without a window, in the place of everything in front
// of the cut that the compactor finds.
type Policy struct {
	// Off leaves every request as it is.
	Off bool
	// Repair says how what is broken is repaired, Check what counts as broken.
	Repair wire.Repair
	Check  wire.CheckOptions
	// Rules vote on what a request can do without. Nil: there are none.
	Rules *Pipeline
	// SkipFailedRules leaves out a rule that panics or returns an error, with all that it has
	// voted for, and goes on; [Plan.Faults] names it. Otherwise that is the error of Plan.
	SkipFailedRules bool
	// Window is what a request must fit; Rules take the place of its own. Nil: no limit.
	Window *Window
	// Compact says how what is dropped is summarized; Repair, Check, Sink and the counter
	// are those of the policy. Nil: it is not.
	Compact *Compactor
	// SummarizeLater lets no request wait for a summary, in a window: those that are not there are written in
	// the background, for later requests, and this one is sent with a line in their place. It is for summarizers
	// that take long, which ask a model.
	SummarizeLater bool
	// Archive keeps everything that is removed, and placeholders name it. It has been
	// kept when Plan returns; if that fails, there is no plan. Nil: nothing is kept.
	Archive ArchiveWriter
	// Archived says that the caller keeps what [Plan.Archive] returns, in the place of
	// Archive.
	Archived bool
	// Sink gets every event; nil throws them away. It is called by the goroutine that
	// calls Plan.
	Sink func(Event)
	// Model takes the place of the model that requests name; "": theirs.
	Model string
	// Counter returns the counter of a model. Nil: its estimator, [tokens.For].
	Counter func(model string) (wire.Counter, error)
	// SkipTokenCounts leaves the tokens of receipts at zero.
	SkipTokenCounts bool
	// KeepInvalidThinking leaves thinking where it is although a change in front of it has made it
	// invalid: the caller tells the provider to drop it.
	KeepInvalidThinking bool
	// ProviderEdits says what may be left to the provider, for those who can tell it so in headers:
	// package proxy does. Plan makes all changes itself.
	ProviderEdits ProviderEdits
}

// ProviderEdits are what a provider can do by itself. The zero value is right. It is a value that
// many goroutines may use.
type ProviderEdits struct {
	// DropThinking is the option by which the provider drops thinking that a change has made
	// invalid, so that what it has thought since stays: always or never. Nil: where that costs
	// less than leaving out all thinking behind the change.
	DropThinking *bool
	// ClearResults lets the provider clear old results where it binds thinking to what
	// stands in front of it: what it does itself invalidates nothing.
	ClearResults bool
}

// An ArchiveWriter keeps what is taken out of histories. Its methods may be called by many
// goroutines.
type ArchiveWriter interface {
	Put(context.Context, ...archive.Item) error
}

// Plan is the one way of a request: it is repaired, the rules vote on it, it is made to
// fit the window, what goes is summarized and archived, and what comes of it is checked.
// Soon after the context has ended it stops, with the error of that.
// A request that continues a conversation on the server is never changed: it has new messages only.
// The error is a *WindowTooSmall if what must stay does not fit, a *CompactionError if
// there is a compactor but no window and the summary fails, and an *UnknownModelError if
// the window is that of a model which nobody knows.
func (p *Policy) Plan(ctx context.Context, r *wire.Request) (plan *Plan, err error) {
	defer caught(&plan, &err)
	if p.Off {
		return &Plan{steps: []Step{{From: r, To: r}}}, nil
	}
	o, err := p.options(r)
	if err != nil {
		return nil, err
	}
	o.ctx = ctx
	if plan, err = p.plan(ctx, r, o); err != nil {
		return nil, err
	}
	if err := p.archive(ctx, plan); err != nil {
		return nil, &FaultError{Part: "archive", Err: err}
	}
	return plan, nil
}

// archive keeps what a plan takes out.
func (p *Policy) archive(ctx context.Context, plan *Plan) error {
	if p.Archive == nil {
		return nil
	}
	items := plan.Archive()
	if len(items) == 0 {
		return nil
	}
	defer blame("archive")
	return p.Archive.Put(ctx, items...)
}

func (p *Policy) plan(ctx context.Context, r *wire.Request, o Options) (*Plan, error) {
	switch {
	case wirex.Delta(r) != "":
		return repairOnly(r, o) // which changes nothing
	case p.Window != nil:
		w, err := p.window(r)
		switch {
		case err != nil:
			return nil, err
		case p.Compact != nil:
			return p.Compact.fit(ctx, r, w, o)
		}
		return trim(r, w, o)
	case p.Compact != nil:
		o = o.guarded()
		base, err := p.Rules.planDraft(r, o)
		if err != nil {
			return nil, err
		}
		c := p.Compact.Options
		c.Options, c.Archived = o, c.Archived || p.archives()
		return p.Compact.compact(ctx, base, c)
	}
	return p.Rules.planRules(r, o)
}

// options are those for a request.
func (p *Policy) options(r *wire.Request) (o Options, err error) {
	o = Options{Repair: p.Repair, Check: p.Check, Sink: p.Sink, SkipTokenCounts: p.SkipTokenCounts, KeepInvalidThinking: p.KeepInvalidThinking, SkipFailedRules: p.SkipFailedRules, summarizeLater: p.SummarizeLater, archived: p.archives()}
	if p.Counter == nil {
		o.Counter = tokens.For(p.model(r))
		return o, nil
	}
	defer blame("counter")
	o.Counter, err = p.Counter(p.model(r))
	return o, err
}

// window is the one for a request.
func (p *Policy) window(r *wire.Request) (Window, error) {
	w := *p.Window
	if p.Rules != nil {
		w.Rules = p.Rules
	}
	w.Archive = w.Archive || p.archives()
	return w.of(p.model(r), r)
}

func (p *Policy) model(r *wire.Request) string { return cmp.Or(p.Model, r.Model()) }

// keeps reports whether somebody keeps what is taken out.
func (p *Policy) archives() bool { return p.Archive != nil || p.Archived }

// An UnknownModelError is the error for a window that is to be a model's own. Many
// goroutines may read it.
type UnknownModelError struct{ Model string }

func (e *UnknownModelError) Error() string {
	if e.Model == "" {
		return "no limit is given, and the request names no model"
	}
	return fmt.Sprintf("no limit is given, and the window of the model %q is not known", e.Model)
}

// of is the window for a request to a model: what it leaves to the model is filled in.
func (w Window) of(model string, r *wire.Request) (Window, error) {
	if w.ModelTokens && w.Tokens == 0 {
		m, known := tokens.Lookup(model)
		if !known {
			return w, &UnknownModelError{model}
		}
		w.Tokens = m.Input(min(r.MaxOutputTokens(), m.Output))
	}
	if w.LowPercent > 0 && w.Low == 0 && w.Tokens > 0 {
		w.Low = min(max(int(int64(w.Tokens)*int64(w.LowPercent)/100), 1), w.Tokens-1)
	}
	if w.ModelCache && w.Cache == nil {
		w.Cache = tokens.CacheOf(model)
	}
	return w, nil
}

// Fix repairs a request body, or a list of messages, of any dialect. If there is nothing
// to do, the bytes that came in come back. If the error is a *RefusedError, the plan tells what
// could not be repaired, and [Plan.Result] has the best that can be done. The body must not be
// changed as long as that is used.
func Fix(body []byte) ([]byte, *Plan, error) {
	return (&Policy{}).bytes(context.Background(), body)
}

// Fit repairs a request body and makes it fit so many tokens; zero is what
// the window of its model has room for besides the reply. Tokens are estimated for the
// model that the body names. If what must be kept does not fit, the error is a
// *[WindowTooSmall], and for zero and a model that nobody knows an *[UnknownModelError];
// otherwise errors and plan are those of [Fix].
func Fit(ctx context.Context, body []byte, limit int) ([]byte, *Plan, error) {
	return (&Policy{Window: &Window{Tokens: limit, ModelTokens: limit == 0}}).bytes(ctx, body)
}

// bytes parses, plans and applies.
func (p *Policy) bytes(ctx context.Context, body []byte) ([]byte, *Plan, error) {
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
