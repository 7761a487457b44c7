package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/pare-llm/pare/config"
	"github.com/pare-llm/pare/internal/suggest"
	"github.com/pare-llm/pare/rules"
)

// ruleset is the flags that say which rules run.
type ruleset struct {
	Rules      []string `placeholder:"A,B,C" help:"Run these rules only. Default: what the configuration says; see pare rules."`
	KeepRecent *int     `placeholder:"N" help:"Leave the last N messages alone. Default: 10, unless the configuration says otherwise."`
	Config     string   `placeholder:"FILE" help:"A configuration in TOML or JSON. Default: pare.toml in this folder, if there is one."`
}

// configName is the configuration that is used where it lies.
const configName = "pare.toml"

// loadConfig reads the configuration at path or, if that is "", the one in this
// folder; used is "" if there is none.
func loadConfig(path string) (c *config.Config, used string, err error) {
	if path == "" {
		if _, err := os.Stat(configName); errors.Is(err, fs.ErrNotExist) {
			return config.Default(), "", nil
		}
		path = configName
	}
	c, err = config.Load(path)
	return c, path, err
}

// override lets the flags that were given decide over the file. Its error is wrong
// usage.
func (r *ruleset) override(c *config.Config) error {
	if r.KeepRecent != nil {
		if *r.KeepRecent < 0 {
			return fmt.Errorf("--keep-recent must be 0 or more, not %d", *r.KeepRecent)
		}
		c.KeepRecent = r.KeepRecent
		if t := c.Standard.Recency; t != nil {
			c.Standard.Recency = &config.Recency{Switch: config.Switch{After: t.After, Before: t.Before}}
		}
	}
	if len(r.Rules) == 0 {
		return nil
	}
	chosen := slices.Clone(r.Rules)
	if r.KeepRecent != nil {
		chosen = append(chosen, "recency") // what it means
	}
	return only(c, chosen)
}

// only switches the rules of that names on and all others off.
func only(c *config.Config, chosen []string) error {
	all := switches(c)
	var names []string
	for _, e := range rules.All() {
		names = append(names, e.Name)
	}
	for _, e := range c.Expressions {
		names = append(names, e.Name)
	}
	for i, n := range chosen {
		chosen[i] = strings.TrimSpace(n)
		if !slices.Contains(names, chosen[i]) {
			err := fmt.Errorf("unknown rule %q; the rules are %s", chosen[i], strings.Join(names, ", "))
			return hinted{err, suggest.Sentence(chosen[i], names)}
		}
	}
	for name, s := range all {
		on := slices.Contains(chosen, name)
		s.Enabled = &on
	}
	if !slices.Contains(chosen, "recency") {
		c.KeepRecent = nil // it says something about a rule that does not run
	}
	return nil
}

// switches returns the switch of every rule by its name, and gives tables to the
// rules that have none.
func switches(c *config.Config) map[string]*config.Switch {
	t := &c.Standard
	all := map[string]*config.Switch{
		"deduplication":     &orNew(&t.Deduplication).Switch,
		"superseded-writes": &orNew(&t.SupersededWrites).Switch,
		"error-purging":     &orNew(&t.ErrorPurging).Switch,
		"tool-pairing":      &orNew(&t.ToolPairing).Switch,
		"recency":           &orNew(&t.Recency).Switch,
		"oversized":         &orNew(&t.Oversized).Switch,
		"protect":           &orNew(&t.Protect).Switch,
	}
	for i := range c.Expressions {
		all[c.Expressions[i].Name] = &c.Expressions[i].Switch
	}
	return all
}

func orNew[T any](p **T) *T {
	if *p == nil {
		*p = new(T)
	}
	return *p
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
		w.fail(bare.Error(), plain(e.Hint))
	}
	return statusInvalid
}
