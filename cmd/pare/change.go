package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"syscall"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/cmd/internal/screen"
	"github.com/pare-llm/pare/cmd/internal/source"
	"github.com/pare-llm/pare/internal/atomicfile"
	"github.com/pare-llm/pare/internal/config"
	"github.com/pare-llm/pare/wire"
)

// changing is the flags of all commands that change transcripts.
type changeFlags struct {
	inputFlags   `embed:""`
	datasetFlags `embed:""`
	Strict       bool   `help:"Also repair what any vendor would refuse."`
	OrphanCall   string `placeholder:"stub|drop" help:"What to do with a call without a result: stub adds a result that says so (default), drop removes the call."`
	OrphanResult string `placeholder:"text|drop" help:"What to do with a result without a call: text quotes it as text (default), drop removes it."`
	KeepOpen     bool   `help:"Leave calls at the end open, as they may still be running. For transcripts that are stored, not sent."`
	DryRun       bool   `short:"n" help:"Print the plan instead of the result; write no file."`
	JSON         bool   `name:"json" help:"Print the plan of --dry-run, and what goes wrong, as JSON lines."`
	Receipt      string `placeholder:"FILE" help:"Write every change to FILE, a JSON line each."`
	Output       string `short:"o" placeholder:"FILE" help:"Write the result to FILE, compressed if its name ends in .gz or .zst."`
	InPlace      bool   `short:"i" help:"Rewrite each file that needs it, atomically; the original becomes FILE.bak."`
	Color        string `enum:"auto,always,never" default:"auto" help:"When to use colour: auto (default), always or never."`
}

// A planner decides what to do with a request. Its error may be a
// *pare.WindowTooSmall or a [misuse]; any other leaves the transcript as it came.
type planner func(*wire.Request) (*pare.Plan, error)

// A task is what a command does to each transcript.
type task struct {
	command string
	plan    planner
	// tokens weighs a request, for the summary; nil: it tells of bytes.
	countTokens func(*wire.Request) int
	// whole wants all results or none, on standard output too.
	allOrNothing bool
	// archive is the file for what plans take out; "": none.
	archive string
	// fits is what to say where nothing had to be done; "": that says itself.
	fitsNote string
	// letGo is what more can go by, where the window is too small: the pins in force.
	relaxations []string
	// single is the flag that makes sense for one transcript only; "": none does.
	singleFlag string
	// lines is whether every line is answered at once; nil: the command cannot.
	lines *lineFlags
	// off leaves everything as it is, session files too.
	isOff bool
	// repairing is how session files are repaired.
	sessionRepair *sessionRepair
	// shorten plans what becomes of session files; nil: they are repaired, and nothing else.
	planSession sessionPlanner
}

// misuse is wrong usage that only the transcript shows.
type usageError struct{ error }

func (m usageError) Unwrap() error { return m.error }

// override lets the flags that were given decide over the policy. Its error is wrong
// usage.
func (f *changeFlags) applyTo(policy *pare.Policy) error {
	if err := setRemedy(&policy.Repair.OrphanCall, "--orphan-call", f.OrphanCall, "stub"); err != nil {
		return err
	}
	if err := setRemedy(&policy.Repair.OrphanResult, "--orphan-result", f.OrphanResult, "text"); err != nil {
		return err
	}
	policy.Repair.Open = policy.Repair.Open || f.KeepOpen
	policy.Check.Strict = policy.Check.Strict || f.Strict
	return nil
}

// by lets a policy plan. What is wrong with the flags that made it is a misuse.
func newPlanner(policy *pare.Policy) planner {
	return func(req *wire.Request) (*pare.Plan, error) {
		plan, err := policy.Plan(context.Background(), req)
		var unknown *pare.UnknownModelError
		var unpublished *config.VocabularyError
		switch {
		case errors.As(err, &unknown):
			err = usageError{hintedError{fmt.Errorf("%w: %s", errNoWindow, describeModel(unknown.Model)),
				"give --max-tokens, --max-messages, --max-exchanges or --max-turns, or a model that is known: --model NAME"}}
		case errors.As(err, &unpublished):
			err = newVocabularyError(unpublished.Model)
		}
		return plan, err
	}
}

