package main

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/cmd/internal/picture"
	"github.com/pare-llm/pare/cmd/internal/screen"
	"github.com/pare-llm/pare/cmd/internal/source"
	"github.com/pare-llm/pare/internal/agentlog"
	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/internal/plain"
	"github.com/pare-llm/pare/wire"
)

// A changer applies the task to the transcripts of a run.
type changer struct {
	task
	parsing
	dryRun, json     bool
	wantsReceipts    bool // --receipt is given
	inPlace          bool
	overwritesFiles  bool // --in-place is given, even with --dry-run
	hasManyFiles     bool
	memory           *source.Memory
	answersLines     bool // every line gets an answer, even if it cannot be read
	style, noteStyle picture.Style
}

// A batch holds the outcomes of one chunk.
type batch struct {
	outs []outcome
	source.Part
}

// changeChunk changes the transcripts of a chunk. Blank lines and transcripts without changes keep
// their bytes.
func (c *changer) changeChunk(chunk source.Chunk) (b batch) {
	defer func() {
		for i := range b.outs {
			b.outs[i].source = chunk.Source
		}
	}()
	b = batch{Part: source.Part{Source: chunk.Source, Whole: chunk.Line == 0, Packed: chunk.Packed, File: chunk.File}}
	if chunk.Err != nil {
		b.outs = []outcome{c.reportUnreadable(origin{source: chunk.Source}, newProblem(chunk.Err))}
		return b
	}
	if chunk.Agent != agentlog.Auto {
		c.changeSessionFile(chunk, &b)
		return b
	}
	for t := range chunk.Texts() {
		if t.Lead > 0 {
			b.outs = append(b.outs, c.newGap(t.Mark()))
		}
		if t.Blank {
			b.outs = append(b.outs, c.newGap(t.Whole))
			continue
		}
		b.outs = append(b.outs, c.changeEntry(newOrigin(&chunk, t, c.hasManyFiles), t.Whole, len(t.Raw)))
	}
	return b
}

// newGap returns the outcome for bytes between transcripts, which stay as they are.
func (c *changer) newGap(raw []byte) outcome {
	out := outcome{isGap: true, bytesBefore: len(raw), bytesAfter: len(raw)}
	if !c.dryRun {
		out.out = raw
	}
	return out
}

// checkChunk returns an outcome for each transcript of a chunk that cannot be read.
func (c *changer) checkChunk(chunk source.Chunk) (outcomes []outcome) {
	if chunk.Err != nil {
		return []outcome{c.reportUnreadable(origin{source: chunk.Source}, newProblem(chunk.Err))}
	}
	for t := range chunk.Texts() {
		if t.Blank {
			continue
		}
		from := newOrigin(&chunk, t, c.hasManyFiles)
		if fault := c.checkText(from, t.Raw); fault != nil {
			outcomes = append(outcomes, c.reportUnreadable(from, *fault))
		}
	}
	return outcomes
}

// checkText returns the problem of a transcript that cannot be read, or nil.
func (c *changer) checkText(from origin, raw []byte) (fault *problem) {
	// A panic is reported by the pass that changes the transcripts.
	defer func() { _ = recover() }()
	span, fault := c.pointer.locate(&from, raw)
	if fault != nil {
		return fault
	}
	raw = raw[span.Start:span.End]
	if list, fault := parseHostList(raw, c.hostShape, c.options); list != nil || fault != nil {
		return fault
	}
	if _, _, fault = parseRequest(from, raw, c.options); fault != nil && c.sessionRepair != nil {
		if _, ok := detectTrajectory(from, raw, c.hostShape, c.options); ok {
			return nil
		}
	}
	return fault
}

