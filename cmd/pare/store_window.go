package main

import (
	"context"
	"os"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/cmd/internal/screen"
	"github.com/pare-llm/pare/cmd/internal/source"
	"github.com/pare-llm/pare/store"
	"github.com/pare-llm/pare/store/storehttp"
)

type sessionWindowCmd struct {
	sessionFlags `embed:""`
	MaxTokens    *int   `placeholder:"N" help:"The most tokens. Default, without any limit: what the window of the model has room for."`
	MaxMessages  *int   `placeholder:"N" help:"At most N messages."`
	MaxExchanges *int   `placeholder:"N" help:"The last N exchanges: calls with their results."`
	MaxTurns     *int   `placeholder:"N" help:"At most N turns; the first one always stays."`
	MinKeep      *int   `placeholder:"N" help:"Never cut into the last N messages."`
	Base         string `placeholder:"FILE" help:"A request whose messages are replaced: model, system prompt, tools, limits. Default: that of the session."`
	Model        string `placeholder:"NAME" help:"The model. Default: that of the session."`
	Output       string `short:"o" placeholder:"FILE" help:"Write the request to FILE."`
	Config       string `placeholder:"FILE" help:"The pare.toml to use."`
}

func (c *sessionWindowCmd) run(env *environment) int {
	for flag, n := range map[string]*int{"--max-tokens": c.MaxTokens, "--max-messages": c.MaxMessages, "--max-exchanges": c.MaxExchanges, "--max-turns": c.MaxTurns} {
		if err := checkPositive(flag, n); err != nil {
			return env.failUsage(err, "session window")
		}
	}
	if c.MinKeep != nil {
		if err := checkNotNegative("--min-keep", *c.MinKeep); err != nil {
			return env.failUsage(err, "session window")
		}
	}
	if err := env.claimOutput("-o", c.Output); err != nil {
		return env.failUsage(err, "session window")
	}
	return c.withExisting(env, func(ctx context.Context, db *store.Store) (int, error) {
		ask := store.WindowOptions{Model: c.Model}
		if c.Base != "" {
			base, err := os.ReadFile(c.Base)
			if err != nil {
				return 0, err
			}
			ask.Base = base
		}
		p := pare.Policy{Window: &pare.Window{ModelTokens: true}}
		if c.Config != "" {
			conf, used, err := env.loadConfig(c.Config)
			if err != nil {
				return env.failConfig(c.Config, err), nil
			}
			made, status := env.compile(conf, used)
			if made == nil {
				return status, nil
			}
			p = *made
		}
		limited, err := storehttp.Limits{MaxTokens: c.MaxTokens, MaxMessages: c.MaxMessages, MaxExchanges: c.MaxExchanges, MaxTurns: c.MaxTurns, MinKeep: c.MinKeep}.Apply(&p)
		if err != nil {
			return 0, err
		}
		ask.Policy = limited
		win, err := db.Window(ctx, c.key(), ask)
		if err != nil {
			return 0, err
		}
		for _, f := range win.Plan.Faults() {
			env.fail(f.Error()+"; the rule is left out", "")
		}
		screen.Fprintf(env.stderr, "%d entries; request starts at entry %d; %s\n", win.Head, win.From, plural(len(win.Plan.Changes()), "change"))
		body := append(win.Body, '\n')
		if c.Output == "" || c.Output == source.Stdin {
			return env.writeOutput(body), nil
		}
		return statusClean, env.files.WriteFile(c.Output, body)
	})
}
