package main

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/pare-llm/pare/internal/screen"
	"github.com/pare-llm/pare/internal/suggest"
	"github.com/pare-llm/pare/wire"
)

type explainCmd struct {
	Word  string `arg:"" optional:"" help:"A word of a report: a fault (orphan-call), one provider's rule (anthropic/…), a rule, a step, an action, an event. Default: list all."`
	JSON  bool   `name:"json" help:"Print JSON: one object per word and line."`
	Color string `enum:"auto,always,never" default:"auto" help:"When to use colour: auto (default), always or never."`
}

// Help is the page's first paragraph.
func (c *explainCmd) Help() string {
	return `For example:

    pare explain                                  list all words
    pare explain orphan-call                      a fault
    pare explain anthropic/tool-use-without-result
    pare explain clear-results                    a step of pare trim, as receipts name it
    pare explain --json orphan-result | jq -r '.providers[].says'

For a fault, and for each provider: what breaks the rule, what the provider answers then,
how pare repairs it, and where that is documented.`
}

func (c *explainCmd) run(w *world) int {
	e := explanation{paint: palette(w.colour(w.stdout, c.Color)), width: w.width(w.stdout)}
	var found []headword
	rows := wire.Find(c.Word)
	switch {
	case c.Word == "":
		found = headwords()
	case len(rows) > 0: // a fault, or one provider's rule about it
		found = lookup(rows[0].Slug)
	default:
		found = lookup(c.Word)
	}
	var out []byte
	switch {
	case len(found) == 0:
		return c.unknown(w)
	case c.JSON:
		for _, t := range found {
			if c.Word == "" {
				rows = wire.Find(t.word)
			}
			out = append(out, encode(t.json(rows))...)
		}
	case c.Word == "":
		out = e.list(found)
	default:
		for _, t := range found {
			out = append(out, e.word(t, rows)...)
		}
	}
	return w.say(out)
}

// damageMends says what is done about damage to a session file.
var damageMends = map[string]string{
	"joined-lines":     "a newline is put between the objects",
	"no-final-newline": "a newline is put behind it, if anything else is repaired",
	"truncated-line":   "a newline is put behind the line, so that nothing is appended to it",
	"broken-line":      "it is left as it is: what it said cannot be known; delete the line, or restore it",
	"comment-line":     "it is left as it is",
	"foreign-line":     "it is left as it is",
	"duplicate-line":   "the copy goes",
	"duplicate-uuid":   "it is left as it is",
	"dangling-parent":  "the line now links to the one in front of it",
	"parent-loop":      "the line now links to the one in front of it",
	"second-root":      "it is left as it is",
	"unreadable":       "it is left as it is: go back to a copy of the file, or begin a new session",
	"skipped-message":  "it is left as it is",
	"torn-file":        "something that the agent can read, and of which nothing is sent, takes its place; the original is kept beside the storage",
	"stray-line":       "the line gets a type that the agent passes over; what it says stays in the file",
	"lost-snapshot":    "the messages are said again",
	"lost-kept-line":   "the compaction names the lines that are there",
}

// unknown reports a word that stands in no report.
func (c *explainCmd) unknown(w *world) int {
	names := words()
	if strings.Contains(c.Word, "/") {
		names = nil
		for _, r := range wire.Rules() {
			names = append(names, r.ID)
		}
	}
	hint := suggest.Sentence(c.Word, names)
	if hint == "" {
		hint = "pare explain lists all words; pare rules lists the rules of your pare.toml"
	}
	return w.fail(fmt.Sprintf("no report has the word %q", c.Word), hint)
}

// A wordJSON is what --json prints about a word.
type wordJSON struct {
	Rule      string    `json:"rule"`
	Kind      kind      `json:"kind"`
	Meaning   string    `json:"meaning"`
	More      string    `json:"more,omitempty"`
	Providers []rowJSON `json:"providers"`
}

type rowJSON struct {
	ID       string `json:"id"`
	Provider string `json:"provider"`
	Severity string `json:"severity"`
	Broken   string `json:"broken"`
	Says     string `json:"says"`
	Mend     string `json:"mend"`
	Source   string `json:"source"`
}

func (t headword) json(rows []wire.Rule) wordJSON {
	r := wordJSON{Rule: t.word, Kind: t.kind, Meaning: t.meaning, More: t.more, Providers: []rowJSON{}}
	if t.kind == aDamage {
		r.More = damageMends[t.word]
	}
	if t.kind != aFault {
		return r
	}
	for _, row := range rows {
		r.Providers = append(r.Providers, rowJSON{row.ID, row.Provider(), row.Severity.String(), row.Doc, row.Says, row.Mend, row.Source})
	}
	return r
}

// An explanation renders words for people.
type explanation struct {
	paint palette
	width int
}

// list renders all words by kind, a line each.
func (e explanation) list(all []headword) []byte {
	var b bytes.Buffer
	widest := 0
	for _, t := range all {
		widest = max(widest, len(t.word))
	}
	for i, k := range kinds {
		if i > 0 {
			b.WriteByte('\n')
		}
		screen.Fprintf(&b, "%s\n", e.paint.Place(k.title))
		for _, t := range all {
			if t.kind == k.kind {
				screen.Fprintf(&b, "  %s  %s\n", e.paint.Bold(fmt.Sprintf("%-*s", widest, t.word)), t.meaning)
			}
		}
	}
	return b.Bytes()
}

// word renders one word and, of a fault, what each provider says to it.
func (e explanation) word(t headword, rows []wire.Rule) []byte {
	var b bytes.Buffer
	screen.Fprintf(&b, "%s  %s\n", e.paint.Bold(t.word), e.paint.Faint(string(t.kind)))
	for _, line := range screen.Paragraphs(t.meaning, e.width-2) {
		screen.Fprintf(&b, "  %s\n", line)
	}
	switch {
	case t.kind == aDamage:
		screen.Fprintf(&b, "\n%s\n", e.paint.Place("session files of agents"))
		e.field(&b, "repair", damageMends[t.word])
	case t.kind != aFault:
		for _, line := range screen.Paragraphs(t.more, e.width-2) {
			screen.Fprintf(&b, "  %s\n", line)
		}
		return b.Bytes()
	case len(rows) == 0:
		b.WriteString("\n  pare does not report it: the request alone does not show it\n")
	}
	for _, r := range rows {
		severity := e.paint.Fault(r.Severity.String())
		if r.Severity != wire.SeverityRefused {
			severity = e.paint.Advice(r.Severity.String())
		}
		screen.Fprintf(&b, "\n%s  %s\n", e.paint.Place(r.ID), severity)
		e.field(&b, "broken", r.Doc)
		e.field(&b, "says", r.Says)
		e.field(&b, "repair", r.Mend)
		e.field(&b, "source", r.Source)
	}
	return b.Bytes()
}

func (e explanation) field(b *bytes.Buffer, name, value string) {
	if value == "" {
		return
	}
	for i, line := range screen.Paragraphs(value, e.width-10) {
		if i > 0 {
			name = ""
		}
		screen.Fprintf(b, "  %s  %s\n", e.paint.Faint(fmt.Sprintf("%-6s", name)), line)
	}
}
