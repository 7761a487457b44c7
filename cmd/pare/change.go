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
type changing struct {
	reading      `embed:""`
	dataset      `embed:""`
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
	tokens func(*wire.Request) int
	// whole wants all results or none, on standard output too.
	whole bool
	// archive is the file for what plans take out; "": none.
	archive string
	// fits is what to say where nothing had to be done; "": that says itself.
	fits string
	// letGo is what more can go by, where the window is too small: the pins in force.
	letGo []string
	// single is the flag that makes sense for one transcript only; "": none does.
	single string
	// lines is whether every line is answered at once; nil: the command cannot.
	lines *lining
	// off leaves everything as it is, session files too.
	off bool
	// repairing is how session files are repaired.
	repairing *repairing
	// shorten plans what becomes of session files; nil: they are repaired, and nothing else.
	shorten shortening
}

// misuse is wrong usage that only the transcript shows.
type misuse struct{ error }

func (m misuse) Unwrap() error { return m.error }

// override lets the flags that were given decide over the policy. Its error is wrong
// usage.
func (c *changing) override(p *pare.Policy) error {
	if err := remedy(&p.Repair.OrphanCall, "--orphan-call", c.OrphanCall, "stub"); err != nil {
		return err
	}
	if err := remedy(&p.Repair.OrphanResult, "--orphan-result", c.OrphanResult, "text"); err != nil {
		return err
	}
	p.Repair.Open = p.Repair.Open || c.KeepOpen
	p.Check.Strict = p.Check.Strict || c.Strict
	return nil
}

// by lets a policy plan. What is wrong with the flags that made it is a misuse.
func by(p *pare.Policy) planner {
	return func(r *wire.Request) (*pare.Plan, error) {
		plan, err := p.Plan(context.Background(), r)
		var unknown *pare.UnknownModelError
		var unpublished *config.VocabularyError
		switch {
		case errors.As(err, &unknown):
			err = misuse{hinted{fmt.Errorf("%w: %s", errNoWindow, named(unknown.Model)),
				"give --max-tokens, --max-messages, --max-exchanges or --max-turns, or a model that is known: --model NAME"}}
		case errors.As(err, &unpublished):
			err = noVocabulary(unpublished.Model)
		}
		return plan, err
	}
}

