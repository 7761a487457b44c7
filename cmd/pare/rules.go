package main

import (
	"errors"
	"slices"
	"strings"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/cmd/internal/picture"
	"github.com/pare-llm/pare/cmd/internal/screen"
	"github.com/pare-llm/pare/internal/config"
	"github.com/pare-llm/pare/internal/rulelist"
)

type rulesCmd struct {
	File   string `arg:"" optional:"" help:"A configuration in TOML or JSON, as with --config."`
	Config string `placeholder:"FILE" help:"Show the rules of this configuration. Default: pare.toml of the user, then pare.toml in this folder."`
	Check  bool   `help:"Only check the configuration, and say what to write instead of what is wrong."`
	JSON   bool   `name:"json" help:"Print JSON: one object per rule and line; with --check one for the file."`
	Color  string `enum:"auto,always,never" default:"auto" help:"When to use colour: auto (default), always or never."`
}

// Help returns the detailed help of the command.
func (c *rulesCmd) Help() string {
	return `For example:

    pare rules                                    what pare prune runs here, in order
    pare rules --check pare.toml
    pare rules --json | jq -r .rule

The order follows from what the rules say about each other; --config and a pare.toml in
this folder may switch rules off, set their options and add rules. pare init writes a
pare.toml to begin with.`
}

func (c *rulesCmd) run(env *environment) int {
	if c.File != "" && c.Config != "" && c.File != c.Config {
		return env.failUsage(errors.New("two configurations, but only one can be used"), "rules")
	}
	if c.File != "" {
		c.Config = c.File
	}
	conf, used, err := env.loadConfig(c.Config)
	if c.Check {
		return c.checkConfig(env, conf, used, err)
	}
	if err != nil {
		return env.failConfig(used, err)
	}
	if used != "" && c.Config == "" && !c.JSON {
		screen.Fprintf(env.stderr, "pare: configured by %s\n", used)
	}
	list := listRules(conf)
	if c.JSON {
		var all []byte
		for _, r := range list {
			all = append(all, encodeLine(r)...)
		}
		return env.writeOutput(all)
	}
	return env.writeOutput(env.newStyle(env.stdout, c.Color).RenderRules(list))
}

// A configVerdict is the output of --check --json.
type configVerdict struct {
	Source string          `json:"source"`
	Valid  bool            `json:"valid"`
	Order  []string        `json:"order"` // the rules that run
	Errors []configProblem `json:"errors"`
}

type configProblem struct {
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Path    string `json:"path"`
	Message string `json:"message"`
	Hint    string `json:"hint"`
}

// checkConfig prints whether a configuration is valid and returns the exit status.
func (c *rulesCmd) checkConfig(env *environment, conf *config.Config, used string, err error) int {
	if used == "" {
		return env.fail("there is no "+configName+" in this folder", "name the file: pare rules --check FILE")
	}
	v := configVerdict{Source: used, Valid: err == nil, Order: []string{}, Errors: []configProblem{}}
	if err == nil {
		for _, rule := range conf.Rules() {
			v.Order = append(v.Order, rule.Name)
		}
	}
	var all config.Errors
	if c.JSON && (err == nil || errors.As(err, &all)) {
		for _, e := range all {
			v.Errors = append(v.Errors, configProblem{e.Line, e.Column, e.Path, e.Message, e.Hint})
		}
		status := env.writeOutput(encodeLine(v))
		if err != nil {
			return statusInvalid
		}
		return status
	}
	if err != nil {
		return env.failConfig(used, err)
	}
	screen.Fprintf(env.stderr, "%s: valid; %s: %s\n", used, plural(len(v.Order), "rule"), strings.Join(v.Order, " → "))
	return statusClean
}

// listRules returns the rules that run, in their order, and then the other rules.
func listRules(conf *config.Config) []picture.ListedRule {
	var list []picture.ListedRule
	add := func(rule pare.Rule, order int) {
		l := picture.ListedRule{Rule: rule.Name, Doc: rule.Doc, Order: order, After: trimOptionalMarks(rule.After), Before: trimOptionalMarks(rule.Before), Options: []string{}}
		if e, ok := rulelist.Named(rule.Name); ok {
			l.Options = append(l.Options, e.Fields()...)
		}
		list = append(list, l)
	}
	running := conf.Rules()
	for i, rule := range running {
		add(rule, i+1)
	}
	for _, e := range rulelist.All() {
		if !slices.ContainsFunc(running, func(rule pare.Rule) bool { return rule.Name == e.Name }) {
			if rule, err := e.New(nil); err == nil {
				add(rule, 0)
			}
		}
	}
	for _, e := range conf.Expressions {
		if !slices.ContainsFunc(running, func(rule pare.Rule) bool { return rule.Name == e.Name }) {
			add(pare.Rule{Name: e.Name, Doc: e.Action + " where " + e.When, After: e.After, Before: e.Before}, 0)
		}
	}
	for _, e := range conf.Constraints {
		if !slices.ContainsFunc(running, func(rule pare.Rule) bool { return rule.Name == e.Name }) {
			add(pare.Rule{Name: e.Name, Doc: config.ConstraintDoc}, 0)
		}
	}
	return list
}

// trimOptionalMarks returns names without the prefix "?", which marks rules that may be missing.
func trimOptionalMarks(names []string) []string {
	all := []string{}
	for _, n := range names {
		all = append(all, strings.TrimPrefix(n, "?"))
	}
	return all
}
