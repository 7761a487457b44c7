package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/cmd/internal/picture"
	"github.com/pare-llm/pare/cmd/internal/replay"
	"github.com/pare-llm/pare/cmd/internal/screen"
	"github.com/pare-llm/pare/internal/atomicfile"
	"github.com/pare-llm/pare/internal/config"
	"github.com/pare-llm/pare/internal/suggest"
	"github.com/pare-llm/pare/wire"
)

type replayCmd struct {
	inputFlags `embed:""`
	MaxTokens  string   `placeholder:"N|N%" help:"The limit per request, in tokens or as a share of the whole history. Default: the model's window."`
	Low        string   `placeholder:"N|N%" help:"What a stable window is trimmed to, in tokens or as a share of --max-tokens. Default: 50%."`
	Policy     []string `placeholder:"NAME" sep:"none" help:"A policy to compare with everything and sliding; may be given several times. Default: trim:cold,shorten, trim, trim:low, trim:cache and prune."`
	CacheLife  string   `placeholder:"5m|1h" enum:",5m,1h" default:"" help:"How long the provider's cache lives. Default: as recorded in session files, else what the provider does."`
	Every      int      `placeholder:"N" help:"Replay one request of N, and always the last: for very long histories. Default: all."`
	Config     string   `placeholder:"FILE" help:"The configuration of pare trim and pare prune. Default: pare.toml of the user, then pare.toml in this folder."`
	HTML       string   `name:"html" placeholder:"FILE" help:"Also write a page with the tables and the curves."`
	JSON       bool     `name:"json" help:"Print one JSON object per transcript, with every request."`
	Markdown   bool     `help:"Print the tables as Markdown."`
}

// Help returns the detailed help of the command.
func (c *replayCmd) Help() string {
	return `For example:

    pare replay request.json
    pare replay --max-tokens 50% --html curves.html sessions/
    pare replay --policy trim:low=30% --policy prune --json request.json

A stored history is walked request by request, as the agent would have sent it.
For each policy: the tokens sent, the share of them read from the cache, the money at
list prices, the requests that would have been refused or could not be made to fit,
how many were changed, how often what had been sent before had to be written to the
cache again, how many edits would have replaced lines that were no longer in sight, how
many calls used names that were not, and the money with reading that again. Of a session
file all parts are replayed, with the times and bills that are recorded in it.

The first sentence is the verdict on trim:cold,shorten, if that is among the policies and
the model has a list price: what the sessions cost, what they would have cost, and what
would have been missed, the worst first.

Policies: everything; sliding (the last messages that fit, cut anywhere;
sliding:messages=N); keep and mask (all results hidden but the last 3 above 100,000
tokens, or the last 10 always; keep:results=N); shorten (results shortened as they arrive;
shorten:max=N,read=N, in bytes); opencode, cline and compact (what these agents and Claude
Code do when the limit is near); oracle (knows the future, as a bound); trim and prune, which are the commands, with their flags
behind a colon (trim:low=30%,cache,cold,shorten,recent=8,rules). A low without a number is
the mark of --low.

docs/replay.md says how it is counted, and what came of it on real histories.`
}

// maxTables is the number of transcripts up to which each gets its own table.
const maxTables = 8

func (c *replayCmd) run(env *environment) int {
	opts, err := c.parseOptions()
	if err != nil {
		return env.failUsage(err, "replay")
	}
	conf, used, err := env.loadConfig(c.Config)
	if err != nil {
		return env.failConfig(used, err)
	}
	trim, prune, err := env.policiesForReplay(conf, used)
	if err != nil {
		return env.failConfig(used, err)
	}
	sent := prune.Repair
	sent.Unended = true // the last reply of the model was not sent
	rep := &replayRun{repair: pare.Policy{Repair: sent, Check: prune.Check, SkipTokenCounts: true}, json: c.JSON, workedBytes: new(atomic.Int64)}
	if rep.options, err = c.replayOptions(trim, prune); err != nil {
		return env.failUsage(err, "replay")
	}
	input, err := c.openInput(env)
	if err != nil {
		return env.failUsage(err, "replay")
	}
	if err := cmp.Or(env.claimOutput("--html", c.HTML), env.claimStdout(), env.claimInputs(input, atomicfile.Read)); err != nil {
		return env.failUsage(err, "replay")
	}
	var page *atomicfile.Draft
	if c.HTML != "" {
		if page, err = newDraft(env, c.HTML); err != nil {
			return env.fail(err.Error(), "")
		}
		defer page.Discard() // does nothing after Commit
	}
	t := &reportRun{parsing: parsing{options: opts}, memory: &env.memory, reportTranscript: rep.replayTranscript, reportParts: rep.replaySession, json: c.JSON, hasManyFiles: input.Many(), workedBytes: rep.workedBytes}
	var all []*replay.Result
	totals, err := t.run(env, input, c.jobCount(), c.jobCount(), func(out *outcome) {
		if out.replayed != nil {
			all = append(all, out.replayed)
		}
	})
	if page != nil && err == nil && input.Clash == nil {
		if err := writePage(page, all); err != nil {
			return env.fail(err.Error(), "")
		}
	}
	if err == nil && !c.JSON {
		_, err = env.stdout.Write([]byte(c.renderTables(all)))
	}
	if err != nil {
		return env.failOutput(err)
	}
	printSkipped(env.stderr, input.Skipped.With(totals.others))
	if page != nil && input.Clash == nil {
		if err := page.Commit(); err != nil {
			return env.fail(err.Error(), "")
		}
	}
	return env.finishStatus(input, totals)
}

