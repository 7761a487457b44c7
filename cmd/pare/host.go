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

// parseHostList returns the message list of a program in raw, or nil if raw is not one.
func parseHostList(raw []byte, as string, opts wire.Options) (*hosts.List, *problem) {
	if as == "" && opts.Dialect != wire.Auto {
		return nil, nil
	}
	list, err := hosts.Find(raw, as, opts)
	if err == nil {
		return list, nil
	}
	p := newProblem(err)
	p.err = err
	var syntax *jsonspan.SyntaxError
	if errors.As(err, &syntax) {
		p.Offset = syntax.Offset
	}
	return nil, &p
}

// dialectName returns the format of the transcript: the shape of a program's list, or the dialect.
func (o origin) dialectName(req *wire.Request) string {
	if o.host != nil {
		return o.host.Shape
	}
	return req.Dialect.String()
}

// checkHostList checks the message list of a program.
func (c *checkCmd) checkHostList(style picture.Style, from origin) (out outcome, err error) {
	list := from.host
	findings := list.Check(wire.CheckOptions{Strict: c.Strict, Advice: c.Advice})
	for _, finding := range findings {
		out.status = statusFindings
		out.rules = append(out.rules, finding.Rule)
	}
	n := picture.Count(list.Request)
	switch {
	case c.JSON:
		r := checkResult{Source: from.source, Line: from.line, Dialect: list.Shape, Profile: list.Request.Profile.Name, Counts: n, Findings: []judgedFinding{}}
		for _, finding := range findings {
			r.Findings = append(r.Findings, judgedFinding{Finding: finding})
		}
		out.out = encodeLine(r)
	case len(findings) > 0:
		out.out = formatHostFindings(from, list, findings)
	case !from.isOneOfMany:
		out.note = screen.Appendf(nil, "%s: clean (%s, %s)\n", from.String(), list.Shape, n)
	}
	return out, nil
}

// formatHostFindings returns findings with their paths in a list.
func formatHostFindings(from origin, list *hosts.List, findings []wire.Finding) []byte {
	var b bytes.Buffer
	screen.Fprintf(&b, "%s: %s (%s)\n", from.String(), plural(len(findings), "finding"), list.Shape)
	for _, finding := range findings {
		screen.Fprintf(&b, "  %s  %s\n      %s\n", finding.Path, finding.Rule, finding.Message)
	}
	return b.Bytes()
}

// changeHostList changes the message list of a program in the first n bytes of raw.
func (c *changer) changeHostList(from origin, raw []byte, n int, list *hosts.List) (out outcome) {
	from.host = list
	switch {
	case c.sessionRepair != nil && c.sessionRepair.AppendOnly:
		return c.reportUnreadable(from, newProblem(hintedError{errors.New("--append-only is for session files of agents, and this is the list of a program"), "omit it"}))
	case c.singleFlag != "" && from.isOneOfMany:
		return c.reportUnreadable(from, newProblem(errors.New(c.singleFlag+" is for one transcript, and this is one of a batch")))
	}
	plan, err := c.plan(list.Request)
	if err != nil {
		return c.reportPlanError(from, raw, err)
	}
	body, err := list.Rewrite(plan)
	if err != nil {
		return c.reportUnchanged(from, raw, newProblem(err))
	}
	out.bytesBefore, out.bytesAfter, out.isChanged = len(raw), len(raw), body != nil
	if out.isChanged {
		out.bytesAfter += len(body) - n
	}
	out.size = c.measure(list.Request, plan)
	changes := list.Changes(plan.Changes())
	for _, change := range changes {
		out.rules = append(out.rules, change.Rule)
	}
	left := list.Findings(plan.Result(), plan.Remaining())
	if len(left) > 0 {
		out.status, out.note = statusFindings, c.formatRemaining(from, left)
	}
	if why := findSkipReason(plan); why != "" {
		out.note = append(out.note, c.formatSkipped(from, why)...)
	}
	if why := findSummaryFailure(plan); why != "" {
		out.note = append(out.note, c.formatUnsummarized(from, why)...)
	}
	if c.dryRun {
		out.out = c.renderHostPlan(from, list, plan, body, changes)
		return out
	}
	out.receipt = c.buildReceipt(from, changes)
	if c.archive != "" {
		out.archive = buildArchiveLines(from, plan.Archive(), plan.Conserved().Items > 0)
	}
	out.out = raw
	if out.isChanged {
		out.out = slices.Concat(body, raw[n:])
	}
	return out
}

// renderHostPlan returns the plan of a list for --dry-run.
func (c *changer) renderHostPlan(from origin, list *hosts.List, plan *pare.Plan, body []byte, changes []wire.Change) []byte {
	if c.json {
		told, err := list.PlanReport(plan, body)
		if err != nil {
			panic(err) // the plan consists of our own types
		}
		head := encodeLine(struct {
			Source string `json:"source"`
			Line   int    `json:"line,omitempty"`
		}{from.source, from.line})
		return slices.Concat(bytes.TrimRight(head, "}\n"), []byte{','}, told[1:], []byte{'\n'})
	}
	if len(changes) == 0 {
		return nil
	}
	var b bytes.Buffer
	screen.Fprintf(&b, "%s: %s (%s)\n", from.String(), plural(len(changes), "change"), list.Shape)
	for _, change := range changes {
		screen.Fprintf(&b, "  %-6s %s  %s: %s\n", change.Action, change.Path, change.Rule, change.Reason)
	}
	return b.Bytes()
}
