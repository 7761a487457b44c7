package pare

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// Options says how to make a plan. The zero value mends what is broken, for a
// request that is about to be sent.
type Options struct {
	Repair wire.Policy
	Check  wire.CheckOptions
	// Sink gets every event of the plan; nil throws them away.
	Sink func(Event)
	// Counter counts tokens, for receipts and for windows of tokens; nil counts none.
	Counter wire.Counter
	// Uncounted leaves the tokens of receipts at zero. Counting what is dropped takes
	// longer than dropping it.
	Uncounted bool
}

// weigh counts the tokens of a block, or none.
func (o *Options) weigh(r *wire.Request, b transcript.BlockID) int {
	if o.Counter == nil || o.Uncounted {
		return 0
	}
	return r.BlockTokens(o.Counter, b)
}

// weighSaid counts a text in the place of what a block says, or nothing.
func (o *Options) weighSaid(r *wire.Request, b transcript.BlockID, text string) int {
	if o.Counter == nil || o.Uncounted {
		return 0
	}
	return r.SaidTokens(o.Counter, b, text)
}

// weighText counts a text by itself, or nothing.
func (o *Options) weighText(text string) int {
	if o.Counter == nil {
		return 0
	}
	return o.Counter.Count([]byte(text))
}

// A Plan is what will be done to a request, and why. Making one changes nothing.
type Plan struct {
	Decisions []Decision     // one per atom of the mended history, in order
	Changes   []wire.Change  // every change, in the order they are made
	Left      []wire.Finding // what the provider would still refuse
	Events    []Event
	Rungs     []Climb // how far a window had to climb; nil: not at all
	// Conserved accounts for the bytes of a compaction; zero without one.
	Conserved Conservation
	Batches   []Batch // what a stable window did at earlier requests and at this one

	in, mended, out *wire.Request
	edited          map[transcript.BlockID]bool
	asRewritten     bool            // finishing had nothing to do
	summary         *wire.Insertion // to be put in when the plan is carried out
	earlier         []Item          // taken out by the plan that this one goes on from
}

// untouched is the plan of doing nothing.
func untouched(r *wire.Request) *Plan { return &Plan{in: r, mended: r, out: r} }

// further is a plan that goes on from what another one has made.
func (p *Plan) further() *Plan {
	return &Plan{in: p.in, mended: p.out, out: p.out, Changes: slices.Clone(p.Changes), Left: p.Left, earlier: p.Archive()}
}

// Refused is the error for a result that the provider would still refuse.
type Refused struct{ Findings []wire.Finding }

func (e *Refused) Error() string {
	f := e.Findings[0]
	more := ""
	if n := len(e.Findings) - 1; n > 0 {
		more = fmt.Sprintf(" (and %d more)", n)
	}
	return fmt.Sprintf("still refused: %s at %s: %s%s", f.Rule, f.Path, f.Message, more)
}

// Plan mends the request, lets the rules vote on it, settles the votes and lets
// the dialect finish: messages that lost everything go, neighbours are joined or
// parted as the provider wants, thinking that a change invalidates is dropped. The
// result is checked before the plan is returned.
func (p *Pipeline) Plan(r *wire.Request, o Options) (*Plan, error) {
	plan, err := p.plan(r, o)
	if err != nil {
		return nil, err
	}
	plan.report(o)
	return plan, nil
}

// plan is Plan without a report. A nil pipeline has no rules.
func (p *Pipeline) plan(r *wire.Request, o Options) (*Plan, error) {
	plan := &Plan{in: r}
	if err := plan.mend(r, o); err != nil {
		return nil, err
	}
	if p == nil {
		return plan, plan.finish(o)
	}
	v, err := p.poll(plan.mended)
	if err != nil {
		return nil, err
	}
	decisions, edits := settle(plan.mended, v)
	plan.Decisions = keepOne(dropIdleThoughts(plan.mended.Transcript(), decisions))
	if err := plan.carryOut(edits, o); err != nil {
		return nil, err
	}
	return plan, plan.finish(o)
}

// Repair plans nothing but the repair.
func Repair(r *wire.Request, o Options) (*Plan, error) { return (*Pipeline)(nil).Plan(r, o) }

