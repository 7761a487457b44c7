package main

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/cmd/internal/screen"
	"github.com/pare-llm/pare/internal/config"
)

// ruleFlags select the rules that run.
type ruleFlags struct {
	Rules       []string `placeholder:"A,B,C" help:"Run these rules only. Default: what the configuration says; see pare rules."`
	KeepRecent  *int     `placeholder:"N" help:"Leave the last N messages alone. Default: 10, unless the configuration says otherwise."`
	configFlags `embed:""`
}

// configFlags is the flag that names a configuration.
type configFlags struct {
	Config string `placeholder:"FILE" help:"A configuration in TOML or JSON, in the place of all others. Default: pare.toml of the user, then pare.toml in this folder."`
}

// load reads the configuration, and prints which files it found unless quiet is set. If the status
// is not statusClean, it has printed an error.
func (f *configFlags) load(env *environment, quiet bool) (conf *config.Config, used string, status int) {
	conf, used, err := env.loadConfig(f.Config)
	if err != nil {
		return nil, used, env.failConfig(used, err)
	}
	if used != "" {
		env.log.Info("configured", "file", used)
	}
	if used != "" && f.Config == "" && !quiet {
		screen.Fprintf(env.stderr, "pare: configured by %s\n", used)
	}
	return conf, used, statusClean
}

// compile returns the policy of a configuration. If the status is not statusClean, it has printed
// an error.
func (env *environment) compile(conf *config.Config, used string) (*pare.Policy, int) {
	policy, err := conf.Policy(env.getenv)
	if err != nil {
		return nil, env.failConfig(used, err)
	}
	env.logEvents(policy)
	if policy.Off {
		screen.Fprintf(env.stderr, "pare: %s says enabled = false: nothing is changed\n", used)
	}
	return policy, statusClean
}

// applyTo replaces the rules of conf by the flags that are given. The error is wrong usage.
func (f *ruleFlags) applyTo(conf *config.Config) error {
	chosen := make([]string, len(f.Rules))
	for i, n := range f.Rules {
		chosen[i] = strings.TrimSpace(n)
	}
	if f.KeepRecent != nil {
		if *f.KeepRecent < 0 {
			return fmt.Errorf("--keep-recent must be 0 or more, not %d", *f.KeepRecent)
		}
		conf.Recent(*f.KeepRecent)
		chosen = append(chosen, "recency") // --keep-recent needs this rule
	}
	if len(f.Rules) == 0 {
		return nil
	}
	err := conf.Only(chosen...)
	var unknown *config.UnknownRuleError
	if errors.As(err, &unknown) {
		return hintedError{err, unknown.Hint()}
	}
	return err
}

// failConfig prints every error of a configuration, and returns the exit status.
func (env *environment) failConfig(path string, err error) int {
	var all config.Errors
	if !errors.As(err, &all) {
		p := newProblem(err)
		if errors.Is(err, fs.ErrNotExist) {
			p.hint = "a configuration is optional: see pare rules for what runs without one"
		}
		return env.fail(path+": "+p.Message, p.hint)
	}
	for _, e := range all {
		bare := *e
		bare.Hint = ""
		env.fail(bare.Error(), e.Hint)
	}
	return statusInvalid
}
