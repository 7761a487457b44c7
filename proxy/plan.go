package proxy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/internal/planner"
	"github.com/pare-llm/pare/internal/refusal"
	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// Default returns the policy that applies if none is configured: requests are repaired and fitted
// into the window of their model. A conversation that exceeds the window is trimmed to 70 % of it
// and is then left alone until it exceeds the window again, so that the provider's cache stays
// valid in between.
func Default() *pare.Policy {
	return &pare.Policy{Window: &pare.Window{ModelTokens: true, LowPercent: 70}}
}

// planInput is everything that planning needs besides the bytes of a request.
type planInput struct {
	policy       *pare.Policy
	parseOptions wire.Options
	// isCountOnly leaves out the window: the request only asks for its size or for a compaction.
	isCountOnly      bool
	prunesAlways     bool             // the rules also vote on requests that fit
	wantsLongContext bool             // a header asks for the long window of the model
	retryOf          *refusal.Refusal // the refusal of the first attempt; nil for the first attempt
	isStrict         bool             // the rules of all vendors apply to a refused request
	firstAttempt     *wire.Request    // the first attempt, if Pare had changed it
	// from earlier requests of the conversation
	learned              Learned
	conversations        *Conversations
	upstream             string
	isAnthropic          bool        // the upstream is Anthropic's
	lastRequest          lastRequest // the previous request of the conversation
	cache                cacheState  // the predicted state of the provider's cache
	noProviderEdits      bool        // the provider must not be asked to edit anything
	clearingInsufficient bool        // the provider's own clearing did not remove enough
	measuredLimit        int         // the limit that the provider's counts imply; 0: none
	// size of the last body that the provider accepted; 0: unknown
	acceptedBytes  int
	newlyLearned   Learned // from a refusal for size
	limitInBytes   bool    // the window counts bytes, not tokens
	shrinkAttempts int     // how often the request was planned again to be smaller
	maxGuess       int     // upper bound for a guessed limit; 0: none
	windowEnforced bool    // the provider enforces the window
	trimGroup      string  // see [Record.Thrift]
}

// planResult is the outcome of planning one request.
type planResult struct {
	body             []byte // the body to send; nil: the original body
	changes          []wire.Change
	skipReason       string
	detail           string
	glance           dialect.Overview   // of the original request; zero if it could not be read
	tokens           [2]int             // before and after; zero if they were not counted
	batchSize        int                // number of requests in a batch; 0: it is not a batch
	plan             *pare.Plan         // the plan that body results from
	plannedRequest   *wire.Request      // the request that plan is for
	faults           []*pare.FaultError // the parts that failed and were left out
	conversationKey  string             // of the conversation
	learned          Learned            // the knowledge that was applied
	newlyLearned     Learned            // applies if the provider accepts the request
	betas            []string           // betas that the body requires
	wasTooLarge      bool               // the original request could not have been sent
	cache            cacheState         // the predicted state of the provider's cache
	trimGroup        string             // see [Record.Thrift]
	cutResults       int                // results that are left out because that is free
	refetchedResults int                // cut results that new calls ask for again
}

// withSkip returns the result of sending the original request for a reason.
func (o planResult) withSkip(why string, detail string) planResult {
	return planResult{skipReason: why, detail: detail, glance: o.glance, conversationKey: o.conversationKey, faults: o.faults, cache: o.cache, trimGroup: o.trimGroup}
}

// planBody plans one request. If anything goes wrong, the result keeps the original body.
func planBody(ctx context.Context, raw []byte, a planInput) planResult {
	o, done := inspectRequest(ctx, raw, &a)
	if done {
		return o
	}
	return o.planWithFallback(ctx, raw, a)
}

