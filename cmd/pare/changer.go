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
	"github.com/pare-llm/pare/internal/plain"
	"github.com/pare-llm/pare/wire"
)

// A changer changes the transcripts of a run.
type changer struct {
	task
	opts             wire.Options
	hostShape        string      // the shape of a list of a program that was asked for
	pointer          jsonPointer // to the transcript in each text
	dryRun, json     bool
	wantsReceipts    bool // somebody wants them
	inPlace          bool
	overwritesFiles  bool // files, or would if it were not a dry run
	hasManyFiles     bool // several files
	memory           *source.Memory
	answersLines     bool // every line gets an answer, errors too
	style, noteStyle report
}

// A batch is what became of a chunk.
type batch struct {
	outs []outcome
	source.Part
}

// chunk changes the transcripts of a chunk. What needs no change, and blank lines
// between, leave byte for byte as they came.
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

// gap is what stands between transcripts, or in front of them, and stays as it is.
func (c *changer) newGap(raw []byte) outcome {
	o := outcome{isGap: true, bytesBefore: len(raw), bytesAfter: len(raw)}
	if !c.dryRun {
		o.out = raw
	}
	return o
}

// vet reads the transcripts of a chunk and reports those that cannot be read.
func (c *changer) checkChunk(chunk source.Chunk) (outs []outcome) {
	if chunk.Err != nil {
		return []outcome{c.reportUnreadable(origin{source: chunk.Source}, newProblem(chunk.Err))}
	}
	for t := range chunk.Texts() {
		if t.Blank {
			continue
		}
		from := newOrigin(&chunk, t, c.hasManyFiles)
		if fault := c.checkText(from, t.Raw); fault != nil {
			outs = append(outs, c.reportUnreadable(from, *fault))
		}
	}
	return outs
}

func (c *changer) checkText(from origin, raw []byte) (fault *problem) {
	// A bug is for the pass that does the work to report.
	defer func() { _ = recover() }()
	at, fault := c.pointer.locate(&from, raw)
	if fault != nil {
		return fault
	}
	raw = raw[at.Start:at.End]
	if list, fault := parseHostList(raw, c.hostShape, c.opts); list != nil || fault != nil {
		return fault
	}
	if _, _, fault = parseRequest(from, raw, c.opts); fault != nil && c.sessionRepair != nil {
		if _, ok := detectTrajectory(from, raw, c.hostShape, c.opts); ok {
			return nil
		}
	}
	return fault
}

// one changes one transcript: the first n bytes of raw; the rest is the end of its
// line.
func (c *changer) changeText(from origin, raw []byte, n int) (o outcome) {
	// A bug that one line of a long batch meets must not cost the other lines.
	defer func() {
		if p := recover(); p != nil {
			o = c.reportUnchanged(from, raw, newBugProblem(p))
		}
	}()
	defer c.memory.Frugal(n)()
	list, fault := parseHostList(raw[:n], c.hostShape, c.opts)
	if list != nil {
		return c.changeHostList(from, raw, n, list)
	}
	if fault != nil {
		return c.reportUnreadable(from, *fault)
	}
	req, b, fault := parseRequest(from, raw[:n], c.opts)
	if fault != nil && c.sessionRepair != nil {
		if chunk, ok := detectTrajectory(from, raw[:n], c.hostShape, c.opts); ok {
			return c.changeTrajectory(from, chunk, raw[n:])
		}
	}
	if fault != nil && fault.isOtherJSON(from) {
		return newSkippedOutcome(from, fault.err)
	}
	if fault != nil {
		return c.reportUnreadable(from, *fault)
	}
	if c.sessionRepair != nil && c.sessionRepair.AppendOnly {
		return c.reportUnreadable(from, newProblem(hintedError{errors.New("--append-only is for session files of agents, and this is a request"), "omit it"}))
	}
	if c.singleFlag != "" && from.isOneOfMany {
		return c.reportUnreadable(from, newProblem(fmt.Errorf("%s is for one transcript, and this is one of a batch", c.singleFlag)))
	}
	plan, err := c.plan(req)
	if err != nil {
		return c.reportPlanError(from, raw, err)
	}
	o.bytesBefore, o.bytesAfter = len(raw), len(raw)+len(plan.Result().Raw())-len(b.Body)
	o.size = c.measure(req, plan)
	o.rules = make([]string, 0, len(plan.Changes()))
	for _, ch := range plan.Changes() {
		o.rules = append(o.rules, ch.Rule)
	}
	if len(plan.Left()) > 0 {
		o.status, o.note = statusFindings, c.formatRemaining(from, plan.Left())
	}
	o.note = append(o.note, c.reportSkips(from, req, plan)...)
	o.isChanged = !plan.Empty()
	// What is called clean, or is overwritten, must be understood.
	if o.isChanged && c.overwritesFiles || c.opts.Dialect != wire.Auto && !o.isChanged && len(plan.Left()) == 0 {
		if err := req.Understood(o.isChanged); err != nil {
			p := locateProblem(err, from, raw[:n], b)
			if p.err = err; p.isOtherJSON(from) {
				return newSkippedOutcome(from, err)
			}
			return c.reportUnreadable(from, p)
		}
	}
	if c.dryRun {
		o.out = c.renderPlan(from, req, plan, o.size)
		return o
	}
	o.receipt = c.buildReceipt(from, plan.Changes())
	if c.archive != "" {
		o.archive = buildArchiveLines(from, plan.Archive(), plan.Conserved().Items > 0)
	}
	o.out = raw
	switch {
	case o.isChanged && len(b.Body) == len(raw):
		o.out = plan.Result().Raw()
	case o.isChanged:
		o.out = slices.Concat(raw[:b.At], plan.Result().Raw(), raw[b.At+len(b.Body):])
	}
	return o
}

