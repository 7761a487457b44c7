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
type lineFlags struct {
	Lines bool `help:"Answer each line of input, a JSON text, with one line at once, so that a program can keep this one open. What cannot be read, or does not fit, is answered by {\"error\":…}."`
}

// errEmptyLine is why a blank line is answered by an error: who asks counts lines.
var errEmptyLine = errors.New("the line is empty")

// An errorLine stands in the place of a line that there is no other answer to.
type errorLine struct {
	Error any `json:"error"`
}

// inPlaceOf is the answer to a line that cannot be read.
func (p problem) formatLineError(from origin) []byte {
	if p.Line == 0 {
		p.Line = from.line
	}
	p.Column = max(p.Column, 1)
	return encodeLine(errorLine{p})
}

// A misfitLine is the error of a line that does not fit its window.
type windowErrorLine struct {
	Message string `json:"message"`
	Unit    string `json:"unit"`
	Limit   int    `json:"limit"`
	Minimum int    `json:"minimum"`
	Line    int    `json:"line"`
}

// converse answers each line of the input before the next one is read.
func (env *environment) answerLines(input *source.Input, answer func(origin, source.Text) outcome, done func(*outcome) error) error {
	name, r := input.Paths[0], input.Stdin
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
		o := answer(newOrigin(&source.Chunk{Source: name}, t, true), t)
		if err := done(&o); err != nil {
			return err
		}
		env.stderr.Write(o.note)
		if _, err := env.stdout.Write(toSingleLine(o.out)); err != nil {
			return &stdoutError{err}
		}
	}
	return nil
}

// A stdoutError says that standard output takes no more.
type stdoutError struct{ error }

func (e *stdoutError) Unwrap() error { return e.error }

// unanswered reports why the rest of the input gets no answer.
func (env *environment) failAnswering(err error) int {
	var out *stdoutError
	if errors.As(err, &out) {
		return env.failOutput(out)
	}
	var receipt *atomicfile.Error
	if errors.As(err, &receipt) {
		return env.fail(receipt.Error(), "there is no answer without a receipt")
	}
	p := newProblem(err)
	var file *fs.PathError
	if errors.As(err, &file) {
		p.Message = file.Path + ": " + p.Message
	}
	return env.fail(p.Message, p.hint)
}

// oneLineOf is an answer as one line, ended.
func toSingleLine(out []byte) []byte {
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
func (f *lineFlags) checkSingleStream(input *source.Input) error {
	if input.Many() {
		return hintedError{errors.New("--lines answers one stream, and several files are named"), "omit the names to read standard input"}
	}
	return nil
}

// tellLines reports on every line as tell does, or as logs does if it is a session.
func (f *reportFlags) reportLines(env *environment, command string, l *lineFlags, tell reporter, logs sessionReporter) int {
	opts, err := f.parseOptions()
	if err != nil {
		return env.failUsage(err, command)
	}
	input, err := f.openInput(env)
	if err == nil {
		err = l.checkSingleStream(input)
	}
	if err == nil {
		err = env.claimAll(input)
	}
	if err == nil {
		err = f.prepare(env, input)
	}
	if err != nil {
		return env.failUsage(err, command)
	}
	f.JSON = true
	t := &reportRun{memory: &env.memory, opts: opts, acceptHosts: f.acceptHosts, hostShape: f.hostShape, reportTranscript: tell, reportSession: logs, json: true, answersLines: true, hasManyFiles: true, pointer: f.pointer}
	totals := newRunTotals("finding").withFiles(f.Totals != "")
	err = env.answerLines(input, t.reportLine, func(o *outcome) error {
		totals.add(o)
		return nil
	})
	if err != nil {
		return env.failAnswering(err)
	}
	return f.writeTotals(env, totals, totals.status)
}

// line reports on one line.
func (r *reportRun) reportLine(from origin, text source.Text) outcome {
	if text.Blank {
		return r.reportUnreadable(from, newProblem(errEmptyLine))
	}
	return r.reportText(from, text.Raw)[0]
}

// converse does the task on every line.
func (r *changeRun) answerLines() int {
	if r.Receipt != "" && !r.DryRun {
		// Who leaves early has got what the receipt tells of.
		signal.Ignore(syscall.SIGPIPE)
		var err error
		if r.receipt, err = newDraft(r.w, r.Receipt); err != nil {
			return r.failed(err)
		}
	}
	err := r.w.answerLines(r.in, r.changer.changeLine, func(o *outcome) error {
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
		return r.w.failAnswering(err)
	}
	if !r.JSON {
		r.sum.printChanges(r.w.stderr, palette(r.w.wantsColor(r.w.stderr, r.Color)), r.DryRun)
	}
	return r.sum.status
}

// line changes one line.
func (c *changer) changeLine(from origin, text source.Text) outcome {
	if text.Blank {
		return c.reportUnreadable(from, newProblem(errEmptyLine))
	}
	o := c.changeEntry(from, text.Whole, len(text.Raw))
	if text.Lead > 0 && !c.dryRun && (o.status == statusClean || o.status == statusFindings) {
		o.out = slices.Concat(text.Mark(), o.out)
	}
	return o
}

// linesConflict is wrong usage that --lines makes with other flags.
func (f *changeFlags) checkLineFlags(input *source.Input, t task) error {
	switch {
	case t.lines == nil || !t.lines.Lines:
		return nil
	case f.InPlace || f.Output != "":
		return hintedError{errors.New("--lines answers on standard output; --in-place and -o are for files"), "omit one of them"}
	case t.archive != "":
		return hintedError{errors.New("--lines answers at once, and --archive is written when all is read: what is removed could be lost between"), "omit one of them"}
	}
	return t.lines.checkSingleStream(input)
}