// changeText changes the transcript in the first n bytes of raw. The remaining bytes end its line.
func (c *changer) changeText(from origin, raw []byte, n int) (out outcome) {
	// A bug that one line triggers must not cost the other lines of a long batch.
	defer func() {
		if p := recover(); p != nil {
			out = c.reportUnchanged(from, raw, newBugProblem(p))
		}
	}()
	defer c.memory.Frugal(n)()
	list, fault := parseHostList(raw[:n], c.hostShape, c.options)
	if list != nil {
		return c.changeHostList(from, raw, n, list)
	}
	if fault != nil {
		return c.reportUnreadable(from, *fault)
	}
	req, envelope, fault := parseRequest(from, raw[:n], c.options)
	if fault != nil {
		return c.changeForeignText(from, raw, n, *fault)
	}
	if fault := c.checkRequestFlags(from); fault != nil {
		return c.reportUnreadable(from, newProblem(fault))
	}
	plan, err := c.plan(req)
	if err != nil {
		return c.reportPlanError(from, raw, err)
	}
	isChanged := !plan.Empty()
	isCalledClean := c.options.Dialect != wire.Auto && !isChanged && len(plan.Remaining()) == 0
	// Pare must understand a transcript before it calls it clean or overwrites it.
	if isChanged && c.overwritesFiles || isCalledClean {
		if err := req.Understood(isChanged); err != nil {
			return c.reportNotUnderstood(from, raw[:n], envelope, err)
		}
	}
	out = c.buildOutcome(from, req, plan)
	out.bytesBefore = len(raw)
	out.bytesAfter = len(raw) + len(plan.Result().Raw()) - len(envelope.Body)
	if c.dryRun {
		out.out = c.renderPlan(from, req, plan, out.size)
		return out
	}
	out.receipt = c.buildReceipt(from, plan.Changes())
	if c.archive != "" {
		out.archive = buildArchiveLines(from, plan.Archive(), plan.Conserved().Items > 0)
	}
	out.out = raw
	switch {
	case isChanged && len(envelope.Body) == len(raw):
		out.out = plan.Result().Raw()
	case isChanged:
		out.out = slices.Concat(raw[:envelope.At], plan.Result().Raw(), raw[envelope.At+len(envelope.Body):])
	}
	return out
}

// buildOutcome returns the outcome of a plan without its output.
func (c *changer) buildOutcome(from origin, req *wire.Request, plan *pare.Plan) outcome {
	out := outcome{
		isChanged: !plan.Empty(),
		size:      c.measure(req, plan),
		rules:     make([]string, 0, len(plan.Changes())),
	}
	for _, change := range plan.Changes() {
		out.rules = append(out.rules, change.Rule)
	}
	if remaining := plan.Remaining(); len(remaining) > 0 {
		out.status, out.note = statusFindings, c.formatRemaining(from, remaining)
	}
	out.note = append(out.note, c.reportSkips(from, req, plan)...)
	return out
}

// changeForeignText changes a trajectory, skips other JSON, and reports everything else as
// unreadable. The problem is that of parsing the text as a request.
func (c *changer) changeForeignText(from origin, raw []byte, n int, fault problem) outcome {
	if c.sessionRepair != nil {
		if chunk, ok := detectTrajectory(from, raw[:n], c.hostShape, c.options); ok {
			return c.changeTrajectory(from, chunk, raw[n:])
		}
	}
	if fault.isOtherJSON(from) {
		return newSkippedOutcome(from, fault.err)
	}
	return c.reportUnreadable(from, fault)
}

// checkRequestFlags returns an error if a flag cannot be used with a request.
func (c *changer) checkRequestFlags(from origin) error {
	if c.sessionRepair != nil && c.sessionRepair.AppendOnly {
		return hintedError{errors.New("--append-only is for session files of agents, and this is a request"), "omit it"}
	}
	if c.singleFlag != "" && from.isOneOfMany {
		return fmt.Errorf("%s is for one transcript, and this is one of a batch", c.singleFlag)
	}
	return nil
}

// reportNotUnderstood returns the outcome of a request with parts that Pare does not understand.
func (c *changer) reportNotUnderstood(from origin, raw []byte, envelope wire.Envelope, err error) outcome {
	p := locateProblem(err, from, raw, envelope)
	p.err = err
	if p.isOtherJSON(from) {
		return newSkippedOutcome(from, err)
	}
	return c.reportUnreadable(from, p)
}

// measure returns the size before and after the plan, or nil if it is not printed.
func (c *changer) measure(req *wire.Request, plan *pare.Plan) *picture.Size {
	if c.countTokens == nil || c.json && !c.dryRun {
		return nil
	}
	before := c.amountOf(req)
	if plan.Empty() {
		return &picture.Size{Before: before, After: before}
	}
	return &picture.Size{Before: before, After: c.amountOf(plan.Result())}
}

// amountOf returns the messages and tokens of a request.
func (c *changer) amountOf(req *wire.Request) picture.Amount {
	return picture.Amount{Messages: len(req.Transcript().Messages()), Tokens: c.countTokens(req)}
}

