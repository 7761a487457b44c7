package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// reading is the flags of all commands that read transcripts.
type reading struct {
	Paths   []string `arg:"" optional:"" name:"path" help:"Files, folders, or - for standard input (the default): request bodies, lists of messages or JSON lines, also as .gz or .zst."`
	As      string   `placeholder:"DIALECT" help:"Read as anthropic, openai-chat, openai-responses, gemini or bedrock. Default: detected."`
	Profile string   `placeholder:"NAME" help:"The vendor whose rules apply. Default: derived from the model, else the dialect's own."`
	Model   string   `placeholder:"NAME" help:"The model, where neither the body nor its URL names one."`
	Jobs    int      `placeholder:"N" help:"Transcripts to work on at the same time. Default: one per core."`
}

type checkCmd struct {
	reading `embed:""`
	JSON    bool   `name:"json" help:"Print one JSON object per transcript."`
	Strict  bool   `help:"Report whatever is not valid everywhere."`
	Advice  bool   `help:"Also report what is accepted but costs quality or money."`
	Color   string `enum:"auto,always,never" default:"auto" help:"When to use colour: auto (default), always or never."`
}

// options turns the flags into what wire wants. Its error is wrong usage.
func (r *reading) options() (wire.Options, error) {
	o := wire.Options{Profile: r.Profile, Model: r.Model}
	if r.As != "" {
		d, err := wire.ParseDialect(r.As)
		if err != nil {
			var names []string
			for _, d := range wire.Dialects() {
				names = append(names, d.String())
			}
			return o, hinted{err, didYouMean(r.As, names)}
		}
		o.Dialect = d
	}
	if r.Jobs < 0 {
		return o, fmt.Errorf("--jobs must be 1 or more, not %d", r.Jobs)
	}
	if r.Jobs == 0 {
		r.Jobs = runtime.GOMAXPROCS(0)
	}
	return o, r.checkProfile(o.Dialect)
}

// checkProfile refuses a profile that no dialect in question has.
func (r *reading) checkProfile(d wire.Dialect) error {
	if r.Profile == "" {
		return nil
	}
	dialects := wire.Dialects()
	if d != wire.Auto {
		dialects = []wire.Dialect{d}
	}
	for _, d := range dialects {
		if _, err := wire.ResolveProfile(d, r.Profile, ""); err == nil {
			return nil
		}
	}
	names := wire.Profiles(d)
	on := ""
	if d != wire.Auto {
		on = " for " + d.String()
	}
	err := fmt.Errorf("unknown profile %q%s; the profiles are %s", r.Profile, on, strings.Join(names, ", "))
	return hinted{err, didYouMean(r.Profile, names)}
}

// hinted is an error with what to do about it.
type hinted struct {
	error
	hint string
}

func (c *checkCmd) run(w *world) int {
	opts, err := c.options()
	if err != nil {
		return w.usage(err, "check")
	}
	in := newInput(w, c.Paths)
	ch := &checking{opts: opts, check: wire.CheckOptions{Strict: c.Strict, Advice: c.Advice}, json: c.JSON, many: in.many()}
	ch.report = report{paint: palette(w.colour(w.stdout, c.Color)), width: w.width(w.stdout)}
	sum := newSummary("finding")
	bar := startProgress(w, in, sum)
	// Reports are small, so many of them may wait.
	pipeline(c.Jobs, 16*c.Jobs, in.each, ch.chunk, bar.print)
	bar.stop()
	if bar.err != nil {
		return w.fail("write standard output: "+bar.err.Error(), "")
	}
	if !c.JSON {
		sum.print(w.stderr, palette(w.colour(w.stderr, c.Color)), ch.many || sum.transcripts != 1)
	}
	in.printSkipped(w.stderr)
	return sum.status
}

// checking is one run of the check command.
type checking struct {
	opts   wire.Options
	check  wire.CheckOptions
	json   bool
	many   bool // several files
	report report
}

