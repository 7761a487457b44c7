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

// Help is the page's first paragraph.
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
	c.Strict, c.Advice = c.Strict || conf.Check.Strict, c.Advice || conf.Check.Advice
	if c.Lines {
		return c.reportLines(env, "check", &c.lineFlags, c.checkTranscript, c.checkSession)
	}
	return c.report(env, "check", "finding", c.checkTranscript, c.checkSession, func(totals *runTotals, many bool) {
		totals.print(env.stderr, palette(env.wantsColor(env.stderr, c.Color)), many || totals.transcripts != 1)
		if many {
			screen.Fprint(env.stderr, c.repairHint(totals))
		}
	})
}

// conditionsOf reads headers as curl takes them. Its error is wrong usage.
func parseHeaderFlags(lines []string) (wire.Conditions, error) {
	header := make(map[string][]string)
	for _, line := range lines {
		name, value, ok := strings.Cut(line, ":")
		if !ok || strings.TrimSpace(name) == "" {
			return wire.Conditions{}, hintedError{fmt.Errorf("--header %q: no name and value", line), `for example --header "anthropic-version: 2026-10-21"`}
		}
		header[strings.TrimSpace(name)] = append(header[strings.TrimSpace(name)], strings.TrimSpace(value))
	}
	return wirex.ReadConditions("", header), nil
}

// cure says, of several files, what to do about those with findings.
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

// one checks one transcript.
func (c *checkCmd) checkTranscript(style report, from origin, req *wire.Request) (out outcome, err error) {
	if from.host != nil {
		return c.checkHostList(style, from)
	}
	found := checkRequest(req, wire.CheckOptions{Strict: c.Strict, Advice: c.Advice})
	for _, f := range found {
		out.status = statusFindings
		out.rules = append(out.rules, f.Rule)
	}
	if len(found) == 0 {
		if err := req.Understood(false); err != nil { // it is not called clean then
			return out, err
		}
	}
	n := picture.Count(req)
	var judged []judgedFinding
	if c.JSON || len(found) > 0 && !from.isOneOfMany {
		judged = c.classifyFindings(req, found)
	}
	switch {
	case c.JSON:
		r := checkResult{Source: from.source, Line: from.line, Dialect: req.Dialect.String(), Profile: req.Profile.Name, Counts: n, Delta: wirex.Delta(req), Findings: judged, Missing: findMissingMembers(req)}
		if c.Pairs {
			r.Pairs = engine.Pairs(req, "")
		}
		out.out = encodeLine(r)
	case len(found) > 0:
		out.out = style.Transcript(from.String(), req, n, found)
		if !from.isOneOfMany {
			command := screen.NewCommand("pare", "fix").Files(from.source)
			if from.source == source.Stdin {
				command = screen.NewCommand("pare", "fix").Input("FILE")
			}
			out.note = formatRemedy(judged, command)
		}
	case !from.isOneOfMany:
		out.note = screen.Appendf(nil, "%s: clean (%s, profile %s, %s)\n", from.String(), req.Dialect, req.Profile.Name, n)
		for _, member := range findMissingMembers(req) {
			out.note = screen.Appendf(out.note, "it has no %s, which the API asks for: add it when you send this\n", member)
		}
		if member := wirex.Delta(req); member != "" {
			out.note = screen.Appendf(out.note, "it continues the conversation that %q names: calls, results and turns were not checked\n", member)
		}
	}
	return out, nil
}

// missing names what a request to a model must have beside its history, and this one has not. It is no
// finding: a history that is kept for later has no need of it.
func findMissingMembers(req *wire.Request) []string {
	member := wirex.Required(req.Dialect)
	if member == "" || req.Model() == "" || req.MaxOutputTokens() > 0 {
		return nil
	}
	return []string{member}
}

// A result is what --json prints about a transcript.
type checkResult struct {
	Source  string `json:"source"`
	Line    int    `json:"line,omitempty"`
	Dialect string `json:"dialect"`
	Profile string `json:"profile"`
	picture.Counts
	Delta    string          `json:"delta,omitempty"` // the member that names the conversation on the server which it continues
	Findings []judgedFinding `json:"findings"`
	Pairs    []engine.Pair   `json:"pairs,omitzero"`
	Missing  []string        `json:"missing,omitempty"` // beside the history
}
