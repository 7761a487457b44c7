package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pare-llm/pare"
)

// maxExpressions bounds what a file can cost each time it is used.
const maxExpressions = 200

// pipeline compiles the rules and reports to s everything that stands in their way.
func (c *Config) pipeline(s *source, windowed bool) *pare.Pipeline {
	tools := c.buildTools(s)
	entries := c.standard(s, tools, windowed)
	if n := len(c.Expressions); n > maxExpressions {
		s.fail("expression", fmt.Sprintf("write at most %d", maxExpressions), "%d expressions are too many", n)
		return nil
	}
	for i := range c.Expressions {
		if e, ok := c.Expressions[i].entry(s, i, tools); ok {
			entries = append(entries, e)
		}
	}
	if n := len(c.Constraints); n > maxConstraints {
		s.fail("constraint", fmt.Sprintf("write at most %d", maxConstraints), "%d constraints are too many", n)
		return nil
	}
	for i := range c.Constraints {
		if e, ok := c.Constraints[i].entry(s, i, tools); ok {
			entries = append(entries, e)
		}
	}
	checkNames(s, entries)
	for i := range entries {
		entries[i].checkOrder(s, entries)
	}
	if len(s.errors) > 0 {
		return nil // a circle would be told of rules that are not what they seem
	}
	var all []pare.Rule
	for _, e := range entries {
		if e.on() {
			all = append(all, e.ordered())
		}
	}
	p, err := pare.Compile(all...)
	if err != nil {
		blame(s, entries, err)
		return nil
	}
	return p
}

// An entry is a rule and the place in the file that is about it.
type entry struct {
	rule      pare.Rule
	path      string // such as rules.recency or expression.0
	sw        Switch
	byDefault bool // it runs if the file says nothing
}

func (e *entry) on() bool {
	if e.sw.Enabled == nil {
		return e.byDefault
	}
	return *e.sw.Enabled
}

// ordered is the rule with the user's constraints. Those about rules that do not
// run are empty, not wrong: switching a rule off must not break the others.
func (e *entry) ordered() pare.Rule {
	r := e.rule
	r.After = append(slices.Clone(r.After), optional(e.sw.After)...)
	r.Before = append(slices.Clone(r.Before), optional(e.sw.Before)...)
	return r
}

func optional(names []string) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = "?" + strings.TrimPrefix(n, "?")
	}
	return out
}

func namesOf(entries []entry) []string {
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.rule.Name
	}
	return names
}

// checkNames reports expressions that take a name that is taken.
func checkNames(s *source, entries []entry) {
	seen := make(map[string]string)
	for _, e := range entries {
		if first, twice := seen[e.rule.Name]; twice {
			s.fail(join(e.path, "name"), "give it another name", "%q is the name of %s already", e.rule.Name, first)
			continue
		}
		seen[e.rule.Name] = e.path
	}
}

// checkOrder reports constraints that name no rule, the rule itself, or the same
// rule on both sides.
func (e *entry) checkOrder(s *source, entries []entry) {
	names := namesOf(entries)
	for _, side := range []struct {
		key  string
		list []string
	}{{"after", e.sw.After}, {"before", e.sw.Before}} {
		for i, n := range side.list {
			path := join(e.path, fmt.Sprintf("%s.%d", side.key, i))
			bare := strings.TrimPrefix(n, "?")
			switch {
			case bare == e.rule.Name:
				s.fail(path, "remove it", "rule %q cannot come %s itself", n, side.key)
			case !slices.Contains(names, bare) && bare == n:
				hint := pick(n, names)
				if gone := elsewhere("rules", n); gone != "" {
					hint = "remove it: " + gone
				}
				s.fail(path, hint, "there is no rule %q", n)
			case side.key == "before" && slices.Contains(e.sw.After, n):
				s.fail(path, "keep one of the two", "rule %q cannot come both before and after %q", e.rule.Name, n)
			}
		}
	}
}

// blame says where in the file the rules stand that cannot run together.
func blame(s *source, entries []entry, err error) {
	var p *pare.PipelineError
	if !errors.As(err, &p) {
		s.failAt(place{}, "", "", "%v", err)
		return
	}
	// The user's own constraint is what can be changed; the rules' own cannot.
	hint := ""
	path := ""
	for _, e := range entries {
		if !slices.Contains(p.Rules, e.rule.Name) {
			continue
		}
		for _, key := range []string{"after", "before"} {
			for i, n := range e.constraint(key) {
				if path == "" && slices.Contains(p.Rules, strings.TrimPrefix(n, "?")) {
					path = join(e.path, fmt.Sprintf("%s.%d", key, i))
					hint = fmt.Sprintf("remove %q from %s", n, key)
				}
			}
		}
	}
	if path == "" {
		for _, e := range entries {
			if slices.Contains(p.Rules, e.rule.Name) && s.has(e.path) {
				path, hint = e.path, "set enabled = false for one of them"
			}
		}
	}
	s.fail(path, hint, "%s", p.Reason)
}

func (e *entry) constraint(key string) []string {
	if key == "after" {
		return e.sw.After
	}
	return e.sw.Before
}
