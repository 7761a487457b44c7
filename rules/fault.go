package rules

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/pare-llm/pare"
)

// An OptionError says what is wrong with one option of a rule. Many goroutines may read it.
type OptionError struct {
	Rule     string // its name
	Option   string // as JSON and pare.toml call it, such as mode; protect_paths.1 is an element
	Value    any    // what it is
	Problem  string // what is wrong with it
	Expected string // what to write instead; may be ""
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

// OptionErrors is everything that is wrong with the options of a rule. It is never
// empty.
type OptionErrors []*OptionError

// Error gives one line for each.
func (e OptionErrors) Error() string {
	lines := make([]string, len(e))
	for i, err := range e {
		lines[i] = err.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap lets errors.As find the first one.
func (e OptionErrors) Unwrap() []error {
	all := make([]error, len(e))
	for i, err := range e {
		all[i] = err
	}
	return all
}

// faults collects what is wrong with the options of a rule.
type optionErrors OptionErrors

func (f *optionErrors) add(option string, value any, expected, format string, args ...any) {
	*f = append(*f, &OptionError{Option: option, Value: value, Problem: fmt.Sprintf(format, args...), Expected: expected})
}

func (f *optionErrors) addElement(option string, i int, value any, expected, format string, args ...any) {
	f.add(fmt.Sprintf("%s.%d", option, i), value, expected, format, args...)
}

// of returns the error of a rule, or nil.
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

// table looks at the tools of an option. What is wrong with one of them is told of
// the first that is.
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

// sortedKeys makes the order of errors the same in every run.
func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }
