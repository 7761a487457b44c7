package planner

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"github.com/pare-llm/pare/archive"
	"github.com/pare-llm/pare/internal/guidance"
	"github.com/pare-llm/pare/internal/ladder"
	"github.com/pare-llm/pare/internal/wording"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// A windowPlanner makes a repaired history fit a window. The ladder decides which states it
// could be brought to; the windowPlanner lets rules vote for it and makes plans of states.
type windowPlanner struct {
	ctx     context.Context
	base    draft // repaired, and nothing else done
	unended bool  // the result of base may end with the assistant, which the provider rejects
	w       Window
	o       Options
	votes   []Decision    // of the rules, when they were asked last
	early   []*FaultError // rules that failed when something arrived
}

// fit climbs. Reserve is room for a summary of what is lost, and mark what a mark costs instead.
func (f *windowPlanner) fit(reserve int, mark func() int) (fit, error) {
	s := ladder.Setting{
		Request: f.base.result(), Unended: f.unended, Window: f.w.ladder(), Counter: f.o.Counter, Try: f.try, Reserve: reserve, Mark: mark, Stop: f.ctx.Err,
	}
	if f.w.Rules != nil {
		s.Vote = func(r *wire.Request) (ladder.Votes, error) { return f.vote(f.w.Rules, r) }
	}
	if f.w.ColdRules != nil {
		s.VoteCold = f.coldVoter()
	}
	l := ladder.New(s)
	done, err := l.Fit()
	var small *ladder.TooSmall
	switch {
	case errors.As(err, &small):
		return fit{}, &WindowTooSmall{string(small.Limit.Unit), small.Limit.Most, small.Minimum}
	case err != nil:
		return fit{}, err
	}
	return fit{ladder: l, attempt: done.(attempt)}, nil
}

// toFit repairs a history that will be made to fit. What would be put behind its end is
// left for later: that end may go.
func newWindowPlanner(ctx context.Context, r *wire.Request, w Window, o Options) (*windowPlanner, error) {
	o = o.guarded()
	o.ArchiveHandles = o.ArchiveHandles || w.Archive
	f := &windowPlanner{ctx: ctx, w: w.guarded(), o: o}
	ms := r.Transcript().Messages()
	if n := len(ms); n > 0 && ms[n-1].Role == transcript.Assistant {
		o.Repair.Unended = true
	}
	d, err := repairDraft(ctx, r, o)
	if err != nil {
		return nil, err
	}
	arriving, rest := f.w.Rules.splitArriving()
	if d, err = d.applyArriving(ctx, arriving, o); err != nil {
		return nil, err
	}
	f.base, f.early, f.w.Rules = d, d.faults, rest
	f.w.Cold = messagesNow(d.result(), r, w.Cold)
	if o.Repair.Unended {
		f.unended = slices.ContainsFunc(d.result().Check(o.Check), func(f wire.Finding) bool { return f.Rule == "last-role" })
	}
	return f, nil
}

// messagesNow returns, for each of some numbers of messages of an earlier state, how many messages of
// r contain everything that was made of that many first messages, in order and without repetitions.
// The numbers differ because repair adds, joins and moves messages. Numbers that the earlier state
// does not have are left out; nil stays nil.
func messagesNow(r, before *wire.Request, counts []int) []int {
	if counts == nil {
		return nil
	}
	was := len(before.Transcript().Messages())
	ends := make([]int, was+1) // by number of messages of the earlier state
	last := 0
	for i, m := range r.Transcript().Messages() {
		origin := wirex.MessageIn(r, before, i)
		switch {
		case origin >= 0:
			last = origin + 1
		case m.Role == transcript.Assistant:
			continue // repair put it before the next request
		}
		ends[last] = max(ends[last], i+1)
	}
	for n := range was {
		ends[n+1] = max(ends[n+1], ends[n])
	}
	ends[was] = len(r.Transcript().Messages()) // with what repair added at the end
	now := make([]int, 0, len(counts))
	for _, n := range counts {
		if n >= 0 && n <= was {
			now = append(now, ends[n])
		}
	}
	slices.Sort(now)
	return slices.Compact(now)
}

