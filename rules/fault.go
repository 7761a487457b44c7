package rules

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/pare-llm/pare"
)

// OptionError describes one invalid option of a rule.
type OptionError struct {
	Rule     string // its name
	Option   string // its name in JSON and pare.toml, such as mode; protect_paths.1 is an element
	Value    any    // the invalid value
	Problem  string // completes "mode: …"
	Expected string // a valid alternative; may be empty
}

func (e *OptionError) Error() string {
	text := e.Option + ": " + e.Problem
	if e.Rule != "" {
		text = "rule " + e.Rule + ": " + text
	}
	if e.Expected != "" {
		text += "; " + e.Expected
	}
	return text
}

// OptionErrors lists all invalid options of a rule. It is never empty.
type OptionErrors []*OptionError

// Error returns one line for each invalid option.
func (e OptionErrors) Error() string {
	lines := make([]string, len(e))
	for i, err := range e {
		lines[i] = err.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap lets errors.As find the first error.
func (e OptionErrors) Unwrap() []error {
	all := make([]error, len(e))
	for i, err := range e {
		all[i] = err
	}
	return all
}

// optionErrors collects the invalid options of a rule.
type optionErrors OptionErrors

func (f *optionErrors) add(option string, value any, expected, format string, args ...any) {
	*f = append(*f, &OptionError{Option: option, Value: value, Problem: fmt.Sprintf(format, args...), Expected: expected})
}

func (f *optionErrors) addElement(option string, i int, value any, expected, format string, args ...any) {
	f.add(fmt.Sprintf("%s.%d", option, i), value, expected, format, args...)
}

// errorFor returns the collected errors of a rule, or nil.
func (f optionErrors) errorFor(r pare.Rule) error {
	if len(f) == 0 {
		return nil
	}
	for _, e := range f {
		e.Rule = r.Name
	}
	return OptionErrors(f)
}

func (f *optionErrors) checkMinimum(option string, n, least int) {
	if n < least {
		f.add(option, n, fmt.Sprintf("write %d or more", least), "%d is less than %d", n, least)
	}
}

func (f *optionErrors) checkMode(m string, allowed ...string) {
	if m == "" || slices.Contains(allowed, m) {
		return
	}
	names := make([]string, len(allowed))
	for i, a := range allowed {
		names[i] = string(a)
	}
	f.add("mode", m, "write "+strings.Join(names, " or "), "%q is no mode", m)
}

const exampleGlob = `write a glob such as docs/**/*.md; a [ that means itself is written \[`

func (f *optionErrors) checkGlobs(option string, globs []string) {
	for i, g := range globs {
		if g == "" {
			f.addElement(option, i, g, "remove it", "an empty glob matches nothing")
			continue
		}
		for part := range strings.SplitSeq(g, "/") {
			if _, err := path.Match(part, ""); err != nil {
				f.addElement(option, i, g, exampleGlob, "%q is no glob: %v", g, err)
				break
			}
		}
	}
}

func (f *optionErrors) checkScope(s Scope) {
	f.checkGlobs("protect_tools", s.ProtectTools)
	f.checkGlobs("protect_paths", s.ProtectPaths)
	f.checkMinimum("keep_last", s.KeepLast, 0)
	f.checkTable(s.Table)
}

// checkTable checks the tools of an option.
func (f *optionErrors) checkTable(tools []Tool) {
	for i, t := range tools {
		about := fmt.Sprintf("table.%d.", i)
		if t.Name == "" {
			f.add(about+"name", t.Name, "", "a tool has no name")
			continue
		}
		if t.Kind != "" && !slices.Contains(kinds, t.Kind) {
			f.add(about+"kind", t.Kind, kindChoices, "%q is no kind", t.Kind)
		}
		if t.Command == "" && len(t.Commands) > 0 {
			f.add(about+"commands", t.Commands, "", "commands without the argument they are values of")
		}
		for _, command := range sortedKeys(t.Commands) {
			if k := t.Commands[command]; !slices.Contains(kinds, k) {
				f.add(about+"commands."+command, k, kindChoices, "%q is no kind", k)
			}
		}
	}
}

const kindChoices = "write read, write, edit, search, run or other"

// sortedKeys makes the order of errors deterministic.
func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }
