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

// ruleset is the flags that say which rules run.
type ruleset struct {
	Rules      []string `placeholder:"A,B,C" help:"Run these rules only. Default: what the configuration says; see pare rules."`
	KeepRecent *int     `placeholder:"N" help:"Leave the last N messages alone. Default: 10, unless the configuration says otherwise."`
	settings   `embed:""`
}

// settings is the flag that names a configuration.
type settings struct {
	Config string `placeholder:"FILE" help:"A configuration in TOML or JSON, in the place of all others. Default: pare.toml of the user, then pare.toml in this folder."`
}

// load reads the configuration and says which one it is, unless that was asked for. A
// status other than clean has been explained.
func (s *settings) load(w *world, quiet bool) (conf *config.Config, used string, status int) {
	conf, used, err := w.loadConfig(s.Config)
	if err != nil {
		return nil, used, w.misconfigured(used, err)
	}
	if used != "" {
		w.log.Info("configured", "file", used)
	}
	if used != "" && s.Config == "" && !quiet {
		screen.Fprintf(w.stderr, "pare: configured by %s\n", used)
	}
	return conf, used, statusClean
}

// compile makes the policy of a command. A status other than clean has been explained.
func (w *world) compile(conf *config.Config, used string) (*pare.Policy, int) {
	p, err := conf.Policy(w.getenv)
	if err != nil {
		return nil, w.misconfigured(used, err)
	}
	w.logEvents(p)
	if p.Off {
		screen.Fprintf(w.stderr, "pare: %s says enabled = false: nothing is changed\n", used)
	}
	return p, statusClean
}

// override lets the flags that were given decide over the file. Its error is wrong
// usage.
func (r *ruleset) override(c *config.Config) error {
	chosen := make([]string, len(r.Rules))
	for i, n := range r.Rules {
		chosen[i] = strings.TrimSpace(n)
	}
	if r.KeepRecent != nil {
		if *r.KeepRecent < 0 {
			return fmt.Errorf("--keep-recent must be 0 or more, not %d", *r.KeepRecent)
		}
		c.Recent(*r.KeepRecent)
		chosen = append(chosen, "recency") // what it means
	}
	if len(r.Rules) == 0 {
		return nil
	}
	err := c.Only(chosen...)
	var unknown *config.UnknownRuleError
	if errors.As(err, &unknown) {
		return hinted{err, unknown.Hint()}
	}
	return err
}

// misconfigured reports a configuration that cannot be used: every fault of it,
// with the place and what to write instead.
func (w *world) misconfigured(path string, err error) int {
	var all config.Errors
	if !errors.As(err, &all) {
		p := failure(err)
		if errors.Is(err, fs.ErrNotExist) {
			p.hint = "a configuration is optional: see pare rules for what runs without one"
		}
		return w.fail(path+": "+p.Message, p.hint)
	}
	for _, e := range all {
		bare := *e
		bare.Hint = ""
		w.fail(bare.Error(), e.Hint)
	}
	return statusInvalid
}
