package main

import (
	"context"
	"os"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/cmd/internal/screen"
	"github.com/pare-llm/pare/cmd/internal/source"
	"github.com/pare-llm/pare/store"
)

type sessionWindowCmd struct {
	oneSession   `embed:""`
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

func (c *sessionWindowCmd) run(w *world) int {
	for flag, n := range map[string]*int{"--max-tokens": c.MaxTokens, "--max-messages": c.MaxMessages, "--max-exchanges": c.MaxExchanges, "--max-turns": c.MaxTurns} {
		if err := positive(flag, n); err != nil {
			return w.usage(err, "session window")
		}
	}
	if c.MinKeep != nil {
		if err := notNegative("--min-keep", *c.MinKeep); err != nil {
			return w.usage(err, "session window")
		}
	}
	if err := w.claimOutput("-o", c.Output); err != nil {
		return w.usage(err, "session window")
	}
	return c.with(w, func(ctx context.Context, st *store.Store) (int, error) {
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
			conf, used, err := w.loadConfig(c.Config)
			if err != nil {
				return w.misconfigured(c.Config, err), nil
			}
			made, status := w.compile(conf, used)
			if made == nil {
				return status, nil
			}
			p = *made
		}
		limited, err := storex.Limited(&p, c.MaxTokens, c.MaxMessages, c.MaxExchanges, c.MaxTurns, c.MinKeep)
		if err != nil {
			return 0, err
		}
		ask.Policy = limited
		win, err := st.Window(ctx, c.key(), ask)
		if err != nil {
			return 0, err
		}
		for _, f := range win.Plan.Faults() {
			w.fail(f.Error()+"; the rule is left out", "")
		}
		screen.Fprintf(w.stderr, "%d entries; request starts at entry %d; %s\n", win.Head, win.From, plural(len(win.Plan.Changes()), "change"))
		body := append(win.Body, '\n')
		if c.Output == "" || c.Output == source.Stdin {
			return w.say(body), nil
		}
		return statusClean, w.files.WriteFile(c.Output, body)
	})
}
