package main

import (
	"github.com/pare-llm/pare/cmd/internal/picture"
	"github.com/pare-llm/pare/cmd/internal/screen"
	"github.com/pare-llm/pare/cmd/internal/source"
	"github.com/pare-llm/pare/internal/agentlog"
	"github.com/pare-llm/pare/internal/engine"
	"github.com/pare-llm/pare/wire"
)

// A sessionCheckResult is the output of check --json for a session file.
type sessionCheckResult struct {
	Source  string `json:"source"`
	Line    int    `json:"line,omitempty"`
	Format  string `json:"format"`
	Dialect string `json:"dialect"`
	Profile string `json:"profile"`
	picture.Counts
	Findings []agentlog.Finding `json:"findings"`
	Pairs    []engine.Pair      `json:"pairs,omitzero"`
}

// checkSession checks a session file. Only findings that keep the session from being resumed
// completely affect the status.
func (c *checkCmd) checkSession(style picture.Style, from origin, session sessionFile) (out outcome) {
	findings := session.Check(wire.CheckOptions{Strict: c.Strict, Advice: c.Advice})
	for _, finding := range findings {
		if finding.Effect == agentlog.Refused {
			out.status = statusFindings
			out.rules = append(out.rules, finding.Rule)
		}
	}
	n := session.counts()
	dialect, profile := session.dialectAndProfile(wire.Options{Profile: c.Profile, Model: c.Model})
	switch {
	case c.JSON:
		r := sessionCheckResult{from.source, from.line, session.Format.String(), dialect, profile, n, append([]agentlog.Finding{}, findings...), nil}
		if c.Pairs {
			r.Pairs = session.listPairs()
		}
		out.out = encodeLine(r)
	case len(findings) > 0:
		out.out = style.RenderSession(from.sessionName(), session.Stored, findings)
		if !from.isOneOfMany && from.source != source.Stdin {
			out.note = screen.Appendf(nil, "%s\n", formatSessionRemedy(session.Remedy(findings), from.source))
		}
	case !from.isOneOfMany:
		out.note = screen.Appendf(nil, "%s: clean (a session of %s, profile %s, %s)\n", from.String(), session.Format.Maker(), profile, n)
	}
	return out
}

// formatSessionRemedy returns the next step for the findings of a session file.
func formatSessionRemedy(r agentlog.Remedy, file string) screen.Text {
	command := screen.NewCommand("pare", picture.RepairCommandName(r), "--in-place").Files(file)
	switch {
	case r.Full: // trim also repairs
		return screen.Printf("to repair and shorten it: %s", command)
	case !r.Needed:
		return "nothing has to be done: the session can be resumed"
	case !r.Leaves:
		return screen.Printf("to fix it: %s", command)
	}
	return picture.DescribePartialRepair(r, command)
}