// ladder is the window in the ladder's words.
func (w *Window) ladder() ladder.Window {
	out := ladder.Window{
		Limits: w.limits(), MinKeep: w.MinKeep, Unpin: ladder.Pin(w.Unpin), MiddleOut: w.MiddleOut, Priority: w.Priority,
		Recent: w.recent(), Low: w.Low, Cold: w.Cold, AllowTiny: w.AllowTiny, Told: tells, Guides: guides,
	}
	if w.Cache != nil {
		out.PaysAfter = w.Cache.PaysAfter
	}
	if w.Archive {
		out.Name = archive.ID
	}
	return out
}

// guides reports, by exchange, whether the agent works by its text.
func guides(r *wire.Request) []bool {
	kinds := guidance.OfExchanges(r)
	all := make([]bool, len(kinds))
	for i, k := range kinds {
		all[i] = k != guidance.None
	}
	return all
}

// tells reports whether a block holds a summary of an earlier compaction.
func tells(r *wire.Request, b transcript.BlockID) bool {
	blk := &r.Transcript().Blocks()[b]
	if blk.Kind != transcript.Text || !bytes.Contains(r.Transcript().Bytes(blk.Body), []byte(wording.SummaryBegin)) {
		return false
	}
	_, _, _, ok := cutSummary(r.Text(b))
	return ok
}

// vote asks some rules.
func (f *windowPlanner) vote(rules *Pipeline, r *wire.Request) (out ladder.Votes, err error) {
	v, err := rules.poll(f.ctx, r, f.o)
	if err != nil {
		return out, err
	}
	f.base.faults = slices.Concat(f.early, v.faults)
	s := settle(r, v)
	decisions := s.decisions
	f.remember(decisions)
	out = ladder.Votes{
		Drop: make([]bool, len(decisions)), Protect: make([]bool, len(decisions)),
		Edits: make(map[transcript.BlockID]string, len(s.edits)), Needs: v.needs,
	}
	for a, d := range decisions {
		out.Drop[a], out.Protect[a] = d.Action == wire.ActionDrop, d.Protected
	}
	for _, e := range s.edits {
		out.Edits[e.Block] = e.Text
	}
	return out, nil
}

// coldVoter returns how the rules for cold moments vote. Rules that can vote on all beginnings of a
// history read it when they are first asked.
func (f *windowPlanner) coldVoter() func(ladder.Beginning) (ladder.Votes, error) {
	reads := func(r Rule) bool { return r.replay == nil }
	if f.w.Rules != nil || slices.ContainsFunc(f.w.ColdRules.rules, reads) {
		return f.voteCold
	}
	var voters []voter
	return func(begin ladder.Beginning) (out ladder.Votes, err error) {
		if voters == nil {
			if voters, err = f.voters(); err != nil {
				return out, err
			}
		}
		return f.voteReplayed(voters, begin)
	}
}

// A voter is how a rule votes on a number of first messages.
type voter struct {
	rule string
	vote func(b *Ballot, messages int)
}

// cast lets the rule fill in a ballot, and closes it.
func (v voter) cast(b *Ballot, messages int) (fault *FaultError) {
	defer func() {
		b.closed = true
		if p := recover(); p != nil {
			fault = newPanicFault("rule "+v.rule, p)
		}
	}()
	v.vote(b, messages)
	return nil
}

// voters lets the rules for cold moments read the repaired history.
func (f *windowPlanner) voters() ([]voter, error) {
	all := make([]voter, 0, len(f.w.ColdRules.rules))
	for _, rule := range f.w.ColdRules.rules {
		vote, err := rule.replay(f.base.result())
		if err != nil {
			return nil, &FaultError{"rule " + rule.Name, err, nil}
		}
		all = append(all, voter{rule.Name, vote})
	}
	return all, nil
}

// voteReplayed takes the edits that rules vote for.
func (f *windowPlanner) voteReplayed(voters []voter, begin ladder.Beginning) (out ladder.Votes, err error) {
	if err := f.ctx.Err(); err != nil {
		return out, err
	}
	r, v := f.base.result(), new(votes)
	t := r.Transcript()
	for _, rule := range voters {
		b := &Ballot{rule: rule.rule, t: t, votes: new(votes), archived: f.o.ArchiveHandles, isCut: begin.IsCut}
		fault := rule.cast(b, begin.Messages)
		switch {
		case fault == nil:
			v.edits = append(v.edits, b.votes.edits...)
		case f.o.SkipFailedRules:
			v.faults = append(v.faults, fault)
		default:
			return out, fault
		}
	}
	f.base.faults = slices.Concat(f.early, v.faults)
	if f.votes == nil {
		f.votes = keepAll(t)
	}
	for _, e := range v.edits { // forget the reasons of an earlier attempt
		a := t.AtomOf(e.block)
		f.votes[a] = Decision{Atom: a, Action: wire.ActionKeep}
	}
	edits, _ := settleEdits(r, v.edits, f.votes)
	out.Edits = make(map[transcript.BlockID]string, len(edits))
	for _, e := range edits {
		out.Edits[e.Block] = e.Text
	}
	return out, nil
}

