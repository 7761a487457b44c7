package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/pare-llm/pare/archive"
	"github.com/pare-llm/pare/cmd/internal/picture"
	"github.com/pare-llm/pare/cmd/internal/replay"
	"github.com/pare-llm/pare/cmd/internal/screen"
	"github.com/pare-llm/pare/cmd/internal/source"
)

// An outcome is what became of one transcript.
type outcome struct {
	out, note []byte // for standard output and for standard error
	hint      string // what to do about it; said once per run
	status    int
	rules     []string // the rule of each finding, or of each change
	source    string   // where it is from

	other *source.Other // it lies in a folder and is no transcript

	replayed *replay.Result // only where they are replayed

	// Only where transcripts are changed:
	gap           bool // not a transcript, but blank lines between two of them, or a byte order mark
	changed       bool
	unmarked      bool // the byte order mark in front of it goes
	before, after int  // bytes, the end of its line among them
	size          *picture.Size
	receipt       lines
	archive       []archive.Line
}

// A summary adds up the outcomes of a run.
type summary struct {
	noun                            string // what there is a number of per transcript
	transcripts, faulty, unreadable int
	tooSmall                        int // windows
	number                          int // of findings, or of changes
	changed, before, after          int
	size                            *picture.Size // nil: nobody asks
	status                          int
	byRule                          map[string]int
	others                          []source.Other
	troubled                        int                 // of transcripts: those with findings or changes, or that could not be done
	files                           map[string]*summary // by source; nil: nobody asks
	order                           []string
}

func newSummary(noun string) *summary { return &summary{noun: noun, byRule: map[string]int{}} }

// byFile makes s tell by file, too, if that is wanted.
func (s *summary) byFile(wanted bool) *summary {
	if wanted {
		s.files = map[string]*summary{}
	}
	return s
}

func (s *summary) add(o *outcome) {
	s.before, s.after = s.before+o.before, s.after+o.after
	if o.other != nil {
		s.others = append(s.others, *o.other)
	}
	if s.files != nil && o.other == nil {
		if s.files[o.source] == nil {
			s.files[o.source], s.order = newSummary(s.noun), append(s.order, o.source)
		}
		s.files[o.source].add(o)
	}
	if o.gap {
		return
	}
	s.transcripts++
	if o.status != statusClean || o.changed || len(o.rules) > 0 {
		s.troubled++
	}
	s.status = max(s.status, o.status)
	s.number += len(o.rules)
	s.weigh(o.size)
	if o.changed {
		s.changed++
	}
	switch o.status {
	case statusFindings:
		s.faulty++
	case statusInvalid:
		s.unreadable++
	case statusTooSmall:
		s.tooSmall++
	}
	for _, r := range o.rules {
		s.byRule[r]++
	}
}

func (s *summary) weigh(one *picture.Size) {
	if one == nil {
		return
	}
	if s.size == nil {
		s.size = &picture.Size{}
	}
	for i := range 2 {
		s.size.Messages[i] += one.Messages[i]
		s.size.Tokens[i] += one.Tokens[i]
	}
}

// rules returns the rules that were broken, the commonest first.
func (s *summary) rules() []string {
	return slices.SortedFunc(maps.Keys(s.byRule), func(a, b string) int {
		return cmp.Or(cmp.Compare(s.byRule[b], s.byRule[a]), cmp.Compare(a, b))
	})
}

// print writes what a person wants to know at the end.
func (s *summary) print(w io.Writer, paint palette, many bool) {
	rules := s.rules()
	if many {
		screen.Fprintln(w, s.line(rules, paint))
	}
	for i, r := range rules {
		if i == 3 {
			break
		}
		lead := "Details:"
		if i > 0 {
			lead = strings.Repeat(" ", len(lead))
		}
		screen.Fprintf(w, "%s %s\n", paint.Faint(lead), screen.NewCommand("pare", "explain", r))
	}
}

func (s *summary) line(rules []string, paint palette) screen.Text {
	parts := []screen.Text{}
	add := func(n int, what string, p func(any) screen.Text) {
		if n > 0 {
			parts = append(parts, p(fmt.Sprintf("%d %s", n, what)))
		}
	}
	add(s.transcripts-s.faulty-s.unreadable, "clean", paint.Good)
	add(s.faulty, "with findings", paint.Fault)
	add(s.unreadable, "unreadable", paint.Fault)
	line := paint.Bold(plural(s.transcripts, "transcript"))
	if len(parts) > 0 {
		line += ": " + screen.Join(parts, ", ")
	}
	if len(rules) > 0 {
		line += paint.Faint(" · ") + screen.Line(s.top(rules))
	}
	return line
}

// top names the commonest rules with their numbers.
func (s *summary) top(rules []string) string {
	const top = 5
	var names []string
	for i, r := range rules {
		if i == top {
			names = append(names, fmt.Sprintf("and %s more", plural(len(rules)-top, "rule")))
			break
		}
		names = append(names, fmt.Sprintf("%s %d", r, s.byRule[r]))
	}
	return strings.Join(names, ", ")
}

// printChanges writes what was done, or would be.
func (s *summary) printChanges(w io.Writer, paint palette, dryRun bool) {
	parts := []screen.Text{}
	add := func(n int, what string, p func(any) screen.Text) {
		if n > 0 {
			parts = append(parts, p(fmt.Sprintf("%d %s", n, what)))
		}
	}
	done := "changed"
	if dryRun {
		done = "to change"
	}
	add(s.transcripts-s.changed-s.unreadable-s.tooSmall, "unchanged", paint.Good)
	add(s.changed, done, paint.Bold)
	add(s.tooSmall, "too large for the window", paint.Fault)
	add(s.unreadable, "unreadable", paint.Fault)
	switch {
	case s.transcripts != 1:
		screen.Fprint(w, paint.Bold(plural(s.transcripts, "transcript")))
		if len(parts) > 0 {
			screen.Fprint(w, ": ", screen.Join(parts, ", "))
		}
	case s.number > 0:
		screen.Fprint(w, paint.Bold(plural(s.number, "change")))
	case s.status == statusClean:
		screen.Fprint(w, paint.Good("nothing to do"))
	default:
		return // the finding has been named
	}
	dot := paint.Faint(" · ")
	if s.transcripts != 1 && s.faulty > 0 { // they are among those above, changed or not
		screen.Fprint(w, dot, paint.Fault(fmt.Sprintf("%d not all repaired", s.faulty)))
	}
	if s.number > 0 {
		screen.Fprint(w, dot, s.top(s.rules()))
	}
	switch {
	case s.size != nil:
		screen.Fprint(w, dot, s.size.String())
		if dryRun && s.before != s.after {
			screen.Fprint(w, dot, screen.FromTo(s.before, s.after, "bytes"))
		}
	case s.number > 0:
		screen.Fprint(w, dot, screen.FromTo(s.before, s.after, "bytes"))
	}
	screen.Fprintln(w)
}