// inspectRequest checks a request and applies what is known of its conversation. It modifies a.
// isDone is true if nothing is left to do, as for nearly all requests.
func inspectRequest(ctx context.Context, in []byte, a *planInput) (o planResult, done bool) {
	defer func() {
		if p := recover(); p != nil {
			o.faults = []*pare.FaultError{faultFromPanic(p)}
			a.policy = withoutCallbacks(a.policy)
			done = false
		}
	}()
	if a.policy.Off {
		return o.withSkip(skipOff, ""), true
	}
	var err error
	if o.glance, err = checkRequest(in, *a); err != nil {
		return o.withSkip(parseSkipReason(err)), true
	}
	if o.glance.Delta != "" {
		return o.withSkip(skipState, o.glance.Delta), true
	}
	if o.glance.StartsThread {
		// Later requests of the thread would lack additions made here, and be refused.
		a.noProviderEdits = true
	}
	if a.conversations != nil {
		o.conversationKey = conversationKey(ctx, a.upstream, o.glance)
		a.learned = a.conversations.learned(o.conversationKey)
		a.applyLearnedProfile()
		a.observeCache(o.conversationKey, o.glance, in)
		o.cache = a.cache
	}
	a.assignTrimGroup(o.conversationKey, o.glance)
	o.trimGroup = a.trimGroup
	return o, o.glance.Clean && a.isNoop(o.glance, in)
}

// planWithFallback plans a request that is broken or may be too large. If a part of the policy
// fails, it plans again without that part: first without the archive, because the client still
// has the content, then without all callbacks.
func (o planResult) planWithFallback(ctx context.Context, raw []byte, a planInput) planResult {
	first := o.parseAndPlan(ctx, raw, a)
	last, bare := first, false
	var faults []*pare.FaultError
	for last.hasFailed() {
		faults = slices.Concat(faults, last.faults)
		switch {
		case ctx.Err() != nil:
			return first
		case a.policy.Archive != nil && slices.ContainsFunc(last.faults, func(f *pare.FaultError) bool { return f.Part == "archive" }):
			less := *a.policy
			less.Archive = nil
			a.policy = &less
		case !bare:
			a.policy, bare = withoutCallbacks(a.policy), true
		default:
			return first
		}
		last = o.parseAndPlan(ctx, raw, a)
	}
	last.faults = slices.Concat(faults, last.faults)
	return last
}

// hasFailed reports whether an error or a panic prevented a plan.
func (o *planResult) hasFailed() bool { return o.skipReason == skipPanic || o.skipReason == skipError }

// parseAndPlan parses a request and plans it. A panic becomes a fault of the result.
func (o planResult) parseAndPlan(ctx context.Context, raw []byte, a planInput) (result planResult) {
	defer func() {
		if p := recover(); p != nil {
			fault := faultFromPanic(p)
			result = o.withSkip(skipPanic, fault.Err.Error())
			result.faults = append(result.faults, fault)
		}
	}()
	r, err := wire.Parse(raw, a.parseOptions)
	if err != nil {
		return o.withSkip(parseSkipReason(err))
	}
	if err := r.Understood(false); err != nil {
		return o.withSkip(skipForeign, err.Error())
	}
	return o.planRequest(ctx, r, a)
}

// checkRequest checks a request with a pooled parser.
func checkRequest(raw []byte, a planInput) (dialect.Overview, error) {
	r, err := wire.Parse(raw, a.parseOptions)
	if err != nil {
		return dialect.Overview{}, err
	}
	return dialect.NewOverview(r, a.policy.Check), nil
}

// isNoop reports whether the policy has nothing to do for a request without findings.
func (a *planInput) isNoop(g dialect.Overview, raw []byte) bool {
	p := a.policy
	switch {
	case a.retryOf != nil:
		return false
	case a.learned.affectsRules():
		return false
	case planner.Arriving(p.Rules) != nil:
		return false
	case a.isCountOnly:
		return true
	case a.learned.Bytes > 0 && len(raw) > a.learned.Bytes, a.learned.Limit > 0 && mayExceed(raw, a.learned.Limit, a.counterOf(cmp.Or(p.Model, g.Profile.Model))), a.learned.Messages > 0 && g.Messages > a.learned.Messages:
		return false
	case p.Rules != nil && (a.prunesAlways || p.Window == nil), p.Window == nil && p.Compact != nil:
		return false
	case p.Window == nil:
		return true
	case p.Window.ModelCache && p.Window.LowPercent > 0:
		return false
	case a.hasColdRules(p.Window):
		return false
	case !p.Window.ModelTokens || p.Window.Tokens != 0 || p.Window.Messages+p.Window.Exchanges+p.Window.Turns != 0:
		return false
	}
	model := cmp.Or(p.Model, g.Profile.Model)
	m, known := lookupModel(model)
	return !known || len(raw) <= a.contextWindow(m) || !mayExceed(raw, a.contextWindow(m), a.counterOf(model))
}

