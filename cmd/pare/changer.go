package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/wire"
)

// A changer changes the transcripts of a run.
type changer struct {
	opts         wire.Options
	plan         planner
	dryRun, json bool
	many         bool // several files
	view, notes  report
}

// A batch is what became of a chunk.
type batch struct {
	outs   []outcome
	source string
	whole  bool        // the chunk was the whole document
	packed string      // how the source was compressed
	file   fs.FileInfo // nil: not a file
}

func (b *batch) changed() bool {
	return slices.ContainsFunc(b.outs, func(o outcome) bool { return o.changed })
}

// chunk changes the transcripts of a chunk. What needs no change, and blank lines
// between, leave byte for byte as they came.
func (c *changer) chunk(in chunk) batch {
	b := batch{source: in.source, whole: in.line == 0, packed: in.packed, file: in.file}
	if in.err != nil {
		b.outs = []outcome{c.unreadable(origin{source: in.source}, failure(in.err))}
		return b
	}
	if in.lead > 0 && !c.dryRun {
		b.outs = append(b.outs, outcome{gap: true, out: utf8Mark})
	}
	if in.line == 0 {
		b.outs = append(b.outs, c.one(origin{source: in.source, lead: in.lead, many: c.many}, in.data, len(in.data)))
		return b
	}
	from := origin{source: in.source, line: in.line, lead: in.lead, many: true}
	for l := range bytes.Lines(in.data) {
		switch text := bytes.TrimRight(l, "\r\n"); {
		case len(bytes.TrimSpace(l)) > 0:
			b.outs = append(b.outs, c.one(from, l, len(text)))
		case !c.dryRun:
			b.outs = append(b.outs, outcome{gap: true, out: l})
		}
		from.line++
		from.lead = 0
	}
	return b
}

// vet reads the transcripts of a chunk and reports those that cannot be read.
func (c *changer) vet(in chunk) (outs []outcome) {
	if in.err != nil {
		return []outcome{c.unreadable(origin{source: in.source}, failure(in.err))}
	}
	from := origin{source: in.source, line: in.line, lead: in.lead, many: true}
	for l := range bytes.Lines(in.data) {
		l = bytes.TrimRight(l, "\r\n")
		if len(bytes.TrimSpace(l)) > 0 {
			if fault := c.readable(from, l); fault != nil {
				outs = append(outs, c.unreadable(from, *fault))
			}
		}
		from.line++
		from.lead = 0
	}
	return outs
}

func (c *changer) readable(from origin, raw []byte) (fault *problem) {
	// A bug is for the pass that does the work to report.
	defer func() { _ = recover() }()
	_, _, fault = parse(from, raw, c.opts)
	return fault
}

// one changes one transcript: the first n bytes of raw; the rest is the end of its
// line.
func (c *changer) one(from origin, raw []byte, n int) (o outcome) {
	// A bug that one line of a long batch meets must not cost the other lines.
	defer func() {
		if p := recover(); p != nil {
			o = c.stuck(from, raw, hinted{fmt.Errorf("pare has met a bug of its own: %v", p), "please report it, with the transcript if you may share it"})
		}
	}()
	defer frugal(n)()
	req, b, fault := parse(from, raw[:n], c.opts)
	if fault != nil {
		return c.unreadable(from, *fault)
	}
	plan, err := c.plan(req)
	if err != nil {
		return c.stuck(from, raw, err)
	}
	o.before, o.after = n, n+len(plan.Result().Raw())-len(b.raw)
	for _, ch := range plan.Changes {
		o.rules = append(o.rules, ch.Rule)
	}
	if len(plan.Left) > 0 {
		o.status, o.note = statusFindings, c.left(from, plan.Left)
	}
	o.changed = !plan.Empty()
	if c.dryRun {
		o.out = c.show(from, req, plan)
		return o
	}
	o.receipt = c.receipt(from, plan.Changes)
	o.out = raw
	switch {
	case o.changed && len(b.raw) == len(raw):
		o.out = plan.Result().Raw()
	case o.changed:
		o.out = slices.Concat(raw[:b.at], plan.Result().Raw(), raw[b.at+len(b.raw):])
	}
	return o
}

// unreadable reports a transcript that cannot be read.
func (c *changer) unreadable(from origin, p problem) outcome {
	if c.json {
		return outcome{status: statusInvalid, note: encode(refusal{Source: from.source, Line: from.line, Error: p})}
	}
	return outcome{status: statusInvalid, note: p.sentence(from), hint: p.hint}
}

// stuck reports a transcript that can be read, but not be changed. It leaves as it
// came.
func (c *changer) stuck(from origin, raw []byte, err error) outcome {
	p := failure(err)
	o := outcome{status: statusFindings, before: len(raw), after: len(raw), note: p.sentence(from), hint: p.hint}
	if c.json {
		o.note, o.hint = encode(refusal{Source: from.source, Line: from.line, Error: p}), ""
	}
	if !c.dryRun {
		o.out = raw
	}
	return o
}

// A leftover is what --json prints about a transcript that is not all mended.
type leftover struct {
	Source string         `json:"source"`
	Line   int            `json:"line,omitempty"`
	Left   []wire.Finding `json:"left"`
}

// left reports what could not be mended.
func (c *changer) left(from origin, found []wire.Finding) []byte {
	if c.json {
		return encode(leftover{from.source, from.line, found})
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "pare: %s: %s could not be mended\n", plain(from.String()), plural(len(found), "finding"))
	for i, f := range found {
		c.notes.finding(&b, f, false, i > 0 && f.Message == found[i-1].Message)
	}
	return b.Bytes()
}

// A receiptLine is a change, and where it was made if that is not obvious.
type receiptLine struct {
	wire.Change
	Source string `json:"source,omitempty"`
	Line   int    `json:"line,omitempty"`
}

// receipt renders changes as JSON lines.
func (c *changer) receipt(from origin, changes []wire.Change) []byte {
	var lines []byte
	for _, ch := range changes {
		l := receiptLine{Change: ch}
		if from.many {
			l.Source, l.Line = from.source, from.line
		}
		lines = append(lines, encode(l)...)
	}
	return lines
}

// show renders the plan for a transcript.
func (c *changer) show(from origin, req *wire.Request, plan *pare.Plan) []byte {
	if !c.json {
		if plan.Empty() && len(plan.Changes)+len(plan.Left) == 0 {
			return nil
		}
		return planView{c.view, req, plan}.render(from)
	}
	// The plan writes itself; where it is from goes in front.
	raw, err := json.Marshal(plan)
	if err != nil {
		panic(err) // our own types
	}
	head := bytes.TrimRight(encode(struct {
		Source string `json:"source"`
		Line   int    `json:"line,omitempty"`
	}{from.source, from.line}), "}\n")
	return slices.Concat(head, []byte{','}, raw[1:], []byte{'\n'})
}
