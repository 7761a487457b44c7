package pare

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/pare-llm/pare/archive"
	"github.com/pare-llm/pare/internal/ladder"
	"github.com/pare-llm/pare/internal/wording"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// How votes become bytes.
//
// Votes become bytes in one place:
//
//   1. thinking that led to nothing but what is dropped is dropped with it; if nothing would
//      be left, the last atom stays;
//   2. Rewrite takes blocks out and puts texts in, in one splice. Messages that lost
//      everything go. A cache mark of a block that goes moves to the nearest block before it
//      that stays and may carry one;
//   3. thinking that a change has invalidated is dropped (below);
//   4. the dialect finishes: the result is repaired like any other input, because removal
//      makes new neighbours. Alternation, first and last role, results first, cache marks:
//      there is no second set of rules for that;
//   5. if that changed what thinking is bound to, 3 and 4 are done again, at most three
//      times.
//
// A Plan holds the decisions, every Change in the order it is made, what is Left, and the
// events. It prints itself, as text or JSON, and writes its receipts. Apply returns the bytes,
// or a *RefusedError with the findings if the provider would still refuse them; Result gives
// the best state all the same, which is what the command line writes with status 1.
//
// Stale thinking. On the newest Claude models a thinking block is bound to everything in front
// of it. Stale compares the messages before and after, from the front; from the first that
// differs, all thinking is invalid and goes, with a receipt under thinking-altered. Which
// models bind is a question to the profile; the others lose none.

// Options says how to make a plan. The zero value repairs what is broken, for a
// request that is about to be sent. Many goroutines may use one that nobody changes.
type Options struct {
	Repair wire.Repair
	Check  wire.CheckOptions
	// Sink gets every event of the plan; nil throws them away.
	Sink func(Event)
	// Counter counts tokens, for receipts and for windows of tokens; nil counts none.
	Counter wire.Counter
	// SkipTokenCounts leaves the tokens of receipts at zero. Counting what is dropped takes
	// longer than dropping it.
	SkipTokenCounts bool
	// KeepInvalidThinking leaves thinking where it is although a change in front of it has made it
	// invalid: the caller tells the provider to drop it.
	KeepInvalidThinking bool
	// SkipFailedRules is that of [Policy].
	SkipFailedRules bool

	ctx   context.Context // planning stops soon after it ends; nil: never
	later bool            // summaries are for later requests

	archived bool // what is taken out is kept
}

func (o *Options) context() context.Context {
	if o.ctx == nil {
		return context.Background()
	}
	return o.ctx
}

// weighText counts a text by itself, or nothing.
func (o *Options) weighText(text string) int {
	if o.Counter == nil {
		return 0
	}
	return o.Counter.Count([]byte(text))
}

// A Plan is what will be done to a request, and why. Making one changes nothing. Many
// goroutines may read it; what its methods return must not be changed.
type Plan struct {
	decisions []Decision // if there is no undecided
	undecided *undecided // the decisions of a window, which are written when somebody asks; nil: none
	changes   []wire.Change
	left      []wire.Finding
	events    []Event
	rungs     []RungCount
	conserved *Conservation
	batches   []ladder.Batch
	faults    []*FaultError // rules that were left out

	unended           bool // repaired may end with the assistant, which the provider refuses
	in, repaired, out *wire.Request
	sent              *wire.Request  // the input with what was shortened as it arrived; nil: nothing was
	found             []wire.Finding // by the check, in the input
	checked           bool           // found is all
	edits             blockEdits     // that were decided
	asRewritten       bool           // finishing had nothing to do
	insert            *insertion     // to be put in when the plan is carried out; nil: nothing
	earlier           []archive.Item // taken out by the plan that this one goes on from
	indexes           []archive.Item // what the handles of summaries stand for
	owed              *owing         // receipts that are still to be written; nil: none
	later             *deferred      // the report, if nobody had asked for it when the plan was made
	clean             *unread        // the body, if there is nothing to do and nothing of it was kept; nil: it was
	unjudged          *sync.Once     // the result has not been checked, and is when somebody asks what is left; nil: it has been
}

// An unread is a clean body. It is read again if somebody asks for the request.
type unread struct {
	once sync.Once
	body []byte
	seen wire.Glance
}

// clean is the plan for a body with which nothing is wrong.
func clean(body []byte, g wire.Glance) *Plan {
	p := &Plan{checked: true, clean: &unread{body: body, seen: g}}
	p.report(Options{})
	return p
}