// reportPlanError returns the outcome of a transcript that could not be planned.
func (c *changer) reportPlanError(from origin, raw []byte, err error) outcome {
	var small *pare.WindowTooSmall
	var wrong usageError
	switch {
	case errors.As(err, &small):
		return c.reportTooLarge(from, small)
	case errors.As(err, &wrong):
		return c.reportUnreadable(from, newProblem(err))
	}
	return c.reportUnchanged(from, raw, newProblem(err))
}

// reportSkips returns notes about requests that continue a conversation on the server and about
// summaries that were not made.
func (c *changer) reportSkips(from origin, req *wire.Request, plan *pare.Plan) (note []byte) {
	if member := dialect.Delta(req); member != "" {
		note = c.formatDelta(from, member)
	}
	if why := findSkipReason(plan); why != "" {
		note = append(note, c.formatSkipped(from, why)...)
	}
	if why := findSummaryFailure(plan); why != "" {
		note = append(note, c.formatUnsummarized(from, why)...)
	}
	return note
}

// findSkipReason returns the reason why a compaction left a transcript alone, or "".
func findSkipReason(plan *pare.Plan) string {
	for _, e := range plan.Events() {
		if m, ok := e.Metadata.(pare.CompactionSkipped); ok {
			return m.Reason
		}
	}
	return ""
}

// findSummaryFailure returns the reason why dropped messages were not summarized, or "".
func findSummaryFailure(plan *pare.Plan) string {
	for _, e := range plan.Events() {
		if m, ok := e.Metadata.(pare.CompactionFailed); ok {
			return m.Error
		}
	}
	return ""
}

// formatUnsummarized returns the note for a transcript that fits without a summary.
func (c *changer) formatUnsummarized(from origin, why string) []byte {
	if !c.json {
		return screen.Appendf(nil, "pare: %s: not summarized: %s\n", from.String(), why)
	}
	return encodeLine(struct {
		Source       string `json:"source"`
		Line         int    `json:"line,omitempty"`
		Unsummarized string `json:"unsummarized"`
	}{from.source, from.line, why})
}

// formatSkipped returns the note for a transcript that was not compacted.
func (c *changer) formatSkipped(from origin, why string) []byte {
	if !c.json {
		return screen.Appendf(nil, "pare: %s: not compacted: %s\n", from.String(), why)
	}
	return encodeLine(struct {
		Source  string `json:"source"`
		Line    int    `json:"line,omitempty"`
		Skipped string `json:"skipped"`
	}{from.source, from.line, why})
}

// formatDelta returns the note for a request whose history is on the server.
func (c *changer) formatDelta(from origin, member string) []byte {
	if !c.json {
		return formatDeltaNote(from, member)
	}
	return encodeLine(struct {
		Source  string `json:"source"`
		Line    int    `json:"line,omitempty"`
		Skipped string `json:"skipped"`
		Member  string `json:"member"`
	}{from.source, from.line, "server-state", member})
}

// formatDeltaNote returns the note for a request that continues the conversation on the server that
// member names.
func formatDeltaNote(from origin, member string) []byte {
	return screen.Appendf(nil, "pare: %s: left as it is: it continues the conversation that %q names, and has only the new messages\n", from.String(), member)
}

// A windowErrorJSON is the output of --json for a window that is too small.
type windowErrorJSON struct {
	Error   string `json:"error"`
	Unit    string `json:"unit"`
	Limit   int    `json:"limit"`
	Minimum int    `json:"minimum"`
	Source  string `json:"source,omitempty"`
	Line    int    `json:"line,omitempty"`
}

// reportTooLarge returns the outcome of a transcript that does not fit its window.
func (c *changer) reportTooLarge(from origin, e *pare.WindowTooSmall) outcome {
	out := outcome{status: statusTooSmall}
	if c.answersLines {
		out.out = encodeLine(errorLine{windowErrorLine{"window too small", e.Unit, e.Limit, e.Minimum, from.line}})
		return out
	}
	if c.json {
		m := windowErrorJSON{Error: "window too small", Unit: e.Unit, Limit: e.Limit, Minimum: e.Minimum}
		if from.isOneOfMany {
			m.Source, m.Line = from.source, from.line
		}
		out.note = encodeLine(m)
		return out
	}
	out.note = screen.Appendf(nil, "pare: %s: the window is too small: what must be kept needs %s %s, the limit is %s\n",
		from.String(), grouped(e.Minimum), e.Unit, grouped(e.Limit))
	out.hint = fmt.Sprintf("raise --max-%s to %d", e.Unit, e.Minimum)
	if len(c.relaxations) > 0 {
		out.hint += ", or let Pare drop more: " + strings.Join(c.relaxations, ", ")
	}
	return out
}