// chunk checks the transcripts of a chunk.
func (c *checking) chunk(in chunk) []outcome {
	switch {
	case in.err != nil:
		return []outcome{c.unreadable(origin{source: in.source}, failure(in.err))}
	case in.line == 0:
		return []outcome{c.one(origin{source: in.source, lead: in.lead, many: c.many}, in.data)}
	}
	var outs []outcome
	line := in.line
	for l := range bytes.Lines(in.data) {
		if l = bytes.TrimRight(l, "\r\n"); len(bytes.TrimSpace(l)) > 0 {
			outs = append(outs, c.one(origin{source: in.source, line: line, lead: in.lead, many: true}, l))
		}
		line++
		in.lead = 0
	}
	return outs
}

// An origin is where a transcript comes from.
type origin struct {
	source string
	line   int  // 0: it is a document of its own
	lead   int  // bytes passed over in front of it
	many   bool // it is one of several
}

func (o origin) String() string {
	name := o.source
	if name == stdinName {
		name = "stdin"
	}
	if o.line > 0 {
		return fmt.Sprintf("%s:%d", name, o.line)
	}
	return name
}

// one checks one transcript.
func (c *checking) one(from origin, raw []byte) (out outcome) {
	// A bug that one line of a long batch meets must not cost the other lines.
	defer func() {
		if p := recover(); p != nil {
			err := fmt.Errorf("pare has met a bug of its own: %v", p)
			out = c.unreadable(from, failure(hinted{err, "please report it, with the transcript if you may share it"}))
		}
	}()
	defer frugal(len(raw))()
	req, _, fault := parse(from, raw, c.opts)
	if fault != nil {
		return c.unreadable(from, *fault)
	}
	found := req.Check(c.check)
	out.status = statusClean
	for _, f := range found {
		out.status = statusFindings
		out.rules = append(out.rules, f.Rule)
	}
	n := count(req)
	switch {
	case c.json:
		out.out = encode(result{Source: from.source, Line: from.line, Dialect: req.Dialect.String(), Profile: req.Profile.Name, counts: n, Findings: append([]wire.Finding{}, found...)})
	case len(found) > 0:
		out.out = c.report.transcript(from, req, n, found)
	case !from.many:
		out.note = fmt.Appendf(nil, "%s: clean (%s, profile %s, %s)\n", plain(from.String()), req.Dialect, req.Profile.Name, n)
	}
	return out
}

// frugal keeps the index of a huge transcript from taking as much memory again:
// beside a buffer of hundreds of megabytes the collector would see no reason to run.
// It returns what ends that.
func frugal(size int) func() {
	if size < 32<<20 {
		return func() {}
	}
	before := debug.SetGCPercent(10)
	return func() { debug.SetGCPercent(before) }
}

// unreadable reports a transcript that cannot be checked.
func (c *checking) unreadable(from origin, p problem) outcome {
	o := outcome{status: statusInvalid, note: p.sentence(from), hint: p.hint}
	if c.json {
		o.out = encode(refusal{Source: from.source, Line: from.line, Error: p})
	}
	return o
}

// A result is what --json prints about a transcript.
type result struct {
	Source  string `json:"source"`
	Line    int    `json:"line,omitempty"`
	Dialect string `json:"dialect"`
	Profile string `json:"profile"`
	counts
	Findings []wire.Finding `json:"findings"`
}

// A refusal is what --json prints about a transcript that cannot be read.
type refusal struct {
	Source string  `json:"source"`
	Line   int     `json:"line,omitempty"`
	Error  problem `json:"error"`
}

// counts says how much there is. Calls and results are those of the caller's
// tools; what the provider executes itself needs no care.
type counts struct {
	Messages int `json:"messages"`
	Calls    int `json:"calls"`
	Results  int `json:"results"`
}

func count(r *wire.Request) counts {
	n := counts{Messages: len(r.Transcript().Messages())}
	for _, b := range r.Transcript().Blocks() {
		switch b.Kind {
		case transcript.Call:
			n.Calls++
		case transcript.Result:
			n.Results++
		}
	}
	return n
}

func (n counts) String() string {
	return plural(n.Messages, "message") + ", " + plural(n.Calls, "call") + ", " + plural(n.Results, "result")
}

// encode returns v as a line of JSON.
func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // our own types
	}
	return b.Bytes()
}
