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
	opts         wire.Options
	host         string // the shape of a list of a program that was asked for
	way          field  // to the transcript in each text
	dryRun, json bool
	receipts     bool // somebody wants them
	inPlace      bool
	overwrites   bool // files, or would if it were not a dry run
	many         bool // several files
	memory       *source.Memory
	lines        bool // every line gets an answer, errors too
	view, notes  report
}

// A batch is what became of a chunk.
type batch struct {
	outs []outcome
	source.Part
}

// chunk changes the transcripts of a chunk. What needs no change, and blank lines
// between, leave byte for byte as they came.
func (c *changer) chunk(in source.Chunk) (b batch) {
	defer func() {
		for i := range b.outs {
			b.outs[i].source = in.Source
		}
	}()
	b = batch{Part: source.Part{Source: in.Source, Whole: in.Line == 0, Packed: in.Packed, File: in.File}}
	if in.Err != nil {
		b.outs = []outcome{c.unreadable(origin{source: in.Source}, failure(in.Err))}
		return b
	}
	if in.Agent != agentlog.Auto {
		c.session(in, &b)
		return b
	}
	for t := range in.Texts() {
		if t.Lead > 0 {
			b.outs = append(b.outs, c.gap(t.Mark()))
		}
		if t.Blank {
			b.outs = append(b.outs, c.gap(t.Whole))
			continue
		}
		b.outs = append(b.outs, c.entry(originOf(&in, t, c.many), t.Whole, len(t.Raw)))
	}
	return b
}

// gap is what stands between transcripts, or in front of them, and stays as it is.
func (c *changer) gap(raw []byte) outcome {
	o := outcome{gap: true, before: len(raw), after: len(raw)}
	if !c.dryRun {
		o.out = raw
	}
	return o
}

// vet reads the transcripts of a chunk and reports those that cannot be read.
func (c *changer) vet(in source.Chunk) (outs []outcome) {
	if in.Err != nil {
		return []outcome{c.unreadable(origin{source: in.Source}, failure(in.Err))}
	}
	for t := range in.Texts() {
		if t.Blank {
			continue
		}
		from := originOf(&in, t, c.many)
		if fault := c.readable(from, t.Raw); fault != nil {
			outs = append(outs, c.unreadable(from, *fault))
		}
	}
	return outs
}

func (c *changer) readable(from origin, raw []byte) (fault *problem) {
	// A bug is for the pass that does the work to report.
	defer func() { _ = recover() }()
	at, fault := c.way.cut(&from, raw)
	if fault != nil {
		return fault
	}
	raw = raw[at.Start:at.End]
	if l, fault := listIn(raw, c.host, c.opts); l != nil || fault != nil {
		return fault
	}
	if _, _, fault = parse(from, raw, c.opts); fault != nil && c.repairing != nil {
		if _, ok := trajectory(from, raw, c.host, c.opts); ok {
			return nil
		}
	}
	return fault
}

// one changes one transcript: the first n bytes of raw; the rest is the end of its
// line.
func (c *changer) one(from origin, raw []byte, n int) (o outcome) {
	// A bug that one line of a long batch meets must not cost the other lines.
	defer func() {
		if p := recover(); p != nil {
			o = c.stuck(from, raw, ownBug(p))
		}
	}()
	defer c.memory.Frugal(n)()
	l, fault := listIn(raw[:n], c.host, c.opts)
	if l != nil {
		return c.list(from, raw, n, l)
	}
	if fault != nil {
		return c.unreadable(from, *fault)
	}
	req, b, fault := parse(from, raw[:n], c.opts)
	if fault != nil && c.repairing != nil {
		if in, ok := trajectory(from, raw[:n], c.host, c.opts); ok {
			return c.trajectory(from, in, raw[n:])
		}
	}
	if fault != nil && fault.other(from) {
		return passedOver(from, fault.err)
	}
	if fault != nil {
		return c.unreadable(from, *fault)
	}
	if c.repairing != nil && c.repairing.AppendOnly {
		return c.unreadable(from, failure(hinted{errors.New("--append-only is for session files of agents, and this is a request"), "omit it"}))
	}
	if c.single != "" && from.many {
		return c.unreadable(from, failure(fmt.Errorf("%s is for one transcript, and this is one of a batch", c.single)))
	}
	plan, err := c.plan(req)
	if err != nil {
		return c.refused(from, raw, err)
	}
	o.before, o.after = len(raw), len(raw)+len(plan.Result().Raw())-len(b.Body)
	o.size = c.weigh(req, plan)
	o.rules = make([]string, 0, len(plan.Changes()))
	for _, ch := range plan.Changes() {
		o.rules = append(o.rules, ch.Rule)
	}
	if len(plan.Left()) > 0 {
		o.status, o.note = statusFindings, c.left(from, plan.Left())
	}
	o.note = append(o.note, c.passedBy(from, req, plan)...)
	o.changed = !plan.Empty()
	// What is called clean, or is overwritten, must be understood.
	if o.changed && c.overwrites || c.opts.Dialect != wire.Auto && !o.changed && len(plan.Left()) == 0 {
		if err := req.Understood(o.changed); err != nil {
			p := locate(err, from, raw[:n], b)
			if p.err = err; p.other(from) {
				return passedOver(from, err)
			}
			return c.unreadable(from, p)
		}
	}
	if c.dryRun {
		o.out = c.show(from, req, plan, o.size)
		return o
	}
	o.receipt = c.receipt(from, plan.Changes())
	if c.archive != "" {
		o.archive = archiveLines(from, plan.Archive(), plan.Conserved().Items > 0)
	}
	o.out = raw
	switch {
	case o.changed && len(b.Body) == len(raw):
		o.out = plan.Result().Raw()
	case o.changed:
		o.out = slices.Concat(raw[:b.At], plan.Result().Raw(), raw[b.At+len(b.Body):])
	}
	return o
}

