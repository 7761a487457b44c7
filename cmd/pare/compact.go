package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/cmd/internal/source"
	"github.com/pare-llm/pare/internal/agentlog"
	"github.com/pare-llm/pare/internal/atomicfile"
	"github.com/pare-llm/pare/internal/config"
	engine "github.com/pare-llm/pare/internal/planner"
	summaries "github.com/pare-llm/pare/summary"
	"github.com/pare-llm/pare/wire"
)

type compactCmd struct {
	MinKeep       *int     `placeholder:"N" help:"Keep at least the last N messages. Default: 12."`
	Inside        bool     `help:"If there is no other place, cut inside an unbroken run of tool calls."`
	Above         *int     `placeholder:"N" help:"Leave transcripts of at most N tokens alone."`
	FoldTask      bool     `help:"Summarize the user's first message, too; otherwise it stays before the summary."`
	Conserve      *float64 `placeholder:"RATIO" help:"The share of all bytes, from 0 to 1, that must be retained, in the summary or archived; otherwise nothing is done."`
	Archive       string   `placeholder:"FILE" help:"Keep what is removed in FILE, a JSON line each. Existing lines are kept."`
	summaryFlags  `embed:""`
	countingFlags `embed:""`
	configFlags   `embed:""`
	changeFlags   `embed:""`
}

// summaryFlags select the author of the summary.
type summaryFlags struct {
	By           string         `enum:",extract,endpoint" default:"" placeholder:"extract|endpoint" help:"Who writes the summary: extract (default: lines are copied out, no model is asked) or endpoint (a model, see --endpoint)."`
	Summary      *string        `placeholder:"TEXT" help:"Your own summary, of one transcript."`
	SummaryFile  string         `placeholder:"FILE" help:"Your own summary, from a file, or - for standard input if the transcript is not there."`
	Offload      bool           `help:"No summary: a note names what --archive keeps."`
	Endpoint     string         `placeholder:"URL" help:"The API of the model that writes the summary."`
	API          string         `enum:",openai,anthropic" default:"" placeholder:"openai|anthropic" name:"api" help:"The style of the API: openai (default) or anthropic."`
	SummaryModel string         `placeholder:"NAME" help:"The model that writes the summary."`
	KeyEnv       string         `placeholder:"NAME" help:"The environment variable that holds the key of the API. Default: no key is sent."`
	PlainHTTP    bool           `name:"plain-http" help:"Let the conversation, and the key, go to another machine over http://, unencrypted."`
	MaxSummary   *int           `placeholder:"N" help:"How long a summary may be, in tokens. Default: 2000."`
	Timeout      *time.Duration `placeholder:"TIME" help:"How long to wait for a summary, such as 30s. Default: 2m."`
}

// Help returns the detailed help of the command.
func (c *compactCmd) Help() string {
	return `For example:

    pare compact request.json -o small.json
    pare compact --above 100000 --archive removed.jsonl --in-place requests/
    pare compact --summary-file summary.txt --min-keep 6 request.json
    pare compact --offload --archive removed.jsonl request.json
    pare compact --endpoint http://localhost:8080 --summary-model qwen3 request.json

A transcript is repaired as by pare fix. Then everything in front of a cut, as pare
split finds it, gives way to a summary, but for what the system says and the first
message of the user. A summary that an earlier compaction left there is carried on, word
for word. --dry-run shows the summary; with --endpoint the model is asked for it, too.

The session file of an agent that is full is also made to fit half of the room that its
model's window has, as by pare trim, with the summary in the place of what goes.

A transcript that cannot be cut, that is not --above the mark, or in which the note of
--offload would save nothing is repaired and nothing else, with a note (status 0). If the summary fails, is larger than what it stands for or does
not conserve what was asked for, the transcript comes back as it is, with the reason
(status 1).`
}

func (c *compactCmd) run(env *environment) int {
	if err := c.checkFlags(); err != nil {
		return env.failUsage(err, "compact")
	}
	conf, used, status := c.load(env, c.JSON)
	if status != statusClean {
		return status
	}
	if err := c.applyTo(env, conf); err != nil {
		return env.failUsage(err, "compact")
	}
	own, err := c.ownSummarizer(env, slices.Contains(newInput(env, c.Paths).Paths, source.Stdin))
	if err != nil {
		return env.failUsage(err, "compact")
	}
	policy, status := env.compile(conf, used)
	if status != statusClean {
		return status
	}
	if err := cmp.Or(c.changeFlags.applyTo(policy), c.countingFlags.checkModel(c.Model)); err != nil {
		return env.failUsage(err, "compact")
	}
	if policy.Rules = nil; own != nil { // only the summarized messages are removed
		policy.Compact.Summarize = own
	}
	policy.Model = c.Model
	t := task{
		command: "compact", allOrNothing: true, archive: archiveFile(conf),
		plan:          c.addRemedy(newPlanner(policy)),
		sessionRepair: newSessionRepair(policy), planSession: c.sessionPlanner(policy),
		countTokens: func(req *wire.Request) int { return c.countTokens(req, c.Model) },
	}
	switch {
	case c.Summary != nil:
		t.singleFlag = "--summary"
	case c.SummaryFile != "":
		t.singleFlag = "--summary-file"
	}
	return c.changeFlags.run(env, t)
}