// whole makes sure that the requests are there.
func (p *Plan) whole() *Plan {
	if p.clean != nil {
		p.clean.once.Do(func() {
			r, err := Parse(p.clean.body)
			if err != nil {
				panic("pare: the body of a plan has been changed: " + err.Error())
			}
			p.in, p.repaired, p.out = r, r, r
		})
	}
	return p
}

// Decisions are the verdicts, one per atom of the repaired history, in order; nil if
// nobody had a say.
func (p *Plan) Decisions() []Decision { return slices.Clip(p.verdicts()) }

// An undecided is decisions that nobody has asked for so far.
type undecided struct {
	once   sync.Once
	decide func() []Decision
	all    []Decision
	drops  func(transcript.AtomID) (Reason, bool) // whether one of them drops an atom, and the first reason
}

// verdicts are the decisions; nobody may change them.
func (p *Plan) verdicts() []Decision {
	u := p.undecided
	if u == nil {
		return p.decisions
	}
	u.once.Do(func() { u.all, u.decide = u.decide(), nil })
	return u.all
}

// drops reports whether an atom is dropped, and the first reason. The decisions of a window need not
// be written down for that.
func (p *Plan) drops(a transcript.AtomID) (why Reason, drops bool) {
	switch {
	case p.undecided != nil:
		return p.undecided.drops(a)
	case len(p.decisions) == 0 || p.decisions[a].Action != wire.ActionDrop:
		return why, false
	}
	return p.decisions[a].Reasons[0], true
}

// Changes are all changes, in the order they are made.
func (p *Plan) Changes() []wire.Change { return slices.Clip(p.told().changes) }

// Left is what the provider would still refuse.
func (p *Plan) Left() []wire.Finding {
	if p.unjudged != nil {
		p.unjudged.Do(func() { p.left = p.out.Check(wire.CheckOptions{}) })
	}
	return slices.Clip(p.left)
}

// Events are what a sink is told.
func (p *Plan) Events() []Event { return slices.Clip(p.told().events) }

// Rungs tells how far a window had to climb; nil: not at all.
func (p *Plan) Rungs() []RungCount { return slices.Clip(p.rungs) }

// Batches tells what a stable window did at earlier requests and at this one.
func (p *Plan) Batches() []Batch {
	var all []Batch
	for _, b := range p.batches {
		all = append(all, Batch{b.Messages, b.Before, b.After, b.Kept, b.PaysAfter, b.Forced, b.Cold})
	}
	return all
}

// Faults are the rules that failed and were left out; see [Policy.SkipFailedRules].
func (p *Plan) Faults() []*FaultError { return slices.Clip(p.faults) }

// Conserved accounts for the bytes of a compaction; it is zero without one.
func (p *Plan) Conserved() Conservation {
	if p.conserved == nil {
		return Conservation{}
	}
	return *p.conserved
}

// untouched is the plan of doing nothing. What is wrong with the request is found when somebody asks.
func untouched(r *wire.Request) *Plan {
	return &Plan{in: r, repaired: r, out: r, unjudged: new(sync.Once)}
}

// further is a plan that goes on from what another one has made.
func (p *Plan) further() *Plan {
	p.writeOwed()
	return &Plan{in: p.in, repaired: p.out, out: p.out, changes: slices.Clone(p.changes), left: p.left, found: p.found, checked: p.checked, earlier: p.taken(), indexes: slices.Clip(p.indexes), faults: p.faults, sent: p.sent}
}

// A RefusedError is the error for a result that the provider would still refuse. Many
// goroutines may read it.
type RefusedError struct{ Findings []wire.Finding }

func (e *RefusedError) Error() string {
	if len(e.Findings) == 0 {
		return "still refused"
	}
	f := e.Findings[0]
	more := ""
	if n := len(e.Findings) - 1; n > 0 {
		more = fmt.Sprintf(" (and %d more)", n)
	}
	return fmt.Sprintf("still refused: %s at %s: %s%s", f.Rule, f.Path, f.Message, more)
}

// planWith repairs the request, lets the rules vote on it, settles the votes and lets
// the dialect finish: messages that lost everything go, neighbours are joined or
// parted as the provider wants, thinking that a change invalidates is dropped. The
// result is checked before the plan is returned.
func (p *Pipeline) planWith(r *wire.Request, o Options) (plan *Plan, err error) {
	o = o.guarded()
	defer caught(&plan, &err)
	if plan, err = p.plan(r, o); err != nil {
		return nil, err
	}
	if err := plan.verify(0); err != nil {
		return nil, err
	}
	plan.report(o)
	return plan, nil
}

