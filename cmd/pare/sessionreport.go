package main

import (
	"bytes"
	"fmt"
	"path/filepath"

	"github.com/pare-llm/pare/agentlog"
	"github.com/pare-llm/pare/internal/picture"
	"github.com/pare-llm/pare/internal/screen"
	"github.com/pare-llm/pare/internal/source"
	"github.com/pare-llm/pare/wire"
)

// A logResult is what check --json prints about a session file.
type logResult struct {
	Source  string `json:"source"`
	Format  string `json:"format"`
	Dialect string `json:"dialect"`
	Profile string `json:"profile"`
	picture.Counts
	Findings []agentlog.Finding `json:"findings"`
	Pairs    []pair             `json:"pairs,omitzero"`
}

// session checks a session file. The status is about what keeps the session from being
// resumed as it should be; what else is found is reported.
func (c *checkCmd) session(v report, from origin, l logFile) (out outcome) {
	found := l.Check(wire.CheckOptions{Strict: c.Strict, Advice: c.Advice})
	for _, f := range found {
		if f.Effect == agentlog.Refused {
			out.status = statusFindings
			out.rules = append(out.rules, f.Rule)
		}
	}
	n := l.counts()
	dialect, profile := l.profile(wire.Options{Profile: c.Profile, Model: c.Model})
	switch {
	case c.JSON:
		r := logResult{from.source, l.Format.String(), dialect, profile, n, append([]agentlog.Finding{}, found...), nil}
		if c.Pairs {
			r.Pairs = l.pairs()
		}
		out.out = encode(r)
	case len(found) > 0:
		out.out = v.session(from, l, found)
		if !from.many && from.source != source.Stdin {
			out.note = []byte(remedyFor(l.Log, found, "pare fix --in-place "+quoted(from.source)) + "\n")
		}
	case !from.many:
		out.note = screen.Appendf(nil, "%s: clean (a session of %s, profile %s, %s)\n", from.String(), l.Format.Maker(), profile, n)
	}
	return out
}

// remedyFor says what to do about the findings of a session: command, if that helps.
func remedyFor(l *agentlog.Log, found []agentlog.Finding, command string) string {
	if !agentlog.Broken(found) {
		return "nothing has to be done: the session can be resumed"
	}
	fixed, err := l.Fix(agentlog.Options{})
	if err != nil || !agentlog.Broken(fixed.Left) {
		return "to fix it: " + command
	}
	instead := ""
	for _, f := range fixed.Left {
		if f.Effect == agentlog.Refused {
			instead = f.Instead
		}
	}
	if len(fixed.Changes) == 0 {
		return "pare fix cannot fix it: " + instead
	}
	return "to fix a part of it: " + command + "; for the rest: " + instead
}

// session renders the findings of a session file, those about the same message
// together, each behind its place.
func (r report) session(from origin, l logFile, found []agentlog.Finding) []byte {
	var b bytes.Buffer
	screen.Fprintf(&b, "%s  %s\n\n", r.Paint.Bold(from.String()), r.Paint.Faint(r.aboutSession(l)))
	meant := map[string]bool{} // rules whose meaning was given
	rest := found
	for shown := 0; len(rest) > 0 && shown < picture.Most; {
		t := rest[0].Of()
		k := 1
		for t != nil && k < len(rest) && rest[k].Of() == t && rest[k].Index == rest[0].Index && k < picture.Most {
			k++
		}
		said := map[string]bool{} // rules whose sentence was given: it differs in the ids alone
		var group []wire.Finding
		for _, f := range rest[:k] {
			r.placed(&b, from, f)
			r.Meaning(&b, f.Finding, meant[f.Rule], said[f.Rule])
			if !said[f.Rule] {
				r.instead(&b, f)
			}
			meant[f.Rule], said[f.Rule] = true, true
			group = append(group, f.Finding)
		}
		if t != nil {
			// What is not in the file, a prompt that stands in for the next one, is not shown.
			picture.Of(r.Style, t.Request, group, t.Messages(), l.lines(t)).Draw(&b)
		}
		b.WriteByte('\n')
		rest, shown = rest[k:], shown+k
	}
	for _, f := range rest {
		r.placed(&b, from, f)
	}
	if len(rest) > 0 {
		b.WriteByte('\n')
	}
	return b.Bytes()
}

func (r report) aboutSession(l logFile) string {
	req := l.first()
	if req == nil {
		return l.Format.String() + " · " + l.counts().String()
	}
	return l.Format.String() + " · " + r.About(req, l.counts())
}

// placed renders where a finding is, in the way that compilers do, and what it is.
func (r report) placed(b *bytes.Buffer, from origin, f agentlog.Finding) {
	screen.Fprintf(b, "%s %s", r.Paint.Bold(placeOf(from, f.File, f.Line, f.Column)+":"), r.effect(f))
	if !f.Physical {
		screen.Fprintf(b, "  %s", r.Paint.Place(f.Path))
	}
	switch {
	case f.Dormant:
		screen.Fprint(b, r.Paint.Faint("  cosmetic: it is not sent"))
	case f.Effect == agentlog.Cosmetic:
		screen.Fprint(b, r.Paint.Faint("  cosmetic"))
	case f.Effect == agentlog.Unfixable:
		screen.Fprint(b, r.Paint.Faint("  cannot be fixed"))
	case f.Open:
		screen.Fprint(b, r.Paint.Faint("  open: it may still be running"))
	}
	if t := f.Of(); t != nil && t.Kind == agentlog.Side || f.Thread != "" && f.File != "" {
		screen.Fprint(b, r.Paint.Faint("  "+f.Thread))
	}
	b.WriteByte('\n')
}

// effect is the rule that a finding is about, marked by what it means.
func (r report) effect(f agentlog.Finding) screen.Text {
	if f.Effect != agentlog.Refused {
		f.Advice = true
	}
	return r.Rule(f.Finding)
}

// instead says what to do about what cannot be fixed.
func (r report) instead(b *bytes.Buffer, f agentlog.Finding) {
	for _, line := range screen.Wrap(f.Instead, r.Width-6) {
		screen.Fprintf(b, "    %s\n", line)
	}
}

// placeOf is a place in a session file.
func placeOf(from origin, file string, line, column int) string {
	name := from.String()
	if file != "" {
		name = filepath.Join(from.source, filepath.FromSlash(file))
	}
	switch {
	case line == 0:
		return name
	case column == 0:
		return fmt.Sprintf("%s:%d", name, line)
	}
	return fmt.Sprintf("%s:%d:%d", name, line, column)
}