// lookupModel is a cached [tokens.Lookup], which compares a name with every known model.
func lookupModel(model string) (tokens.Model, bool) {
	if v, ok := models.Load(model); ok {
		f := v.(modelLookup)
		return f.model, f.known
	}
	m, known := tokens.Lookup(model)
	if seenModels.Add(1) < maxModels { // names come from clients
		models.Store(model, modelLookup{m, known})
	}
	return m, known
}

type modelLookup struct {
	model tokens.Model
	known bool
}

const maxModels = 1000

var (
	models     sync.Map
	seenModels atomic.Int32
)

// parseSkipReason returns the reason and the detail for a request that cannot be read.
func parseSkipReason(err error) (string, string) {
	var syntax *wire.SyntaxError
	var foreign *wire.ForeignError
	switch {
	case errors.As(err, &syntax) && syntax.Reason == jsonspan.TooMany:
		return skipTooLarge, err.Error()
	case errors.As(err, &syntax):
		return skipInvalid, err.Error()
	case errors.As(err, &foreign):
		return skipForeign, err.Error()
	}
	return skipUnknown, err.Error()
}

// planRequest plans a request and applies the plan if its result is valid. It calls itself if the
// result is certainly too large for the provider.
func (o planResult) planRequest(ctx context.Context, r *wire.Request, a planInput) planResult {
	in, stripped, err := a.stripThinking(r)
	if err != nil {
		return o.withSkip(skipError, err.Error())
	}
	p, size := a.policyFor(in)
	p.SkipFailedRules = true
	if a.retryOf != nil {
		o.newlyLearned = a.learnFromRefusal(in)
	} else if a.measuredLimit > 0 {
		o.newlyLearned = Learned{Rules: []string{refusal.Overflow}, Limit: a.measuredLimit}
	}
	o.newlyLearned.Cold = a.coldRequests(in, p)
	clear := a.planClearing(in, p)
	if clear != nil {
		p.Window, p.Compact = nil, nil
		if !a.prunesAlways {
			p.Rules = nil
		}
	}
	can, told := a.canDropThinking(in)
	drop := can && (a.learned.Drop || a.retriesByDropping(in)) && hasThinking(in)
	p.KeepInvalidThinking = p.KeepInvalidThinking || drop || told
	pl, err := a.planWithin(ctx, p, in)
	if err == nil && !p.KeepInvalidThinking && a.shouldKeepThinking(in, pl) {
		drop, p.KeepInvalidThinking = true, true
		pl, err = a.planWithin(ctx, p, in)
	}
	if err != nil {
		if pl = a.planRepairOnly(ctx, p, in, err); pl == nil {
			var small *pare.WindowTooSmall
			if errors.As(err, &small) {
				return o.withSkip(skipTooSmall, small.Error())
			}
			return o.withFault(err)
		}
	}
	o.faults = slices.Concat(o.faults, pl.Faults())
	if a.shrinkFurther(p, pl) {
		return o.planRequest(ctx, r, a)
	}
	if a.limitInBytes { // records count tokens
		p.Counter, p.SkipTokenCounts, size = a.policy.Counter, a.policy.SkipTokenCounts, 0
	}
	out, err := pl.Apply()
	if err != nil {
		return o.withSkip(skipRefused, describeRemaining(pl.Remaining()))
	}
	if a.trimGroup == trimGroupCut {
		o.cutResults, o.refetchedResults = countCuts(in, pl)
	}
	o.tokens[0] = size
	if pl.Empty() && in == r && !drop && clear == nil {
		return o
	}
	o.body, o.plannedRequest, o.plan, o.changes, o.learned = out, in, pl, withoutWords(slices.Concat(stripped, pl.Changes())), a.learned
	o.countTokens(&a, p, r, pl, clear != nil)
	if drop {
		o = o.withThinkingDropped()
	}
	if clear != nil && o.body != nil {
		o = o.withClearing(clear)
	}
	return o
}

// planRepairOnly returns a plan that only repairs a request whose protected content does not fit:
// the provider may accept it nevertheless. It returns nil if there is nothing to repair, or if
// err has another cause.
func (a *planInput) planRepairOnly(ctx context.Context, p *pare.Policy, in *wire.Request, err error) *pare.Plan {
	var small *pare.WindowTooSmall
	if a.retryOf != nil || !errors.As(err, &small) {
		return nil
	}
	bare := *p
	bare.Window, bare.Rules, bare.Compact = nil, nil, nil
	if pl, err := bare.Plan(ctx, in); err == nil && !pl.Empty() {
		return pl
	}
	return nil
}

