package main

import (
	"cmp"
	"sync/atomic"

	"github.com/pare-llm/pare/cmd/internal/screen"
	"github.com/pare-llm/pare/cmd/internal/source"
	"github.com/pare-llm/pare/internal/agentlog"
	"github.com/pare-llm/pare/wire"
)

// reporting is the flags of all commands that report on transcripts and change none.
type reportFlags struct {
	inputFlags   `embed:""`
	datasetFlags `embed:""`
	JSON         bool   `name:"json" help:"Print one JSON object per transcript."`
	Color        string `enum:"auto,always,never" default:"auto" help:"When to use colour: auto (default), always or never."`
}

// A teller is what a command has to say about one transcript. Its error is wrong
// usage that only the transcript shows.
type reporter func(report, origin, *wire.Request) (outcome, error)

// A logTeller is what a command has to say about a session file as a whole.
type sessionReporter func(report, origin, sessionFile) outcome

// tell reports on every transcript as tell does, and on session files as logs does; if
// that is nil, their main threads are transcripts like any other. end says, to people,
// what all of them come to.
func (f *reportFlags) report(env *environment, command, noun string, tell reporter, logs sessionReporter, end func(totals *runTotals, many bool)) int {
	opts, err := f.parseOptions()
	if err != nil {
		return env.failUsage(err, command)
	}
	input, err := f.openInput(env)
	if err != nil {
		return env.failUsage(err, command)
	}
	if err := cmp.Or(env.claimAll(input), f.prepare(env, input)); err != nil {
		return env.failUsage(err, command)
	}
	t := &reportRun{memory: &env.memory, opts: opts, acceptHosts: f.acceptHosts, hostShape: f.hostShape, reportTranscript: tell, reportSession: logs, json: f.JSON, hasManyFiles: input.Many(), pointer: f.pointer, wantsFileTotals: f.Totals != ""}
	t.style = env.newStyle(env.stdout, f.Color)
	input.Lend = logs != nil // such a report is written at once, and keeps nothing
	// Reports are small, so many of them may wait.
	totals, err := t.run(env, input, f.jobCount(), 16*f.jobCount(), noun, func(*outcome) {})
	if err != nil {
		return env.failOutput(err)
	}
	if !f.JSON && totals.transcripts > 0 {
		end(totals, t.hasManyFiles)
	}
	printSkipped(env.stderr, input.Skipped.With(totals.others))
	return f.writeTotals(env, totals, env.finishStatus(input, totals))
}

// telling is one run of a command that reports.
type reportRun struct {
	opts             wire.Options
	acceptHosts      bool        // lists of programs are read, too
	hostShape        string      // the shape of one that was asked for
	pointer          jsonPointer // to the transcript in each text
	wantsFileTotals  bool        // somebody wants to know what each file comes to
	reportTranscript reporter
	reportSession    sessionReporter                                      // nil: session files are told of thread by thread
	reportParts      func(report, origin, sessionFile) ([]outcome, error) // of session files; nil: what would be sent next
	json             bool
	hasManyFiles     bool // several files
	memory           *source.Memory
	workedBytes      *atomic.Int64 // how much of the input is done, where that takes longer than to read it
	answersLines     bool          // every line gets an answer, errors too
	style            report
}

// run reports on everything, and lets see look at each outcome in turn. Its error is that
// of standard output.
func (r *reportRun) run(env *environment, input *source.Input, jobs, queue int, noun string, see func(*outcome)) (*runTotals, error) {
	defer env.memory.Roomy(r.hasManyFiles)()
	totals := newRunTotals(noun).withFiles(r.wantsFileTotals)
	bar := startProgress(env, input, totals)
	bar.workedBytes = r.workedBytes
	bar.delaysFlush = r.hasManyFiles && !r.answersLines
	source.Work(jobs, queue, input.Each, func(chunk source.Chunk) []outcome {
		env.logChunk(&chunk)
		outs := r.reportChunk(chunk)
		for i := range outs {
			outs[i].source = chunk.Source
		}
		return outs
	}, func(outs []outcome) bool {
		for i := range outs {
			see(&outs[i])
		}
		return bar.print(outs)
	})
	bar.stop()
	return totals, bar.err
}

