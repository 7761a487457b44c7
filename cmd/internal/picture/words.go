package picture

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/pare-llm/pare/cmd/internal/screen"
	"github.com/pare-llm/pare/wire"
)

// A Word is a term of reports, receipts or events.
type Word struct {
	Word    string
	Kind    string
	Meaning string
	More    string   // additional information; may be ""
	Fault   bool     // providers have rules about it
	Repair  string   // how damage to a session file is repaired
	Steps   []string // the next steps for a fault
}

// A WordKind is a group of words with its heading.
type WordKind struct{ Kind, Title string }

// A ListedRule is an entry in the list of rules.
type ListedRule struct {
	Rule    string   `json:"rule"`
	Doc     string   `json:"doc"`
	Order   int      `json:"order"` // from 1; 0 if the rule does not run
	After   []string `json:"after"`
	Before  []string `json:"before"`
	Options []string `json:"options"`
}

// RenderWordList returns all words by kind, a line each.
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

// RenderWord returns the explanation of a word. For a fault it includes the rules of the providers.
func (s Style) RenderWord(t Word, rules []wire.Rule) []byte {
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
	case len(rules) == 0:
		b.WriteString("\n  pare does not report it: the request alone does not show it\n")
	}
	s.writeRules(&b, rules)
	return b.Bytes()
}

// A Refusal is the meaning of a provider's error.
type Refusal struct {
	Title   string // the rule and the path
	Cause   string
	Steps   []string
	Foreign bool // the error does not concern the history
	Rules   []wire.Rule
}

// RenderRefusal returns the explanation of a provider's error.
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

// writeRules writes the rules of providers.
func (s Style) writeRules(b *bytes.Buffer, rules []wire.Rule) {
	for _, rule := range rules {
		severity := s.Paint.Fault(rule.Severity)
		if rule.Severity != "refused" {
			severity = s.Paint.Advice(rule.Severity)
		}
		screen.Fprintf(b, "\n%s  %s\n", s.Paint.Place(rule.ID), severity)
		s.writeField(b, "broken", rule.Doc)
		s.writeField(b, "says", rule.Says)
		s.writeField(b, "repair", rule.Repair)
		s.writeField(b, "source", rule.Source)
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

// RenderRules returns the list of rules. Rules that do not run are last.
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