// weigh tells how large a transcript was and will be; nil if nobody asks.
func (c *changer) weigh(req *wire.Request, plan *pare.Plan) *picture.Size {
	if c.tokens == nil || c.json && !c.dryRun {
		return nil
	}
	s := &picture.Size{}
	s.Messages[0], s.Tokens[0] = len(req.Transcript().Messages()), c.tokens(req)
	s.Messages[1], s.Tokens[1] = s.Messages[0], s.Tokens[0]
	if !plan.Empty() {
		s.Messages[1], s.Tokens[1] = len(plan.Result().Transcript().Messages()), c.tokens(plan.Result())
	}
	return s
}

// refused reports a transcript that there is no plan for.
func (c *changer) refused(from origin, raw []byte, err error) outcome {
	var small *pare.WindowTooSmall
	var wrong misuse
	switch {
	case errors.As(err, &small):
		return c.tooSmall(from, small)
	case errors.As(err, &wrong):
		return c.unreadable(from, failure(err))
	}
	return c.stuck(from, raw, failure(err))
}

// passedBy reports what a plan leaves undone: all of a request that continues a conversation on the
// server, or a summary.
func (c *changer) passedBy(from origin, req *wire.Request, plan *pare.Plan) (note []byte) {
	if member := wirex.Delta(req); member != "" {
		note = c.deltaNote(from, member)
	}
	if why := skipped(plan); why != "" {
		note = append(note, c.skipped(from, why)...)
	}
	if why := unsummarized(plan); why != "" {
		note = append(note, c.unsummarized(from, why)...)
	}
	return note
}

// skipped says why a compaction left a transcript alone, or "".
func skipped(plan *pare.Plan) string {
	for _, e := range plan.Events() {
		if m, ok := e.Metadata.(pare.CompactionSkipped); ok {
			return m.Reason
		}
	}
	return ""
}

// unsummarized says why there is no summary in the place of something that was dropped,
// or "".
func unsummarized(plan *pare.Plan) string {
	for _, e := range plan.Events() {
		if m, ok := e.Metadata.(pare.CompactionFailed); ok {
			return m.Error
		}
	}
	return ""
}

// unsummarized reports a transcript that fits without a summary.
func (c *changer) unsummarized(from origin, why string) []byte {
	if !c.json {
		return screen.Appendf(nil, "pare: %s: not summarized: %s\n", from.String(), why)
	}
	return encode(struct {
		Source       string `json:"source"`
		Line         int    `json:"line,omitempty"`
		Unsummarized string `json:"unsummarized"`
	}{from.source, from.line, why})
}

// skipped reports a transcript that was left alone.
func (c *changer) skipped(from origin, why string) []byte {
	if !c.json {
		return screen.Appendf(nil, "pare: %s: not compacted: %s\n", from.String(), why)
	}
	return encode(struct {
		Source  string `json:"source"`
		Line    int    `json:"line,omitempty"`
		Skipped string `json:"skipped"`
	}{from.source, from.line, why})
}

// deltaNote reports a transcript that stays as it is because its history is on the server.
func (c *changer) deltaNote(from origin, member string) []byte {
	if !c.json {
		return deltaNote(from, member)
	}
	return encode(struct {
		Source  string `json:"source"`
		Line    int    `json:"line,omitempty"`
		Skipped string `json:"skipped"`
		Member  string `json:"member"`
	}{from.source, from.line, "server-state", member})
}