// policiesForReplay returns the policies that pare trim and pare prune would use with this
// configuration. It clears all limits, because replay compares limits itself. It modifies conf.
func (env *environment) policiesForReplay(conf *config.Config, used string) (trim, prune *pare.Policy, err error) {
	var window config.Window
	if conf.Window != nil {
		window = *conf.Window
	}
	window.Tokens, window.Messages, window.Exchanges, window.Turns, window.Low, window.Cache, window.Cold = 0, 0, 0, 0, config.Mark{}, false, false
	conf.Window, conf.Compact, conf.Archive = nil, nil, nil
	if prune, err = conf.Policy(env.getenv); err != nil {
		return nil, nil, err
	}
	conf.Window = &window
	if trim, err = conf.Policy(env.getenv); err != nil {
		return nil, nil, err
	}
	trim.Window.ModelTokens = false
	if used == "" {
		trim.Rules = nil // the same default as pare trim
	}
	return trim, prune, nil
}

// replayOptions returns the options that the flags select. The error is wrong usage.
func (c *replayCmd) replayOptions(trim, prune *pare.Policy) (options replay.Options, err error) {
	if options.Limit, err = parseAmount("--max-tokens", c.MaxTokens); err != nil {
		return options, err
	}
	if options.Low, err = parseAmount("--low", c.Low); err != nil {
		return options, err
	}
	if c.Every < 0 {
		return options, fmt.Errorf("--every: %d is less than 1", c.Every)
	}
	options.Model, options.Every = c.Model, c.Every
	options.Life, _ = time.ParseDuration(c.CacheLife) // "" gives zero
	names := c.Policy
	if len(names) == 0 {
		names = []string{replay.Served, "trim", "trim:low", "trim:cache", "prune"}
	}
	for _, name := range append([]string{"everything", "sliding"}, names...) {
		p, err := replay.ParsePolicy(name, trim, prune)
		if err != nil {
			kind, _, _ := strings.Cut(name, ":")
			return options, hintedError{err, suggest.Sentence(kind, replay.PolicyNames())}
		}
		if !slices.ContainsFunc(options.Policies, func(q replay.Policy) bool { return q.Name == p.Name }) {
			options.Policies = append(options.Policies, p)
		}
	}
	return options, nil
}

func parseAmount(flag, text string) (replay.Amount, error) {
	if text == "" {
		return replay.Amount{}, nil
	}
	a, err := replay.ParseAmount(text)
	if err != nil {
		return a, fmt.Errorf("%s: %w", flag, err)
	}
	return a, nil
}

// renderTables returns the verdict and the tables of results, and the sum of several results.
func (c *replayCmd) renderTables(all []*replay.Result) string {
	table := (*replay.Result).Table
	if c.Markdown {
		table = (*replay.Result).Markdown
	}
	var parts []string
	verdict := replay.Judge(all, replay.Served)
	if len(all) <= maxTables {
		for _, result := range all {
			parts = append(parts, table(result))
		}
	}
	if len(all) > 1 {
		parts = append(parts, table(replay.Sum("all", all)))
	}
	return verdict.Text() + strings.Join(parts, "\n")
}

// writePage writes the page and closes it, but does not put it in place.
func writePage(page *atomicfile.Draft, all []*replay.Result) error {
	if err := replay.WriteHTML(page, all); err != nil {
		return err
	}
	return page.Close()
}

// A replayRun holds the options of a replay.
type replayRun struct {
	repair      pare.Policy
	options     replay.Options
	json        bool
	workedBytes *atomic.Int64 // for the progress bar
}

// replayTranscript replays one transcript.
func (p *replayRun) replayTranscript(_ picture.Style, from origin, req *wire.Request) (out outcome, err error) {
	// The request must have been valid when it was sent, so the agent had repaired it.
	req, recording, err := p.repaired(req)
	if err != nil {
		return out, err
	}
	options, size := p.options, int64(len(req.Raw()))
	options.Recording = recording
	options.Progress = func(done, of int) { // Progress is called in order, so the shares add up to the size.
		p.workedBytes.Add(size*int64(done)/int64(of) - size*int64(done-1)/int64(of))
	}
	result, err := replay.Replay(req, options)
	if err != nil {
		return out, err
	}
	result.Source = from.String()
	if p.json {
		out.out = encodeLine(result)
	}
	switch {
	case result.Requests > 0:
		out.replayed = result
	case !p.json:
		out.note = screen.Appendf(nil, "pare: %s: there is no request in it to replay\n", result.Source)
	}
	return out, nil
}