// voteCold asks the rules for cold moments; what the others protect, they may not touch.
func (f *windowPlanner) voteCold(begin ladder.Beginning) (out ladder.Votes, err error) {
	r, err := begin.Request()
	if err != nil {
		return out, err
	}
	var others ladder.Votes
	if f.w.Rules != nil {
		if others, err = f.vote(f.w.Rules, r); err != nil {
			return out, err
		}
	}
	if out, err = f.vote(f.w.ColdRules, r); err != nil {
		return out, err
	}
	for a, on := range others.Protect {
		out.Protect[a], out.Drop[a] = out.Protect[a] || on, out.Drop[a] && !on
	}
	return out, nil
}

// remember keeps what rules have decided, and of each atom that nobody votes on now what was
// decided about it when others did, or at an earlier request.
func (f *windowPlanner) remember(now []Decision) {
	for a := range min(len(f.votes), len(now)) {
		if len(now[a].Reasons) == 0 {
			now[a].Reasons = f.votes[a].Reasons
		}
	}
	f.votes = now
}

// An attempt is a state of the window, carried out and finished.
type attempt struct {
	draft     // without decisions and their receipts
	step  int // the index of the step that carries out the state

	asRewritten bool  // finishing changed nothing
	hopeless    bool  // the input could not be repaired completely
	broken      error // a promise that the attempt breaks
}

func (a attempt) Request() *wire.Request { return a.result() }
func (a attempt) AsRewritten() bool      { return a.asRewritten }
func (a attempt) Sound() bool            { return a.broken == nil && (len(a.remaining) == 0 || a.hopeless) }

// try carries out the state that the ladder is at.
func (f *windowPlanner) try(l *ladder.Ladder) (ladder.Outcome, error) {
	if err := f.ctx.Err(); err != nil {
		return nil, err
	}
	return f.attempt(l, nil)
}

// attempt carries out the state that the ladder is at, and puts in a message unless insert is nil.
func (f *windowPlanner) attempt(l *ladder.Ladder, insert *insertion) (attempt, error) {
	drops, edits, _ := l.Todo()
	step, err := f.base.rewriteBlocks(drops, edits, insert, f.o)
	if err != nil {
		return attempt{}, err
	}
	repaired := f.base.result()
	if f.unended {
		repaired = nil // there is something to repair in any case
	}
	d, err := f.base.with(step).finish(f.ctx, repaired, f.o)
	if err != nil {
		return attempt{}, err
	}
	return attempt{
		draft:       d,
		step:        len(f.base.steps),
		asRewritten: d.result() == step.To,
		hopeless:    len(f.base.remaining) > 0,
		broken:      checkPromises(d.input(), f.base.result(), d.result(), f.w.Unpin),
	}, nil
}

// A fit is how a history fits a window.
type fit struct {
	ladder  *ladder.Ladder
	attempt attempt
	indexes []archive.Item
	events  []Event
}

// plan returns the plan of a fit.
func (f *windowPlanner) plan(t fit) *Plan {
	l, d := t.ladder, t.attempt.draft
	step := d.steps[t.attempt.step]
	step.Decisions = f.decide(l, step.From.Transcript())
	reasons := make([]Reason, len(step.Edits))
	for i, e := range step.Edits {
		by, _ := l.Rung(e.Block)
		reasons[i] = f.reason(step.From.Transcript().AtomOf(e.Block), by)
	}
	var costs blockCosts
	if f.o.countsReceipts() {
		costs = ladderCosts{l}
	}
	step.Changes = slices.Concat(describeBlocks(d.input(), step, reasons, costs), step.Changes)
	d.steps = slices.Clone(d.steps)
	d.steps[t.attempt.step] = step
	d.faults = f.base.faults
	plan := d.plan(f.o, t.events...)
	_, _, touched := l.Todo()
	for r, n := range touched {
		if n > 0 {
			plan.fitted.rungs = append(plan.fitted.rungs, RungCount{rungs[r].name, n})
		}
	}
	for _, b := range l.Batches() {
		plan.fitted.batches = append(plan.fitted.batches, Batch{b.Messages, b.Before, b.After, b.Kept, b.PaysAfter, b.Forced, b.Cold})
	}
	plan.indexes = t.indexes
	return plan
}