// reportUnreadable returns the outcome of a transcript that cannot be read.
func (c *changer) reportUnreadable(from origin, p problem) outcome {
	if c.answersLines {
		return outcome{status: statusInvalid, out: p.formatLineError(from)}
	}
	if c.json {
		return outcome{status: statusInvalid, note: encodeLine(unreadableJSON{Source: from.source, Line: from.line, Error: p})}
	}
	return outcome{status: statusInvalid, note: p.format(from), hint: p.hint}
}

// reportUnchanged returns the outcome of a transcript that can be read but not changed. Its bytes
// stay as they are.
func (c *changer) reportUnchanged(from origin, raw []byte, p problem) outcome {
	out := outcome{status: statusFindings, bytesBefore: len(raw), bytesAfter: len(raw), note: p.format(from), hint: p.hint}
	if c.json {
		out.note, out.hint = encodeLine(unreadableJSON{Source: from.source, Line: from.line, Error: p}), ""
	}
	switch {
	case !c.dryRun:
		out.out = raw
	case c.answersLines:
		out.out = p.formatLineError(from)
	}
	return out
}

// A remainingJSON is the output of --json for findings that could not be repaired.
type remainingJSON struct {
	Source string         `json:"source"`
	Line   int            `json:"line,omitempty"`
	Left   []wire.Finding `json:"left"`
}

// formatRemaining returns the note about findings that could not be repaired.
func (c *changer) formatRemaining(from origin, findings []wire.Finding) []byte {
	if c.json {
		return encodeLine(remainingJSON{from.source, from.line, findings})
	}
	var b bytes.Buffer
	screen.Fprintf(&b, "pare: %s: %s could not be repaired\n", from.String(), plural(len(findings), "finding"))
	for i, finding := range findings {
		c.noteStyle.WriteFinding(&b, finding, false, i > 0 && finding.Message == findings[i-1].Message)
	}
	return b.Bytes()
}

// A receiptLine is a change with the place of its transcript, if there are several.
type receiptLine struct {
	wire.Change
	Source string `json:"source,omitempty"`
	Line   int    `json:"line,omitempty"`
}

// buildReceipt returns the changes as JSON lines, or nil without --receipt.
func (c *changer) buildReceipt(from origin, changes []wire.Change) jsonLines {
	var all jsonLines
	for _, change := range changes {
		if !c.wantsReceipts {
			break
		}
		l := receiptLine{Change: change}
		if from.isOneOfMany {
			l.Source, l.Line = from.source, from.line
		}
		all.add(l)
	}
	return all
}

// jsonLines are lines of JSON in several buffers, because a transcript may have a hundred thousand
// changes.
type jsonLines [][]byte

func (l *jsonLines) add(v any) {
	const piece = 1 << 18
	n := len(*l) - 1
	if n < 0 || len((*l)[n]) > piece {
		*l, n = append(*l, nil), n+1
	}
	(*l)[n] = append((*l)[n], encodeLine(v)...)
}

// renderPlan returns the plan of a transcript for --dry-run.
func (c *changer) renderPlan(from origin, req *wire.Request, plan *pare.Plan, s *picture.Size) []byte {
	if !c.json {
		if plan.Empty() && len(plan.Changes())+len(plan.Remaining()) == 0 {
			return nil
		}
		return picture.Plan{Style: c.style, Request: req, Plan: plan, Size: s}.Render(from.String())
	}
	// The plan encodes itself. The origin is inserted before its members.
	raw, err := plain.Marshal(plan)
	if err != nil {
		panic(err) // the plan consists of our own types
	}
	head := struct {
		Source string `json:"source"`
		Line   int    `json:"line,omitempty"`
		Tokens []int  `json:"tokens,omitempty"`
	}{Source: from.source, Line: from.line}
	if s != nil {
		head.Tokens = []int{s.Before.Tokens, s.After.Tokens}
	}
	return slices.Concat(bytes.TrimRight(encodeLine(head), "}\n"), []byte{','}, raw[1:], []byte{'\n'})
}