// deltaNote says that a transcript continues a conversation on the server, which a member names.
func deltaNote(from origin, member string) []byte {
	return screen.Appendf(nil, "pare: %s: left as it is: it continues the conversation that %q names, and has only the new messages\n", from.String(), member)
}

// A misfit is what --json prints about a window that is too small.
type misfit struct {
	Error   string `json:"error"`
	Unit    string `json:"unit"`
	Limit   int    `json:"limit"`
	Minimum int    `json:"minimum"`
	Source  string `json:"source,omitempty"`
	Line    int    `json:"line,omitempty"`
}

// tooSmall reports a transcript that does not fit its window.
func (c *changer) tooSmall(from origin, e *pare.WindowTooSmall) outcome {
	o := outcome{status: statusTooSmall}
	if c.lines {
		o.out = encode(errorLine{misfitLine{"window too small", e.Unit, e.Limit, e.Minimum, from.line}})
		return o
	}
	if c.json {
		m := misfit{Error: "window too small", Unit: e.Unit, Limit: e.Limit, Minimum: e.Minimum}
		if from.many {
			m.Source, m.Line = from.source, from.line
		}
		o.note = encode(m)
		return o
	}
	o.note = screen.Appendf(nil, "pare: %s: the window is too small: what must be kept needs %s %s, the limit is %s\n",
		from.String(), grouped(e.Minimum), e.Unit, grouped(e.Limit))
	o.hint = fmt.Sprintf("raise --max-%s to %d", e.Unit, e.Minimum)
	if len(c.letGo) > 0 {
		o.hint += ", or let Pare drop more: " + strings.Join(c.letGo, ", ")
	}
	return o
}

// unreadable reports a transcript that cannot be read.
func (c *changer) unreadable(from origin, p problem) outcome {
	if c.lines {
		return outcome{status: statusInvalid, out: p.inPlaceOf(from)}
	}
	if c.json {
		return outcome{status: statusInvalid, note: encode(unreadable{Source: from.source, Line: from.line, Error: p})}
	}
	return outcome{status: statusInvalid, note: p.sentence(from), hint: p.hint}
}

// stuck reports a transcript that can be read, but not be changed. It leaves as it
// came.
func (c *changer) stuck(from origin, raw []byte, p problem) outcome {
	o := outcome{status: statusFindings, before: len(raw), after: len(raw), note: p.sentence(from), hint: p.hint}
	if c.json {
		o.note, o.hint = encode(unreadable{Source: from.source, Line: from.line, Error: p}), ""
	}
	switch {
	case !c.dryRun:
		o.out = raw
	case c.lines:
		o.out = p.inPlaceOf(from)
	}
	return o
}

// A leftover is what --json prints about a transcript that is not all repaired.
type leftover struct {
	Source string         `json:"source"`
	Line   int            `json:"line,omitempty"`
	Left   []wire.Finding `json:"left"`
}

// left reports what could not be repaired.
func (c *changer) left(from origin, found []wire.Finding) []byte {
	if c.json {
		return encode(leftover{from.source, from.line, found})
	}
	var b bytes.Buffer
	screen.Fprintf(&b, "pare: %s: %s could not be repaired\n", from.String(), plural(len(found), "finding"))
	for i, f := range found {
		c.notes.Finding(&b, f, false, i > 0 && f.Message == found[i-1].Message)
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
func (c *changer) receipt(from origin, changes []wire.Change) lines {
	var all lines
	for _, ch := range changes {
		if !c.receipts {
			break
		}
		l := receiptLine{Change: ch}
		if from.many {
			l.Source, l.Line = from.source, from.line
		}
		all.add(l)
	}
	return all
}

// Some lines of JSON lie in pieces: a transcript may have a hundred thousand changes.
type lines [][]byte

func (l *lines) add(v any) {
	const piece = 1 << 18
	n := len(*l) - 1
	if n < 0 || len((*l)[n]) > piece {
		*l, n = append(*l, nil), n+1
	}
	(*l)[n] = append((*l)[n], encode(v)...)
}

// show renders the plan for a transcript.
func (c *changer) show(from origin, req *wire.Request, plan *pare.Plan, s *picture.Size) []byte {
	if !c.json {
		if plan.Empty() && len(plan.Changes())+len(plan.Left()) == 0 {
			return nil
		}
		return picture.Plan{Style: c.view.Style, Request: req, Plan: plan, Size: s}.Render(from.String())
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
	return slices.Concat(bytes.TrimRight(encode(head), "}\n"), []byte{','}, raw[1:], []byte{'\n'})
}
