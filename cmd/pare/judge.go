package main

import (
	"cmp"
	"slices"

	"github.com/pare-llm/pare/cmd/internal/screen"
	"github.com/pare-llm/pare/internal/agentlog"
	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/wire"
)

// A judgedFinding is a finding about a request and its prospect. Effect is empty if pare fix
// repairs it.
type judgedFinding struct {
	wire.Finding
	Effect  string `json:"effect,omitempty"`  // "unfixable" or "cosmetic"
	Instead string `json:"instead,omitempty"` // advice for an unfixable finding
}

// unfixableAdvice maps rules to advice about findings that cannot be repaired.
var unfixableAdvice = map[string]string{
	"unknown-role":          "give the message one of the roles that the provider names",
	"null-content":          "move what the message says to where the provider reads it, or delete the message",
	"empty-content":         "put in what is to be said, or delete the message",
	"field-missing":         "add what is missing, or move it there",
	"unknown-field":         "move what the field says to where the provider reads it, or delete the field",
	"wrong-type":            "write the value as the provider wants it",
	"duplicate-key":         "delete the one that was not meant",
	"state-conflict":        "keep one of the two",
	agentlog.OverWindow:     "pare trim shortens the history, pare compact puts a summary in its place",
	"too-many-messages":     "pare trim --max-messages shortens the history",
	"body-too-large":        "pare trim shortens the history",
	"compaction-altered":    "put the block back as it came",
	"safety-unacknowledged": "let the user acknowledge the checks",
	"citations-mixed":       "enable citations on all search results, or on none",
	"content-type":          "write the part as the provider wants it",
}

// classifyFindings returns the findings of a request, marked by whether pare fix can repair them.
func (c *checkCmd) classifyFindings(req *wire.Request, findings []wire.Finding) []judgedFinding {
	all := make([]judgedFinding, len(findings))
	for i, finding := range findings {
		switch all[i].Finding = finding; {
		case finding.Advice:
			all[i].Effect = "cosmetic"
		case finding.Rule == agentlog.OverWindow:
			all[i].Effect, all[i].Instead = "unfixable", unfixableAdvice[finding.Rule]
		}
	}
	if len(findings) == 0 {
		return all
	}
	m, err := dialect.RepairRequest(req, wire.Repair{}, wire.CheckOptions{Strict: c.Strict})
	if err != nil {
		return all
	}
	for _, left := range m.Left {
		path := left.Path
		if left.Index >= 0 {
			path = dialect.MessagePathIn(m.Request, req, left.Index)
		}
		i := slices.IndexFunc(all, func(f judgedFinding) bool {
			at := f.Path
			if f.Index >= 0 {
				at = req.MessagePath(f.Index)
			}
			return f.Rule == left.Rule && at == path && f.Effect == ""
		})
		if i >= 0 {
			all[i].Effect, all[i].Instead = "unfixable", cmp.Or(unfixableAdvice[left.Rule], "change it by hand")
		}
	}
	return all
}

// formatRemedy returns the next step for the findings of a request.
func formatRemedy(all []judgedFinding, command screen.Command) []byte {
	var fixable, unfixable []judgedFinding
	for _, f := range all {
		switch f.Effect {
		case "":
			fixable = append(fixable, f)
		case "unfixable":
			unfixable = append(unfixable, f)
		}
	}
	switch {
	case len(unfixable) == 0 && len(fixable) == 0:
		return []byte("nothing has to be done: the provider accepts it\n")
	case len(unfixable) == 0:
		return screen.Appendf(nil, "to fix it: %s\n", command)
	}
	out := screen.Appendf(nil, "%s cannot be repaired:\n", plural(len(unfixable), "finding"))
	if len(fixable) > 0 {
		out = screen.Appendf(nil, "%s repairs %s; %s cannot be repaired:\n", command, plural(len(fixable), "finding"), plural(len(unfixable), "finding"))
	}
	for i, f := range unfixable {
		if i == 10 {
			return screen.Appendf(out, "  and %s more\n", plural(len(unfixable)-i, "finding"))
		}
		out = screen.Appendf(out, "  %s at %s: %s\n", f.Rule, f.Path, f.Instead)
	}
	return out
}
