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
	"github.com/pare-llm/pare/internal/atomicfile"
	"github.com/pare-llm/pare/internal/source"
	summaries "github.com/pare-llm/pare/summary"
	"github.com/pare-llm/pare/wire"
)

type compactCmd struct {
	MinKeep   int     `default:"12" placeholder:"N" help:"Messages at the end that stay at least. Default: 12."`
	Inside    bool    `help:"If there is no other, cut inside one unbroken run of tool use, where nobody but the model speaks."`
	Above     *int    `placeholder:"N" help:"Leave transcripts of at most N tokens alone."`
	FoldTask  bool    `help:"Summarise the first message of the user, too; otherwise it stays in front of the summary."`
	Conserve  float64 `placeholder:"RATIO" help:"The share of all bytes, from 0 to 1, that must be retained, in the summary or archived; otherwise nothing is done."`
	Archive   string  `placeholder:"FILE" help:"Keep what is taken out in FILE, a JSON line each. What the file holds already stays."`
	authoring `embed:""`
	counting  `embed:""`
	changing  `embed:""`
}

// authoring is the flags that say who writes the summary.
type authoring struct {
	By           string        `enum:",extract,endpoint" default:"" placeholder:"extract|endpoint" help:"Who writes the summary: extract (default: lines are copied out, no model is asked) or endpoint (a model, see --endpoint)."`
	Summary      *string       `placeholder:"TEXT" help:"Your own summary, of one transcript."`
	SummaryFile  string        `placeholder:"FILE" help:"Your own summary, from a file, or - for standard input if the transcript is not there."`
	Offload      bool          `help:"No summary: a note names what --archive keeps."`
	Endpoint     string        `placeholder:"URL" help:"The API of the model that is to write the summary."`
	API          string        `enum:"openai,anthropic" default:"openai" name:"api" help:"The style of the API: openai (default) or anthropic."`
	SummaryModel string        `placeholder:"NAME" help:"The model that is to write the summary."`
	KeyEnv       string        `placeholder:"NAME" help:"The environment variable that holds the key of the API. Default: no key is sent."`
	MaxSummary   *int          `placeholder:"N" help:"How long a summary may be, in tokens. Default: 2000."`
	Timeout      time.Duration `placeholder:"TIME" help:"How long to wait for a summary, such as 30s. Default: 2m."`
}

// Help is the page's first paragraph.
func (c *compactCmd) Help() string {
	return `For example:

    pare compact request.json -o small.json
    pare compact --above 100000 --archive removed.jsonl --in-place sessions/
    pare compact --summary-file summary.txt --min-keep 6 request.json
    pare compact --offload --archive removed.jsonl request.json
    pare compact --endpoint http://localhost:8080 --summary-model qwen3 request.json

Everything in front of a cut, as pare split finds it, gives way to a summary, but for
what the system says and the first message of the user. A summary that an earlier
compaction left there is carried on, word for word. --dry-run shows the summary; with
--endpoint the model is asked for it, too.

A transcript that cannot be cut, or that is not --above the mark, comes back as it is,
with a note (status 0). If the summary fails, is larger than what it stands for or does
not conserve what was asked for, the transcript comes back as it is, with the reason
(status 1).`
}

