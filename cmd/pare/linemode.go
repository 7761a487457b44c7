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

// lineFlags is the flag of the commands that can answer one line at a time.
type lineFlags struct {
	Lines bool `help:"Answer each line of input, a JSON text, with one line at once, so that a program can keep this one open. What cannot be read, or does not fit, is answered by {\"error\":…}."`
}

// errEmptyLine is the answer to a blank line. The client counts lines, so every line needs an
// answer.
var errEmptyLine = errors.New("the line is empty")

// An errorLine is the answer to a line that has no result.
type errorLine struct {
	Error any `json:"error"`
}

// A windowErrorLine is the error of a line that does not fit its window.
type windowErrorLine struct {
	Message string `json:"message"`
	Unit    string `json:"unit"`
	Limit   int    `json:"limit"`
	Minimum int    `json:"minimum"`
	Line    int    `json:"line"`
}

// formatLineError returns p as the answer to a line.
func (p problem) formatLineError(from origin) []byte {
	if p.Line == 0 {
		p.Line = from.line
	}
	p.Column = max(p.Column, 1)
	return encodeLine(errorLine{p})
}

// checkSingleStream returns an error if the input is more than one stream.
func (f *lineFlags) checkSingleStream(input *source.Input) error {
	if input.Many() {
		return hintedError{errors.New("--lines answers one stream, and several files are named"), "omit the names to read standard input"}
	}
	return nil
}

// answerLines reads the first path of input line by line and writes the answer to each line before
// it reads the next one. It calls record before it writes an answer.
func (env *environment) answerLines(input *source.Input, answer func(origin, source.Text) outcome, record func(*outcome) error) error {
	name, reader := input.Paths[0], input.Stdin
	if name != source.Stdin {
		file, err := os.Open(name)
		if err != nil {
			return err
		}
		defer file.Close()
		reader = file
	}
	for line, err := range source.Lines(reader) {
		if err != nil {
			return err
		}
		out := answer(newOrigin(&source.Chunk{Source: name}, line, true), line)
		if err := record(&out); err != nil {
			return err
		}
		env.stderr.Write(out.note)
		if _, err := env.stdout.Write(toSingleLine(out.out)); err != nil {
			return &stdoutError{err}
		}
	}
	return nil
}

// A stdoutError is an error of standard output.
type stdoutError struct{ error }

func (e *stdoutError) Unwrap() error { return e.error }

// failAnswering prints why the rest of the input is not answered, and returns the exit status.
func (env *environment) failAnswering(err error) int {
	if outputErr, ok := errors.AsType[*stdoutError](err); ok {
		return env.failOutput(outputErr)
	}
	if receiptErr, ok := errors.AsType[*atomicfile.Error](err); ok {
		return env.fail(receiptErr.Error(), "there is no answer without a receipt")
	}
	p := newProblem(err)
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		p.Message = pathErr.Path + ": " + p.Message
	}
	return env.fail(p.Message, p.hint)
}

// toSingleLine returns an answer as one line that ends with a line break.
func toSingleLine(answer []byte) []byte {
	text := bytes.TrimRight(answer, "\r\n")
	end := answer[len(text):]
	if bytes.ContainsAny(text, "\r\n") {
		text = jsonspan.OneLine(text)
	}
	if len(end) == 0 {
		end = []byte{'\n'}
	}
	return append(text[:len(text):len(text)], end...)
}

// reportLines is [reportFlags.report] for --lines.
func (f *reportFlags) reportLines(env *environment, lines *lineFlags, task reportTask) int {
	options, err := f.parseOptions()
	if err != nil {
		return env.failUsage(err, task.command)
	}
	input, err := f.openInput(env)
	if err == nil {
		err = lines.checkSingleStream(input)
	}
	if err == nil {
		err = env.claimAll(input)
	}
	if err == nil {
		err = f.prepare(env, input)
	}
	if err != nil {
		return env.failUsage(err, task.command)
	}
	f.JSON = true
	run := &reportRun{
		parsing:          f.parsing(options),
		memory:           &env.memory,
		reportTranscript: task.reportTranscript,
		reportSession:    task.reportSession,
		json:             true,
		answersLines:     true,
		hasManyFiles:     true,
	}
	totals := newRunTotals(task.itemNoun).withFiles(f.Totals != "")
	err = env.answerLines(input, run.reportLine, func(out *outcome) error {
		totals.add(out)
		return nil
	})
	if err != nil {
		return env.failAnswering(err)
	}
	return f.writeTotals(env, totals, totals.status)
}

// reportLine reports on one line.
func (r *reportRun) reportLine(from origin, line source.Text) outcome {
	if line.Blank {
		return r.reportUnreadable(from, newProblem(errEmptyLine))
	}
	return r.reportText(from, line.Raw)[0]
}

// answerLines runs the task on every line.
func (r *changeRun) answerLines() int {
	if r.Receipt != "" && !r.DryRun {
		// The client may close the pipe early; the receipt must contain all answers before that.
		signal.Ignore(syscall.SIGPIPE)
		var err error
		if r.receipt, err = newDraft(r.env, r.Receipt); err != nil {
			return r.fail(err)
		}
	}
	err := r.env.answerLines(r.input, r.changer.changeLine, func(out *outcome) error {
		r.totals.add(out)
		if err := r.record(out); err != nil || r.receipt == nil {
			return err
		}
		return r.receipt.Flush() // the receipt is written before the answer
	})
	if r.receipt != nil {
		err = errors.Join(err, r.receipt.Commit()) // lines that were answered need their receipt
	}
	if err != nil {
		return r.env.failAnswering(err)
	}
	if !r.JSON {
		r.totals.printChanges(r.env.stderr, palette(r.env.wantsColor(r.env.stderr, r.Color)), r.DryRun)
	}
	return r.totals.status
}

// changeLine changes one line.
func (c *changer) changeLine(from origin, line source.Text) outcome {
	if line.Blank {
		return c.reportUnreadable(from, newProblem(errEmptyLine))
	}
	out := c.changeEntry(from, line.Whole, len(line.Raw))
	hasResult := out.status == statusClean || out.status == statusFindings
	if line.Lead > 0 && !c.dryRun && hasResult {
		out.out = slices.Concat(line.Mark(), out.out)
	}
	return out
}

// checkLineFlags returns an error if --lines cannot be used with the other flags.
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