func setRemedy(r *wire.Remedy, flag, value, keep string) error {
	switch value {
	case "":
	case keep:
		*r = wire.RemedyKeep
	case "drop":
		*r = wire.RemedyDrop
	default:
		return fmt.Errorf("%s is %s or drop, not %q", flag, keep, value)
	}
	return nil
}

// conflict is wrong usage that only all flags together show.
func (f *changeFlags) checkFlags(input *source.Input, t task) error {
	stdin := slices.Contains(input.Paths, source.Stdin)
	switch {
	case f.InPlace && f.Output != "":
		return errors.New("--in-place and -o exclude each other: the result is written to one place")
	case f.InPlace && stdin:
		return hintedError{errors.New("--in-place needs a file; standard input has no place to write back to"), "name the file, or omit --in-place to get the result on standard output"}
	case f.InPlace && !f.DryRun && slices.ContainsFunc(input.Paths, isIrreplaceable): // a pipe would be waited for
		i := slices.IndexFunc(input.Paths, isIrreplaceable)
		return hintedError{fmt.Errorf("%s: not a regular file, so it cannot be replaced", input.Paths[i]), "omit --in-place to get the result on standard output"}
	case input.Many() && !f.InPlace && !f.DryRun:
		return hintedError{errors.New("a folder or several files, but one output"), "use --in-place to rewrite each file, --dry-run to see what would be done, or name one file"}
	case f.Receipt == source.Stdin:
		return hintedError{errors.New("--receipt needs a file: standard output is for the result"), "--receipt FILE, for example --receipt changes.jsonl"}
	case t.archive == source.Stdin:
		return hintedError{errors.New("--archive needs a file: standard output is for the result"), "--archive FILE, for example --archive removed.jsonl"}
	case t.singleFlag != "" && input.Many():
		return fmt.Errorf("%s is for one transcript, and several files are named", t.singleFlag)
	}
	return nil
}

// irreplaceable reports whether there is something that is neither a file nor a folder.
func isIrreplaceable(path string) bool {
	st, err := os.Stat(path)
	return err == nil && !st.Mode().IsRegular() && !st.IsDir()
}

// run does a task on every transcript.
func (f *changeFlags) run(env *environment, t task) int {
	f.acceptHosts = true
	opts, err := f.parseOptions()
	if err != nil {
		return env.failUsage(err, t.command)
	}
	input, err := f.openInput(env)
	if err != nil {
		return env.failUsage(err, t.command)
	}
	if err := cmp.Or(f.checkFlags(input, t), f.checkLineFlags(input, t), f.claimFiles(env, input, t), f.prepare(env, input)); err != nil {
		return env.failUsage(err, t.command)
	}
	ch := &changer{task: t, memory: &env.memory, opts: opts, hostShape: f.hostShape, dryRun: f.DryRun, json: f.JSON, wantsReceipts: f.Receipt != "", inPlace: f.InPlace && !f.DryRun, overwritesFiles: f.InPlace, hasManyFiles: input.Many(), pointer: f.pointer}
	ch.style = env.newStyle(env.stdout, f.Color)
	ch.noteStyle = env.newStyle(env.stderr, f.Color)
	defer env.memory.Roomy(ch.hasManyFiles)()
	r := &changeRun{changeFlags: f, w: env, in: input, changer: ch, sum: newRunTotals("change").withFiles(f.Totals != "")}
	if t.lines != nil && t.lines.Lines {
		ch.answersLines, ch.hasManyFiles = true, true
		ch.json = ch.json || ch.dryRun
		return f.writeTotals(env, r.sum, r.answerLines())
	}
	return f.writeTotals(env, r.sum, r.run())
}

// A changeRun is one run of a command that changes transcripts.
type changeRun struct {
	*changeFlags
	w          *environment
	in         *source.Input
	changer    *changer
	sum        *runTotals
	bar        *progress
	out        source.Output
	receipt    *atomicfile.Draft // nil: none is wanted
	archive    *source.Archive
	err        error // why nothing more can be written
	hasStopped bool  // at something unreadable, after earlier lines were written

	isArchived, isWritten bool // what was taken out, and the results, are where they belong
}