// chunk reports on the transcripts of a chunk.
func (r *reportRun) reportChunk(chunk source.Chunk) []outcome {
	defer chunk.Free()
	switch {
	case chunk.Err != nil:
		return []outcome{r.reportUnreadable(origin{source: chunk.Source}, newProblem(chunk.Err))}
	case chunk.Agent != agentlog.Auto:
		return r.reportSessionFile(origin{source: chunk.Source, skippedBytes: chunk.Lead, isOneOfMany: r.hasManyFiles}, chunk)
	}
	var outs []outcome
	for text := range chunk.Texts() {
		if !text.Blank {
			outs = append(outs, r.reportText(newOrigin(&chunk, text, r.hasManyFiles), text.Raw)...)
		}
	}
	return outs
}

// session reports on a session file.
func (r *reportRun) reportSessionFile(from origin, chunk source.Chunk) (outs []outcome) {
	defer func() {
		if p := recover(); p != nil {
			outs = []outcome{r.reportUnreadable(from, newBugProblem(p))}
		}
	}()
	defer r.memory.Frugal(len(chunk.Data))()
	session, err := readSession(chunk, r.opts)
	if err != nil {
		return []outcome{r.reportUnreadable(from, newProblem(err))}
	}
	if r.reportSession != nil {
		return []outcome{r.reportSession(r.style, from, session)}
	}
	if r.reportParts != nil {
		if outs, err = r.reportParts(r.style, from, session); err != nil {
			return []outcome{r.reportUnreadable(from, newProblem(err))}
		}
		return outs
	}
	for from, req := range session.sentRequests(from) {
		out, err := r.reportTranscript(r.style, from, req)
		if err != nil {
			out = r.reportUnreadable(from, newProblem(err))
		}
		outs = append(outs, out)
	}
	if outs == nil {
		outs = []outcome{{note: screen.Appendf(nil, "pare: %s: this session is empty\n", from.String())}}
	}
	return outs
}

// one reports on one transcript.
func (r *reportRun) reportText(from origin, raw []byte) (outs []outcome) {
	// A bug that one line of a long batch meets must not cost the other lines.
	defer func() {
		if p := recover(); p != nil {
			outs = []outcome{r.reportUnreadable(from, newBugProblem(p))}
		}
	}()
	defer r.memory.Frugal(len(raw))()
	at, fault := r.pointer.locate(&from, raw)
	if fault != nil {
		return []outcome{r.reportUnreadable(from, *fault)}
	}
	raw = raw[at.Start:at.End]
	req, fault := r.parseText(&from, raw)
	if fault != nil {
		if chunk, ok := detectTrajectory(from, raw, r.hostShape, r.opts); ok {
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

// read reads a request, or the list of a program.
func (r *reportRun) parseText(from *origin, raw []byte) (*wire.Request, *problem) {
	if r.acceptHosts {
		list, fault := parseHostList(raw, r.hostShape, r.opts)
		if fault != nil {
			return nil, fault
		}
		if from.host = list; list != nil {
			return list.Request, nil
		}
	}
	req, _, fault := parseRequest(*from, raw, r.opts)
	return req, fault
}

// unreadable reports a transcript about which nothing can be said.
func (r *reportRun) reportUnreadable(from origin, p problem) outcome {
	if r.answersLines {
		return outcome{status: statusInvalid, out: p.formatLineError(from)}
	}
	o := outcome{status: statusInvalid, note: p.format(from), hint: p.hint}
	if r.json {
		o.out = encodeLine(unreadableJSON{Source: from.source, Line: from.line, Error: p})
	}
	return o
}