// plan is Plan without a report. A nil pipeline has no rules.
func (p *Pipeline) plan(r *wire.Request, o Options) (*Plan, error) {
	plan := &Plan{in: r}
	if err := plan.repair(r, o); err != nil {
		return nil, err
	}
	if p == nil || wirex.Delta(r) != "" {
		return plan, plan.finish(o)
	}
	first, rest := p.part()
	plan, err := plan.arrive(first, o)
	if err != nil {
		return nil, err
	}
	if rest == nil {
		return plan, plan.finish(o)
	}
	v, err := rest.poll(plan.repaired, o)
	if err != nil {
		return nil, err
	}
	plan.faults = slices.Concat(plan.faults, v.faults)
	drop, edits := plan.decide(v)
	if err := plan.carryOut(drop, edits, o, nil); err != nil {
		return nil, err
	}
	return plan, plan.finish(o)
}

// repair plans nothing but the repair.
func repair(r *wire.Request, o Options) (*Plan, error) { return (*Pipeline)(nil).planWith(r, o) }

// repair repairs the input before anybody votes.
func (p *Plan) repair(r *wire.Request, o Options) error {
	m, err := wirex.RepairSince(r, o.context(), r, o.Repair, o.Check)
	if err != nil {
		return err
	}
	p.repaired, p.out, p.changes, p.left, p.unjudged = m.Request, m.Request, m.Changes, m.Left, nil
	p.found, p.checked = m.Found, !o.Check.Strict
	return nil
}

// An insertion is a message that a plan puts in, with its receipt.
type insertion struct {
	wire.Insertion
	rule, why string
}

// summaryAt is the insertion of a summary.
func summaryAt(before int, text string) *insertion {
	in := wire.Insertion{Before: before, Role: transcript.User, Text: wording.SummaryBegin + "\n" + text + "\n" + wording.SummaryEnd}
	return &insertion{in, "compaction", "a summary takes the place of what was dropped"}
}

// Some blockEdits are edits, by block, and why each of them is made.
type blockEdits struct {
	all []wire.BlockEdit
	why func(i int) Reason
}

// carryOut drops and edits what was decided, by a ladder if it is not nil, and remembers why each edit
// is made.
func (p *Plan) carryOut(drop []transcript.BlockID, edits blockEdits, o Options, by *ladder.Ladder) error {
	p.edits, p.owed = edits, &owing{len(p.changes), len(drop), o, by}
	if !o.trusted() {
		p.writeOwed() // somebody's counter may fail, and then there is no plan
	}
	if len(drop)+len(edits.all) == 0 && p.insert == nil {
		return nil
	}
	var insert []wire.Insertion
	if in := p.insert; in != nil {
		insert = []wire.Insertion{in.Insertion}
		p.changes = append(p.changes, wire.Change{
			Action: wire.ActionInsert, Rule: in.rule, IDs: []string{}, Bytes: len(in.Text), Tokens: o.weighText(in.Text), Reason: in.why,
		})
	}
	next, also, err := wirex.RewriteSince(p.repaired, p.in, drop, edits.all, insert...)
	if err != nil {
		return err
	}
	p.out, p.changes = next, append(p.changes, also...)
	return nil
}

// finish lets the dialect put right what removal brought about.
func (p *Plan) finish(o Options) error {
	done := p.repaired
	if p.unended {
		done = nil // there is something to do in any case
	}
	for range 3 { // repairing may change what thinking is bound to, once or twice
		var stale []transcript.BlockID
		if !o.KeepInvalidThinking {
			stale = wirex.InvalidThinking(p.out, p.before())
		}
		var paths wire.Paths
		for _, b := range stale {
			for _, path := range wirex.PathsIn(p.out, p.in, b, &paths) {
				p.changes = append(p.changes, wire.Change{
					Action: wire.ActionDrop, Rule: "thinking-altered", Path: path, IDs: []string{}, Bytes: -p.out.Transcript().Block(b).Span.Len(),
					Reason: "a change in front of it makes this thinking invalid on this model",
				})
			}
		}
		next, also, err := wirex.RewriteSince(p.out, p.in, stale, nil)
		if err != nil {
			return err
		}
		p.changes = append(p.changes, also...)
		if next == done {
			return nil
		}
		first := p.out
		m, err := wirex.RepairSince(next, o.context(), p.in, o.Repair, o.Check)
		if err != nil {
			return err
		}
		p.changes = append(p.changes, m.Changes...)
		p.out, p.left, done = m.Request, m.Left, m.Request
		p.asRewritten = p.out == first
	}
	return nil
}

