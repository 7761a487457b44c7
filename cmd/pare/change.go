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

// changeFlags are the flags of all commands that change transcripts.
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

// A planner plans the changes of a request. Its error may be a [*pare.WindowTooSmall] or a
// [usageError]; after any other error the transcript stays as it is.
type planner func(*wire.Request) (*pare.Plan, error)

// A task is the work of a command on each transcript.
type task struct {
	command       string
	plan          planner
	countTokens   func(*wire.Request) int // for the totals; nil: the totals contain bytes
	allOrNothing  bool                    // writes nothing, not even standard output, if a transcript fails
	archive       string                  // the file for removed content; "" for none
	fitsNote      string                  // printed if nothing had to be done; may be ""
	relaxations   []string                // flags that would let a window that is too small drop more
	singleFlag    string                  // a flag that needs a single transcript; "" for none
	lines         *lineFlags              // nil if the command has no --lines
	isOff         bool                    // the configuration disables all changes
	sessionRepair *sessionRepair          // for session files
	planSession   sessionPlanner          // shortens session files; nil: they are only repaired
}

// applyTo replaces settings of the policy by the flags. It modifies policy. The error is wrong
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

// newPlanner returns a planner that uses policy. Its error is a usageError if the flags cause it.
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

// setRemedy sets the remedy to the value of a flag, which is keep or "drop".
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