func (r *changeRun) run() int {
	if err := r.open(); err != nil {
		return r.failed(err)
	}
	r.bar = startProgress(r.w, r.in, r.sum)
	if vetted, err := r.checkReadable(); err != nil || !vetted {
		r.bar.stop()
		return r.failed(err)
	}
	// Results are as large as what they are made from, so only few of them wait.
	source.Work(r.jobCount(), r.jobCount(), r.in.Each, func(chunk source.Chunk) batch {
		r.w.logChunk(&chunk)
		return r.changer.changeChunk(chunk)
	}, r.consume)
	r.bar.stop()
	if r.err != nil {
		return r.failed(r.err)
	}
	if r.sum.status >= statusInvalid && (!r.hasStopped || r.sum.transcripts == 1) {
		return r.failed(nil)
	}
	if err := r.commit(); err != nil {
		return r.failed(err)
	}
	r.print()
	return r.sum.status
}

// open begins the files that will be written.
func (r *changeRun) open() (err error) {
	r.out = source.Output{Stdout: r.w.stdout, Files: &r.w.files, Force: r.changer.sessionRepair != nil && r.changer.sessionRepair.overwritesBusy}
	if r.DryRun {
		return nil
	}
	r.out.InPlace = r.InPlace
	if r.Output != "" && r.Output != source.Stdin {
		if r.out.File, err = newDraft(r.w, r.Output); err != nil {
			return err
		}
	}
	t := &r.changer.task
	if t.allOrNothing || r.Receipt != "" {
		r.out.Hold()
	}
	if r.out.Spool != nil {
		// Whoever reads our output may leave early. That is then an error like any
		// other, and what is written beside it can be taken back.
		signal.Ignore(syscall.SIGPIPE)
	}
	if t.archive != "" {
		if r.archive, err = source.OpenArchive(&r.w.files, t.archive); err != nil {
			return err
		}
	}
	if r.Receipt != "" {
		r.receipt, err = newDraft(r.w, r.Receipt)
	}
	return err
}

// streams reports whether results leave as they come, and cannot be taken back.
func (r *changeRun) isStreaming() bool { return !r.DryRun && r.out.Streams() }

// vet reads a batch through before the first line of it is written to standard
// output, where that can be read twice. It returns false, and has said why, if some
// of it cannot be read.
func (r *changeRun) checkReadable() (bool, error) {
	rewind, ok := r.rewinder()
	if !ok || !r.isStreaming() {
		return true, nil
	}
	defer rewind()
	r.bar.multiplyTotal(2)
	r.in.BatchesOnly = true
	source.Work(r.jobCount(), r.jobCount(), r.in.Each, r.changer.checkChunk, r.bar.print)
	r.in.BatchesOnly = false
	if r.in.Read.Load() > 32<<20 {
		debug.FreeOSMemory() // so that both passes together take no more than one
	}
	return r.sum.status < statusInvalid, r.bar.err
}

// readTwice reports whether the input can be read twice, and returns what must be
// called in between.
func (r *changeRun) rewinder() (rewind func(), ok bool) {
	path := r.in.Paths[0]
	if path != source.Stdin {
		st, err := os.Stat(path)
		return func() {}, err != nil || st.Mode().IsRegular() // what is not there never comes to a second time
	}
	f, ok := r.in.Stdin.(*os.File)
	if !ok {
		return nil, false
	}
	st, err := f.Stat()
	if err != nil || !st.Mode().IsRegular() {
		return nil, false
	}
	at, err := f.Seek(0, io.SeekCurrent)
	return func() { f.Seek(at, io.SeekStart) }, err == nil
}