// Empty reports whether there is nothing to do.
func (p *Plan) Empty() bool { return p.clean != nil || p.out == p.in }

// Result returns the request as it will be, also if it would still be refused.
func (p *Plan) Result() *wire.Request { return p.whole().out }

// repairedRequest returns the request after repair and before any rule; Decisions are about
// its atoms.
func (p *Plan) repairedRequest() *wire.Request { return p.whole().repaired }

// Apply returns the new body: the input itself if there is nothing to do. The
// error is a *RefusedError if the provider would still refuse it.
func (p *Plan) Apply() ([]byte, error) {
	if left := p.Left(); len(left) > 0 {
		return nil, &RefusedError{left}
	}
	if p.clean != nil {
		return p.clean.body, nil
	}
	return p.out.Raw(), nil
}

// String prints the plan for a person: one line per change, and what is left.
func (p *Plan) String() string {
	var b strings.Builder
	for _, c := range p.told().changes {
		path := c.Path
		if path == "" {
			path = "(new)"
		}
		fmt.Fprintf(&b, "%-7s %-28s %s: %s\n", c.Action, path, c.Rule, c.Reason)
	}
	for _, f := range p.Left() {
		fmt.Fprintf(&b, "left    %-28s %s: %s\n", f.Path, f.Rule, f.Message)
	}
	if b.Len() == 0 {
		return "nothing to do\n"
	}
	return b.String()
}

// MarshalJSON writes the plan as one object.
func (p *Plan) MarshalJSON() ([]byte, error) {
	left := p.Left()
	if left == nil {
		left = []wire.Finding{}
	}
	changes := p.told().changes
	if changes == nil {
		changes = []wire.Change{}
	}
	in, out := p.sizes()
	return json.Marshal(struct {
		Dialect   string         `json:"dialect"`
		Profile   string         `json:"profile"`
		Messages  [2]int         `json:"messages"`
		Bytes     [2]int         `json:"bytes"`
		Changes   []wire.Change  `json:"changes"`
		Left      []wire.Finding `json:"left"`
		Rungs     []RungCount    `json:"rungs,omitempty"`
		Batches   []Batch        `json:"batches,omitempty"`
		Conserved *Conservation  `json:"conserved,omitempty"`
		Decisions []Decision     `json:"decisions,omitempty"`
	}{
		in.dialect.String(), in.profile, [2]int{in.messages, out.messages}, [2]int{in.bytes, out.bytes}, changes, left, p.rungs, p.Batches(), p.conserved, p.decided(),
	})
}

// A size is what can be told of a request without its bytes.
type size struct {
	dialect         wire.Dialect
	profile         string
	messages, bytes int
}

func sizeOf(r *wire.Request) size {
	return size{r.Dialect, r.Profile.Name, len(r.Transcript().Messages()), len(r.Raw())}
}

// sizes are those of the input and of the result. A clean body is not read again for them.
func (p *Plan) sizes() (in, out size) {
	if c := p.clean; c != nil {
		is := size{c.seen.Dialect, c.seen.Profile.Name, c.seen.Messages, len(c.body)}
		return is, is
	}
	return sizeOf(p.in), sizeOf(p.out)
}

// decided lists the decisions that are not simply to keep.
func (p *Plan) decided() []Decision {
	var all []Decision
	for _, d := range p.verdicts() {
		if d.Action != wire.ActionKeep || d.Protected {
			all = append(all, d)
		}
	}
	return all
}

// WriteReceipt writes every change as a line of JSON.
func (p *Plan) WriteReceipt(w io.Writer) error {
	const piece = 16 << 10 // that is written at once
	all := p.told().changes
	r := receiptWriters.Get().(*receiptWriter)
	defer r.back()
	for i := range all {
		if err := r.add(&all[i]); err != nil {
			return err
		}
		if len(r.lines) >= piece || i == len(all)-1 {
			if _, err := w.Write(r.lines); err != nil {
				return err
			}
			r.lines = r.lines[:0]
		}
	}
	return nil
}
