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
type aim struct {
	policy *pare.Policy
	read   wire.Options
	// unfitted leaves out the window: the request only asks how large it is, or for a
	// compaction.
	unfitted bool
	prune    bool             // the rules vote on what fits, too
	long     bool             // a header asks for the long window of the model
	heal     *refusal.Refusal // that of the first attempt; nil: this is the first
	strict   bool             // what broke a rule is held to the rules of all vendors
	sent     *wire.Request    // the first attempt, if that was changed
	// known is what was learned of the conversation, by earlier requests of it.
	known         Learned
	conversations *Conversations
	upstream      string
	anthropic     bool    // the upstream is Anthropic's
	before        beat    // the request before this one
	heat          heat    // what is known of the cache
	own           bool    // the provider is asked for nothing
	short         bool    // what the provider clears by itself is not enough
	learned       int     // the limit that the provider's counts have taught just now
	accepted      int     // bytes that the provider took of this conversation last; zero: not known
	taught        Learned // what a refusal for size has taught
	inBytes       bool    // the limit is one of bytes
	smalls        int     // how often it was planned to be smaller still
	most          int     // the most that a guess at the limit may be; zero: any
	must          bool    // the window is one that the provider insists on
	thrift        string  // whether results are left out because that is free; "": the policy does not
}

// An outcome is what comes of planning.
type outcome struct {
	body     []byte // what to send; nil: what came
	changes  []wire.Change
	skip     string
	detail   string
	glance   wire.Glance        // at what came; zero: it could not be read
	tokens   [2]int             // before and after; zero: not counted
	requests int                // of a batch; zero: it is none
	plan     *pare.Plan         // that body comes from
	planned  *wire.Request      // that plan is for
	faults   []*pare.FaultError // what failed, and was done without if it could be
	key      string             // of the conversation
	known    Learned            // that was heeded
	taught   Learned            // what is to be learned if this is accepted
	betas    []string           // that the body needs; it asks the provider to do something by itself
	over     bool               // it could not have been sent as it came
	heat     heat               // what is known of the cache
	thrift   string             // see [Record]
	cut      int                // results that are left out because that is free
	fetched  int                // of these, those that new calls ask for again
}

// skipped is the outcome of doing nothing.
func (o outcome) skipped(why string, detail string) outcome {
	return outcome{skip: why, detail: detail, glance: o.glance, key: o.key, faults: o.faults, heat: o.heat, thrift: o.thrift}
}

// plan reads a request and says what to send in its place. Whatever goes wrong, that is
// what came.
func plan(ctx context.Context, raw []byte, a aim) outcome {
	o, done := inspect(ctx, raw, &a)
	if done {
		return o
	}
	return o.think(ctx, raw, a)
}

// inspect is the part of planning that every request takes, and that is all of it for nearly
// all: done says so.
func inspect(ctx context.Context, in []byte, a *aim) (o outcome, done bool) {
	defer func() {
		if p := recover(); p != nil {
			o.faults = []*pare.FaultError{panicked(p)}
			a.policy = withoutCode(a.policy)
			done = false
		}
	}()
	if a.policy.Off {
		return o.skipped(skipOff, ""), true
	}
	var err error
	if o.glance, err = glance(in, *a); err != nil {
		return o.skipped(unread(err)), true
	}
	if o.glance.Delta != "" {
		return o.skipped(skipState, o.glance.Delta), true
	}
	if o.glance.StartsThread {
		// Later requests of the thread come without what is added here, and are refused then.
		a.own = true
	}
	if a.conversations != nil {
		o.key = keyOf(ctx, a.upstream, o.glance)
		a.known = a.conversations.learned(o.key)
		a.heed()
		a.feel(o.key, o.glance, in)
		o.heat = a.heat
	}
	a.spare(o.key, o.glance)
	o.thrift = a.thrift
	return o, o.glance.Clean && a.idle(o.glance, in)
}

// think is what is left to do for a request that is not clean, or may be too large. If a part
// of the policy fails, the request is repaired, and made to fit, without it: without the archive,
// since the client has what is removed, or without all that programs and configurations put in.
func (o outcome) think(ctx context.Context, raw []byte, a aim) outcome {
	first := o.thought(ctx, raw, a)
	last, bare := first, false
	var faults []*pare.FaultError
	for last.failed() {
		faults = slices.Concat(faults, last.faults)
		switch {
		case ctx.Err() != nil:
			return first
		case a.policy.Archive != nil && slices.ContainsFunc(last.faults, func(f *pare.FaultError) bool { return f.Part == "archive" }):
			less := *a.policy
			less.Archive = nil
			a.policy = &less
		case !bare:
			a.policy, bare = withoutCode(a.policy), true
		default:
			return first
		}
		last = o.thought(ctx, raw, a)
	}
	last.faults = slices.Concat(faults, last.faults)
	return last
}

