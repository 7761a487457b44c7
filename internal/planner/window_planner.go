package planner

import (
	"bytes"
	"context"
	"slices"

	"github.com/pare-llm/pare/archive"
	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/internal/guidance"
	"github.com/pare-llm/pare/internal/wording"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// A windowPlanner makes a repaired request fit a window. It polls the rules of the window and
// carries out the states that a windowSearch chooses.
type windowPlanner struct {
	ctx     context.Context
	base    draft // repaired
	unended bool  // the result of base ends with the assistant, which the provider rejects
	w       Window
	o       Options

	decisions []Decision    // by the rules, at their last vote
	arrival   []*FaultError // the failures of rules for arriving results
}

// newWindowPlanner repairs a request that will be made to fit a window. If the request ends with
// the assistant, nothing is added after it yet, because that end may be dropped.
func newWindowPlanner(ctx context.Context, r *wire.Request, w Window, o Options) (*windowPlanner, error) {
	o = o.guarded()
	o.ArchiveHandles = o.ArchiveHandles || w.Archive
	p := &windowPlanner{ctx: ctx, w: w.guarded(), o: o}
	messages := r.Transcript().Messages()
	if n := len(messages); n > 0 && messages[n-1].Role == transcript.Assistant {
		o.Repair.Unended = true
	}
	d, err := repairDraft(ctx, r, o)
	if err != nil {
		return nil, err
	}
	arriving, rest := p.w.Rules.splitArriving()
	if d, err = d.applyArriving(ctx, arriving, o); err != nil {
		return nil, err
	}
	p.base, p.arrival, p.w.Rules = d, d.faults, rest
	p.w.Cold = messageCountsIn(d.result(), r, w.Cold)
	if o.Repair.Unended {
		findings := d.result().Check(o.Check)
		p.unended = slices.ContainsFunc(findings, func(f wire.Finding) bool { return f.Rule == "last-role" })
	}
	return p, nil
}

// messageCountsIn translates numbers of first messages of an earlier request to r, which was made
// from it: repairs add, join and move messages. The result is sorted and has no duplicates. Numbers
// that the earlier request does not have are left out. A nil list stays nil.
func messageCountsIn(r, earlier *wire.Request, counts []int) []int {
	if counts == nil {
		return nil
	}
	messages := len(earlier.Transcript().Messages())
	ends := make([]int, messages+1) // by number of messages of the earlier request
	last := 0
	for i, m := range r.Transcript().Messages() {
		origin := dialect.MessageIn(r, earlier, i)
		switch {
		case origin >= 0:
			last = origin + 1
		case m.Role == transcript.Assistant:
			continue // a repair has added it before the next request
		}
		ends[last] = max(ends[last], i+1)
	}
	for n := range messages {
		ends[n+1] = max(ends[n+1], ends[n])
	}
	ends[messages] = len(r.Transcript().Messages()) // including messages that a repair added at the end
	translated := make([]int, 0, len(counts))
	for _, n := range counts {
		if n >= 0 && n <= messages {
			translated = append(translated, ends[n])
		}
	}
	slices.Sort(translated)
	return slices.Compact(translated)
}

// guidanceExchanges reports, by exchange, whether the agent works by its text: instructions,
// skills, plans and to-do lists.
func guidanceExchanges(r *wire.Request) []bool {
	kinds := guidance.OfExchanges(r)
	isGuidance := make([]bool, len(kinds))
	for i, kind := range kinds {
		isGuidance[i] = kind != guidance.None
	}
	return isGuidance
}

// isSummary reports whether a block contains a summary of an earlier compaction.
func isSummary(r *wire.Request, b transcript.BlockID) bool {
	block := r.Transcript().Block(b)
	if block.Kind != transcript.Text || !bytes.Contains(r.Transcript().Bytes(block.Body), []byte(wording.SummaryBegin)) {
		return false
	}
	_, _, _, found := cutSummary(r.Text(b))
	return found
}

// vote polls rules on r and settles their votes.
func (p *windowPlanner) vote(rules *Pipeline, r *wire.Request) (windowVotes, error) {
	v, err := rules.poll(p.ctx, r, p.o)
	if err != nil {
		return windowVotes{}, err
	}
	p.base.faults = slices.Concat(p.arrival, v.faults)
	s := settle(r, v)
	p.remember(s.decisions)
	votes := windowVotes{
		drop:    make([]bool, len(s.decisions)),
		protect: make([]bool, len(s.decisions)),
		edits:   textsByBlock(s.edits),
		needs:   v.needs,
	}
	for a, d := range s.decisions {
		votes.drop[a], votes.protect[a] = isDrop(d), d.Protected
	}
	return votes, nil
}

func textsByBlock(edits []wire.BlockEdit) map[transcript.BlockID]string {
	texts := make(map[transcript.BlockID]string, len(edits))
	for _, e := range edits {
		texts[e.Block] = e.Text
	}
	return texts
}

// remember stores decisions. Atoms on which no rule votes now keep the reasons of the previous
// vote.
func (p *windowPlanner) remember(decisions []Decision) {
	for a := range min(len(p.decisions), len(decisions)) {
		if len(decisions[a].Reasons) == 0 {
			decisions[a].Reasons = p.decisions[a].Reasons
		}
	}
	p.decisions = decisions
}

// coldVoter returns the function that polls the rules for cold caches. If all of them can vote on
// any beginning of a history, they read the history only once, at the first vote.
func (p *windowPlanner) coldVoter() func(beginning) (windowVotes, error) {
	if p.w.ColdRules == nil {
		return nil
	}
	mustRead := func(r Rule) bool { return r.replay == nil }
	if p.w.Rules != nil || slices.ContainsFunc(p.w.ColdRules.rules, mustRead) {
		return p.voteCold
	}
	var voters []replayVoter
	return func(b beginning) (windowVotes, error) {
		if voters == nil {
			var err error
			if voters, err = p.replayVoters(); err != nil {
				return windowVotes{}, err
			}
		}
		return p.voteReplayed(voters, b)
	}
}

// voteCold polls the rules for cold caches on the beginning of a history. Atoms that the window's
// rules protect stay.
func (p *windowPlanner) voteCold(b beginning) (windowVotes, error) {
	r, err := b.request()
	if err != nil {
		return windowVotes{}, err
	}
	var protect []bool
	if p.w.Rules != nil {
		others, err := p.vote(p.w.Rules, r)
		if err != nil {
			return windowVotes{}, err
		}
		protect = others.protect
	}
	votes, err := p.vote(p.w.ColdRules, r)
	if err != nil {
		return windowVotes{}, err
	}
	for a, isProtected := range protect {
		votes.protect[a] = votes.protect[a] || isProtected
		votes.drop[a] = votes.drop[a] && !isProtected
	}
	return votes, nil
}

// A replayVoter is a rule that can vote on any beginning of a history.
type replayVoter struct {
	rule string
	vote func(b *Ballot, messages int)
}

// replayVoters lets the rules for cold caches read the repaired history.
func (p *windowPlanner) replayVoters() ([]replayVoter, error) {
	voters := make([]replayVoter, 0, len(p.w.ColdRules.rules))
	for _, rule := range p.w.ColdRules.rules {
		vote, err := rule.replay(p.base.result())
		if err != nil {
			return nil, &FaultError{"rule " + rule.Name, err, nil}
		}
		voters = append(voters, replayVoter{rule.Name, vote})
	}
	return voters, nil
}

// cast lets the rule fill in a ballot, and closes the ballot.
func (v replayVoter) cast(b *Ballot, messages int) (fault *FaultError) {
	defer func() {
		b.closed = true
		if panicked := recover(); panicked != nil {
			fault = newPanicFault("rule "+v.rule, panicked)
		}
	}()
	v.vote(b, messages)
	return nil
}

// voteReplayed lets rules vote on the beginning of a history, and returns their edits.
func (p *windowPlanner) voteReplayed(voters []replayVoter, begin beginning) (windowVotes, error) {
	if err := p.ctx.Err(); err != nil {
		return windowVotes{}, err
	}
	r := p.base.result()
	t := r.Transcript()
	var edits []edit
	var faults []*FaultError
	for _, voter := range voters {
		b := &Ballot{rule: voter.rule, t: t, votes: new(votes), archived: p.o.ArchiveHandles, isCut: begin.isCut}
		fault := voter.cast(b, begin.messages)
		switch {
		case fault == nil:
			edits = append(edits, b.votes.edits...)
		case p.o.SkipFailedRules:
			faults = append(faults, fault)
		default:
			return windowVotes{}, fault
		}
	}
	p.base.faults = slices.Concat(p.arrival, faults)
	if p.decisions == nil {
		p.decisions = keepAll(t)
	}
	for _, e := range edits { // their reasons replace those of earlier votes
		a := t.AtomOf(e.block)
		p.decisions[a] = Decision{Atom: a, Action: wire.ActionKeep}
	}
	settled, _ := settleEdits(r, edits, p.decisions)
	return windowVotes{edits: textsByBlock(settled)}, nil
}

// An attempt is a state of a window that was carried out and finished.
type attempt struct {
	draft     // its step has neither decisions nor their receipts
	step  int // the index of the step that carries out the state

	asRewritten bool  // finishing changed nothing
	hopeless    bool  // the input could not be repaired completely
	broken      error // a promise that the attempt breaks
}

// isSound reports whether the provider would accept the attempt, as far as the input could be
// repaired, and it breaks no promise.
func (a attempt) isSound() bool { return a.broken == nil && (len(a.remaining) == 0 || a.hopeless) }

// attempt carries out the current state of a search, and puts in a message unless insert is nil.
func (p *windowPlanner) attempt(s *windowSearch, insert *insertion) (attempt, error) {
	if err := p.ctx.Err(); err != nil {
		return attempt{}, err
	}
	drops, edits := s.blockChanges()
	step, err := p.base.rewriteBlocks(drops, edits, insert, p.o)
	if err != nil {
		return attempt{}, err
	}
	repaired := p.base.result()
	if p.unended {
		repaired = nil // there is something to repair in any case
	}
	d, err := p.base.with(step).finish(p.ctx, repaired, p.o)
	if err != nil {
		return attempt{}, err
	}
	return attempt{
		draft:       d,
		step:        len(p.base.steps),
		asRewritten: d.result() == step.To,
		hopeless:    len(p.base.remaining) > 0,
		broken:      checkPromises(d.input(), p.base.result(), d.result(), p.w.Unpin),
	}, nil
}

// A fit is the state of a window that was chosen.
type fit struct {
	search  *windowSearch // at the state of the attempt
	attempt attempt
	indexes []archive.Item
	events  []Event
}

// fit finds the state that fits the window. It reserves tokens for a summary, or for a mark if
// markTokens is not 0.
func (p *windowPlanner) fit(reserve, markTokens int) (fit, error) {
	s := newWindowSearch(p, reserve, markTokens)
	a, err := s.run()
	if err != nil {
		return fit{}, err
	}
	return fit{search: s, attempt: a}, nil
}

// plan returns the plan of a fit, with decisions and receipts.
func (p *windowPlanner) plan(f fit) *Plan {
	d, s := f.attempt.draft, f.search
	step := d.steps[f.attempt.step]
	t := step.From.Transcript()
	step.Decisions = p.decide(s, t)
	reasons := make([]Reason, len(step.Edits))
	for i, e := range step.Edits {
		windowStep, _ := s.stepOf(e.Block)
		reasons[i] = p.reasons(t.AtomOf(e.Block), windowStep)[0]
	}
	var costs blockCosts
	if p.o.countsReceipts() {
		costs = searchCosts{s}
	}
	step.Changes = slices.Concat(describeBlocks(d.input(), step, reasons, costs), step.Changes)
	d.steps = slices.Clone(d.steps)
	d.steps[f.attempt.step] = step
	d.faults = p.base.faults
	plan := d.plan(p.o, f.events...)
	plan.fitted = s.summary()
	plan.indexes = f.indexes
	return plan
}

// summary reports how the window was met.
func (s *windowSearch) summary() (f fitted) {
	if s.chain != nil {
		for step, n := range s.chain.changedBy {
			if step != int(stepNone) && n > 0 {
				f.steps = append(f.steps, WindowStep{windowSteps[step].name, n})
			}
		}
	}
	for _, batch := range s.batches {
		f.batches = append(f.batches, batch.Batch)
	}
	return f
}

// decide returns the current state of a search as decisions. The blocks of a dropped atom are
// dropped together; of a kept atom, each edited block has its reasons.
func (p *windowPlanner) decide(s *windowSearch, t *transcript.Transcript) []Decision {
	decisions := keepAll(t)
	for a := range decisions {
		d := &decisions[a]
		d.Protected = s.isLocked(d.Atom)
		for _, b := range t.Atoms()[a].Blocks {
			step, isGone := s.stepOf(b)
			switch {
			case step == stepNone:
			case isGone:
				d.Action, d.Reasons = wire.ActionDrop, p.reasons(d.Atom, step)
			default:
				d.Action, d.Reasons = wire.ActionEdit, append(d.Reasons, p.reasons(d.Atom, step)...)
			}
		}
	}
	return decisions
}

// reasons returns why a step changed an atom: the reasons of the rules, or the reason of the step.
func (p *windowPlanner) reasons(a transcript.AtomID, step windowStep) []Reason {
	if step == stepRules && int(a) < len(p.decisions) && len(p.decisions[a].Reasons) > 0 {
		return slices.Clip(p.decisions[a].Reasons)
	}
	return []Reason{{windowSteps[step].name, windowSteps[step].reason, a}}
}

// windowSteps has the names of the steps, and the reasons in their receipts.
var windowSteps = [windowStepCount]struct{ name, reason string }{
	stepRules:         {"rules", ""},
	stepClear:         {"clear-results", "an old result, cleared to fit the window"},
	stepShorten:       {"shorten", "shortened to fit the window"},
	stepDropExchanges: {"drop-exchanges", "an exchange dropped to fit the window"},
	stepDropTurns:     {"drop-turns", "a turn dropped to fit the window"},
	stepSqueeze:       {"squeeze", "shortened although it must stay: nothing else is left to fit the window"},
}

// A WindowStep is the number of blocks that one step of a window has changed. Name is "rules",
// "clear-results", "shorten", "drop-exchanges", "drop-turns" or "squeeze".
type WindowStep struct {
	Name    string `json:"rung"`
	Changes int    `json:"changes"`
}
