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

// An outcome is the result for one transcript.
type outcome struct {
	out, note []byte
	hint      string // advice, printed once per run
	status    int
	rules     []string // the rule of each finding or change
	source    string

	otherFile *source.Other // a file in a folder that is not a transcript

	replayed *replay.Result // only for pare replay

	isGap                   bool // bytes between transcripts, not a transcript
	isChanged               bool
	dropsByteOrderMark      bool // the byte order mark before the transcript is removed
	bytesBefore, bytesAfter int  // including the end of the line
	size                    *picture.Size
	receipt                 jsonLines
	archive                 []archive.Line
}

// A runTotals adds up the outcomes of a run.
type runTotals struct {
	itemNoun                         string // "finding", "change" and so on
	transcripts, faulty, unreadable  int
	tooLarge                         int
	items                            int
	changed, bytesBefore, bytesAfter int
	size                             *picture.Size // nil if tokens are not counted
	status                           int
	byRule                           map[string]int
	others                           []source.Other
	notClean                         int                   // transcripts with findings, changes or errors
	files                            map[string]*runTotals // by source; nil without --totals
	order                            []string
}

func newRunTotals(noun string) *runTotals {
	return &runTotals{itemNoun: noun, byRule: map[string]int{}}
}

// withFiles enables totals per file if wanted is true. It modifies and returns t.
func (t *runTotals) withFiles(wanted bool) *runTotals {
	if wanted {
		t.files = map[string]*runTotals{}
	}
	return t
}

func (t *runTotals) add(out *outcome) {
	t.bytesBefore, t.bytesAfter = t.bytesBefore+out.bytesBefore, t.bytesAfter+out.bytesAfter
	if out.otherFile != nil {
		t.others = append(t.others, *out.otherFile)
	}
	if t.files != nil && out.otherFile == nil {
		if t.files[out.source] == nil {
			t.files[out.source], t.order = newRunTotals(t.itemNoun), append(t.order, out.source)
		}
		t.files[out.source].add(out)
	}
	if out.isGap {
		return
	}
	t.transcripts++
	if out.status != statusClean || out.isChanged || len(out.rules) > 0 {
		t.notClean++
	}
	t.status = max(t.status, out.status)
	t.items += len(out.rules)
	t.addSize(out.size)
	if out.isChanged {
		t.changed++
	}
	switch out.status {
	case statusFindings:
		t.faulty++
	case statusInvalid:
		t.unreadable++
	case statusTooSmall:
		t.tooLarge++
	}
	for _, r := range out.rules {
		t.byRule[r]++
	}
}

// addSize adds the size of one transcript; nil if it was not measured.
func (t *runTotals) addSize(one *picture.Size) {
	if one == nil {
		return
	}
	if t.size == nil {
		t.size = &picture.Size{}
	}
	t.size.Before.Messages += one.Before.Messages
	t.size.Before.Tokens += one.Before.Tokens
	t.size.After.Messages += one.After.Messages
	t.size.After.Tokens += one.After.Tokens
}

// sortedRules returns the rules, the most frequent first.
func (t *runTotals) sortedRules() []string {
	return slices.SortedFunc(maps.Keys(t.byRule), func(a, b string) int {
		return cmp.Or(cmp.Compare(t.byRule[b], t.byRule[a]), cmp.Compare(a, b))
	})
}

// print prints the totals of a check.
func (t *runTotals) print(w io.Writer, paint palette, many bool) {
	rules := t.sortedRules()
	if many {
		screen.Fprintln(w, t.formatLine(rules, paint))
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

func (t *runTotals) formatLine(rules []string, paint palette) screen.Text {
	parts := []screen.Text{}
	add := func(n int, what string, p func(any) screen.Text) {
		if n > 0 {
			parts = append(parts, p(fmt.Sprintf("%d %s", n, what)))
		}
	}
	add(t.transcripts-t.faulty-t.unreadable, "clean", paint.Good)
	add(t.faulty, "with findings", paint.Fault)
	add(t.unreadable, "unreadable", paint.Fault)
	line := paint.Bold(plural(t.transcripts, "transcript"))
	if len(parts) > 0 {
		line += ": " + screen.Join(parts, ", ")
	}
	if len(rules) > 0 {
		line += paint.Faint(" · ") + screen.Line(t.formatTopRules(rules))
	}
	return line
}

// formatTopRules returns the five most frequent rules with their numbers.
func (t *runTotals) formatTopRules(rules []string) string {
	const top = 5
	var names []string
	for i, r := range rules {
		if i == top {
			names = append(names, fmt.Sprintf("and %s more", plural(len(rules)-top, "rule")))
			break
		}
		names = append(names, fmt.Sprintf("%s %d", r, t.byRule[r]))
	}
	return strings.Join(names, ", ")
}

// printChanges prints the totals of a run that changes transcripts.
func (t *runTotals) printChanges(w io.Writer, paint palette, dryRun bool) {
	switch {
	case t.transcripts != 1:
		screen.Fprint(w, paint.Bold(plural(t.transcripts, "transcript")))
		if states := t.formatStates(paint, dryRun); len(states) > 0 {
			screen.Fprint(w, ": ", screen.Join(states, ", "))
		}
	case t.items > 0:
		screen.Fprint(w, paint.Bold(plural(t.items, "change")))
	case t.status == statusClean:
		screen.Fprint(w, paint.Good("nothing to do"))
	default:
		return // the finding was printed already
	}
	dot := paint.Faint(" · ")
	if t.transcripts != 1 && t.faulty > 0 {
		// These transcripts are also among those counted above.
		screen.Fprint(w, dot, paint.Fault(fmt.Sprintf("%d not all repaired", t.faulty)))
	}
	if t.items > 0 {
		screen.Fprint(w, dot, t.formatTopRules(t.sortedRules()))
	}
	bytesText := screen.FromTo(t.bytesBefore, t.bytesAfter, "bytes")
	switch {
	case t.size != nil:
		screen.Fprint(w, dot, t.size.String())
		if dryRun && t.bytesBefore != t.bytesAfter {
			screen.Fprint(w, dot, bytesText)
		}
	case t.items > 0:
		screen.Fprint(w, dot, bytesText)
	}
	screen.Fprintln(w)
}

// formatStates returns the numbers of transcripts by result.
func (t *runTotals) formatStates(paint palette, dryRun bool) []screen.Text {
	var states []screen.Text
	add := func(count int, state string, paintState func(any) screen.Text) {
		if count > 0 {
			states = append(states, paintState(fmt.Sprintf("%d %s", count, state)))
		}
	}
	changed := "changed"
	if dryRun {
		changed = "to change"
	}
	add(t.transcripts-t.changed-t.unreadable-t.tooLarge, "unchanged", paint.Good)
	add(t.changed, changed, paint.Bold)
	add(t.tooLarge, "too large for the window", paint.Fault)
	add(t.unreadable, "unreadable", paint.Fault)
	return states
}