// countTokens modifies the result: it counts the original request and the plan's, and records
// whether the original was too large.
func (o *planResult) countTokens(a *planInput, p *pare.Policy, r *wire.Request, pl *pare.Plan, cleared bool) {
	if c := counterOf(p, a.model(r)); c != nil && !p.SkipTokenCounts {
		if o.tokens[0] == 0 || o.plannedRequest != r {
			o.tokens[0] = r.Tokens(c)
		}
		o.tokens[1] = pl.Result().Tokens(c)
	}
	o.wasTooLarge = (a.windowEnforced || a.isOverWindow(r, o.tokens[0])) && (len(pl.WindowSteps()) > 0 || cleared)
}

// withThinkingDropped returns a result that tells the provider to drop invalid thinking, in this
// request and in all later ones.
func (o planResult) withThinkingDropped() planResult {
	body, change := dropThinkingOption(o.body)
	o.body, o.changes, o.betas = body, append(o.changes, change), append(o.betas, bindBeta)
	o.newlyLearned.Drop = true
	return o
}

// hasThinking reports whether a request contains thinking.
func hasThinking(r *wire.Request) bool {
	return slices.ContainsFunc(r.Transcript().Blocks(), func(b transcript.Block) bool { return b.Kind == transcript.Thinking })
}

// describeRemaining names the findings that could not be repaired, without text of the
// conversation.
func describeRemaining(left []wire.Finding) string {
	f := left[0]
	text := f.Rule + " at " + f.Path
	if n := len(left) - 1; n > 0 {
		text += fmt.Sprintf(" (and %d more)", n)
	}
	return text
}

// model returns the model that the request goes to.
func (a *planInput) model(r *wire.Request) string {
	return cmp.Or(a.policy.Model, r.Model())
}

// counterOf returns the policy's counter for a model, or nil.
func (a *planInput) counterOf(model string) wire.Counter { return counterOf(a.policy, model) }

func counterOf(p *pare.Policy, model string) wire.Counter {
	if p.Counter == nil {
		m, _ := lookupModel(model)
		return m.Estimator()
	}
	var c wire.Counter
	var err error
	if fault := guard("counter", func() { c, err = p.Counter(model) }); fault != nil {
		panic(fault)
	}
	if err != nil {
		return nil
	}
	return c
}

// planWithinBudget plans within a time limit and within the memory for plans. A plan that takes
// longer is abandoned; its memory is released when it ends.
func planWithinBudget(ctx context.Context, b *requestBody, raw []byte, a planInput, most time.Duration) planResult {
	if most == 0 {
		most = planTimeFor(len(raw))
	}
	return runWithinBudget(ctx, b, int64(len(raw)), planMemory(raw), a.policy.Compact != nil, most, func(ctx context.Context) planResult { return planBody(ctx, raw, a) })
}

// runWithinBudget runs do within a time limit and within the memory for plans. asks means that a
// plan may wait for a summarizer, which always gets a goroutine.
func runWithinBudget(ctx context.Context, b *requestBody, size, weight int64, asks bool, most time.Duration, do func(context.Context) planResult) planResult {
	end, err := b.memory.acquirePlan(ctx, weight)
	if err != nil {
		return planResult{skipReason: skipTime, detail: errNoMemory.Error()}
	}
	// A small body cannot take long: the goroutine would cost more than the plan.
	if most < 0 || size < smallBuffer && !asks {
		defer end()
		return do(ctx)
	}
	ctx, cancel := withBudget(ctx, most)
	b.hold()
	done := make(chan planResult, 1)
	go func() {
		defer b.release()
		defer end()
		defer cancel()
		done <- do(ctx)
	}()
	var o planResult
	select {
	case o = <-done:
	case <-ctx.Done():
		select {
		case o = <-done: // both at once
		default:
			o.skipReason = skipError
		}
	}
	if o.skipReason == skipError && errors.Is(context.Cause(ctx), context.DeadlineExceeded) { // it has stopped, or will soon
		return o.withSkip(skipTime, fmt.Sprintf("planning took longer than %v", most))
	}
	return o
}