// sessionPlanner returns the planner for session files. A full session must fit afterwards: if the
// compaction does not save enough, a window of the same number of messages drops the rest, so that
// a second compaction finds nothing to do.
func (c *compactCmd) sessionPlanner(policy *pare.Policy) sessionPlanner {
	return func(thread *agentlog.Thread, s agentlog.Size) (*pare.Plan, error) {
		_, full := s.Limits()
		return c.addRemedy(func(req *wire.Request) (*pare.Plan, error) {
			plan, err := newPlanner(policy)(req)
			if !full || err == nil && agentlog.IsShortEnough(thread, s, plan.Result()) {
				return plan, err
			}
			fits := *policy
			fits.Window = &pare.Window{Messages: engine.MinKeep(policy.Compact)}
			plan, err = agentlog.RescueWith(thread, s, fits, 0)
			var small *pare.WindowTooSmall
			if errors.As(err, &small) && small.Unit == "messages" { // an unbroken run of calls, or pinned messages
				return agentlog.RescueWith(thread, s, *policy, 0)
			}
			return plan, err
		})(thread.Request)
	}
}

// checkFlags checks the flags that do not depend on the configuration.
func (c *compactCmd) checkFlags() error {
	if c.Conserve != nil && !(*c.Conserve >= 0 && *c.Conserve <= 1) { // also rejects NaN
		return fmt.Errorf("--conserve is a share from 0 to 1, not %v", *c.Conserve)
	}
	return cmp.Or(
		checkNotNegative("--min-keep", valueOrZero(c.MinKeep)), checkPositive("--above", c.Above), checkPositive("--max-summary", c.MaxSummary), c.summaryFlags.checkFlags(),
	)
}

// checkFlags returns an error if the flags contradict each other.
func (f *summaryFlags) checkFlags() error {
	ways := f.sources()
	switch {
	case len(ways) > 1:
		return fmt.Errorf("one summary, but several say what it is: %s", strings.Join(ways, ", "))
	case f.Timeout != nil && *f.Timeout == 0:
		return errors.New("--timeout must be more than 0")
	case f.MaxSummary != nil && len(ways) == 1 && f.By == "" && f.Endpoint == "":
		return fmt.Errorf("--max-summary is for summaries that pare makes, not for %s", ways[0])
	}
	return nil
}

// sources returns the flags that provide a summary.
func (f *summaryFlags) sources() (given []string) {
	by := f.By
	if by == "" && f.Endpoint != "" {
		by = "endpoint"
	}
	for _, way := range []struct {
		flag  string
		given bool
	}{{"--summary", f.Summary != nil}, {"--summary-file", f.SummaryFile != ""}, {"--offload", f.Offload}, {"--by " + by, by != ""}} {
		if way.given {
			given = append(given, way.flag)
		}
	}
	return given
}

// applyTo replaces settings of conf by the flags that are given. The error is wrong usage.
func (c *compactCmd) applyTo(env *environment, conf *config.Config) error {
	var compaction config.Compaction
	if conf.Compact != nil {
		compaction = *conf.Compact
	}
	conf.Window, conf.Compact = nil, &compaction
	if c.MinKeep != nil {
		compaction.MinKeep = max(*c.MinKeep, 1)
	}
	if c.Above != nil {
		compaction.Above = *c.Above
	}
	compaction.Inside, compaction.FoldTask = compaction.Inside || c.Inside, compaction.FoldTask || c.FoldTask
	if c.Conserve != nil {
		compaction.Conserve = *c.Conserve
	}
	if c.Archive != "" {
		conf.Archive = &config.Archive{File: c.Archive}
	}
	c.countingFlags.applyTo(conf)
	if c.Offload && conf.Archive == nil {
		return hintedError{errors.New("--offload without --archive would lose what it removes"), "give --archive FILE with it"}
	}
	return c.summaryFlags.applyTo(env, &compaction)
}

