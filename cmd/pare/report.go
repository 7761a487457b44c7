package main

import (
	"cmp"
	"sync/atomic"

	"github.com/pare-llm/pare/cmd/internal/picture"
	"github.com/pare-llm/pare/cmd/internal/screen"
	"github.com/pare-llm/pare/cmd/internal/source"
	"github.com/pare-llm/pare/internal/agentlog"
	"github.com/pare-llm/pare/wire"
)

// reportFlags are the flags of all commands that report on transcripts without changing them.
type reportFlags struct {
	inputFlags   `embed:""`
	datasetFlags `embed:""`
	JSON         bool   `name:"json" help:"Print one JSON object per transcript."`
	Color        string `enum:"auto,always,never" default:"auto" help:"When to use colour: auto (default), always or never."`
}

// A reporter reports on one transcript. Its error is wrong usage that is found only after reading
// the transcript.
type reporter func(picture.Style, origin, *wire.Request) (outcome, error)

// A sessionReporter reports on a whole session file.
type sessionReporter func(picture.Style, origin, sessionFile) outcome

// report reports on every transcript of the input and returns the exit status.
func (f *reportFlags) report(env *environment, task reportTask) int {
	options, err := f.parseOptions()
	if err != nil {
		return env.failUsage(err, task.command)
	}
	input, err := f.openInput(env)
	if err != nil {
		return env.failUsage(err, task.command)
	}
	if err := cmp.Or(env.claimAll(input), f.prepare(env, input)); err != nil {
		return env.failUsage(err, task.command)
	}
	run := &reportRun{
		parsing:          f.parsing(options),
		memory:           &env.memory,
		style:            env.newStyle(env.stdout, f.Color),
		itemNoun:         task.itemNoun,
		reportTranscript: task.reportTranscript,
		reportSession:    task.reportSession,
		json:             f.JSON,
		hasManyFiles:     input.Many(),
		wantsFileTotals:  f.Totals != "",
	}
	// Session reports are rendered immediately and keep no reference to the input.
	input.Lend = task.reportSession != nil
	queue := 16 * f.jobCount() // reports are small, so many of them may wait
	totals, err := run.run(env, input, f.jobCount(), queue, func(*outcome) {})
	if err != nil {
		return env.failOutput(err)
	}
	if !f.JSON && totals.transcripts > 0 {
		task.printTotals(totals, run.hasManyFiles)
	}
	printSkipped(env.stderr, input.Skipped.With(totals.others))
	return f.writeTotals(env, totals, env.finishStatus(input, totals))
}

func (f *reportFlags) parsing(options wire.Options) parsing {
	return parsing{options: options, acceptHosts: f.acceptHosts, hostShape: f.hostShape, pointer: f.pointer}
}

// A reportRun is one run of a command that reports.
type reportRun struct {
	parsing
	memory           *source.Memory
	style            picture.Style
	itemNoun         string
	reportTranscript reporter
	reportSession    sessionReporter                                             // nil: reportTranscript gets each thread
	reportParts      func(picture.Style, origin, sessionFile) ([]outcome, error) // of a session file; may be nil
	json             bool
	hasManyFiles     bool
	wantsFileTotals  bool
	answersLines     bool          // every line gets an answer, even if it cannot be read
	workedBytes      *atomic.Int64 // processed input; nil if processing is as fast as reading
}

// run reports on the input and calls inspect with each outcome in order. The error is that of
// standard output.
func (r *reportRun) run(env *environment, input *source.Input, jobs, queue int, inspect func(*outcome)) (*runTotals, error) {
	defer env.memory.Roomy(r.hasManyFiles)()
	totals := newRunTotals(r.itemNoun).withFiles(r.wantsFileTotals)
	bar := startProgress(env, input, totals)
	bar.workedBytes = r.workedBytes
	bar.delaysFlush = r.hasManyFiles && !r.answersLines
	work := func(chunk source.Chunk) []outcome {
		env.logChunk(&chunk)
		outcomes := r.reportChunk(chunk)
		for i := range outcomes {
			outcomes[i].source = chunk.Source
		}
		return outcomes
	}
	consume := func(outcomes []outcome) bool {
		for i := range outcomes {
			inspect(&outcomes[i])
		}
		return bar.print(outcomes)
	}
	source.Work(jobs, queue, input.Each, work, consume)
	bar.stop()
	return totals, bar.err
}

