package main

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/pare-llm/pare/cmd/internal/picture"
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
	v := w.report(w.stdout, c.Color)
	var found []picture.Word
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
				rows = wire.Find(t.Word)
			}
			out = append(out, encode(jsonOf(t, rows))...)
		}
	case c.Word == "":
		out = v.Words(kinds, found)
	default:
		for _, t := range found {
			out = append(out, v.Word(t, rows)...)
		}
	}
	return w.say(out)
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
	Kind      string    `json:"kind"`
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

func jsonOf(t picture.Word, rows []wire.Rule) wordJSON {
	r := wordJSON{Rule: t.Word, Kind: t.Kind, Meaning: t.Meaning, More: cmp.Or(t.Repair, t.More), Providers: []rowJSON{}}
	if !t.Fault {
		return r
	}
	for _, row := range rows {
		r.Providers = append(r.Providers, rowJSON{row.ID, row.Provider(), row.Severity.String(), row.Doc, row.Says, row.Mend, row.Source})
	}
	return r
}
