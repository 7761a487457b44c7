package planner

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/pare-llm/pare/archive"
	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/internal/plain"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// A Step is one rewrite of a request: a repair, the decisions of rules, a window or a compaction,
// or the cleanup that follows decisions.
type Step struct {
	From, To *wire.Request
	// Decisions has one decision per atom of From. It is nil for steps that decide nothing.
	Decisions []Decision
	Drops     []transcript.BlockID // blocks of From, in order
	Edits     []wire.BlockEdit     // of blocks of From, in order
	Changes   []wire.Change
}

// A Plan describes every change to a request, with its reason. Making a plan changes nothing; Apply
// returns the new body. Callers must not modify the values that its methods return.
type Plan struct {
	steps     []Step // at least one; each begins where the previous one ends
	changes   []wire.Change
	remaining []wire.Finding
	events    []Event
	fitted    fitted
	faults    []*FaultError
	conserved *Conservation  // nil without a compaction
	indexes   []archive.Item // the items that the handles of summaries name
}

// fitted reports how a window was met.
type fitted struct {
	steps   []WindowStep
	batches []Batch
}

// input returns the request that the plan is about.
func (p *Plan) input() *wire.Request { return p.steps[0].From }

// Result returns the new request, including one that the provider would still reject.
func (p *Plan) Result() *wire.Request { return p.steps[len(p.steps)-1].To }

// Empty reports whether the plan changes nothing.
func (p *Plan) Empty() bool { return p.Result() == p.input() }

// decided returns the last step with decisions, or the zero Step.
func (p *Plan) decided() Step {
	for _, s := range slices.Backward(p.steps) {
		if s.Decisions != nil {
			return s
		}
	}
	return Step{}
}

// RepairedRequest returns the request that the decisions of p are about or, without decisions, the
// repaired request.
func RepairedRequest(p *Plan) *wire.Request { return repairedRequest(p.steps) }

// Decisions returns one decision per atom of the repaired request, in order. It returns nil if no
// rule, window or compaction took part.
func (p *Plan) Decisions() []Decision { return slices.Clip(p.decided().Decisions) }

// Changes returns all changes, in the order in which they are made.
func (p *Plan) Changes() []wire.Change { return slices.Clip(p.changes) }

// Remaining returns the findings for which the provider would still reject the result.
func (p *Plan) Remaining() []wire.Finding { return slices.Clip(p.remaining) }

// Events returns the events of the plan, which [Policy.Sink] has also received.
func (p *Plan) Events() []Event { return slices.Clip(p.events) }

// WindowSteps returns how many blocks each step of a window has changed. It returns nil if the
// request fit without changes.
func (p *Plan) WindowSteps() []WindowStep { return slices.Clip(p.fitted.steps) }

// Batches returns the trims of a stable window, at earlier requests and at this one.
func (p *Plan) Batches() []Batch { return slices.Clip(p.fitted.batches) }

// Faults returns the failures of rules that were left out (see [Policy.SkipFailedRules]) and of the
// summarizer.
func (p *Plan) Faults() []*FaultError { return slices.Clip(p.faults) }

// Conserved accounts for the bytes of a compaction. It is zero without a compaction.
func (p *Plan) Conserved() Conservation {
	if p.conserved == nil {
		return Conservation{}
	}
	return *p.conserved
}

// Edits returns the plan as edits of the input's bytes, sorted and without overlaps. Applying them
// gives the bytes of [Plan.Result].
func (p *Plan) Edits() []wire.Edit { return dialect.EditsSince(p.Result(), p.input()) }

// Apply returns the new body, which is the input's own buffer if the plan is empty. The error is a
// *RefusedError if the provider would still reject the result.
func (p *Plan) Apply() ([]byte, error) {
	if len(p.remaining) > 0 {
		return nil, &RefusedError{p.Remaining()}
	}
	return p.Result().Raw(), nil
}

// A RefusedError is the error for a result that the provider would still reject.
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

// String formats the plan for people, with one line per change and per remaining finding.
func (p *Plan) String() string {
	var b strings.Builder
	for _, c := range p.changes {
		path := c.Path
		if path == "" {
			path = "(new)"
		}
		fmt.Fprintf(&b, "%-7s %-28s %s: %s\n", c.Action, path, c.Rule, c.Reason)
	}
	for _, f := range p.remaining {
		fmt.Fprintf(&b, "left    %-28s %s: %s\n", f.Path, f.Rule, f.Message)
	}
	if b.Len() == 0 {
		return "nothing to do\n"
	}
	return b.String()
}

// MarshalJSON encodes the plan as one object.
func (p *Plan) MarshalJSON() ([]byte, error) {
	in, out := p.input(), p.Result()
	messages := func(r *wire.Request) int { return len(r.Transcript().Messages()) }
	var decisions []Decision // that are more than to keep an atom
	for _, d := range p.decided().Decisions {
		if d.Action != wire.ActionKeep || d.Protected {
			decisions = append(decisions, d)
		}
	}
	return json.Marshal(struct {
		Dialect   string         `json:"dialect"`
		Profile   string         `json:"profile"`
		Messages  [2]int         `json:"messages"`
		Bytes     [2]int         `json:"bytes"`
		Changes   []wire.Change  `json:"changes"`
		Left      []wire.Finding `json:"left"`
		Rungs     []WindowStep   `json:"rungs,omitempty"`
		Batches   []Batch        `json:"batches,omitempty"`
		Conserved *Conservation  `json:"conserved,omitempty"`
		Decisions []Decision     `json:"decisions,omitempty"`
	}{
		Dialect:   in.Dialect.String(),
		Profile:   in.Profile.Name,
		Messages:  [2]int{messages(in), messages(out)},
		Bytes:     [2]int{len(in.Raw()), len(out.Raw())},
		Changes:   append([]wire.Change{}, p.changes...),
		Left:      append([]wire.Finding{}, p.remaining...),
		Rungs:     p.fitted.steps,
		Batches:   p.fitted.batches,
		Conserved: p.conserved,
		Decisions: decisions,
	})
}

// WriteReceipt writes every change as one line of JSON.
func (p *Plan) WriteReceipt(w io.Writer) error {
	lines, err := ReceiptLines(p.changes...)
	if err != nil || len(lines) == 0 {
		return err
	}
	_, err = w.Write(lines)
	return err
}

// ReceiptLines encodes changes as lines of JSON.
func ReceiptLines(changes ...wire.Change) ([]byte, error) {
	var lines []byte
	for i := range changes {
		line, err := plain.Marshal(&changes[i])
		if err != nil {
			return nil, err
		}
		lines = append(append(lines, line...), '\n')
	}
	return lines, nil
}
