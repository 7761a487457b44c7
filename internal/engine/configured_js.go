package engine

import (
	"context"
	"fmt"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/rulelist"
	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/wire"
)

// In WebAssembly size counts: there is no reader of configurations with its expressions, no vocabulary
// and nothing that asks a model. That leaves a third.

// Settings are nothing here: there is no configuration.
type Settings struct{}

// configured is the policy of a call as the options say, and its rules.
func (o *options) configured(_ *Settings, name string) (*pare.Policy, []pare.Rule, error) {
	if len(o.Config) > 0 {
		return nil, nil, misuse("config is not read in WebAssembly: give the options themselves")
	}
	p := &pare.Policy{Counter: counterOf(o.Tokenizer)}
	switch name {
	case "compact":
		p.Compact = &pare.Compactor{Summarize: extract()}
		return p, nil, nil
	case "fit", "trim":
		p.Window = &pare.Window{
			Tokens: or(o.MaxTokens, 0), Messages: or(o.MaxMessages, 0), Exchanges: or(o.MaxExchanges, 0), Turns: or(o.MaxTurns, 0),
			MinKeep: or(o.MinKeep, 0), ModelTokens: !o.limited(),
		}
	}
	if o.Rules == nil && o.KeepRecent == nil && name != "prune" {
		return p, nil, nil
	}
	all, err := o.chosen()
	if err != nil {
		return nil, nil, err
	}
	p.Rules, err = pare.Compile(all...)
	return p, all, err
}

// chosen are the rules that were named, or the standard ones.
func (o *options) chosen() (all []pare.Rule, err error) {
	names := o.Rules
	if names == nil {
		for _, e := range rulelist.All() {
			if e.Standard && e.Name != "recency" {
				names = append(names, e.Name)
			}
		}
	}
	if o.KeepRecent != nil {
		names = append(names[:len(names):len(names)], "recency")
	}
	for _, name := range names {
		e, ok := rulelist.Named(name)
		if !ok {
			return nil, misuse("rules: unknown rule %q", name)
		}
		var with []byte
		if name == "recency" && o.KeepRecent != nil {
			with = fmt.Appendf(nil, `{"messages":%d}`, *o.KeepRecent)
		}
		r, err := e.New(with)
		if err != nil {
			return nil, misuse("rules: %v", err)
		}
		all = append(all, r)
	}
	return all, nil
}

func counterOf(tokenizer string) func(string) (wire.Counter, error) {
	return func(model string) (wire.Counter, error) {
		if tokenizer != "" && tokenizer != "estimate" {
			return nil, misuse("tokenizer is %q: WebAssembly has estimates only; count is a function of your own", tokenizer)
		}
		return tokens.For(model), nil
	}
}

func extract() pare.Summarizer {
	return func(context.Context, pare.Removed) (pare.Summary, error) {
		return pare.Summary{}, misuse("in WebAssembly a summary is a text, summary, or written by a function, summarize")
	}
}

func misconfigured(error) bool { return false }