func remedy(r *wire.Remedy, flag, value, keep string) error {
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
func (c *changing) conflict(in *source.Input, t task) error {
	stdin := slices.Contains(in.Paths, source.Stdin)
	switch {
	case c.InPlace && c.Output != "":
		return errors.New("--in-place and -o exclude each other: the result is written to one place")
	case c.InPlace && stdin:
		return hinted{errors.New("--in-place needs a file; standard input has no place to write back to"), "name the file, or omit --in-place to get the result on standard output"}
	case c.InPlace && !c.DryRun && slices.ContainsFunc(in.Paths, irreplaceable): // a pipe would be waited for
		i := slices.IndexFunc(in.Paths, irreplaceable)
		return hinted{fmt.Errorf("%s: not a regular file, so it cannot be replaced", in.Paths[i]), "omit --in-place to get the result on standard output"}
	case in.Many() && !c.InPlace && !c.DryRun:
		return hinted{errors.New("a folder or several files, but one output"), "use --in-place to rewrite each file, --dry-run to see what would be done, or name one file"}
	case c.Receipt == source.Stdin:
		return hinted{errors.New("--receipt needs a file: standard output is for the result"), "--receipt FILE, for example --receipt changes.jsonl"}
	case t.archive == source.Stdin:
		return hinted{errors.New("--archive needs a file: standard output is for the result"), "--archive FILE, for example --archive removed.jsonl"}
	case t.single != "" && in.Many():
		return fmt.Errorf("%s is for one transcript, and several files are named", t.single)
	}
	return nil
}

// irreplaceable reports whether there is something that is neither a file nor a folder.
func irreplaceable(path string) bool {
	st, err := os.Stat(path)
	return err == nil && !st.Mode().IsRegular() && !st.IsDir()
}

// run does a task on every transcript.
func (c *changing) run(w *world, t task) int {
	c.hosting = true
	opts, err := c.options()
	if err != nil {
		return w.usage(err, t.command)
	}
	in, err := c.input(w)
	if err != nil {
		return w.usage(err, t.command)
	}
	if err := cmp.Or(c.conflict(in, t), c.linesConflict(in, t), c.claim(w, in, t), c.begin(w, in)); err != nil {
		return w.usage(err, t.command)
	}
	ch := &changer{task: t, memory: &w.memory, opts: opts, host: c.host, dryRun: c.DryRun, json: c.JSON, receipts: c.Receipt != "", inPlace: c.InPlace && !c.DryRun, overwrites: c.InPlace, many: in.Many(), way: c.way}
	ch.view = w.report(w.stdout, c.Color)
	ch.notes = w.report(w.stderr, c.Color)
	defer w.memory.Roomy(ch.many)()
	r := &changeRun{changing: c, w: w, in: in, ch: ch, sum: newSummary("change").byFile(c.Totals != "")}
	if t.lines != nil && t.lines.Lines {
		ch.lines, ch.many = true, true
		ch.json = ch.json || ch.dryRun
		return c.write(w, r.sum, r.converse())
	}
	return c.write(w, r.sum, r.run())
}

// A changeRun is one run of a command that changes transcripts.
type changeRun struct {
	*changing
	w       *world
	in      *source.Input
	ch      *changer
	sum     *summary
	bar     *progress
	out     source.Output
	receipt *atomicfile.Draft // nil: none is wanted
	archive *source.Archive
	err     error // why nothing more can be written
	stopped bool  // at something unreadable, after earlier lines were written

	archived, written bool // what was taken out, and the results, are where they belong
}

func (r *changeRun) run() int {
	if err := r.open(); err != nil {
		return r.failed(err)
	}
	r.bar = startProgress(r.w, r.in, r.sum)
	if vetted, err := r.vet(); err != nil || !vetted {
		r.bar.stop()
		return r.failed(err)
	}
	// Results are as large as what they are made from, so only few of them wait.
	source.Work(r.jobs(), r.jobs(), r.in.Each, func(in source.Chunk) batch {
		r.w.logRead(&in)
		return r.ch.chunk(in)
	}, r.consume)
	r.bar.stop()
	if r.err != nil {
		return r.failed(r.err)
	}
	if r.sum.status >= statusInvalid && (!r.stopped || r.sum.transcripts == 1) {
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
	r.out = source.Output{Stdout: r.w.stdout, Files: &r.w.files, Force: r.ch.repairing != nil && r.ch.repairing.force}
	if r.DryRun {
		return nil
	}
	r.out.InPlace = r.InPlace
	if r.Output != "" && r.Output != source.Stdin {
		if r.out.File, err = newDraft(r.w, r.Output); err != nil {
			return err
		}
	}
	t := &r.ch.task
	if t.whole || r.Receipt != "" {
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
func (r *changeRun) streams() bool { return !r.DryRun && r.out.Streams() }

// vet reads a batch through before the first line of it is written to standard
// output, where that can be read twice. It returns false, and has said why, if some
// of it cannot be read.
func (r *changeRun) vet() (bool, error) {
	rewind, ok := r.readTwice()
	if !ok || !r.streams() {
		return true, nil
	}
	defer rewind()
	r.bar.passes(2)
	r.in.BatchesOnly = true
	source.Work(r.jobs(), r.jobs(), r.in.Each, r.ch.vet, r.bar.print)
	r.in.BatchesOnly = false
	if r.in.Read.Load() > 32<<20 {
		debug.FreeOSMemory() // so that both passes together take no more than one
	}
	return r.sum.status < statusInvalid, r.bar.err
}

// readTwice reports whether the input can be read twice, and returns what must be
// called in between.
func (r *changeRun) readTwice() (rewind func(), ok bool) {
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
	if i := slices.IndexFunc(b.outs, func(o outcome) bool { return o.status >= statusInvalid }); i >= 0 && r.streams() {
		b.outs = b.outs[:i+1] // nothing behind it is written
		r.stopped = true
		if r.sum.transcripts == 0 && !slices.ContainsFunc(b.outs[:i], func(o outcome) bool { return !o.gap }) {
			b.outs = b.outs[i:] // nor blank lines alone
		}
	}
	b.Changed = slices.ContainsFunc(b.outs, func(o outcome) bool { return o.changed })
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
	return !r.stopped
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
		r.archived = r.archive.Added()
	}
	if err := r.out.Commit(); err != nil {
		return err
	}
	r.written = true
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
		return r.w.usage(clashHint(err), r.ch.command)
	}
	problem, hint := unwritten(err), ""
	if we, ok := errors.AsType[*atomicfile.Error](err); ok {
		problem, hint = we.Error(), writeHint(we, r.InPlace)
	}
	switch {
	case len(r.out.Done()) > 0:
		hint = "what was rewritten before that:"
		defer r.w.printBackups(palette(r.w.colour(r.w.stderr, r.Color)), r.out.Done())
	case r.written:
		hint = "the result was written before that"
	case r.archived:
		hint = "what was to be removed is in the archive; no other file was changed"
	}
	return r.w.fail(problem, hint)
}

// print says what was done.
func (r *changeRun) print() {
	if r.stopped {
		if !r.JSON {
			screen.Fprintf(r.w.stderr, "pare: stopped there; written before that: %s\n", plural(r.sum.transcripts-1, "transcript"))
		}
		return
	}
	paint := palette(r.w.colour(r.w.stderr, r.Color))
	if !r.JSON {
		r.sum.printChanges(r.w.stderr, paint, r.DryRun)
		if r.ch.fits != "" && r.sum.transcripts == 1 && r.sum.number == 0 && r.sum.status == statusClean {
			screen.Fprintf(r.w.stderr, "  %s\n", paint.Faint(r.ch.fits))
		}
		r.w.printBackups(paint, r.out.Done())
		if r.DryRun && (r.InPlace || r.Output != "" || r.Receipt != "" || r.ch.archive != "") {
			screen.Fprintln(r.w.stderr, "pare: dry run: no file was written")
		}
	}
	printSkipped(r.w.stderr, r.in.Skipped.With(r.sum.others))
}
