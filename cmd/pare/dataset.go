package main

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pare-llm/pare/cmd/internal/source"
	"github.com/pare-llm/pare/internal/jsonedit"
	"github.com/pare-llm/pare/internal/jsonspan"
)

// datasetFlags are the flags for data sets: files with many lines, each of which contains a
// transcript.
type datasetFlags struct {
	Field   string `placeholder:"POINTER" help:"Where the transcript lies in each line, or in the document, as a JSON pointer, such as /sample/messages. Everything else stays byte for byte, and no file is taken for the session of an agent."`
	Totals  string `placeholder:"FILE" help:"Write to FILE, as JSON, what all of it comes to, and each file: how many transcripts were read, were clean, were changed, have findings, could not be read, and how often each rule."`
	pointer jsonPointer
}

// prepare parses the flags and claims the file of --totals. It modifies input. The error is wrong
// usage.
func (f *datasetFlags) prepare(env *environment, input *source.Input) (err error) {
	if f.pointer, err = parsePointer(f.Field); err != nil {
		return err
	}
	input.Data = f.pointer != nil
	if f.Totals == source.Stdin {
		return hintedError{errors.New("--totals needs a file: standard output is for the result"), "--totals FILE, for example --totals totals.json"}
	}
	return env.claimOutput("--totals", f.Totals)
}

// A totalsJSON is the output of --totals for one file, or for all of them.
type totalsJSON struct {
	Source      string         `json:"source,omitempty"`
	Transcripts int            `json:"transcripts"`
	Clean       int            `json:"clean"`
	Changed     int            `json:"changed,omitempty"`
	Findings    int            `json:"with_findings"`
	Unreadable  int            `json:"unreadable"`
	TooLarge    int            `json:"too_large,omitempty"`
	Rules       map[string]int `json:"rules"`
	Bytes       []int          `json:"bytes,omitempty"`
	Files       []totalsJSON   `json:"files,omitempty"`
}

// toJSON returns the totals of a file. The name is "" for all files.
func (s *runTotals) toJSON(name string) totalsJSON {
	t := totalsJSON{Source: name, Transcripts: s.transcripts, Changed: s.changed, Findings: s.faulty, Unreadable: s.unreadable, TooLarge: s.tooLarge, Rules: s.byRule}
	t.Clean = s.transcripts - s.notClean
	if s.bytesBefore > 0 {
		t.Bytes = []int{s.bytesBefore, s.bytesAfter}
	}
	return t
}

// writeTotals writes the file of --totals, if the flag is given. It returns status, or the status
// of the error if the file cannot be written.
func (f *datasetFlags) writeTotals(env *environment, totals *runTotals, status int) int {
	if f.Totals == "" {
		return status
	}
	all := totals.toJSON("")
	for _, name := range totals.order {
		all.Files = append(all.Files, totals.files[name].toJSON(name))
	}
	draft, err := newDraft(env, f.Totals)
	if err == nil {
		if _, err = draft.Write(encodeLine(all)); err == nil {
			err = draft.Commit()
		} else {
			draft.Discard()
		}
	}
	if err != nil {
		return max(status, env.fail(err.Error(), "the totals of this run are lost"))
	}
	return status
}

// A jsonPointer holds the steps of a JSON pointer to the transcript in a line. nil means that the
// line is the transcript.
type jsonPointer []string

func parsePointer(pointer string) (jsonPointer, error) {
	if pointer == "" {
		return nil, nil
	}
	if pointer[0] != '/' {
		return nil, hintedError{fmt.Errorf("--field %s is no JSON pointer", pointer), "it begins with a slash: --field /" + strings.ReplaceAll(pointer, ".", "/")}
	}
	steps := strings.Split(pointer[1:], "/")
	for i, s := range steps {
		steps[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(s)
	}
	return steps, nil
}

// locate returns the span of the transcript in text. Text that is not JSON is returned whole, so
// that the parser reports the error. It modifies from, which gets the bytes before the transcript.
func (f jsonPointer) locate(from *origin, text []byte) (span jsonspan.Span, fault *problem) {
	span = jsonspan.Span{Start: len(text) - len(bytes.TrimLeft(text, " \t\r\n")), End: len(text)}
	if f == nil || jsonspan.Valid(text) != nil {
		return jsonspan.Span{End: len(text)}, nil
	}
	for i, step := range f {
		inner, ok := findStep(text[span.Start:span.End], step)
		if !ok {
			p := newProblem(hintedError{fmt.Errorf("there is nothing at /%s", strings.Join(f[:i+1], "/")), "--field is for data sets whose every line has the transcript in the same place"})
			p.Line = max(from.line, 1)
			p.Column = 1
			return span, &p
		}
		span = jsonspan.Span{Start: span.Start + inner.Start, End: span.Start + inner.End}
	}
	from.prefix = slices.Concat(from.prefix, text[:span.Start])
	return span, nil
}

// findStep returns the span of a member of an object, or of an element of a list.
func findStep(value []byte, step string) (jsonspan.Span, bool) {
	if len(value) > 0 && value[0] == '[' {
		items := jsonspan.Elements(value, jsonspan.Span{End: len(value)})
		n, err := strconv.Atoi(step)
		if err != nil || n < 0 || n >= len(items) {
			return jsonspan.Span{}, false
		}
		return items[n], true
	}
	return jsonedit.Find(value, step)
}

// changeEntry changes the transcript in the first n bytes of raw and keeps the bytes around it.
func (c *changer) changeEntry(from origin, raw []byte, n int) outcome {
	if c.pointer == nil {
		return c.changeText(from, raw, n)
	}
	span, fault := c.pointer.locate(&from, raw[:n])
	if fault != nil {
		return c.reportUnreadable(from, *fault)
	}
	out := c.changeText(from, raw[span.Start:span.End], span.Len())
	out.bytesBefore, out.bytesAfter = len(raw), len(raw)+out.bytesAfter-out.bytesBefore
	if c.dryRun || out.status != statusClean && out.status != statusFindings {
		return out
	}
	inner := out.out
	if out.out = raw; out.isChanged {
		out.out = slices.Concat(raw[:span.Start], inner, raw[span.End:])
	}
	return out
}