// failed reports whether there is no plan because something went wrong.
func (o *outcome) failed() bool { return o.skip == skipPanic || o.skip == skipError }

func (o outcome) thought(ctx context.Context, raw []byte, a aim) (result outcome) {
	defer func() {
		if p := recover(); p != nil {
			fault := panicked(p)
			result = o.skipped(skipPanic, fault.Err.Error())
			result.faults = append(result.faults, fault)
		}
	}()
	r, err := wire.Parse(raw, a.read)
	if err != nil {
		return o.skipped(unread(err))
	}
	if err := r.Understood(false); err != nil {
		return o.skipped(skipForeign, err.Error())
	}
	return o.carry(ctx, r, a)
}

func glance(raw []byte, a aim) (wire.Glance, error) {
	r, err := wire.Parse(raw, a.read)
	if err != nil {
		return wire.Glance{}, err
	}
	return wirex.Glance(r, a.policy.Check), nil
}

// idle reports whether a policy has nothing to do for a request that is clean.
func (a *aim) idle(g wire.Glance, raw []byte) bool {
	p := a.policy
	switch {
	case a.heal != nil:
		return false
	case a.known.aimed():
		return false
	case planner.Arriving(p.Rules) != nil:
		return false
	case a.unfitted:
		return true
	case a.known.Bytes > 0 && len(raw) > a.known.Bytes, a.known.Limit > 0 && mayExceed(raw, a.known.Limit, a.counterOf(cmp.Or(p.Model, g.Profile.Model))), a.known.Messages > 0 && g.Messages > a.known.Messages:
		return false
	case p.Rules != nil && (a.prune || p.Window == nil), p.Window == nil && p.Compact != nil:
		return false
	case p.Window == nil:
		return true
	case p.Window.ModelCache && p.Window.LowPercent > 0:
		return false
	case a.chills(p.Window):
		return false
	case !p.Window.ModelTokens || p.Window.Tokens != 0 || p.Window.Messages+p.Window.Exchanges+p.Window.Turns != 0:
		return false
	}
	model := cmp.Or(p.Model, g.Profile.Model)
	m, known := lookup(model)
	return !known || len(raw) <= a.window(m) || !mayExceed(raw, a.window(m), a.counterOf(model))
}

// lookup is [tokens.Lookup], which looks at every model that there is, with a memory.
func lookup(model string) (tokens.Model, bool) {
	if v, ok := models.Load(model); ok {
		f := v.(found)
		return f.model, f.known
	}
	m, known := tokens.Lookup(model)
	if seenModels.Add(1) < maxModels { // names come from clients
		models.Store(model, found{m, known})
	}
	return m, known
}

type found struct {
	model tokens.Model
	known bool
}

const maxModels = 1000

var (
	models     sync.Map
	seenModels atomic.Int32
)

