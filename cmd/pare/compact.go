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
	summaries "github.com/pare-llm/pare/summary"
	"github.com/pare-llm/pare/wire"
)

type compactCmd struct {
	MinKeep   *int     `placeholder:"N" help:"Keep at least the last N messages. Default: 12."`
	Inside    bool     `help:"If there is no other place, cut inside an unbroken run of tool calls."`
	Above     *int     `placeholder:"N" help:"Leave transcripts of at most N tokens alone."`
	FoldTask  bool     `help:"Summarize the user's first message, too; otherwise it stays before the summary."`
	Conserve  *float64 `placeholder:"RATIO" help:"The share of all bytes, from 0 to 1, that must be retained, in the summary or archived; otherwise nothing is done."`
	Archive   string   `placeholder:"FILE" help:"Keep what is removed in FILE, a JSON line each. Existing lines are kept."`
	authoring `embed:""`
	counting  `embed:""`
	settings  `embed:""`
	changing  `embed:""`
}

// authoring is the flags that say who writes the summary.
type authoring struct {
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

// Help is the page's first paragraph.
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

func (c *compactCmd) run(w *world) int {
	if err := c.check(); err != nil {
		return w.usage(err, "compact")
	}
	conf, used, status := c.load(w, c.JSON)
	if status != statusClean {
		return status
	}
	if err := c.override(w, conf); err != nil {
		return w.usage(err, "compact")
	}
	own, err := c.own(w, slices.Contains(newInput(w, c.Paths).Paths, source.Stdin))
	if err != nil {
		return w.usage(err, "compact")
	}
	p, status := w.compile(conf, used)
	if status != statusClean {
		return status
	}
	if err := cmp.Or(c.changing.override(p), c.counting.check(c.Model)); err != nil {
		return w.usage(err, "compact")
	}
	if p.Rules = nil; own != nil { // nothing but what is summarized is taken out
		p.Compact.Summarize = own
	}
	p.Model = c.Model
	t := task{
		command: "compact", whole: true, archive: archiveOf(conf),
		plan:      c.remedied(by(p)),
		repairing: forSessions(p), shorten: c.session(p),
		tokens: func(r *wire.Request) int { return c.weigh(r, c.Model) },
	}
	switch {
	case c.Summary != nil:
		t.single = "--summary"
	case c.SummaryFile != "":
		t.single = "--summary-file"
	}
	return c.changing.run(w, t)
}

// session plans what becomes of a session. One that is full has to fit afterwards, however little can be
// summarized: if what a compaction leaves does not, that goes by a window, too, of as many messages, so
// that a second compaction finds nothing to do.
func (c *compactCmd) session(p *pare.Policy) shortening {
	return func(t *agentlog.Thread, s agentlog.Size) (*pare.Plan, error) {
		_, full := s.Limits()
		return c.remedied(func(r *wire.Request) (*pare.Plan, error) {
			plan, err := by(p)(r)
			if !full || err == nil && agentlog.Roomy(t, s, plan.Result()) {
				return plan, err
			}
			fits := *p
			fits.Window = &pare.Window{Messages: parex.MinKeep(p.Compact)}
			plan, err = agentlog.Rescued(t, s, fits, 0)
			var small *pare.WindowTooSmall
			if errors.As(err, &small) && small.Unit == "messages" { // an unbroken run of calls, or what is pinned
				return agentlog.Rescued(t, s, *p, 0)
			}
			return plan, err
		})(t.Request)
	}
}

// check is wrong usage that kong could not see, whatever the configuration says.
func (c *compactCmd) check() error {
	if c.Conserve != nil && !(*c.Conserve >= 0 && *c.Conserve <= 1) { // not a number is neither
		return fmt.Errorf("--conserve is a share from 0 to 1, not %v", *c.Conserve)
	}
	return cmp.Or(
		notNegative("--min-keep", value(c.MinKeep)), positive("--above", c.Above), positive("--max-summary", c.MaxSummary), c.authoring.check(),
	)
}

// check is wrong usage that the flags show by themselves.
func (a *authoring) check() error {
	ways := a.ways()
	switch {
	case len(ways) > 1:
		return fmt.Errorf("one summary, but several say what it is: %s", strings.Join(ways, ", "))
	case a.Timeout != nil && *a.Timeout == 0:
		return errors.New("--timeout must be more than 0")
	case a.MaxSummary != nil && len(ways) == 1 && a.By == "" && a.Endpoint == "":
		return fmt.Errorf("--max-summary is for summaries that pare makes, not for %s", ways[0])
	}
	return nil
}

// ways are the flags that say what the summary is.
func (a *authoring) ways() (given []string) {
	by := a.By
	if by == "" && a.Endpoint != "" {
		by = "endpoint"
	}
	for _, way := range []struct {
		flag  string
		given bool
	}{{"--summary", a.Summary != nil}, {"--summary-file", a.SummaryFile != ""}, {"--offload", a.Offload}, {"--by " + by, by != ""}} {
		if way.given {
			given = append(given, way.flag)
		}
	}
	return given
}

// override lets the flags that were given decide over the file. Its error is wrong
// usage.
func (c *compactCmd) override(w *world, conf *config.Config) error {
	var how config.Compaction
	if conf.Compact != nil {
		how = *conf.Compact
	}
	conf.Window, conf.Compact = nil, &how
	if c.MinKeep != nil {
		how.MinKeep = max(*c.MinKeep, 1)
	}
	if c.Above != nil {
		how.Above = *c.Above
	}
	how.Inside, how.FoldTask = how.Inside || c.Inside, how.FoldTask || c.FoldTask
	if c.Conserve != nil {
		how.Conserve = *c.Conserve
	}
	if c.Archive != "" {
		conf.Archive = &config.Archive{File: c.Archive}
	}
	c.counting.override(conf)
	if c.Offload && conf.Archive == nil {
		return hinted{errors.New("--offload without --archive would lose what it removes"), "give --archive FILE with it"}
	}
	return c.authoring.override(w, &how)
}

// override lets the flags decide who writes the summary.
func (a *authoring) override(w *world, how *config.Compaction) error {
	if a.Timeout != nil {
		how.Timeout = config.Duration(*a.Timeout)
	}
	switch {
	case a.Offload:
		how.By, how.MaxSummary = "archive", 0
	case a.Summary != nil || a.SummaryFile != "" || a.By == "extract":
		how.By = "extract"
	case a.By == "endpoint" || a.Endpoint != "":
		how.By = "endpoint"
	}
	if a.MaxSummary != nil {
		how.MaxSummary = *a.MaxSummary
	}
	asked := how.By == "endpoint" || how.By == "" && how.Endpoint != ""
	if !asked {
		if a.Endpoint != "" || a.SummaryModel != "" || a.KeyEnv != "" || a.PlainHTTP {
			return hinted{errors.New("--endpoint, --summary-model, --key-env and --plain-http are for --by endpoint"), "omit them, or give --by endpoint"}
		}
		how.Endpoint, how.API, how.Model, how.KeyEnv, how.PlainHTTP = "", "", "", "", false
		return nil
	}
	how.Endpoint, how.API = cmp.Or(a.Endpoint, how.Endpoint), cmp.Or(a.API, how.API)
	how.Model, how.KeyEnv, how.PlainHTTP = cmp.Or(a.SummaryModel, how.Model), cmp.Or(a.KeyEnv, how.KeyEnv), a.PlainHTTP || how.PlainHTTP
	switch {
	case how.Endpoint == "":
		return hinted{errors.New("--summary-model needs --endpoint URL"), "give --endpoint URL and --summary-model NAME"}
	case how.Model == "":
		return hinted{errors.New("--endpoint needs --summary-model NAME"), "--model is the one that the transcript is for"}
	case a.KeyEnv != "" && w.getenv(a.KeyEnv) == "":
		return fmt.Errorf("--key-env: the environment variable %s is not set", a.KeyEnv)
	}
	if a.Endpoint == "" {
		return nil
	}
	_, err := summaries.Endpoint(summaries.EndpointOptions{URL: how.Endpoint, API: how.API, Model: how.Model, PlainHTTP: how.PlainHTTP})
	if errors.Is(err, summaries.ErrPlainHTTP) {
		return hinted{err, "give https://, or --plain-http if that network is yours"}
	}
	return err
}

// own is the summary of the user, if there is one. Its error is wrong usage.
func (a *authoring) own(w *world, stdinTaken bool) (pare.Summarizer, error) {
	text := ""
	switch {
	case a.Summary != nil:
		text = *a.Summary
	case a.SummaryFile == "":
		return nil, nil
	default:
		var err error
		if text, err = readSummary(w, a.SummaryFile, stdinTaken); err != nil {
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

// maxSummaryFile is more than any summary.
const maxSummaryFile = 4 << 20

func readSummary(w *world, name string, stdinTaken bool) (string, error) {
	in := w.stdin
	switch {
	case name == source.Stdin && stdinTaken:
		return "", hinted{errors.New("--summary-file -: standard input is the transcript already"), "name the transcript, or give the summary as a file"}
	case name != source.Stdin:
		if err := clashHint(w.files.Claim("--summary-file", name, atomicfile.Read)); err != nil {
			return "", err
		}
		f, err := os.Open(name)
		if err != nil {
			return "", hinted{fmt.Errorf("--summary-file %s: %s", name, failure(err).Message), "give a file with the text of the summary"}
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

// remedied says what to do about compactions that fail.
func (c *compactCmd) remedied(plan planner) planner {
	return func(r *wire.Request) (*pare.Plan, error) {
		p, err := plan(r)
		var failed *pare.CompactionError
		if errors.As(err, &failed) {
			err = hinted{err, c.remedy(failed.Reason)}
		}
		return p, err
	}
}

// remedy says what to do about a compaction that failed.
func (c *compactCmd) remedy(reason string) string {
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