// mend repairs the input before anybody votes.
func (p *Plan) mend(r *wire.Request, o Options) error {
	m, err := r.Mend(o.Repair, o.Check)
	if err != nil {
		return err
	}
	p.mended, p.out, p.Changes, p.Left = m.Request, m.Request, m.Changes, m.Left
	return nil
}

// dropIdleThoughts drops the thinking of messages that lose everything it led to.
func dropIdleThoughts(t *transcript.Transcript, all []Decision) []Decision {
	for _, m := range t.Messages() {
		var cause *Decision
		stays := false
		for b := m.First; b < m.End; b++ {
			d := &all[t.AtomOf(b)]
			switch {
			case t.Block(b).Kind == transcript.Thinking:
			case d.Action == Drop:
				cause = d
			default:
				stays = true
			}
		}
		for b := m.First; b < m.End && cause != nil && !stays; b++ {
			if d := &all[t.AtomOf(b)]; d.Action != Drop && !d.Protected {
				d.Action = Drop
				d.Reasons = append(d.Reasons, Reason{cause.Reasons[0].Rule, "thinking that leads to nothing any more", cause.Atom})
			}
		}
	}
	return all
}

// keepOne keeps the last atom if the rules would leave nothing: a history must not
// become empty.
func keepOne(all []Decision) []Decision {
	if len(all) == 0 || slices.ContainsFunc(all, func(d Decision) bool { return d.Action != Drop }) {
		return all
	}
	last := &all[len(all)-1]
	last.Action = Keep
	last.Reasons = append(last.Reasons, Reason{"", "a history must not become empty", last.Atom})
	return all
}

// A blockEdit is an edit, and why.
type blockEdit struct {
	wire.BlockEdit
	reason Reason
}

// carryOut drops and edits what was decided.
func (p *Plan) carryOut(edits []blockEdit, o Options) error {
	var drop []transcript.BlockID
	t := p.mended.Transcript()
	drops := 0
	for _, d := range p.Decisions {
		if d.Action == Drop {
			drops += len(t.Atoms()[d.Atom].Blocks)
		}
	}
	if drops > 0 {
		drop = make([]transcript.BlockID, 0, drops)
	}
	p.Changes = slices.Grow(p.Changes, drops+len(edits)+1)
	for _, d := range p.Decisions {
		if d.Action != Drop {
			continue
		}
		for _, b := range t.Atoms()[d.Atom].Blocks {
			drop = append(drop, b)
			p.log("drop", d.Reasons[0], b, -t.Block(b).Span.Len(), -o.weigh(p.mended, b))
		}
	}
	p.edited = make(map[transcript.BlockID]bool, len(edits))
	texts := make([]wire.BlockEdit, len(edits))
	for i, e := range edits {
		p.edited[e.Block], texts[i] = true, e.BlockEdit
		was := t.Block(e.Block).Body
		p.log("edit", e.reason, e.Block, len(e.Text)-was.Len(), o.weighSaid(p.mended, e.Block, e.Text)-o.weigh(p.mended, e.Block))
	}
	if drop == nil && edits == nil && p.summary == nil {
		return nil
	}
	slices.Sort(drop)
	var insert []wire.Insertion
	if p.summary != nil {
		insert = []wire.Insertion{*p.summary}
		p.Changes = append(p.Changes, wire.Change{
			Action: "insert", Rule: "compaction", IDs: []string{}, Bytes: len(p.summary.Text), Tokens: o.weighText(p.summary.Text),
			Reason: "a summary takes the place of what was dropped",
		})
	}
	next, also, err := p.mended.Rewrite(drop, texts, insert...)
	if err != nil {
		return err
	}
	p.out, p.Changes = next, append(p.Changes, also...)
	return nil
}

// log records a change that the rules decided.
func (p *Plan) log(action string, why Reason, b transcript.BlockID, bytes, tokens int) {
	blk := p.mended.Transcript().Block(b)
	c := wire.Change{Action: action, Rule: why.Rule, Reason: why.Text, Path: p.mended.PathIn(p.in, b), IDs: []string{}, Bytes: bytes, Tokens: tokens}
	if blk.CallID != "" {
		c.IDs = []string{blk.CallID}
	}
	p.Changes = append(p.Changes, c)
}

