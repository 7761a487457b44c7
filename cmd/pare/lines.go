package main

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/pare-llm/pare/cmd/internal/source"
	"github.com/pare-llm/pare/internal/atomicfile"
	"github.com/pare-llm/pare/internal/jsonspan"
)

// lining is the flag of the commands that can be kept open.
type lining struct {
	Lines bool `help:"Answer each line of input, a JSON text, with one line at once, so that a program can keep this one open. What cannot be read, or does not fit, is answered by {\"error\":…}."`
}

// errEmptyLine is why a blank line is answered by an error: who asks counts lines.
var errEmptyLine = errors.New("the line is empty")

// An errorLine stands in the place of a line that there is no other answer to.
type errorLine struct {
	Error any `json:"error"`
}

// inPlaceOf is the answer to a line that cannot be read.
func (p problem) inPlaceOf(from origin) []byte {
	if p.Line == 0 {
		p.Line = from.line
	}
	p.Column = max(p.Column, 1)
	return encode(errorLine{p})
}

// A misfitLine is the error of a line that does not fit its window.
type misfitLine struct {
	Message string `json:"message"`
	Unit    string `json:"unit"`
	Limit   int    `json:"limit"`
	Minimum int    `json:"minimum"`
	Line    int    `json:"line"`
}

// converse answers each line of the input before the next one is read.
func (w *world) converse(in *source.Input, answer func(origin, source.Text) outcome, done func(*outcome) error) error {
	name, r := in.Paths[0], in.Stdin
	if name != source.Stdin {
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		r = f
	}
	for t, err := range source.Lines(r) {
		if err != nil {
			return err
		}
		o := answer(originOf(&source.Chunk{Source: name}, t, true), t)
		if err := done(&o); err != nil {
			return err
		}
		w.stderr.Write(o.note)
		if _, err := w.stdout.Write(oneLineOf(o.out)); err != nil {
			return &stdoutError{err}
		}
	}
	return nil
}

// A stdoutError says that standard output takes no more.
type stdoutError struct{ error }

func (e *stdoutError) Unwrap() error { return e.error }

// unanswered reports why the rest of the input gets no answer.
func (w *world) unanswered(err error) int {
	var out *stdoutError
	if errors.As(err, &out) {
		return w.unwritten(out)
	}
	var receipt *atomicfile.Error
	if errors.As(err, &receipt) {
		return w.fail(receipt.Error(), "there is no answer without a receipt")
	}
	p := failure(err)
	var file *fs.PathError
	if errors.As(err, &file) {
		p.Message = file.Path + ": " + p.Message
	}
	return w.fail(p.Message, p.hint)
}

// oneLineOf is an answer as one line, ended.
func oneLineOf(out []byte) []byte {
	text := bytes.TrimRight(out, "\r\n")
	end := out[len(text):]
	if bytes.ContainsAny(text, "\r\n") {
		text = jsonspan.OneLine(text)
	}
	if len(end) == 0 {
		end = []byte{'\n'}
	}
	return append(text[:len(text):len(text)], end...)
}

// single is an error if the input of a conversation is more than one stream.
func (l *lining) single(in *source.Input) error {
	if in.Many() {
		return hinted{errors.New("--lines answers one stream, and several files are named"), "omit the names to read standard input"}
	}
	return nil
}

// tellLines reports on every line as tell does, or as logs does if it is a session.
func (r *reporting) tellLines(w *world, command string, l *lining, tell teller, logs logTeller) int {
	opts, err := r.options()
	if err != nil {
		return w.usage(err, command)
	}
	in, err := r.input(w)
	if err == nil {
		err = l.single(in)
	}
	if err == nil {
		err = w.claimAll(in)
	}
	if err == nil {
		err = r.begin(w, in)
	}
	if err != nil {
		return w.usage(err, command)
	}
	r.JSON = true
	t := &telling{memory: &w.memory, opts: opts, hosting: r.hosting, host: r.host, tell: tell, logs: logs, json: true, lines: true, many: true, way: r.way}
	sum := newSummary("finding").byFile(r.Totals != "")
	err = w.converse(in, t.line, func(o *outcome) error {
		sum.add(o)
		return nil
	})
	if err != nil {
		return w.unanswered(err)
	}
	return r.write(w, sum, sum.status)
}

// line reports on one line.
func (t *telling) line(from origin, text source.Text) outcome {
	if text.Blank {
		return t.unreadable(from, failure(errEmptyLine))
	}
	return t.one(from, text.Raw)[0]
}

// converse does the task on every line.
func (r *changeRun) converse() int {
	if r.Receipt != "" && !r.DryRun {
		// Who leaves early has got what the receipt tells of.
		signal.Ignore(syscall.SIGPIPE)
		var err error
		if r.receipt, err = newDraft(r.w, r.Receipt); err != nil {
			return r.failed(err)
		}
	}
	err := r.w.converse(r.in, r.ch.line, func(o *outcome) error {
		r.sum.add(o)
		if err := r.record(o); err != nil || r.receipt == nil {
			return err
		}
		return r.receipt.Flush() // before the answer: there is none without a receipt
	})
	if r.receipt != nil {
		// What was answered was done, whatever happened then.
		err = errors.Join(err, r.receipt.Commit())
	}
	if err != nil {
		return r.w.unanswered(err)
	}
	if !r.JSON {
		r.sum.printChanges(r.w.stderr, palette(r.w.colour(r.w.stderr, r.Color)), r.DryRun)
	}
	return r.sum.status
}

// line changes one line.
func (c *changer) line(from origin, text source.Text) outcome {
	if text.Blank {
		return c.unreadable(from, failure(errEmptyLine))
	}
	o := c.entry(from, text.Whole, len(text.Raw))
	if text.Lead > 0 && !c.dryRun && (o.status == statusClean || o.status == statusFindings) {
		o.out = slices.Concat(text.Mark(), o.out)
	}
	return o
}

// linesConflict is wrong usage that --lines makes with other flags.
func (c *changing) linesConflict(in *source.Input, t task) error {
	switch {
	case t.lines == nil || !t.lines.Lines:
		return nil
	case c.InPlace || c.Output != "":
		return hinted{errors.New("--lines answers on standard output; --in-place and -o are for files"), "omit one of them"}
	case t.archive != "":
		return hinted{errors.New("--lines answers at once, and --archive is written when all is read: what is removed could be lost between"), "omit one of them"}
	}
	return t.lines.single(in)
}