// ladderCosts counts blocks as the ladder has counted them.
type ladderCosts struct{ l *ladder.Ladder }

func (c ladderCosts) blockTokens(b transcript.BlockID) int { return c.l.Cost(b) }
func (c ladderCosts) editTokens(e wire.BlockEdit) int      { return c.l.SaidCost(e.Block) }

// decide writes the state that a ladder is at down as one decision per atom. All blocks of an atom
// go, or none.
func (f *windowPlanner) decide(l *ladder.Ladder, t *transcript.Transcript) []Decision {
	atoms := t.Atoms()
	all := keepAll(t)
	reasons := make([]Reason, 0, len(atoms)) // one array for nearly all of them
	for a := range all {
		d := &all[a]
		d.Protected = l.Locked(d.Atom)
		for _, b := range atoms[a].Blocks {
			by, gone := l.Rung(b)
			if by == 0 {
				continue
			}
			if gone && d.Action == wire.ActionDrop {
				reasons = reasons[:len(reasons)-len(d.Reasons)] // the next block of the same atom says the same
			}
			from := len(reasons)
			reasons = f.reasons(reasons, d.Atom, by)
			why := reasons[from:len(reasons):len(reasons)]
			if gone {
				d.Action, d.Reasons = wire.ActionDrop, why
				continue
			}
			if d.Action = wire.ActionEdit; d.Reasons == nil {
				d.Reasons = why
			} else {
				d.Reasons = append(d.Reasons, why...)
			}
		}
	}
	return all
}

// reasons appends why a rung touched an atom.
func (f *windowPlanner) reasons(all []Reason, a transcript.AtomID, by ladder.Rung) []Reason {
	if by == ladder.Rules && int(a) < len(f.votes) && len(f.votes[a].Reasons) > 0 {
		return append(all, f.votes[a].Reasons...)
	}
	return append(all, Reason{rungs[by].name, rungs[by].why, a})
}

// reason is the first one.
func (f *windowPlanner) reason(a transcript.AtomID, by ladder.Rung) Reason {
	if by == ladder.Rules && int(a) < len(f.votes) && len(f.votes[a].Reasons) > 0 {
		return f.votes[a].Reasons[0]
	}
	return Reason{rungs[by].name, rungs[by].why, a}
}

// rungs names the rungs of the ladder, and says why what they touched was touched, as receipts do.
var rungs = [...]struct{ name, why string }{
	ladder.Rules:         {"rules", ""},
	ladder.Clear:         {"clear-results", "an old result, cleared to fit the window"},
	ladder.Shorten:       {"shorten", "shortened to fit the window"},
	ladder.DropExchanges: {"drop-exchanges", "an exchange dropped to fit the window"},
	ladder.DropTurns:     {"drop-turns", "a turn dropped to fit the window"},
	ladder.Squeeze:       {"squeeze", "shortened although it must stay: nothing else is left to fit the window"},
}

// A RungCount is what one rung of the ladder did: "rules", "clear-results", "shorten",
// "drop-exchanges", "drop-turns" or "squeeze". Many goroutines may read it.
type RungCount struct {
	Rung    string `json:"rung"`
	Changes int    `json:"changes"` // blocks cleared, shortened or dropped
}

// A Batch is one time that a stable window was trimmed. Many goroutines may read it.
type Batch struct {
	Messages  int  `json:"messages"`             // the history had so many then
	Before    int  `json:"before"`               // tokens
	After     int  `json:"after"`                //
	Kept      int  `json:"kept"`                 // tokens behind the first change, written to the cache again
	PaysAfter int  `json:"pays_after,omitempty"` // further requests until that has paid; zero without prices
	Forced    bool `json:"forced"`               // the limit was passed
	Cold      bool `json:"cold,omitempty"`       // the cache had expired, so that all was written again anyway
}
