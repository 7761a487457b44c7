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
	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/internal/planner"
	"github.com/pare-llm/pare/internal/refusal"
	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// Default is the policy of those who have none: requests are repaired, and made to fit the
// window of their model. When a history has passed it, it is cut to seven tenths and then
// left alone until it passes again, so that the provider's cache holds in between.
func Default() *pare.Policy {
	return &pare.Policy{Window: &pare.Window{ModelTokens: true, LowPercent: 70}}
}

// An aim is what is known of a request beside its bytes, and what is to be done to it.
type planInput struct {
	policy       *pare.Policy
	parseOptions wire.Options
	// unfitted leaves out the window: the request only asks how large it is, or for a
	// compaction.
	isCountOnly      bool
	prunesAlways     bool             // the rules vote on what fits, too
	wantsLongContext bool             // a header asks for the long window of the model
	retryOf          *refusal.Refusal // that of the first attempt; nil: this is the first
	isStrict         bool             // what broke a rule is held to the rules of all vendors
	firstAttempt     *wire.Request    // the first attempt, if that was changed
	// known is what was learned of the conversation, by earlier requests of it.
	learned              Learned
	conversations        *Conversations
	upstream             string
	isAnthropic          bool        // the upstream is Anthropic's
	lastRequest          lastRequest // the request before this one
	cache                cacheState  // what is known of the cache
	noProviderEdits      bool        // the provider is asked for nothing
	clearingInsufficient bool        // what the provider clears by itself is not enough
	measuredLimit        int         // the limit that the provider's counts have taught just now
	acceptedBytes        int         // bytes that the provider took of this conversation last; zero: not known
	newlyLearned         Learned     // what a refusal for size has taught
	limitInBytes         bool        // the limit is one of bytes
	shrinkAttempts       int         // how often it was planned to be smaller still
	maxGuess             int         // the most that a guess at the limit may be; zero: any
	windowEnforced       bool        // the window is one that the provider insists on
	trimGroup            string      // whether results are left out because that is free; "": the policy does not
}

// An outcome is what comes of planning.
type planResult struct {
	body             []byte // what to send; nil: what came
	changes          []wire.Change
	skipReason       string
	detail           string
	glance           wire.Glance        // at what came; zero: it could not be read
	tokens           [2]int             // before and after; zero: not counted
	batchSize        int                // of a batch; zero: it is none
	plan             *pare.Plan         // that body comes from
	plannedRequest   *wire.Request      // that plan is for
	faults           []*pare.FaultError // what failed, and was done without if it could be
	conversationKey  string             // of the conversation
	learned          Learned            // that was heeded
	newlyLearned     Learned            // what is to be learned if this is accepted
	betas            []string           // that the body needs; it asks the provider to do something by itself
	wasTooLarge      bool               // it could not have been sent as it came
	cache            cacheState         // what is known of the cache
	trimGroup        string             // see [Record]
	cutResults       int                // results that are left out because that is free
	refetchedResults int                // of these, those that new calls ask for again
}

// skipped is the outcome of doing nothing.
func (o planResult) withSkip(why string, detail string) planResult {
	return planResult{skipReason: why, detail: detail, glance: o.glance, conversationKey: o.conversationKey, faults: o.faults, cache: o.cache, trimGroup: o.trimGroup}
}

// plan reads a request and says what to send in its place. Whatever goes wrong, that is
// what came.
func planBody(ctx context.Context, raw []byte, a planInput) planResult {
	o, done := inspectRequest(ctx, raw, &a)
	if done {
		return o
	}
	return o.planWithFallback(ctx, raw, a)
}

// inspect is the part of planning that every request takes, and that is all of it for nearly
// all: done says so.
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
		// Later requests of the thread come without what is added here, and are refused then.
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

// think is what is left to do for a request that is not clean, or may be too large. If a part
// of the policy fails, the request is repaired, and made to fit, without it: without the archive,
// since the client has what is removed, or without all that programs and configurations put in.
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

// failed reports whether there is no plan because something went wrong.
func (o *planResult) hasFailed() bool { return o.skipReason == skipPanic || o.skipReason == skipError }

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

func checkRequest(raw []byte, a planInput) (wire.Glance, error) {
	r, err := wire.Parse(raw, a.parseOptions)
	if err != nil {
		return wire.Glance{}, err
	}
	return wirex.Glance(r, a.policy.Check), nil
}

// idle reports whether a policy has nothing to do for a request that is clean.
func (a *planInput) isNoop(g wire.Glance, raw []byte) bool {
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

// lookup is [tokens.Lookup], which looks at every model that there is, with a memory.
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

// unread says why a request could not be read.
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

// carry lets the policy plan, and carries the plan out if what comes of it is sound.
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
	if a.limitInBytes { // what is told is told in tokens
		p.Counter, p.SkipTokenCounts, size = a.policy.Counter, a.policy.SkipTokenCounts, 0
	}
	out, err := pl.Apply()
	if err != nil {
		return o.withSkip(skipRefused, describeRemaining(pl.Left()))
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

// repaired is the plan for a request of which what must stay does not fit: what is broken can be
// repaired all the same, and the provider may yet be content. It is nil if there is nothing to repair,
// or if something else went wrong.
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

// weigh counts what came and what is sent, and says whether that had to be made smaller.
func (o *planResult) countTokens(a *planInput, p *pare.Policy, r *wire.Request, pl *pare.Plan, cleared bool) {
	if c := counterOf(p, a.model(r)); c != nil && !p.SkipTokenCounts {
		if o.tokens[0] == 0 || o.plannedRequest != r {
			o.tokens[0] = r.Tokens(c)
		}
		o.tokens[1] = pl.Result().Tokens(c)
	}
	o.wasTooLarge = (a.windowEnforced || a.isOverWindow(r, o.tokens[0])) && (len(pl.Rungs()) > 0 || cleared)
}

// dropping tells the provider to drop thinking, now and at every later request.
func (o planResult) withThinkingDropped() planResult {
	body, change := dropThinkingOption(o.body)
	o.body, o.changes, o.betas = body, append(o.changes, change), append(o.betas, bindBeta)
	o.newlyLearned.Drop = true
	return o
}

// thinks reports whether there is thinking in a request.
func hasThinking(r *wire.Request) bool {
	return slices.ContainsFunc(r.Transcript().Blocks(), func(b transcript.Block) bool { return b.Kind == transcript.Thinking })
}

// leftOver names what could not be repaired, without the words of anybody.
func describeRemaining(left []wire.Finding) string {
	f := left[0]
	text := f.Rule + " at " + f.Path
	if n := len(left) - 1; n > 0 {
		text += fmt.Sprintf(" (and %d more)", n)
	}
	return text
}

// model is the one that the request goes to.
func (a *planInput) model(r *wire.Request) string {
	return cmp.Or(a.policy.Model, r.Model())
}

// counterOf is the counter of the policy for a model, or nil.
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

// planned runs plan within a budget of time, and within the memory that there is for plans. What takes
// longer stops soon, and holds its memory until then.
func planWithinBudget(ctx context.Context, b *requestBody, raw []byte, a planInput, most time.Duration) planResult {
	if most == 0 {
		most = planTimeFor(len(raw))
	}
	return runWithinBudget(ctx, b, int64(len(raw)), planMemory(raw), a.policy.Compact != nil, most, func(ctx context.Context) planResult { return planBody(ctx, raw, a) })
}

// within plans something of a size and a weight that lies in a body.
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