// finish lets the dialect put right what removal brought about.
func (p *Plan) finish(o Options) error {
	done := p.mended
	for range 3 { // mending may change what thinking is bound to, once or twice
		stale := p.out.Stale(p.in)
		for _, b := range stale {
			p.Changes = append(p.Changes, wire.Change{
				Action: "drop", Rule: "thinking-altered", Path: p.out.PathIn(p.in, b), IDs: []string{}, Bytes: -p.out.Transcript().Block(b).Span.Len(),
				Reason: "a change in front of it makes this thinking invalid on this model",
			})
		}
		next, _, err := p.out.Rewrite(stale, nil)
		if err != nil {
			return err
		}
		if next == done {
			return nil
		}
		first := p.out
		m, err := next.MendSince(p.in, o.Repair, o.Check)
		if err != nil {
			return err
		}
		p.Changes = append(p.Changes, m.Changes...)
		p.out, p.Left, done = m.Request, m.Left, m.Request
		p.asRewritten = p.out == first
	}
	return nil
}

// Empty reports whether there is nothing to do.
func (p *Plan) Empty() bool { return p.out == p.in }

// Result returns the request as it will be, also if it would still be refused.
func (p *Plan) Result() *wire.Request { return p.out }

// Mended returns the request after repair and before any rule; Decisions are about
// its atoms.
func (p *Plan) Mended() *wire.Request { return p.mended }

// Apply returns the new body: the input itself if there is nothing to do. The
// error is a *Refused if the provider would still refuse it.
func (p *Plan) Apply() ([]byte, error) {
	if len(p.Left) > 0 {
		return nil, &Refused{p.Left}
	}
	return p.out.Raw(), nil
}

// String prints the plan for a person: one line per change, and what is left.
func (p *Plan) String() string {
	var b strings.Builder
	for _, c := range p.Changes {
		path := c.Path
		if path == "" {
			path = "(new)"
		}
		fmt.Fprintf(&b, "%-7s %-28s %s: %s\n", c.Action, path, c.Rule, c.Reason)
	}
	for _, f := range p.Left {
		fmt.Fprintf(&b, "left    %-28s %s: %s\n", f.Path, f.Rule, f.Message)
	}
	if b.Len() == 0 {
		return "nothing to do\n"
	}
	return b.String()
}

// MarshalJSON writes the plan as one object.
func (p *Plan) MarshalJSON() ([]byte, error) {
	left := p.Left
	if left == nil {
		left = []wire.Finding{}
	}
	changes := p.Changes
	if changes == nil {
		changes = []wire.Change{}
	}
	return json.Marshal(struct {
		Dialect   string         `json:"dialect"`
		Profile   string         `json:"profile"`
		Messages  [2]int         `json:"messages"`
		Bytes     [2]int         `json:"bytes"`
		Changes   []wire.Change  `json:"changes"`
		Left      []wire.Finding `json:"left"`
		Rungs     []Climb        `json:"rungs,omitempty"`
		Batches   []Batch        `json:"batches,omitempty"`
		Conserved *Conservation  `json:"conserved,omitempty"`
		Decisions []Decision     `json:"decisions,omitempty"`
	}{
		p.in.Dialect.String(), p.in.Profile.Name, [2]int{len(p.in.Transcript().Messages()), len(p.out.Transcript().Messages())},
		[2]int{len(p.in.Raw()), len(p.out.Raw())}, changes, left, p.Rungs, p.Batches, p.conserved(), p.decided(),
	})
}

// conserved is nil without a compaction.
func (p *Plan) conserved() *Conservation {
	if p.Conserved == (Conservation{}) {
		return nil
	}
	return &p.Conserved
}

// decided lists the decisions that are not simply to keep.
func (p *Plan) decided() []Decision {
	var all []Decision
	for _, d := range p.Decisions {
		if d.Action != Keep || d.Protected {
			all = append(all, d)
		}
	}
	return all
}

// WriteReceipt writes every change as a line of JSON.
func (p *Plan) WriteReceipt(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for _, c := range p.Changes {
		if err := enc.Encode(c); err != nil {
			return err
		}
	}
	return nil
}
