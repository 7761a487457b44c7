//go:build !js

package engine

import (
	"errors"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/config"
	"github.com/pare-llm/pare/wire"
)

// Settings are what a program is configured with that answers calls of others. Their options come first.
type Settings struct {
	Config *config.Config
	Getenv func(string) string // knows the keys of models that write summaries; nil: there are none
}

// configured is the policy of a call as the configuration and the options say, and which of its rules
// somebody has asked for. The rules of the program itself are for prune, and for what must fit.
func (o *options) configured(on *Settings, name string) (*pare.Policy, []pare.Rule, error) {
	conf, own := config.Default(), len(o.Config) > 0
	var getenv func(string) string
	if on != nil && on.Config != nil {
		conf, getenv = on.Config.Clone(), on.Getenv
	}
	if own {
		var err error
		if conf, err = config.Parse("config.json", o.Config); err != nil {
			return nil, nil, err
		}
		getenv = nil
	}
	conf.Archive = nil // what is removed comes back to nobody
	if o.Tokenizer != "" {
		conf.Tokenizer = o.Tokenizer
	}
	if name == "fit" || name == "trim" {
		o.window(conf)
	} else {
		conf.Window = nil
	}
	ruled := name == "prune" || o.Rules != nil || o.KeepRecent != nil || len(conf.Standard)+len(conf.Expressions) > 0 && (own || name != "fix")
	if err := o.choose(conf); err != nil {
		return nil, nil, err
	}
	switch {
	case name != "compact":
		conf.Compact = nil
	case conf.Compact == nil:
		conf.Compact = &config.Compaction{}
	}
	p, err := conf.Policy(getenv)
	if err != nil {
		return nil, nil, err
	}
	if !ruled || name == "compact" {
		p.Rules = nil // nobody has asked for any
		return p, nil, nil
	}
	return p, conf.Rules(), nil
}

// window sets the limits. Those that are given take the place of those of the configuration.
func (o *options) window(conf *config.Config) {
	var w config.Window
	if conf.Window != nil {
		w = *conf.Window
	}
	if o.limited() {
		w.Tokens = config.Limit(or(o.MaxTokens, 0))
		w.Messages, w.Exchanges, w.Turns = or(o.MaxMessages, 0), or(o.MaxExchanges, 0), or(o.MaxTurns, 0)
		w.Low, w.Cache, w.Cold = config.Mark{}, false, false
	}
	w.MinKeep = or(o.MinKeep, w.MinKeep)
	conf.Window = &w
}

// choose lets the options decide which rules run.
func (o *options) choose(conf *config.Config) error {
	names := o.Rules
	if o.KeepRecent != nil {
		conf.Recent(*o.KeepRecent)
		if names != nil {
			names = append(names, "recency")
		}
	}
	if names == nil {
		return nil
	}
	if err := conf.Only(names...); err != nil {
		return misuse("rules: %v", err)
	}
	return nil
}

// counterOf are the counters that go by the name of a tokenizer.
func counterOf(tokenizer string) func(string) (wire.Counter, error) { return config.Counter(tokenizer) }

// misconfigured reports whether an error is one of a configuration.
func misconfigured(err error) bool {
	var e config.Errors
	return errors.As(err, &e)
}