// checkFlags returns an error if the flags contradict each other or do not fit the input.
func (f *changeFlags) checkFlags(input *source.Input, t task) error {
	stdin := slices.Contains(input.Paths, source.Stdin)
	switch {
	case f.InPlace && f.Output != "":
		return errors.New("--in-place and -o exclude each other: the result is written to one place")
	case f.InPlace && stdin:
		return hintedError{errors.New("--in-place needs a file; standard input has no place to write back to"), "name the file, or omit --in-place to get the result on standard output"}
	case f.InPlace && !f.DryRun && slices.ContainsFunc(input.Paths, isIrreplaceable): // reading a pipe would block
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

// isIrreplaceable reports whether the path exists and is neither a file nor a folder.
func isIrreplaceable(path string) bool {
	st, err := os.Stat(path)
	return err == nil && !st.Mode().IsRegular() && !st.IsDir()
}

// run runs the task on every transcript and returns the exit status.
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
	ch := &changer{task: t, memory: &env.memory, parsing: parsing{options: opts, acceptHosts: true, hostShape: f.hostShape, pointer: f.pointer}, dryRun: f.DryRun, json: f.JSON, wantsReceipts: f.Receipt != "", inPlace: f.InPlace && !f.DryRun, overwritesFiles: f.InPlace, hasManyFiles: input.Many()}
	ch.style = env.newStyle(env.stdout, f.Color)
	ch.noteStyle = env.newStyle(env.stderr, f.Color)
	defer env.memory.Roomy(ch.hasManyFiles)()
	r := &changeRun{changeFlags: f, env: env, input: input, changer: ch, totals: newRunTotals("change").withFiles(f.Totals != "")}
	if t.lines != nil && t.lines.Lines {
		ch.answersLines, ch.hasManyFiles = true, true
		ch.json = ch.json || ch.dryRun
		return f.writeTotals(env, r.totals, r.answerLines())
	}
	return f.writeTotals(env, r.totals, r.run())
}

// A changeRun is one run of a command that changes transcripts.
type changeRun struct {
	*changeFlags
	env        *environment
	input      *source.Input
	changer    *changer
	totals     *runTotals
	bar        *progress
	out        source.Output
	receipt    *atomicfile.Draft // nil without --receipt
	archive    *source.Archive
	err        error // the error that ended the writing
	hasStopped bool  // after an unreadable transcript; earlier ones were written

	isArchived, isWritten bool
}

func (r *changeRun) run() int {
	if err := r.open(); err != nil {
		return r.fail(err)
	}
	r.bar = startProgress(r.env, r.input, r.totals)
	if vetted, err := r.checkReadable(); err != nil || !vetted {
		r.bar.stop()
		return r.fail(err)
	}
	// Results are as large as their transcripts, so only few of them may wait.
	source.Work(r.jobCount(), r.jobCount(), r.input.Each, func(chunk source.Chunk) batch {
		r.env.logChunk(&chunk)
		return r.changer.changeChunk(chunk)
	}, r.consume)
	r.bar.stop()
	if r.err != nil {
		return r.fail(r.err)
	}
	if r.totals.status >= statusInvalid && (!r.hasStopped || r.totals.transcripts == 1) {
		return r.fail(nil)
	}
	if err := r.commit(); err != nil {
		return r.fail(err)
	}
	r.print()
	return r.totals.status
}

// open creates the output files.
func (r *changeRun) open() (err error) {
	r.out = source.Output{Stdout: r.env.stdout, Files: &r.env.files, Force: r.changer.sessionRepair != nil && r.changer.sessionRepair.overwritesBusy}
	if r.DryRun {
		return nil
	}
	r.out.InPlace = r.InPlace
	if r.Output != "" && r.Output != source.Stdin {
		if r.out.File, err = newDraft(r.env, r.Output); err != nil {
			return err
		}
	}
	t := &r.changer.task
	if t.allOrNothing || r.Receipt != "" {
		r.out.Hold()
	}
	if r.out.Spool != nil {
		// The reader of standard output may close it early. Without the signal that is an ordinary
		// error, so that the other output files can be discarded.
		signal.Ignore(syscall.SIGPIPE)
	}
	if t.archive != "" {
		if r.archive, err = source.OpenArchive(&r.env.files, t.archive); err != nil {
			return err
		}
	}
	if r.Receipt != "" {
		r.receipt, err = newDraft(r.env, r.Receipt)
	}
	return err
}

// isStreaming reports whether results are written immediately, so that they cannot be taken back.
func (r *changeRun) isStreaming() bool { return !r.DryRun && r.out.Streams() }

// checkReadable reads the input once before anything is written to standard output, if it can be
// read twice. It returns false if a part is unreadable, which it has reported.
func (r *changeRun) checkReadable() (bool, error) {
	rewind, ok := r.rewinder()
	if !ok || !r.isStreaming() {
		return true, nil
	}
	defer rewind()
	r.bar.multiplyTotal(2)
	r.input.BatchesOnly = true
	source.Work(r.jobCount(), r.jobCount(), r.input.Each, r.changer.checkChunk, r.bar.print)
	r.input.BatchesOnly = false
	if r.input.Read.Load() > 32<<20 {
		debug.FreeOSMemory() // the second pass can use the memory of the first
	}
	return r.totals.status < statusInvalid, r.bar.err
}

// rewinder reports whether the input can be read twice, and returns a function that rewinds it.
func (r *changeRun) rewinder() (rewind func(), ok bool) {
	path := r.input.Paths[0]
	if path != source.Stdin {
		st, err := os.Stat(path)
		return func() {}, err != nil || st.Mode().IsRegular() // a missing file is reported by the first pass
	}
	f, ok := r.input.Stdin.(*os.File)
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

// consume writes the results of a chunk. It returns false to stop the run.
func (r *changeRun) consume(b batch) bool {
	if i := slices.IndexFunc(b.outs, func(out outcome) bool { return out.status >= statusInvalid }); i >= 0 && r.isStreaming() {
		b.outs = b.outs[:i+1] // nothing after the unreadable transcript is written
		r.hasStopped = true
		if r.totals.transcripts == 0 && !slices.ContainsFunc(b.outs[:i], func(out outcome) bool { return !out.isGap }) {
			b.outs = b.outs[i:] // blank lines alone are not written
		}
	}
	b.Changed = slices.ContainsFunc(b.outs, func(out outcome) bool { return out.isChanged })
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
	for _, out := range b.outs {
		if r.err = r.record(&out); r.err != nil {
			return false
		}
	}
	return !r.hasStopped
}

// record writes removed content to the archive and changes to the receipt.
func (r *changeRun) record(out *outcome) error {
	if r.archive != nil {
		if err := r.archive.Add(out.archive...); err != nil {
			return err
		}
	}
	if r.receipt == nil {
		return nil
	}
	for _, piece := range out.receipt {
		if _, err := r.receipt.Write(piece); err != nil {
			return err
		}
	}
	return nil
}

// commit moves the output files to their places: the archive first, then the results, then the
// receipt. All of them are completely written before the first is moved, so that a full disk
// changes nothing.
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

// fail ends a run and discards all output files. A nil error means that the problem was already
// reported.
func (r *changeRun) fail(err error) int {
	r.out.Discard()
	if r.receipt != nil {
		r.receipt.Discard()
	}
	if r.archive != nil {
		r.archive.Discard()
	}
	if err == nil {
		if !r.JSON && !r.DryRun {
			screen.Fprintln(r.env.stderr, "pare: nothing was written")
		}
		return r.totals.status
	}
	var clash *atomicfile.Clash
	if errors.As(err, &clash) {
		return r.env.failUsage(clashHint(err), r.changer.command)
	}
	problem, hint := outputProblem(err), ""
	if we, ok := errors.AsType[*atomicfile.Error](err); ok {
		problem, hint = we.Error(), writeHint(we, r.InPlace)
	}
	switch {
	case len(r.out.Done()) > 0:
		hint = "what was rewritten before that:"
		defer r.env.printBackups(palette(r.env.wantsColor(r.env.stderr, r.Color)), r.out.Done())
	case r.isWritten:
		hint = "the result was written before that"
	case r.isArchived:
		hint = "what was to be removed is in the archive; no other file was changed"
	}
	return r.env.fail(problem, hint)
}

// print prints the totals of the run.
func (r *changeRun) print() {
	if r.hasStopped {
		if !r.JSON {
			screen.Fprintf(r.env.stderr, "pare: stopped there; written before that: %s\n", plural(r.totals.transcripts-1, "transcript"))
		}
		return
	}
	paint := palette(r.env.wantsColor(r.env.stderr, r.Color))
	if !r.JSON {
		r.totals.printChanges(r.env.stderr, paint, r.DryRun)
		if r.changer.fitsNote != "" && r.totals.transcripts == 1 && r.totals.items == 0 && r.totals.status == statusClean {
			screen.Fprintf(r.env.stderr, "  %s\n", paint.Faint(r.changer.fitsNote))
		}
		r.env.printBackups(paint, r.out.Done())
		if r.DryRun && (r.InPlace || r.Output != "" || r.Receipt != "" || r.changer.archive != "") {
			screen.Fprintln(r.env.stderr, "pare: dry run: no file was written")
		}
	}
	printSkipped(r.env.stderr, r.input.Skipped.With(r.totals.others))
}