// weigh tells how large a transcript was and will be; nil if nobody asks.
func (c *changer) measure(req *wire.Request, plan *pare.Plan) *picture.Size {
	if c.countTokens == nil || c.json && !c.dryRun {
		return nil
	}
	s := &picture.Size{}
	s.Messages[0], s.Tokens[0] = len(req.Transcript().Messages()), c.countTokens(req)
	s.Messages[1], s.Tokens[1] = s.Messages[0], s.Tokens[0]
	if !plan.Empty() {
		s.Messages[1], s.Tokens[1] = len(plan.Result().Transcript().Messages()), c.countTokens(plan.Result())
	}
	return s
}

// refused reports a transcript that there is no plan for.
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

// passedBy reports what a plan leaves undone: all of a request that continues a conversation on the
// server, or a summary.
func (c *changer) reportSkips(from origin, req *wire.Request, plan *pare.Plan) (note []byte) {
	if member := wirex.Delta(req); member != "" {
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

// skipped says why a compaction left a transcript alone, or "".
func findSkipReason(plan *pare.Plan) string {
	for _, e := range plan.Events() {
		if m, ok := e.Metadata.(pare.CompactionSkipped); ok {
			return m.Reason
		}
	}
	return ""
}

// unsummarized says why there is no summary in the place of something that was dropped,
// or "".
func findSummaryFailure(plan *pare.Plan) string {
	for _, e := range plan.Events() {
		if m, ok := e.Metadata.(pare.CompactionFailed); ok {
			return m.Error
		}
	}
	return ""
}

// unsummarized reports a transcript that fits without a summary.
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

// skipped reports a transcript that was left alone.
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

// deltaNote reports a transcript that stays as it is because its history is on the server.
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

// deltaNote says that a transcript continues a conversation on the server, which a member names.
func formatDeltaNote(from origin, member string) []byte {
	return screen.Appendf(nil, "pare: %s: left as it is: it continues the conversation that %q names, and has only the new messages\n", from.String(), member)
}

// A misfit is what --json prints about a window that is too small.
type windowErrorJSON struct {
	Error   string `json:"error"`
	Unit    string `json:"unit"`
	Limit   int    `json:"limit"`
	Minimum int    `json:"minimum"`
	Source  string `json:"source,omitempty"`
	Line    int    `json:"line,omitempty"`
}

// tooSmall reports a transcript that does not fit its window.
func (c *changer) reportTooLarge(from origin, e *pare.WindowTooSmall) outcome {
	o := outcome{status: statusTooSmall}
	if c.answersLines {
		o.out = encodeLine(errorLine{windowErrorLine{"window too small", e.Unit, e.Limit, e.Minimum, from.line}})
		return o
	}
	if c.json {
		m := windowErrorJSON{Error: "window too small", Unit: e.Unit, Limit: e.Limit, Minimum: e.Minimum}
		if from.isOneOfMany {
			m.Source, m.Line = from.source, from.line
		}
		o.note = encodeLine(m)
		return o
	}
	o.note = screen.Appendf(nil, "pare: %s: the window is too small: what must be kept needs %s %s, the limit is %s\n",
		from.String(), grouped(e.Minimum), e.Unit, grouped(e.Limit))
	o.hint = fmt.Sprintf("raise --max-%s to %d", e.Unit, e.Minimum)
	if len(c.relaxations) > 0 {
		o.hint += ", or let Pare drop more: " + strings.Join(c.relaxations, ", ")
	}
	return o
}

// unreadable reports a transcript that cannot be read.
func (c *changer) reportUnreadable(from origin, p problem) outcome {
	if c.answersLines {
		return outcome{status: statusInvalid, out: p.formatLineError(from)}
	}
	if c.json {
		return outcome{status: statusInvalid, note: encodeLine(unreadableJSON{Source: from.source, Line: from.line, Error: p})}
	}
	return outcome{status: statusInvalid, note: p.format(from), hint: p.hint}
}

// stuck reports a transcript that can be read, but not be changed. It leaves as it
// came.
func (c *changer) reportUnchanged(from origin, raw []byte, p problem) outcome {
	o := outcome{status: statusFindings, bytesBefore: len(raw), bytesAfter: len(raw), note: p.format(from), hint: p.hint}
	if c.json {
		o.note, o.hint = encodeLine(unreadableJSON{Source: from.source, Line: from.line, Error: p}), ""
	}
	switch {
	case !c.dryRun:
		o.out = raw
	case c.answersLines:
		o.out = p.formatLineError(from)
	}
	return o
}

// A leftover is what --json prints about a transcript that is not all repaired.
type remainingJSON struct {
	Source string         `json:"source"`
	Line   int            `json:"line,omitempty"`
	Left   []wire.Finding `json:"left"`
}

// left reports what could not be repaired.
func (c *changer) formatRemaining(from origin, found []wire.Finding) []byte {
	if c.json {
		return encodeLine(remainingJSON{from.source, from.line, found})
	}
	var b bytes.Buffer
	screen.Fprintf(&b, "pare: %s: %s could not be repaired\n", from.String(), plural(len(found), "finding"))
	for i, f := range found {
		c.noteStyle.Finding(&b, f, false, i > 0 && f.Message == found[i-1].Message)
	}
	return b.Bytes()
}

// A receiptLine is a change, and where it was made if that is not obvious.
type receiptLine struct {
	wire.Change
	Source string `json:"source,omitempty"`
	Line   int    `json:"line,omitempty"`
}

// receipt renders changes as JSON lines, if anybody wants them.
func (c *changer) buildReceipt(from origin, changes []wire.Change) jsonLines {
	var all jsonLines
	for _, ch := range changes {
		if !c.wantsReceipts {
			break
		}
		l := receiptLine{Change: ch}
		if from.isOneOfMany {
			l.Source, l.Line = from.source, from.line
		}
		all.add(l)
	}
	return all
}

// Some lines of JSON lie in pieces: a transcript may have a hundred thousand changes.
type jsonLines [][]byte

func (l *jsonLines) add(v any) {
	const piece = 1 << 18
	n := len(*l) - 1
	if n < 0 || len((*l)[n]) > piece {
		*l, n = append(*l, nil), n+1
	}
	(*l)[n] = append((*l)[n], encodeLine(v)...)
}

// show renders the plan for a transcript.
func (c *changer) renderPlan(from origin, req *wire.Request, plan *pare.Plan, s *picture.Size) []byte {
	if !c.json {
		if plan.Empty() && len(plan.Changes())+len(plan.Left()) == 0 {
			return nil
		}
		return picture.Plan{Style: c.style.Style, Request: req, Plan: plan, Size: s}.Render(from.String())
	}
	// The plan writes itself; where it is from goes in front.
	raw, err := plain.Marshal(plan)
	if err != nil {
		panic(err) // our own types
	}
	head := struct {
		Source string `json:"source"`
		Line   int    `json:"line,omitempty"`
		Tokens []int  `json:"tokens,omitempty"`
	}{Source: from.source, Line: from.line}
	if s != nil {
		head.Tokens = s.Tokens[:]
	}
	return slices.Concat(bytes.TrimRight(encodeLine(head), "}\n"), []byte{','}, raw[1:], []byte{'\n'})
}