// reportChunk reports on the transcripts of a chunk.
func (r *reportRun) reportChunk(chunk source.Chunk) []outcome {
	defer chunk.Free()
	switch {
	case chunk.Err != nil:
		return []outcome{r.reportUnreadable(origin{source: chunk.Source}, newProblem(chunk.Err))}
	case chunk.Agent != agentlog.Auto:
		return r.reportSessionFile(origin{source: chunk.Source, skippedBytes: chunk.Lead, isOneOfMany: r.hasManyFiles}, chunk)
	}
	var outcomes []outcome
	for text := range chunk.Texts() {
		if !text.Blank {
			outcomes = append(outcomes, r.reportText(newOrigin(&chunk, text, r.hasManyFiles), text.Raw)...)
		}
	}
	return outcomes
}

// reportSessionFile reports on a session file.
func (r *reportRun) reportSessionFile(from origin, chunk source.Chunk) (outcomes []outcome) {
	defer func() {
		if p := recover(); p != nil {
			outcomes = []outcome{r.reportUnreadable(from, newBugProblem(p))}
		}
	}()
	defer r.memory.Frugal(len(chunk.Data))()
	session, err := readSession(chunk, r.options)
	if err != nil {
		return []outcome{r.reportUnreadable(from, newProblem(err))}
	}
	if r.reportSession != nil {
		return []outcome{r.reportSession(r.style, from, session)}
	}
	if r.reportParts != nil {
		if outcomes, err = r.reportParts(r.style, from, session); err != nil {
			return []outcome{r.reportUnreadable(from, newProblem(err))}
		}
		return outcomes
	}
	for from, req := range session.sentRequests(from) {
		out, err := r.reportTranscript(r.style, from, req)
		if err != nil {
			out = r.reportUnreadable(from, newProblem(err))
		}
		outcomes = append(outcomes, out)
	}
	if outcomes == nil {
		outcomes = []outcome{{note: screen.Appendf(nil, "pare: %s: this session is empty\n", from.String())}}
	}
	return outcomes
}

// reportText reports on one transcript.
func (r *reportRun) reportText(from origin, raw []byte) (outcomes []outcome) {
	// A bug that one line triggers must not cost the other lines of a long batch.
	defer func() {
		if p := recover(); p != nil {
			outcomes = []outcome{r.reportUnreadable(from, newBugProblem(p))}
		}
	}()
	defer r.memory.Frugal(len(raw))()
	span, fault := r.pointer.locate(&from, raw)
	if fault != nil {
		return []outcome{r.reportUnreadable(from, *fault)}
	}
	raw = raw[span.Start:span.End]
	req, fault := r.parseText(&from, raw)
	if fault != nil {
		if chunk, ok := detectTrajectory(from, raw, r.hostShape, r.options); ok {
			return r.reportSessionFile(from, chunk)
		}
		if fault.isOtherJSON(from) {
			return []outcome{newSkippedOutcome(from, fault.err)}
		}
		return []outcome{r.reportUnreadable(from, *fault)}
	}
	out, err := r.reportTranscript(r.style, from, req)
	if err != nil {
		out = r.reportUnreadable(from, newProblem(err))
	}
	return []outcome{out}
}

// parseText parses a request or the message list of a program. It sets from.host for a list.
func (r *reportRun) parseText(from *origin, raw []byte) (*wire.Request, *problem) {
	if r.acceptHosts {
		list, fault := parseHostList(raw, r.hostShape, r.options)
		if fault != nil {
			return nil, fault
		}
		if from.host = list; list != nil {
			return list.Request, nil
		}
	}
	req, _, fault := parseRequest(*from, raw, r.options)
	return req, fault
}

// reportUnreadable returns the outcome of a transcript that cannot be read.
func (r *reportRun) reportUnreadable(from origin, p problem) outcome {
	if r.answersLines {
		return outcome{status: statusInvalid, out: p.formatLineError(from)}
	}
	out := outcome{status: statusInvalid, note: p.format(from), hint: p.hint}
	if r.json {
		out.out = encodeLine(unreadableJSON{Source: from.source, Line: from.line, Error: p})
	}
	return out
}

// A reportTask is the work of a command that reports on transcripts.
type reportTask struct {
	command          string
	itemNoun         string // for the totals, such as "finding"
	reportTranscript reporter
	reportSession    sessionReporter // nil: reportTranscript gets the main threads of session files
	printTotals      func(totals *runTotals, hasManyFiles bool)
}
