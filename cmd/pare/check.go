package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pare-llm/pare/cmd/internal/picture"
	"github.com/pare-llm/pare/cmd/internal/screen"
	"github.com/pare-llm/pare/cmd/internal/source"
	"github.com/pare-llm/pare/internal/agentlog"
	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/internal/engine"
	"github.com/pare-llm/pare/wire"
)

type checkCmd struct {
	reportFlags `embed:""`
	Strict      bool     `help:"Also report what any vendor would refuse."`
	Advice      bool     `help:"Also report what is accepted but costs quality or money."`
	Header      []string `sep:"none" placeholder:"NAME: VALUE" help:"A header of the requests, such as \"anthropic-version: 2026-10-21\": rules may depend on it. Default: that of a recorded exchange."`
	Pairs       bool     `help:"With --json, also list which results answer which call, and the state of each pair."`
	configFlags `embed:""`
	lineFlags   `embed:""`
}

// Help returns the detailed help of the command.
func (c *checkCmd) Help() string {
	return `For example:

    pare check request.json
    pare check ~/.claude/projects
    pare check --strict --advice sessions/
    pare check --as openai-chat --profile deepseek request.json
    pare check --json batch.jsonl | jq -r 'select(.findings != []) | .line'

Every finding is shown with its surroundings, what it means, and what the provider says
to it; pare explain RULE says more. The status is 0 if there is none, 1 if there are
some, 2 if something cannot be read. What [check] says in a pare.toml in this folder
counts, as for pare fix.

--json prints {"source","line","dialect","profile","messages","calls","results",
"findings":[{"rule","path","ids","message"}]}. A finding that pare fix cannot repair has
"effect":"unfixable", and "instead" says what to do; "cosmetic" is accepted. The session file of an agent is one
object, with "format"; each of its findings has "line", "column" and "offset" in the
file, "thread", and where it applies "open" (a call at the end that may still be
running), "dormant" (no longer sent: it keeps no session from being resumed, and does
not count for the status) and "physical" (damage to the file itself).

--pairs adds "pairs":[{"id","tool","state","call","results"}]: the paths of the call and
of what answers it, and as state whole, open (at the end, perhaps still running),
orphan-call, orphan-result, displaced or duplicate. "server" marks what the provider
executes itself, "guessed" what has no id.`
}

func (c *checkCmd) run(env *environment) int {
	if c.Pairs && !c.JSON && !c.Lines {
		return env.failUsage(hintedError{errors.New("--pairs lists pairs as JSON"), "give --json with it"}, "check")
	}
	var err error
	if c.conditions, err = parseHeaderFlags(c.Header); err != nil {
		return env.failUsage(err, "check")
	}
	c.acceptHosts = true
	conf, _, status := c.load(env, c.JSON || c.Lines)
	if status != statusClean {
		return status
	}
	c.Strict = c.Strict || conf.Check.Strict
	c.Advice = c.Advice || conf.Check.Advice
	task := reportTask{
		command: "check", itemNoun: "finding",
		reportTranscript: c.checkTranscript, reportSession: c.checkSession,
		printTotals: func(totals *runTotals, hasManyFiles bool) {
			paint := palette(env.wantsColor(env.stderr, c.Color))
			totals.print(env.stderr, paint, hasManyFiles || totals.transcripts != 1)
			if hasManyFiles {
				screen.Fprint(env.stderr, c.repairHint(totals))
			}
		},
	}
	if c.Lines {
		return c.reportLines(env, &c.lineFlags, task)
	}
	return c.report(env, task)
}

// parseHeaderFlags parses headers in the form "NAME: VALUE", as curl does. The error is wrong
// usage.
func parseHeaderFlags(lines []string) (wire.Conditions, error) {
	header := make(map[string][]string)
	for _, line := range lines {
		name, value, ok := strings.Cut(line, ":")
		if !ok || strings.TrimSpace(name) == "" {
			return wire.Conditions{}, hintedError{fmt.Errorf("--header %q: no name and value", line), `for example --header "anthropic-version: 2026-10-21"`}
		}
		header[strings.TrimSpace(name)] = append(header[strings.TrimSpace(name)], strings.TrimSpace(value))
	}
	return dialect.ReadConditions("", header), nil
}

