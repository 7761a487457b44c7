package picture

import (
	"bytes"
	"fmt"
	"path/filepath"

	"github.com/pare-llm/pare/cmd/internal/screen"
	"github.com/pare-llm/pare/internal/agentlog"
	"github.com/pare-llm/pare/wire"
)

// A SessionName is the name of a session for reports and the path of its file or folder.
type SessionName struct{ Shown, Path string }

// CountSession returns the counts of the messages that the agent would send.
func CountSession(l *agentlog.Log) (n Counts) {
	n.Messages, n.Calls, n.Results = l.Count()
	return n
}

// RenderSession returns the findings of a session file with their locations. Findings about the
// same message share an excerpt.
func (s Style) RenderSession(from SessionName, l *agentlog.Stored, findings []agentlog.Finding) []byte {
	var b bytes.Buffer
	screen.Fprintf(&b, "%s  %s\n\n", s.Paint.Bold(from.Shown), s.Paint.Faint(s.DescribeSession(l)))
	meant := map[string]bool{} // rules whose message was written; further ones differ only in ids
	rest := findings
	for shown := 0; len(rest) > 0 && shown < MaxDetailed; {
		t := rest[0].Of()
		k := 1
		for t != nil && k < len(rest) && rest[k].Of() == t && rest[k].Index == rest[0].Index && k < MaxDetailed {
			k++
		}
		said := map[string]bool{} // A stand-in for the next prompt is not in the file and not shown.
		var group []wire.Finding
		for _, finding := range rest[:k] {
			s.WriteLocation(&b, from, finding)
			s.WriteMeaning(&b, finding.Finding, meant[finding.Rule], said[finding.Rule])
			if !said[finding.Rule] {
				s.WriteAdvice(&b, finding)
			}
			meant[finding.Rule], said[finding.Rule] = true, true
			group = append(group, finding.Finding)
		}
		if t != nil {
			// both shares matter: that of the transcript and that of the request
			NewFindingExcerpt(s, t.Request, group, t.Messages(), l.Lines(t)).Draw(&b)
		}
		b.WriteByte('\n')
		rest, shown = rest[k:], shown+k
	}
	for _, finding := range rest {
		s.WriteLocation(&b, from, finding)
	}
	if len(rest) > 0 {
		b.WriteByte('\n')
	}
	return b.Bytes()
}

// DescribeSession returns the format, dialect and size of a session.
func (s Style) DescribeSession(l *agentlog.Stored) string {
	req := l.First()
	if req == nil {
		return l.Format.String() + " · " + CountSession(l.Log).String()
	}
	return l.Format.String() + " · " + s.DescribeRequest(req, CountSession(l.Log))
}

// WriteLocation writes the location of a finding as compilers do, and its rule.
func (s Style) WriteLocation(b *bytes.Buffer, from SessionName, finding agentlog.Finding) {
	screen.Fprintf(b, "%s %s", s.Paint.Bold(formatLocation(from, finding.File, finding.Line, finding.Column)+":"), s.effectLabel(finding))
	if !finding.Physical {
		screen.Fprintf(b, "  %s", s.Paint.Place(finding.Path))
	}
	switch {
	case finding.Dormant:
		screen.Fprint(b, s.Paint.Faint("  cosmetic: it is not sent"))
	case finding.Effect == agentlog.Cosmetic:
		screen.Fprint(b, s.Paint.Faint("  cosmetic"))
	case finding.Effect == agentlog.Unfixable:
		screen.Fprint(b, s.Paint.Faint("  cannot be fixed"))
	case finding.Open:
		screen.Fprint(b, s.Paint.Faint("  open: it may still be running"))
	}
	if t := finding.Of(); t != nil && t.Kind == agentlog.Side || finding.Thread != "" && finding.File != "" {
		screen.Fprint(b, s.Paint.Faint("  "+finding.Thread))
	}
	b.WriteByte('\n')
}

// effectLabel returns the rule of a finding with a mark for its effect.
func (s Style) effectLabel(finding agentlog.Finding) screen.Text {
	if finding.Effect != agentlog.Refused {
		finding.Advice = true
	}
	return s.RuleLabel(finding.Finding)
}

// WriteAdvice writes the advice for a finding that cannot be repaired.
func (s Style) WriteAdvice(b *bytes.Buffer, finding agentlog.Finding) {
	if finding.Instead == "" {
		return
	}
	for _, line := range screen.Wrap(finding.Instead, s.Width-6) {
		screen.Fprintf(b, "    %s\n", line)
	}
}

// formatLocation returns a location in a session file.
func formatLocation(from SessionName, file string, line, column int) string {
	name := from.Shown
	if file != "" {
		name = filepath.Join(from.Path, filepath.FromSlash(file))
	}
	switch {
	case line == 0:
		return name
	case column == 0:
		return fmt.Sprintf("%s:%d", name, line)
	}
	return fmt.Sprintf("%s:%d:%d", name, line, column)
}

// WriteChanges writes changes with their locations. Equal changes of consecutive lines are one
// entry.
func (s Style) WriteChanges(b *bytes.Buffer, from SessionName, all []agentlog.Change) {
	for len(all) > 0 {
		one, n := all[0], 1
		for n < len(all) && canGroup(all[n], one) {
			one.Bytes += all[n].Bytes
			n++
		}
		last := all[n-1].Line
		if n < minGroupedChanges {
			n, one, last = 1, all[0], all[0].Line
		}
		s.writeChange(b, from, one, last, n)
		all = all[n:]
	}
}

// minGroupedChanges is the least number of equal changes that become one entry.
const minGroupedChanges = 4

// canGroup reports whether two changes differ only in their line and size.
func canGroup(a, b agentlog.Change) bool {
	return a.Action == b.Action && a.Rule == b.Rule && a.Reason == b.Reason && a.File == b.File && a.Thread == b.Thread && a.Line > 0 && b.Line > 0
}

// writeChange writes count changes from the line of c to the line last.
func (s Style) writeChange(b *bytes.Buffer, from SessionName, change agentlog.Change, last, n int) {
	action := s.Paint.Advice(change.Action)
	switch change.Action {
	case wire.ActionDrop:
		action = s.Paint.Fault(change.Action)
	case wire.ActionInsert:
		action = s.Paint.Good(change.Action)
	}
	place := formatLocation(from, change.File, change.Line, 0)
	times := ""
	if n > 1 {
		place, times = fmt.Sprintf("%s–%d", place, last), fmt.Sprintf(" ×%d", n)
	}
	if change.Line == 0 {
		place += ":new"
	}
	thread := ""
	if change.Thread != "" && change.Thread != "main" {
		thread = "  " + change.Thread
	}
	screen.Fprintf(b, "%s %s  %s%s\n", s.Paint.Bold(place+":"), action, change.Rule+times, s.Paint.Faint(FormatByteChange(change.Bytes)+thread))
	for _, line := range screen.Wrap(change.Reason, s.Width-6) {
		screen.Fprintf(b, "    %s\n", line)
	}
}
