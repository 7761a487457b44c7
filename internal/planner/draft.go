package planner

import (
	"context"
	"slices"

	"github.com/pare-llm/pare/archive"
	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/internal/wording"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// A draft is a plan in the making: the steps so far, and the result of the last check.
type draft struct {
	steps     []Step
	found     []wire.Finding // in the input
	remaining []wire.Finding // in the result of the last step
	faults    []*FaultError
	// sent is the request that thinking blocks were made for: the input, with the results that rules
	// shortened before they were first sent.
	sent *wire.Request
}

func (d draft) input() *wire.Request  { return d.steps[0].From }
func (d draft) result() *wire.Request { return d.steps[len(d.steps)-1].To }

// repairedRequest returns the request that the last decisions are about or, without decisions, the
// result of the first step.
func repairedRequest(steps []Step) *wire.Request {
	for _, s := range slices.Backward(steps) {
		if s.Decisions != nil {
			return s.From
		}
	}
	return steps[0].To
}

// with returns the draft with more steps.
func (d draft) with(steps ...Step) draft {
	d.steps = slices.Concat(d.steps, steps)
	return d
}

// unchangedDraft returns the draft that leaves r as it is.
func unchangedDraft(r *wire.Request) draft {
	found := r.Check(wire.CheckOptions{})
	return draft{steps: []Step{{From: r, To: r}}, found: found, remaining: found, sent: r}
}

// repairDraft returns the draft that only repairs r.
func repairDraft(ctx context.Context, r *wire.Request, o Options) (draft, error) {
	repaired, err := dialect.RepairFrom(ctx, r, r, o.Repair, o.Check)
	if err != nil {
		return draft{}, err
	}
	found := repaired.Found
	if o.Check.Strict { // they contain more than the provider rejects
		found = r.Check(wire.CheckOptions{})
	}
	step := Step{From: r, To: repaired.Request, Changes: repaired.Changes}
	return draft{steps: []Step{step}, found: found, remaining: repaired.Left, sent: r}, nil
}

// planDraft repairs r and lets the rules vote on it. A nil pipeline has no rules.
func (p *Pipeline) planDraft(ctx context.Context, r *wire.Request, o Options) (draft, error) {
	d, err := repairDraft(ctx, r, o)
	if err != nil {
		return draft{}, err
	}
	if p == nil || dialect.Delta(r) != "" {
		return d.finish(ctx, d.result(), o)
	}
	arriving, rest := p.splitArriving()
	if d, err = d.applyArriving(ctx, arriving, o); err != nil {
		return draft{}, err
	}
	repaired := d.result()
	if rest == nil {
		return d.finish(ctx, repaired, o)
	}
	v, err := rest.poll(ctx, repaired, o)
	if err != nil {
		return draft{}, err
	}
	d.faults = slices.Concat(d.faults, v.faults)
	step, err := d.rewrite(settleRules(repaired, v), nil, o)
	if err != nil {
		return draft{}, err
	}
	return d.with(step).finish(ctx, repaired, o)
}

// An insertion is a message that a step puts in, with its receipt.
type insertion struct {
	wire.Insertion
	rule, reason string
}

func (in *insertion) change(o *Options) wire.Change {
	return wire.Change{
		Action: wire.ActionInsert, Rule: in.rule, IDs: []string{}, Reason: in.reason,
		Bytes: len(in.Text), Tokens: o.countText(in.Text),
	}
}

// summaryInsertion returns the insertion of a summary before a message.
func summaryInsertion(before int, text string) *insertion {
	marked := wording.SummaryBegin + "\n" + text + "\n" + wording.SummaryEnd
	return &insertion{
		Insertion: wire.Insertion{Before: before, Role: transcript.User, Text: marked},
		rule:      "compaction",
		reason:    "a summary takes the place of what was dropped",
	}
}

// rewrite returns the step that carries out a settlement, with its receipts, and puts in a message
// unless insert is nil.
func (d draft) rewrite(s settlement, insert *insertion, o Options) (Step, error) {
	step, err := d.rewriteBlocks(s.drops(d.result().Transcript()), s.edits, insert, o)
	if err != nil {
		return Step{}, err
	}
	var costs blockCosts
	if o.countsReceipts() {
		costs = requestCosts{d.result(), o.Counter}
	}
	step.Decisions = s.decisions
	step.Changes = slices.Concat(describeBlocks(d.input(), step, s.editReasons, costs), step.Changes)
	return step, nil
}

// rewriteBlocks returns a step that drops and edits blocks. The step has neither decisions nor
// their receipts.
func (d draft) rewriteBlocks(drops []transcript.BlockID, edits []wire.BlockEdit, insert *insertion, o Options) (Step, error) {
	step := Step{From: d.result(), To: d.result(), Drops: drops, Edits: edits}
	if len(drops)+len(edits) == 0 && insert == nil {
		return step, nil
	}
	var messages []wire.Insertion
	if insert != nil {
		messages = []wire.Insertion{insert.Insertion}
		step.Changes = []wire.Change{insert.change(&o)}
	}
	next, changes, err := dialect.RewriteSince(step.From, d.input(), drops, edits, messages...)
	if err != nil {
		return Step{}, err
	}
	step.To, step.Changes = next, append(step.Changes, changes...)
	return step, nil
}

// maxFinishRounds bounds finish, because a repair may change the text that thinking is bound to.
const maxFinishRounds = 3

// finish adds the step that drops thinking which the steps so far have made invalid, and repairs
// the new neighbors that removal has created. It does nothing if the result is still repaired, a
// request without findings that a repair could remove; nil if there is none.
func (d draft) finish(ctx context.Context, repaired *wire.Request, o Options) (draft, error) {
	step := Step{From: d.result(), To: d.result()}
	for range maxFinishRounds {
		var stale []transcript.BlockID
		if !o.KeepInvalidThinking {
			stale = dialect.InvalidThinking(step.To, d.sent)
		}
		step.Changes = append(step.Changes, describeStaleThinking(step.To, d.input(), stale)...)
		next, changes, err := dialect.RewriteSince(step.To, d.input(), stale, nil)
		if err != nil {
			return draft{}, err
		}
		step.Changes = append(step.Changes, changes...)
		if next == repaired {
			break
		}
		m, err := dialect.RepairFrom(ctx, next, d.input(), o.Repair, o.Check)
		if err != nil {
			return draft{}, err
		}
		step.To, step.Changes = m.Request, append(step.Changes, m.Changes...)
		d.remaining, repaired = m.Left, m.Request
	}
	return d.with(step), nil
}

// plan returns the plan of a draft and emits its events, after those in events.
func (d draft) plan(o Options, events ...Event) *Plan {
	in, out := d.input(), d.result()
	bySteps := make([][]wire.Change, len(d.steps))
	for i, s := range d.steps {
		bySteps[i] = s.Changes
	}
	changes := dialect.Explain(out, in, slices.Concat(bySteps...))
	if o.countsReceipts() {
		estimateRepairTokens(changes, in, o.Counter)
	}
	orphans := withActions(orphansIn(in, d.found, o.Repair.Open), changes)
	events = append(slices.Clip(events), pairsEvent(in, out, orphans))
	if len(changes) > 0 {
		events = append(events, planMadeEvent(in, out, changes, len(d.remaining)))
	}
	for _, e := range events {
		o.emit(e)
	}
	return &Plan{steps: d.steps, changes: changes, remaining: d.remaining, events: events, faults: d.faults}
}

// unreported returns the plan of a draft that changes nothing. It emits no events.
func (d draft) unreported() *Plan {
	return &Plan{steps: d.steps, remaining: d.remaining, faults: d.faults}
}

// archiveItems returns everything that the draft drops or edits, as it was.
func (d draft) archiveItems() []archive.Item { return itemsOfSteps(d.input(), d.steps) }
