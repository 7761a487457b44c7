package main

import (
	"bytes"
	"errors"
	"slices"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/cmd/internal/picture"
	"github.com/pare-llm/pare/cmd/internal/screen"
	"github.com/pare-llm/pare/internal/hosts"
	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/wire"
)

// listIn is the list of a program that a text is; nil: it is none.
func listIn(raw []byte, as string, opts wire.Options) (*hosts.List, *problem) {
	if as == "" && opts.Dialect != wire.Auto {
		return nil, nil
	}
	l, err := hosts.Find(raw, as, opts)
	if err == nil {
		return l, nil
	}
	p := failure(err)
	p.err = err
	var syntax *jsonspan.SyntaxError
	if errors.As(err, &syntax) {
		p.Offset = syntax.Offset
	}
	return nil, &p
}

// dialect is what a transcript is read as.
func (o origin) dialect(r *wire.Request) string {
	if o.host != nil {
		return o.host.Shape
	}
	return r.Dialect.String()
}

// list checks the list of a program.
func (c *checkCmd) list(v report, from origin) (out outcome, err error) {
	l := from.host
	found := l.Check(wire.CheckOptions{Strict: c.Strict, Advice: c.Advice})
	for _, f := range found {
		out.status = statusFindings
		out.rules = append(out.rules, f.Rule)
	}
	n := picture.Count(l.Request)
	switch {
	case c.JSON:
		r := result{Source: from.source, Line: from.line, Dialect: l.Shape, Profile: l.Request.Profile.Name, Counts: n, Findings: []bodyFinding{}}
		for _, f := range found {
			r.Findings = append(r.Findings, bodyFinding{Finding: f})
		}
		out.out = encode(r)
	case len(found) > 0:
		out.out = listed(from, l, found)
	case !from.many:
		out.note = screen.Appendf(nil, "%s: clean (%s, %s)\n", from.String(), l.Shape, n)
	}
	return out, nil
}

// listed names findings with their places in a list.
func listed(from origin, l *hosts.List, found []wire.Finding) []byte {
	var b bytes.Buffer
	screen.Fprintf(&b, "%s: %s (%s)\n", from.String(), plural(len(found), "finding"), l.Shape)
	for _, f := range found {
		screen.Fprintf(&b, "  %s  %s\n      %s\n", f.Path, f.Rule, f.Message)
	}
	return b.Bytes()
}

// list changes the list of a program: the first n bytes of raw.
func (c *changer) list(from origin, raw []byte, n int, l *hosts.List) (o outcome) {
	from.host = l
	switch {
	case c.repairing != nil && c.repairing.AppendOnly:
		return c.unreadable(from, failure(hinted{errors.New("--append-only is for session files of agents, and this is the list of a program"), "omit it"}))
	case c.single != "" && from.many:
		return c.unreadable(from, failure(errors.New(c.single+" is for one transcript, and this is one of a batch")))
	}
	plan, err := c.plan(l.Request)
	if err != nil {
		return c.refused(from, raw, err)
	}
	body, err := l.Rewrite(plan)
	if err != nil {
		return c.stuck(from, raw, failure(err))
	}
	o.before, o.after, o.changed = len(raw), len(raw), body != nil
	if o.changed {
		o.after += len(body) - n
	}
	o.size = c.weigh(l.Request, plan)
	changes := l.Changes(plan.Changes())
	for _, ch := range changes {
		o.rules = append(o.rules, ch.Rule)
	}
	left := l.Findings(plan.Result(), plan.Left())
	if len(left) > 0 {
		o.status, o.note = statusFindings, c.left(from, left)
	}
	if why := skipped(plan); why != "" {
		o.note = append(o.note, c.skipped(from, why)...)
	}
	if why := unsummarized(plan); why != "" {
		o.note = append(o.note, c.unsummarized(from, why)...)
	}
	if c.dryRun {
		o.out = c.showList(from, l, plan, body, changes)
		return o
	}
	o.receipt = c.receipt(from, changes)
	if c.archive != "" {
		o.archive = archiveLines(from, plan.Archive(), plan.Conserved().Items > 0)
	}
	o.out = raw
	if o.changed {
		o.out = slices.Concat(body, raw[n:])
	}
	return o
}

// showList tells what would be done to a list.
func (c *changer) showList(from origin, l *hosts.List, plan *pare.Plan, body []byte, changes []wire.Change) []byte {
	if c.json {
		told, err := l.Told(plan, body)
		if err != nil {
			panic(err) // our own types
		}
		head := encode(struct {
			Source string `json:"source"`
			Line   int    `json:"line,omitempty"`
		}{from.source, from.line})
		return slices.Concat(bytes.TrimRight(head, "}\n"), []byte{','}, told[1:], []byte{'\n'})
	}
	if len(changes) == 0 {
		return nil
	}
	var b bytes.Buffer
	screen.Fprintf(&b, "%s: %s (%s)\n", from.String(), plural(len(changes), "change"), l.Shape)
	for _, ch := range changes {
		screen.Fprintf(&b, "  %-6s %s  %s: %s\n", ch.Action, ch.Path, ch.Rule, ch.Reason)
	}
	return b.Bytes()
}