// applyTo replaces the author of the summary by the flags. It modifies compaction.
func (f *summaryFlags) applyTo(env *environment, compaction *config.Compaction) error {
	if f.Timeout != nil {
		compaction.Timeout = config.Duration(*f.Timeout)
	}
	switch {
	case f.Offload:
		compaction.By, compaction.MaxSummary = "archive", 0
	case f.Summary != nil || f.SummaryFile != "" || f.By == "extract":
		compaction.By = "extract"
	case f.By == "endpoint" || f.Endpoint != "":
		compaction.By = "endpoint"
	}
	if f.MaxSummary != nil {
		compaction.MaxSummary = *f.MaxSummary
	}
	asked := compaction.By == "endpoint" || compaction.By == "" && compaction.Endpoint != ""
	if !asked {
		if f.Endpoint != "" || f.SummaryModel != "" || f.KeyEnv != "" || f.PlainHTTP {
			return hintedError{errors.New("--endpoint, --summary-model, --key-env and --plain-http are for --by endpoint"), "omit them, or give --by endpoint"}
		}
		compaction.Endpoint, compaction.API, compaction.Model, compaction.KeyEnv, compaction.PlainHTTP = "", "", "", "", false
		return nil
	}
	compaction.Endpoint, compaction.API = cmp.Or(f.Endpoint, compaction.Endpoint), cmp.Or(f.API, compaction.API)
	compaction.Model, compaction.KeyEnv, compaction.PlainHTTP = cmp.Or(f.SummaryModel, compaction.Model), cmp.Or(f.KeyEnv, compaction.KeyEnv), f.PlainHTTP || compaction.PlainHTTP
	switch {
	case compaction.Endpoint == "":
		return hintedError{errors.New("--summary-model needs --endpoint URL"), "give --endpoint URL and --summary-model NAME"}
	case compaction.Model == "":
		return hintedError{errors.New("--endpoint needs --summary-model NAME"), "--model is the one that the transcript is for"}
	case f.KeyEnv != "" && env.getenv(f.KeyEnv) == "":
		return fmt.Errorf("--key-env: the environment variable %s is not set", f.KeyEnv)
	}
	if f.Endpoint == "" {
		return nil
	}
	_, err := summaries.Endpoint(summaries.EndpointOptions{URL: compaction.Endpoint, API: compaction.API, Model: compaction.Model, PlainHTTP: compaction.PlainHTTP})
	if errors.Is(err, summaries.ErrPlainHTTP) {
		return hintedError{err, "give https://, or --plain-http if that network is yours"}
	}
	return err
}

// ownSummarizer returns a summarizer that returns the text of the user, or nil if no text is given.
// The error is wrong usage.
func (f *summaryFlags) ownSummarizer(env *environment, stdinTaken bool) (pare.Summarizer, error) {
	text := ""
	switch {
	case f.Summary != nil:
		text = *f.Summary
	case f.SummaryFile == "":
		return nil, nil
	default:
		var err error
		if text, err = readSummary(env, f.SummaryFile, stdinTaken); err != nil {
			return nil, err
		}
	}
	return func(ctx context.Context, h pare.Removed) (pare.Summary, error) {
		if h.Level > 1 { // summaries of earlier compactions, which the user did not write
			return summaries.Extract(summaries.ExtractOptions{})(ctx, h)
		}
		return pare.Summary{Text: text, Pinned: true}, nil
	}, nil
}

// maxSummaryFile is the size limit of --summary-file.
const maxSummaryFile = 4 << 20

func readSummary(env *environment, name string, stdinTaken bool) (string, error) {
	in := env.stdin
	switch {
	case name == source.Stdin && stdinTaken:
		return "", hintedError{errors.New("--summary-file -: standard input is the transcript already"), "name the transcript, or give the summary as a file"}
	case name != source.Stdin:
		if err := clashHint(env.files.Claim("--summary-file", name, atomicfile.Read)); err != nil {
			return "", err
		}
		f, err := os.Open(name)
		if err != nil {
			return "", hintedError{fmt.Errorf("--summary-file %s: %s", name, newProblem(err).Message), "give a file with the text of the summary"}
		}
		defer f.Close()
		in = f
	}
	text, err := io.ReadAll(io.LimitReader(in, maxSummaryFile+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("--summary-file %s: %w", name, err)
	case len(text) > maxSummaryFile:
		return "", fmt.Errorf("--summary-file %s: too large for a summary: more than %s bytes", name, grouped(maxSummaryFile))
	}
	return string(text), nil
}

// addRemedy returns a planner that adds advice to the error of a failed compaction.
func (c *compactCmd) addRemedy(plan planner) planner {
	return func(req *wire.Request) (*pare.Plan, error) {
		p, err := plan(req)
		var failed *pare.CompactionError
		if errors.As(err, &failed) {
			err = hintedError{err, c.remedyFor(failed.Reason)}
		}
		return p, err
	}
}

func (c *compactCmd) remedyFor(reason string) string {
	switch reason {
	case "larger":
		return "it is left as it is: with a larger --above, short transcripts are passed over; --min-keep says how much stays"
	case "no-room":
		return "it is left as it is: --max-summary (max_summary) gives more room"
	case "not-conserved":
		return "it is left as it is: --archive FILE keeps everything that is removed"
	case "timeout":
		return "it is left as it is: --timeout gives more time"
	}
	return "it is left as it is"
}
