package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pare-llm/pare/internal/rulelist"
	"github.com/pare-llm/pare/internal/suggest"
	"github.com/pare-llm/pare/rules"
)

// RuleNames lists the rules that can run: the standard ones, then those of the file.
func (c *Config) RuleNames() []string {
	names := ruleNames()
	for _, e := range c.Expressions {
		names = append(names, e.Name)
	}
	for _, e := range c.Constraints {
		names = append(names, e.Name)
	}
	return names
}

// An UnknownRuleError is the error for a name that is no rule's. Many goroutines may read
// it.
type UnknownRuleError struct {
	Name  string
	Rules []string // those that there are
}

func (e *UnknownRuleError) Error() string {
	return fmt.Sprintf("unknown rule %q; the rules are %s", e.Name, strings.Join(e.Rules, ", "))
}

// Hint asks whether a name was meant that is near; "" if none is.
func (e *UnknownRuleError) Hint() string { return suggest.Sentence(e.Name, e.Rules) }

// Only lets the named rules run and no others. The error is an *UnknownRuleError.
//
// The name tool-pairing is taken, and stands for what holds without a rule.
func (c *Config) Only(names ...string) error {
	all := c.RuleNames()
	for _, n := range names {
		if !slices.Contains(all, n) && n != alwaysOn {
			return &UnknownRuleError{n, all}
		}
	}
	named := func(rule string) *bool {
		on := slices.Contains(names, rule)
		return &on
	}
	for _, e := range rulelist.All() {
		c.table(e).Enabled = named(e.Name)
	}
	for i := range c.Expressions {
		e := &c.Expressions[i]
		e.Enabled = named(e.Name)
	}
	for i := range c.Constraints {
		e := &c.Constraints[i]
		e.Enabled = named(e.Name)
	}
	if !slices.Contains(names, "recency") {
		c.KeepRecent = nil // it is about a rule that does not run
	}
	return nil
}

// alwaysOn is what other programs of this kind call the rule that pairs stay whole.
const alwaysOn = "tool-pairing"

// Recent protects the last n messages, whatever the file says is recent.
func (c *Config) Recent(n int) {
	c.KeepRecent = &n
	if t := c.Standard["recency"]; t != nil {
		c.Standard["recency"] = &Table{Switch: Switch{After: t.After, Before: t.Before}}
	}
}

// CutWhenFree switches on what is cut when that is free: results as they arrive, and what will hardly be
// needed while the provider's cache is cold. A rule that the file has switched off stays off.
func (c *Config) CutWhenFree(low Mark) {
	w := Window{Low: low}
	if c.Window != nil {
		w = *c.Window
	}
	w.Cold = true
	c.Window = &w
	for _, e := range rulelist.All() {
		if e.Name != "oversized" {
			continue
		}
		t := c.table(e)
		o, _ := t.Options.(*rules.Oversized)
		own := *o // a clone shares them with the original
		own.Arrival, t.Options = true, &own
	}
}

// table returns the table of a rule, and makes one if there is none.
func (c *Config) table(e rulelist.Entry) *Table {
	if c.Standard == nil {
		c.Standard = make(Tables)
	}
	if c.Standard[e.Name] == nil {
		c.Standard[e.Name] = newTable(e)
	}
	return c.Standard[e.Name]
}

// Clone returns a copy whose rules can be chosen without the original noticing.
func (c *Config) Clone() *Config {
	next := *c
	next.Standard = maps.Clone(c.Standard)
	for name, t := range next.Standard {
		copied := *t
		next.Standard[name] = &copied
	}
	next.Expressions, next.Constraints = slices.Clone(c.Expressions), slices.Clone(c.Constraints)
	return &next
}
