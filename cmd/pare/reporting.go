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
type reporting struct {
	reading `embed:""`
	dataset `embed:""`
	JSON    bool   `name:"json" help:"Print one JSON object per transcript."`
	Color   string `enum:"auto,always,never" default:"auto" help:"When to use colour: auto (default), always or never."`
}

// A teller is what a command has to say about one transcript. Its error is wrong
// usage that only the transcript shows.
type teller func(report, origin, *wire.Request) (outcome, error)

// A logTeller is what a command has to say about a session file as a whole.
type logTeller func(report, origin, logFile) outcome

// tell reports on every transcript as tell does, and on session files as logs does; if
// that is nil, their main threads are transcripts like any other. end says, to people,
// what all of them come to.
func (r *reporting) tell(w *world, command, noun string, tell teller, logs logTeller, end func(sum *summary, many bool)) int {
	opts, err := r.options()
	if err != nil {
		return w.usage(err, command)
	}
	in, err := r.input(w)
	if err != nil {
		return w.usage(err, command)
	}
	if err := cmp.Or(w.claimAll(in), r.begin(w, in)); err != nil {
		return w.usage(err, command)
	}
	t := &telling{memory: &w.memory, opts: opts, hosting: r.hosting, host: r.host, tell: tell, logs: logs, json: r.JSON, many: in.Many(), way: r.way, totals: r.Totals != ""}
	t.report = w.report(w.stdout, r.Color)
	in.Lend = logs != nil // such a report is written at once, and keeps nothing
	// Reports are small, so many of them may wait.
	sum, err := t.run(w, in, r.jobs(), 16*r.jobs(), noun, func(*outcome) {})
	if err != nil {
		return w.unwritten(err)
	}
	if !r.JSON && sum.transcripts > 0 {
		end(sum, t.many)
	}
	printSkipped(w.stderr, in.Skipped.With(sum.others))
	return r.write(w, sum, w.nothingFound(in, sum))
}

// telling is one run of a command that reports.
type telling struct {
	opts    wire.Options
	hosting bool   // lists of programs are read, too
	host    string // the shape of one that was asked for
	way     field  // to the transcript in each text
	totals  bool   // somebody wants to know what each file comes to
	tell    teller
	logs    logTeller                                        // nil: session files are told of thread by thread
	parts   func(report, origin, logFile) ([]outcome, error) // of session files; nil: what would be sent next
	json    bool
	many    bool // several files
	memory  *source.Memory
	worked  *atomic.Int64 // how much of the input is done, where that takes longer than to read it
	lines   bool          // every line gets an answer, errors too
	report  report
}

// run reports on everything, and lets see look at each outcome in turn. Its error is that
// of standard output.
func (t *telling) run(w *world, in *source.Input, jobs, queue int, noun string, see func(*outcome)) (*summary, error) {
	defer w.memory.Roomy(t.many)()
	sum := newSummary(noun).byFile(t.totals)
	bar := startProgress(w, in, sum)
	bar.worked = t.worked
	bar.late = t.many && !t.lines
	source.Work(jobs, queue, in.Each, func(in source.Chunk) []outcome {
		w.logRead(&in)
		outs := t.chunk(in)
		for i := range outs {
			outs[i].source = in.Source
		}
		return outs
	}, func(outs []outcome) bool {
		for i := range outs {
			see(&outs[i])
		}
		return bar.print(outs)
	})
	bar.stop()
	return sum, bar.err
}

// chunk reports on the transcripts of a chunk.
func (t *telling) chunk(in source.Chunk) []outcome {
	defer in.Free()
	switch {
	case in.Err != nil:
		return []outcome{t.unreadable(origin{source: in.Source}, failure(in.Err))}
	case in.Agent != agentlog.Auto:
		return t.session(origin{source: in.Source, lead: in.Lead, many: t.many}, in)
	}
	var outs []outcome
	for text := range in.Texts() {
		if !text.Blank {
			outs = append(outs, t.one(originOf(&in, text, t.many), text.Raw)...)
		}
	}
	return outs
}

// session reports on a session file.
func (t *telling) session(from origin, in source.Chunk) (outs []outcome) {
	defer func() {
		if p := recover(); p != nil {
			outs = []outcome{t.unreadable(from, ownBug(p))}
		}
	}()
	defer t.memory.Frugal(len(in.Data))()
	l, err := readSession(in, t.opts)
	if err != nil {
		return []outcome{t.unreadable(from, failure(err))}
	}
	if t.logs != nil {
		return []outcome{t.logs(t.report, from, l)}
	}
	if t.parts != nil {
		if outs, err = t.parts(t.report, from, l); err != nil {
			return []outcome{t.unreadable(from, failure(err))}
		}
		return outs
	}
	for from, req := range l.requests(from) {
		out, err := t.tell(t.report, from, req)
		if err != nil {
			out = t.unreadable(from, failure(err))
		}
		outs = append(outs, out)
	}
	if outs == nil {
		outs = []outcome{{note: screen.Appendf(nil, "pare: %s: this session is empty\n", from.String())}}
	}
	return outs
}

// one reports on one transcript.
func (t *telling) one(from origin, raw []byte) (outs []outcome) {
	// A bug that one line of a long batch meets must not cost the other lines.
	defer func() {
		if p := recover(); p != nil {
			outs = []outcome{t.unreadable(from, ownBug(p))}
		}
	}()
	defer t.memory.Frugal(len(raw))()
	at, fault := t.way.cut(&from, raw)
	if fault != nil {
		return []outcome{t.unreadable(from, *fault)}
	}
	raw = raw[at.Start:at.End]
	req, fault := t.read(&from, raw)
	if fault != nil {
		if in, ok := trajectory(from, raw, t.host, t.opts); ok {
			return t.session(from, in)
		}
		if fault.other(from) {
			return []outcome{passedOver(from, fault.err)}
		}
		return []outcome{t.unreadable(from, *fault)}
	}
	out, err := t.tell(t.report, from, req)
	if err != nil {
		out = t.unreadable(from, failure(err))
	}
	return []outcome{out}
}

// read reads a request, or the list of a program.
func (t *telling) read(from *origin, raw []byte) (*wire.Request, *problem) {
	if t.hosting {
		l, fault := listIn(raw, t.host, t.opts)
		if fault != nil {
			return nil, fault
		}
		if from.host = l; l != nil {
			return l.Request, nil
		}
	}
	req, _, fault := parse(*from, raw, t.opts)
	return req, fault
}

// unreadable reports a transcript about which nothing can be said.
func (t *telling) unreadable(from origin, p problem) outcome {
	if t.lines {
		return outcome{status: statusInvalid, out: p.inPlaceOf(from)}
	}
	o := outcome{status: statusInvalid, note: p.sentence(from), hint: p.hint}
	if t.json {
		o.out = encode(unreadable{Source: from.source, Line: from.line, Error: p})
	}
	return o
}