func (c *compactCmd) run(w *world) int {
	var o pare.Options
	if err := cmp.Or(c.check(), c.changing.override(&o)); err != nil {
		return w.usage(err, "compact")
	}
	author, err := c.author(w, slices.Contains(newInput(w, c.Paths).Paths, source.Stdin))
	if err != nil {
		return w.usage(err, "compact")
	}
	t := task{
		command: "compact", whole: true, archive: c.Archive,
		plan:   func(r *wire.Request) (*pare.Plan, error) { return c.plan(r, author, o) },
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

// check is wrong usage that kong could not see.
func (c *compactCmd) check() error {
	if !(c.Conserve >= 0 && c.Conserve <= 1) { // not a number is neither
		return fmt.Errorf("--conserve is a share from 0 to 1, not %v", c.Conserve)
	}
	if c.Offload && c.Archive == "" {
		return hinted{errors.New("--offload without --archive would lose what it takes out"), "give --archive FILE with it"}
	}
	return cmp.Or(
		notNegative("--min-keep", c.MinKeep), positive("--above", c.Above), positive("--max-summary", c.MaxSummary),
		c.authoring.check(), c.counting.check(c.Model),
	)
}

func (a *authoring) check() error {
	if a.Endpoint != "" && a.By == "" {
		a.By = "endpoint"
	}
	var ways []string
	for _, way := range []struct {
		flag  string
		given bool
	}{{"--summary", a.Summary != nil}, {"--summary-file", a.SummaryFile != ""}, {"--offload", a.Offload}, {"--by " + a.By, a.By != ""}} {
		if way.given {
			ways = append(ways, way.flag)
		}
	}
	switch {
	case len(ways) > 1:
		return fmt.Errorf("one summary, but several say what it is: %s", strings.Join(ways, ", "))
	case a.Timeout < 0:
		return fmt.Errorf("--timeout must not be negative, but is %v", a.Timeout)
	case a.By == "endpoint" && (a.Endpoint == "" || a.SummaryModel == ""):
		return hinted{errors.New("--by endpoint needs to know whom to ask"), "give --endpoint URL and --summary-model NAME"}
	case a.By != "endpoint" && (a.Endpoint != "" || a.SummaryModel != "" || a.KeyEnv != ""):
		return hinted{errors.New("--endpoint, --summary-model and --key-env are for --by endpoint"), "leave them away, or give --by endpoint"}
	case a.MaxSummary != nil && len(ways) == 1 && a.By == "":
		return fmt.Errorf("--max-summary is for summaries that pare makes, not for %s", ways[0])
	}
	return nil
}

// An author makes the summariser for requests that are counted in some way; nil is for
// no summary at all.
type author func(wire.Counter) pare.Summarizer

// author finds who writes the summaries. Its error is wrong usage.
func (a *authoring) author(w *world, stdinTaken bool) (author, error) {
	switch {
	case a.Offload:
		return nil, nil
	case a.Summary != nil:
		return verbatim(*a.Summary), nil
	case a.SummaryFile != "":
		text, err := readSummary(w, a.SummaryFile, stdinTaken)
		return verbatim(text), err
	case a.By != "endpoint":
		return func(c wire.Counter) pare.Summarizer { return summaries.Extract(summaries.ExtractOptions{Counter: c}) }, nil
	}
	key := ""
	if a.KeyEnv != "" {
		if key = w.getenv(a.KeyEnv); key == "" {
			return nil, fmt.Errorf("--key-env: the environment variable %s is not set", a.KeyEnv)
		}
	}
	s, err := summaries.Endpoint(summaries.EndpointOptions{URL: a.Endpoint, API: a.API, Model: a.SummaryModel, Key: key})
	return func(wire.Counter) pare.Summarizer { return s }, err
}

// verbatim is the author of a text that is there already.
func verbatim(text string) author {
	return func(wire.Counter) pare.Summarizer {
		return func(context.Context, pare.Removed) (pare.Summary, error) { return pare.Summary{Text: text}, nil }
	}
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
		return "", fmt.Errorf("--summary-file %s: that is no summary: it is larger than %s bytes", name, grouped(maxSummaryFile))
	}
	return string(text), nil
}

// plan compacts one request.
func (c *compactCmd) plan(r *wire.Request, by author, o pare.Options) (*pare.Plan, error) {
	var err error
	if o.Counter, err = c.counter(cmp.Or(c.Model, r.Model())); err != nil {
		return nil, err
	}
	compactor := &pare.Compactor{
		MinKeep: max(c.MinKeep, 1), Inside: c.Inside, Timeout: c.Timeout,
		CompactOptions: pare.CompactOptions{Options: o, FoldTask: c.FoldTask, MinConserved: c.Conserve, Archived: c.Archive != ""},
	}
	if by != nil {
		compactor.Summarize = by(o.Counter)
	}
	if c.Above != nil {
		compactor.Above = *c.Above
	}
	if c.MaxSummary != nil {
		compactor.MaxTokens = *c.MaxSummary
	}
	plan, err := compactor.Compact(context.Background(), r)
	var failed *pare.CompactionError
	if errors.As(err, &failed) {
		err = hinted{err, c.remedy(failed.Reason)}
	}
	return plan, err
}

// remedy says what to do about a compaction that failed.
func (c *compactCmd) remedy(reason pare.CompactionReason) string {
	switch reason {
	case pare.ReasonLarger:
		return "it is left as it is: with a larger --above, short transcripts are passed over; --min-keep says how much stays"
	case pare.ReasonNotConserved:
		return "it is left as it is: --archive FILE keeps everything that is taken out"
	case pare.ReasonTimeout:
		return "it is left as it is: --timeout gives more time"
	}
	return "it is left as it is"
}