// repairHint returns the command that repairs several files with findings.
func (c *checkCmd) repairHint(totals *runTotals) screen.Text {
	if totals.faulty == 0 || slices.Contains(c.Paths, source.Stdin) {
		return ""
	}
	verb := "fix"
	if totals.byRule[agentlog.OverWindow] == totals.items {
		verb = "trim"
	}
	them := "them"
	if totals.faulty == 1 {
		them = "it"
	}
	return screen.Printf("to fix %s: %s\n", them, screen.NewCommand("pare", verb, "--in-place").Files(c.Paths...))
}

// checkTranscript checks one transcript.
func (c *checkCmd) checkTranscript(style picture.Style, from origin, req *wire.Request) (out outcome, err error) {
	if from.host != nil {
		return c.checkHostList(style, from)
	}
	findings := checkRequest(req, wire.CheckOptions{Strict: c.Strict, Advice: c.Advice})
	for _, finding := range findings {
		out.status = statusFindings
		out.rules = append(out.rules, finding.Rule)
	}
	if len(findings) == 0 {
		// A request that Pare does not understand is not called clean.
		if err := req.Understood(false); err != nil {
			return out, err
		}
	}
	var judged []judgedFinding
	if c.JSON || len(findings) > 0 && !from.isOneOfMany {
		judged = c.classifyFindings(req, findings)
	}
	switch {
	case c.JSON:
		out.out = encodeLine(c.newResult(from, req, judged))
	case len(findings) > 0:
		out.out = style.RenderFindings(from.String(), req, picture.Count(req), findings)
		if !from.isOneOfMany {
			out.note = formatRemedy(judged, fixCommand(from))
		}
	case !from.isOneOfMany:
		out.note = formatCleanNote(from, req)
	}
	return out, nil
}

// newResult returns the output of --json for a transcript.
func (c *checkCmd) newResult(from origin, req *wire.Request, findings []judgedFinding) checkResult {
	result := checkResult{
		Source: from.source, Line: from.line,
		Dialect: req.Dialect.String(), Profile: req.Profile.Name,
		Counts: picture.Count(req), Delta: dialect.Delta(req),
		Findings: findings, Missing: findMissingMembers(req),
	}
	if c.Pairs {
		result.Pairs = engine.Pairs(req, "")
	}
	return result
}

// fixCommand returns the command that repairs the transcript.
func fixCommand(from origin) screen.Command {
	if from.source == source.Stdin {
		return screen.NewCommand("pare", "fix").Input("FILE")
	}
	return screen.NewCommand("pare", "fix").Files(from.source)
}

// formatCleanNote returns the note about a transcript without findings.
func formatCleanNote(from origin, req *wire.Request) []byte {
	note := screen.Appendf(nil, "%s: clean (%s, profile %s, %s)\n", from.String(), req.Dialect, req.Profile.Name, picture.Count(req))
	for _, member := range findMissingMembers(req) {
		note = screen.Appendf(note, "it has no %s, which the API asks for: add it when you send this\n", member)
	}
	if member := dialect.Delta(req); member != "" {
		note = screen.Appendf(note, "it continues the conversation that %q names: calls, results and turns were not checked\n", member)
	}
	return note
}

// findMissingMembers returns the members that the API requires besides the history and that the
// request lacks. They are not findings, because a stored history does not need them.
func findMissingMembers(req *wire.Request) []string {
	member := dialect.Required(req.Dialect)
	if member == "" || req.Model() == "" || req.MaxOutputTokens() > 0 {
		return nil
	}
	return []string{member}
}

// A checkResult is the output of check --json for a transcript.
type checkResult struct {
	Source  string `json:"source"`
	Line    int    `json:"line,omitempty"`
	Dialect string `json:"dialect"`
	Profile string `json:"profile"`
	picture.Counts
	Delta    string          `json:"delta,omitempty"` // the member that names a conversation on the server
	Findings []judgedFinding `json:"findings"`
	Pairs    []engine.Pair   `json:"pairs,omitzero"`
	Missing  []string        `json:"missing,omitempty"` // members besides the history
}