// consume writes the results of a chunk.
func (r *changeRun) consume(b batch) bool {
	if i := slices.IndexFunc(b.outs, func(o outcome) bool { return o.status >= statusInvalid }); i >= 0 && r.isStreaming() {
		b.outs = b.outs[:i+1] // nothing behind it is written
		r.hasStopped = true
		if r.sum.transcripts == 0 && !slices.ContainsFunc(b.outs[:i], func(o outcome) bool { return !o.isGap }) {
			b.outs = b.outs[i:] // nor blank lines alone
		}
	}
	b.Changed = slices.ContainsFunc(b.outs, func(o outcome) bool { return o.isChanged })
	to, err := r.out.Writer(&b.Part)
	if err == nil {
		err = r.out.Rewrite(b.Session)
	}
	if err != nil {
		r.err = err
		return false
	}
	r.bar.out.Reset(to)
	if !r.bar.print(b.outs) {
		r.err = r.bar.err
		return false
	}
	for _, o := range b.outs {
		if r.err = r.record(&o); r.err != nil {
			return false
		}
	}
	return !r.hasStopped
}

// record writes down what was taken out, and what was done.
func (r *changeRun) record(o *outcome) error {
	if r.archive != nil {
		if err := r.archive.Add(o.archive...); err != nil {
			return err
		}
	}
	if r.receipt == nil {
		return nil
	}
	for _, piece := range o.receipt {
		if _, err := r.receipt.Write(piece); err != nil {
			return err
		}
	}
	return nil
}

// commit makes the files: first what would be lost otherwise, then the results, then
// the receipt of what was done. None of them is there before all are on the disk, so that
// one for which there is no room costs the others.
func (r *changeRun) commit() error {
	if r.archive != nil {
		if err := r.archive.Close(); err != nil {
			return err
		}
	}
	if r.receipt != nil {
		if err := r.receipt.Close(); err != nil {
			return err
		}
	}
	if err := r.out.Close(); err != nil {
		return err
	}
	if r.archive != nil {
		if err := r.archive.Commit(); err != nil {
			return err
		}
		r.isArchived = r.archive.Added()
	}
	if err := r.out.Commit(); err != nil {
		return err
	}
	r.isWritten = true
	if r.receipt == nil {
		return nil
	}
	return r.receipt.Commit()
}

// failed ends a run that leaves all files as they were. A nil error has been
// reported already.
func (r *changeRun) failed(err error) int {
	r.out.Discard()
	if r.receipt != nil {
		r.receipt.Discard()
	}
	if r.archive != nil {
		r.archive.Discard()
	}
	if err == nil {
		if !r.JSON && !r.DryRun {
			screen.Fprintln(r.w.stderr, "pare: nothing was written")
		}
		return r.sum.status
	}
	var clash *atomicfile.Clash
	if errors.As(err, &clash) {
		return r.w.failUsage(clashHint(err), r.changer.command)
	}
	problem, hint := outputProblem(err), ""
	if we, ok := errors.AsType[*atomicfile.Error](err); ok {
		problem, hint = we.Error(), writeHint(we, r.InPlace)
	}
	switch {
	case len(r.out.Done()) > 0:
		hint = "what was rewritten before that:"
		defer r.w.printBackups(palette(r.w.wantsColor(r.w.stderr, r.Color)), r.out.Done())
	case r.isWritten:
		hint = "the result was written before that"
	case r.isArchived:
		hint = "what was to be removed is in the archive; no other file was changed"
	}
	return r.w.fail(problem, hint)
}

// print says what was done.
func (r *changeRun) print() {
	if r.hasStopped {
		if !r.JSON {
			screen.Fprintf(r.w.stderr, "pare: stopped there; written before that: %s\n", plural(r.sum.transcripts-1, "transcript"))
		}
		return
	}
	paint := palette(r.w.wantsColor(r.w.stderr, r.Color))
	if !r.JSON {
		r.sum.printChanges(r.w.stderr, paint, r.DryRun)
		if r.changer.fitsNote != "" && r.sum.transcripts == 1 && r.sum.items == 0 && r.sum.status == statusClean {
			screen.Fprintf(r.w.stderr, "  %s\n", paint.Faint(r.changer.fitsNote))
		}
		r.w.printBackups(paint, r.out.Done())
		if r.DryRun && (r.InPlace || r.Output != "" || r.Receipt != "" || r.changer.archive != "") {
			screen.Fprintln(r.w.stderr, "pare: dry run: no file was written")
		}
	}
	printSkipped(r.w.stderr, r.in.Skipped.With(r.sum.others))
}
