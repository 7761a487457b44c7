package main

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pare-llm/pare/agentlog"
	"github.com/pare-llm/pare/internal/suggest"
	"github.com/pare-llm/pare/wire"
)

type explainCmd struct {
	Rule  string `arg:"" optional:"" help:"A rule as findings name it (orphan-call), or one provider's (anthropic/…). Default: list all rules."`
	JSON  bool   `name:"json" help:"Print JSON: one object per rule and line."`
	Color string `enum:"auto,always,never" default:"auto" help:"When to use colour: auto (default), always or never."`
}

// Help is the page's first paragraph.
func (c *explainCmd) Help() string {
	return `For example:

    pare explain                                  list all rules
    pare explain orphan-call
    pare explain anthropic/tool-use-without-result
    pare explain --json orphan-result | jq -r '.providers[].says'

For each provider: what breaks the rule, what the provider answers then, how pare mends
it, and where that is documented.`
}

func (c *explainCmd) run(w *world) int {
	e := explanation{paint: palette(w.colour(w.stdout, c.Color)), width: w.width(w.stdout)}
	meanings := meanings()
	slugs := slices.Sorted(maps.Keys(meanings))
	if c.Rule == "" {
		if !c.JSON {
			return w.say(e.list(slugs))
		}
		var all []byte
		for _, s := range slugs {
			all = append(all, encode(ruleOf(s, wire.Find(s)))...)
		}
		return w.say(all)
	}
	rows := wire.Find(c.Rule)
	slug := c.Rule
	if len(rows) > 0 {
		slug = rows[0].Slug
	}
	if meanings[slug] == "" && len(rows) == 0 {
		return c.unknown(w, slugs)
	}
	if c.JSON {
		return w.say(encode(ruleOf(slug, rows)))
	}
	return w.say(e.rule(slug, rows))
}

// meanings says what each rule means: those of providers, and those about the files in
// which agents keep their sessions.
func meanings() map[string]string {
	all := agentlog.Damages()
	maps.Copy(all, wire.Slugs())
	return all
}

// damageMends says what is done about damage to a session file.
var damageMends = map[string]string{
	"joined-lines":     "a newline is put between the objects",
	"no-final-newline": "a newline is put behind it, if anything else is mended",
	"truncated-line":   "a newline is put behind the line, so that nothing is appended to it",
	"broken-line":      "it is left as it is: what it said cannot be known; delete the line, or restore it",
	"comment-line":     "it is left as it is",
	"foreign-line":     "it is left as it is",
	"duplicate-line":   "the copy goes",
	"duplicate-uuid":   "it is left as it is",
	"dangling-parent":  "the line hangs on the one in front of it",
	"parent-loop":      "the line hangs on the one in front of it",
	"second-root":      "it is left as it is",
	"unreadable":       "it is left as it is",
}

// unknown reports a rule that there is none of.
func (c *explainCmd) unknown(w *world, slugs []string) int {
	names := slugs
	if strings.Contains(c.Rule, "/") {
		names = nil
		for _, r := range wire.Rules() {
			names = append(names, r.ID)
		}
	}
	hint := suggest.Sentence(c.Rule, names)
	if hint == "" {
		hint = "pare explain lists all rules"
	}
	return w.fail(fmt.Sprintf("unknown rule %q", c.Rule), hint)
}

// A ruleJSON is what --json prints about a rule.
type ruleJSON struct {
	Rule      string    `json:"rule"`
	Meaning   string    `json:"meaning"`
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

func ruleOf(slug string, rows []wire.Rule) ruleJSON {
	r := ruleJSON{Rule: slug, Meaning: meanings()[slug], Providers: []rowJSON{}}
	for _, row := range rows {
		r.Providers = append(r.Providers, rowJSON{row.ID, row.Provider(), row.Severity.String(), row.Doc, row.Says, row.Mend, row.Source})
	}
	return r
}

// An explanation renders rules for people.
type explanation struct {
	paint palette
	width int
}

// list renders all rules, a line each.
func (e explanation) list(slugs []string) []byte {
	var b bytes.Buffer
	widest := 0
	for _, s := range slugs {
		widest = max(widest, len(s))
	}
	meanings := meanings()
	for _, s := range slugs {
		fmt.Fprintf(&b, "%s  %s\n", e.paint.bold(fmt.Sprintf("%-*s", widest, s)), meanings[s])
	}
	return b.Bytes()
}

// rule renders one rule and what each provider says to it.
func (e explanation) rule(slug string, rows []wire.Rule) []byte {
	var b bytes.Buffer
	fmt.Fprintln(&b, e.paint.bold(slug))
	for _, line := range wrap(meanings()[slug], e.width-2) {
		fmt.Fprintf(&b, "  %s\n", line)
	}
	mend, damage := damageMends[slug]
	switch {
	case damage:
		fmt.Fprintf(&b, "\n%s\n", e.paint.place("session files of agents"))
		e.field(&b, "mended", mend)
	case len(rows) == 0:
		b.WriteString("\n  pare does not report it: the request alone does not show it\n")
	}
	for _, r := range rows {
		severity := e.paint.fault(r.Severity.String())
		if r.Severity != wire.Refused {
			severity = e.paint.advice(r.Severity.String())
		}
		fmt.Fprintf(&b, "\n%s  %s\n", e.paint.place(r.ID), severity)
		e.field(&b, "broken", r.Doc)
		e.field(&b, "says", r.Says)
		e.field(&b, "mended", r.Mend)
		e.field(&b, "source", r.Source)
	}
	return b.Bytes()
}

func (e explanation) field(b *bytes.Buffer, name, value string) {
	if value == "" {
		return
	}
	for i, line := range wrap(value, e.width-10) {
		if i > 0 {
			name = ""
		}
		fmt.Fprintf(b, "  %s  %s\n", e.paint.faint(fmt.Sprintf("%-6s", name)), line)
	}
}