// unread says why a request could not be read.
func unread(err error) (string, string) {
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
func (o outcome) carry(ctx context.Context, r *wire.Request, a aim) outcome {
	in, stripped, err := a.stripped(r)
	if err != nil {
		return o.skipped(skipError, err.Error())
	}
	p, size := a.fitting(in)
	p.SkipFailedRules = true
	if a.heal != nil {
		o.taught = a.lesson(in)
	} else if a.learned > 0 {
		o.taught = Learned{Rules: []string{refusal.Overflow}, Limit: a.learned}
	}
	o.taught.Cold = a.chill(in, p)
	clear := a.clears(in, p)
	if clear != nil {
		p.Window, p.Compact = nil, nil
		if !a.prune {
			p.Rules = nil
		}
	}
	can, told := a.droppable(in)
	drop := can && (a.known.Drop || a.healsByDropping(in)) && thinks(in)
	p.KeepInvalidThinking = p.KeepInvalidThinking || drop || told
	pl, err := a.fitted(ctx, p, in)
	if err == nil && !p.KeepInvalidThinking && a.bound(in, pl) {
		drop, p.KeepInvalidThinking = true, true
		pl, err = a.fitted(ctx, p, in)
	}
	if err != nil {
		if pl = a.repaired(ctx, p, in, err); pl == nil {
			var small *pare.WindowTooSmall
			if errors.As(err, &small) {
				return o.skipped(skipTooSmall, small.Error())
			}
			return o.blaming(err)
		}
	}
	o.faults = slices.Concat(o.faults, pl.Faults())
	if a.smaller(p, pl) {
		return o.carry(ctx, r, a)
	}
	if a.inBytes { // what is told is told in tokens
		p.Counter, p.SkipTokenCounts, size = a.policy.Counter, a.policy.SkipTokenCounts, 0
	}
	out, err := pl.Apply()
	if err != nil {
		return o.skipped(skipRefused, leftOver(pl.Left()))
	}
	if a.thrift == thriftCut {
		o.cut, o.fetched = cutsOf(in, pl)
	}
	o.tokens[0] = size
	if pl.Empty() && in == r && !drop && clear == nil {
		return o
	}
	o.body, o.planned, o.plan, o.changes, o.known = out, in, pl, withoutWords(slices.Concat(stripped, pl.Changes())), a.known
	o.weigh(&a, p, r, pl, clear != nil)
	if drop {
		o = o.dropping()
	}
	if clear != nil && o.body != nil {
		o = o.clearing(clear)
	}
	return o
}

// repaired is the plan for a request of which what must stay does not fit: what is broken can be
// repaired all the same, and the provider may yet be content. It is nil if there is nothing to repair,
// or if something else went wrong.
func (a *aim) repaired(ctx context.Context, p *pare.Policy, in *wire.Request, err error) *pare.Plan {
	var small *pare.WindowTooSmall
	if a.heal != nil || !errors.As(err, &small) {
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
func (o *outcome) weigh(a *aim, p *pare.Policy, r *wire.Request, pl *pare.Plan, cleared bool) {
	if c := counterOf(p, a.model(r)); c != nil && !p.SkipTokenCounts {
		if o.tokens[0] == 0 || o.planned != r {
			o.tokens[0] = r.Tokens(c)
		}
		o.tokens[1] = pl.Result().Tokens(c)
	}
	o.over = (a.must || a.exceeds(r, o.tokens[0])) && (len(pl.Rungs()) > 0 || cleared)
}

// dropping tells the provider to drop thinking, now and at every later request.
func (o outcome) dropping() outcome {
	body, change := dropping(o.body)
	o.body, o.changes, o.betas = body, append(o.changes, change), append(o.betas, bindBeta)
	o.taught.Drop = true
	return o
}

// thinks reports whether there is thinking in a request.
func thinks(r *wire.Request) bool {
	return slices.ContainsFunc(r.Transcript().Blocks(), func(b transcript.Block) bool { return b.Kind == transcript.Thinking })
}

// leftOver names what could not be repaired, without the words of anybody.
func leftOver(left []wire.Finding) string {
	f := left[0]
	text := f.Rule + " at " + f.Path
	if n := len(left) - 1; n > 0 {
		text += fmt.Sprintf(" (and %d more)", n)
	}
	return text
}

// model is the one that the request goes to.
func (a *aim) model(r *wire.Request) string {
	return cmp.Or(a.policy.Model, r.Model())
}

// counterOf is the counter of the policy for a model, or nil.
func (a *aim) counterOf(model string) wire.Counter { return counterOf(a.policy, model) }

func counterOf(p *pare.Policy, model string) wire.Counter {
	if p.Counter == nil {
		m, _ := lookup(model)
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
func planned(ctx context.Context, b *body, raw []byte, a aim, most time.Duration) outcome {
	if most == 0 {
		most = planTimeFor(len(raw))
	}
	return within(ctx, b, int64(len(raw)), weight(raw), a.policy.Compact != nil, most, func(ctx context.Context) outcome { return plan(ctx, raw, a) })
}

// within plans something of a size and a weight that lies in a body.
func within(ctx context.Context, b *body, size, weight int64, asks bool, most time.Duration, do func(context.Context) outcome) outcome {
	end, err := b.room.planning(ctx, weight)
	if err != nil {
		return outcome{skip: skipTime, detail: errNoMemory.Error()}
	}
	// A small body cannot take long: the goroutine would cost more than the plan.
	if most < 0 || size < smallBuffer && !asks {
		defer end()
		return do(ctx)
	}
	ctx, cancel := withBudget(ctx, most)
	b.hold()
	done := make(chan outcome, 1)
	go func() {
		defer b.release()
		defer end()
		defer cancel()
		done <- do(ctx)
	}()
	var o outcome
	select {
	case o = <-done:
	case <-ctx.Done():
		select {
		case o = <-done: // both at once
		default:
			o.skip = skipError
		}
	}
	if o.skip == skipError && errors.Is(context.Cause(ctx), context.DeadlineExceeded) { // it has stopped, or will soon
		return o.skipped(skipTime, fmt.Sprintf("planning took longer than %v", most))
	}
	return o
}
