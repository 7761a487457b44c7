package picture

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/pare-llm/pare/cmd/internal/screen"
	"github.com/pare-llm/pare/wire"
)

// A Word stands in reports, receipts or events, and means something.
type Word struct {
	Word    string
	Kind    string // what it is about
	Meaning string
	More    string   // what else there is to know; "": nothing
	Fault   bool     // providers have rules about it
	Repair  string   // of damage to a session file: what is done about it
	Steps   []string // of a fault: what to do
}

// A WordKind is what words are about, and the title of their list.
type WordKind struct{ Kind, Title string }

// A ListedRule is a rule in a list, and in JSON.
type ListedRule struct {
	Rule    string   `json:"rule"`
	Doc     string   `json:"doc"`
	Order   int      `json:"order"` // from 1; 0: it does not run
	After   []string `json:"after"`
	Before  []string `json:"before"`
	Options []string `json:"options"`
}

// Words lists all words by kind, a line each.
func (s Style) RenderWordList(kinds []WordKind, all []Word) []byte {
	var b bytes.Buffer
	widest := 0
	for _, t := range all {
		widest = max(widest, len(t.Word))
	}
	for i, k := range kinds {
		if i > 0 {
			b.WriteByte('\n')
		}
		screen.Fprintf(&b, "%s\n", s.Paint.Place(k.Title))
		for _, t := range all {
			if t.Kind == k.Kind {
				screen.Fprintf(&b, "  %s  %s\n", s.Paint.Bold(fmt.Sprintf("%-*s", widest, t.Word)), t.Meaning)
			}
		}
	}
	return b.Bytes()
}

// Word explains one word and, of a fault, what each provider says to it.
func (s Style) RenderWord(t Word, rows []wire.Rule) []byte {
	var b bytes.Buffer
	screen.Fprintf(&b, "%s  %s\n", s.Paint.Bold(t.Word), s.Paint.Faint(t.Kind))
	for _, line := range screen.Paragraphs(t.Meaning, s.Width-2) {
		screen.Fprintf(&b, "  %s\n", line)
	}
	if len(t.Steps) > 0 {
		screen.Fprintln(&b)
	}
	for _, step := range t.Steps {
		screen.Fprintf(&b, "  %s\n", step)
	}
	switch {
	case t.Repair != "":
		screen.Fprintf(&b, "\n%s\n", s.Paint.Place("session files of agents"))
		s.writeField(&b, "repair", t.Repair)
	case !t.Fault && t.More == "":
		return b.Bytes()
	case !t.Fault:
		for _, line := range screen.Paragraphs(t.More, s.Width-2) {
			screen.Fprintf(&b, "  %s\n", line)
		}
		return b.Bytes()
	case len(rows) == 0:
		b.WriteString("\n  pare does not report it: the request alone does not show it\n")
	}
	s.writeRules(&b, rows)
	return b.Bytes()
}

// A Refusal is what the error of a provider means.
type Refusal struct {
	Title   string // the rule, and where it is broken
	Cause   string
	Steps   []string // what to do
	Foreign bool     // it is not about the history
	Rules   []wire.Rule
}

// Refusal explains the error of a provider.
func (s Style) RenderRefusal(r Refusal) []byte {
	var b bytes.Buffer
	if !r.Foreign {
		screen.Fprintf(&b, "%s\n", s.Paint.Bold(r.Title))
	}
	for _, line := range screen.Paragraphs(r.Cause, s.Width-2) {
		screen.Fprintf(&b, "  %s\n", line)
	}
	screen.Fprintln(&b)
	for _, step := range r.Steps {
		screen.Fprintf(&b, "  %s\n", step)
	}
	s.writeRules(&b, r.Rules)
	return b.Bytes()
}

// rows explains what providers say to a fault.
func (s Style) writeRules(b *bytes.Buffer, rows []wire.Rule) {
	for _, r := range rows {
		severity := s.Paint.Fault(r.Severity)
		if r.Severity != "refused" {
			severity = s.Paint.Advice(r.Severity)
		}
		screen.Fprintf(b, "\n%s  %s\n", s.Paint.Place(r.ID), severity)
		s.writeField(b, "broken", r.Doc)
		s.writeField(b, "says", r.Says)
		s.writeField(b, "repair", r.Repair)
		s.writeField(b, "source", r.Source)
	}
}

func (s Style) writeField(b *bytes.Buffer, name, value string) {
	if value == "" {
		return
	}
	for i, line := range screen.Paragraphs(value, s.Width-10) {
		if i > 0 {
			name = ""
		}
		screen.Fprintf(b, "  %s  %s\n", s.Paint.Faint(fmt.Sprintf("%-6s", name)), line)
	}
}

// Rules lists rules, those that do not run at the end.
func (s Style) RenderRules(list []ListedRule) []byte {
	var b bytes.Buffer
	widest := 0
	for _, r := range list {
		widest = max(widest, screen.Columns(r.Rule))
	}
	off := false
	for _, r := range list {
		number := fmt.Sprint(r.Order)
		if r.Order == 0 {
			number = "–"
			if !off {
				screen.Fprintf(&b, "\n%s\n", s.Paint.Faint("not run, unless --rules or a configuration says so"))
				off = true
			}
		}
		name := r.Rule + strings.Repeat(" ", widest-screen.Columns(r.Rule))
		for i, line := range screen.Wrap(r.Doc, s.Width-widest-6) {
			if i > 0 {
				number, name = "", strings.Repeat(" ", widest)
			}
			screen.Fprintf(&b, "%3s  %s  %s\n", number, s.Paint.Bold(name), line)
		}
	}
	return b.Bytes()
}
