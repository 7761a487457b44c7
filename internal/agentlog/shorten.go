package agentlog

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/wording"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// ErrShorten is returned for sessions of a format or kind that cannot be shortened.
var ErrShorten = errors.New("sessions of this kind cannot be made shorter yet")

// A shortener is a format that can store a shorter conversation.
type shortener interface {
	// shorten collects the edits after which the agent continues with the plan's result.
	shorten(e *edits, t *Thread, plan *pare.Plan) error
}

// Shorten repairs a session like Fix and then applies a plan to the conversation that the agent
// would resume. If the agent only appends to its file, so does Shorten: it writes a compaction of
// the agent's own kind, and every existing line stays. plan is called with the thread of the
// repaired file and its size. If the plan is empty, nothing more is written.
func (l *Log) Shorten(o Options, plan func(*Thread, Size) (*pare.Plan, error)) (*Fixed, error) {
	how, ok := l.reader.(shortener)
	if !ok || l.files != nil {
		return nil, fmt.Errorf("shorten %s: %w", l.name, ErrShorten)
	}
	fixed, err := l.Fix(o)
	if err != nil {
		return nil, err
	}
	o.Format, o.Model, o.Profile, o.HasByteOrderMark = l.Format, l.options.Model, l.options.Profile, l.options.HasByteOrderMark && !fixed.RemovedMark
	cur, err := Read(l.name, fixed.Raw, o)
	if err != nil {
		return nil, fmt.Errorf("shorten %s: %w", l.name, err)
	}
	e := newEdits(cur, true, nil)
	var wants []*pare.Plan
	for _, t := range cur.Sent() {
		if t.Kind != Main {
			return nil, fmt.Errorf("shorten %s: %w", l.name, ErrShorten)
		}
		p, err := plan(t, cur.Size(t))
		if err != nil {
			return nil, err
		}
		if p.Empty() {
			continue
		}
		if err := how.shorten(e, t, p); err != nil {
			return nil, fmt.Errorf("shorten %s: %w", l.name, err)
		}
		for _, c := range p.Changes() {
			e.changes = append(e.changes, Change{Change: c, Thread: t.Name, Line: cur.lineOfPath(t, c.Path)})
		}
		wants = append(wants, p)
	}
	if len(wants) == 0 {
		return fixed, nil
	}
	out, err := e.render()
	if err != nil {
		return nil, fmt.Errorf("shorten %s: %w", l.name, err)
	}
	if tail, ok := bytes.CutPrefix(out, cur.raw); ok { // keep invalid UTF-8 too
		out = slices.Concat(cur.Raw(), tail)
	}
	after, err := Read(l.name, out, o)
	if err != nil {
		return nil, fmt.Errorf("shorten %s: %w", l.name, err)
	}
	if err := cur.checkShortened(after, wants, o); err != nil {
		return nil, fmt.Errorf("shorten %s: %w", l.name, err)
	}
	short := *fixed
	short.Raw, short.Changes, short.Remaining = out, append(slices.Clip(fixed.Changes), e.changes...), nil
	for _, f := range after.Check(o.Check) {
		if f.Effect != Cosmetic {
			short.Remaining = append(short.Remaining, f)
		}
	}
	return &short, nil
}

// checkShortened returns an error unless the agent would continue with the results of the plans and
// without new faults.
func (l *Log) checkShortened(after *Log, wants []*pare.Plan, o Options) error {
	known := l.countFaults(o)
	for key, n := range after.countFaults(o) {
		if n > known[key] {
			rule, _, _ := bytes.Cut([]byte(key), []byte{0})
			return fmt.Errorf("the shorter session would have a fault that it did not have (%s), so nothing was written", rule)
		}
	}
	sent := after.Sent()
	if len(sent) < len(wants) {
		return errors.New("the shorter session could not be found again, so nothing was written")
	}
	for i, p := range wants {
		if text, want := countSpokenBytes(sent[i].Request, sent[i].Messages()), countSpokenBytes(p.Result(), len(p.Result().Transcript().Messages())); text > want+len(promptText) {
			return fmt.Errorf("the agent would send %d bytes where %d were planned, so nothing was written", text, want)
		}
	}
	return nil
}

// countSpokenBytes returns the number of bytes of text in the first messages of a request.
func countSpokenBytes(r *wire.Request, messages int) (n int) {
	tr := r.Transcript()
	for _, m := range tr.Messages()[:messages] {
		for b := m.First; b < m.End; b++ {
			switch tr.Block(b).Kind {
			case transcript.Text, transcript.Result: // a text may be stored as a list with one element
				n += len(r.Text(b))
			default:
				n += tr.Block(b).Body.Len()
			}
		}
	}
	return n
}

// findSummary returns the summary that a plan inserted, or "".
func findSummary(p *pare.Plan) string {
	tr := p.Result().Transcript()
	for b := range tr.Blocks() {
		if text := p.Result().Text(transcript.BlockID(b)); tr.Block(transcript.BlockID(b)).Kind == transcript.Text && isSummary(text) {
			return text
		}
	}
	return ""
}

// isSummary reports whether a text is a summary of a compaction by Pare.
func isSummary(text string) bool { return strings.HasPrefix(text, wording.SummaryBegin) }
