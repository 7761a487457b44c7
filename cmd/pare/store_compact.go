package main

import (
	"context"
	"errors"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/cmd/internal/screen"
	"github.com/pare-llm/pare/store"
	summaries "github.com/pare-llm/pare/summary"
)

type sessionCompactCmd struct {
	oneSession `embed:""`
	MinKeep    *int `placeholder:"N" help:"Keep at least the last N messages. Default: what the configuration says, or 12."`
	settings   `embed:""`
}

// Help is the page's first paragraph.
func (c *sessionCompactCmd) Help() string {
	return `For example:

    pare session compact talk
    pare session compact talk --config pare.toml

Who writes the summary, and how, is what the table [compact] of the configuration says; without
one, lines are copied out and no model is asked.`
}

// compactor is what the configuration says, and the flags.
func (c *sessionCompactCmd) compactor(w *world) (*pare.Compactor, int) {
	conf, used, status := c.load(w, false)
	if status != statusClean {
		return nil, status
	}
	by := &pare.Compactor{MinKeep: 12}
	if conf.Compact != nil {
		p, err := conf.Policy(w.getenv)
		if err != nil {
			return nil, w.misconfigured(used, err)
		}
		by = p.Compact
	}
	if by.Summarize == nil {
		by.Summarize = summaries.Extract(summaries.ExtractOptions{})
	}
	if c.MinKeep != nil {
		by.MinKeep = *c.MinKeep
	}
	return by, statusClean
}

func (c *sessionCompactCmd) run(w *world) int {
	if c.MinKeep != nil {
		if err := notNegative("--min-keep", *c.MinKeep); err != nil {
			return w.usage(err, "session compact")
		}
	}
	by, status := c.compactor(w)
	if status != statusClean {
		return status
	}
	return c.with(w, func(ctx context.Context, st *store.Store) (int, error) {
		by.Memory = storex.Memory(st)
		made, err := st.Compact(ctx, c.key(), by)
		var not *pare.CompactionError
		if errors.As(err, &not) && not.Reason == "larger" {
			screen.Fprintf(w.stderr, "nothing to compact: %v\n", not.Err)
			return statusClean, nil
		}
		if err != nil {
			return 0, err
		}
		if made == nil {
			screen.Fprintln(w.stderr, "nothing to compact")
			return statusClean, nil
		}
		return w.say(screen.Appendf(nil, "%s up to entry %d are summarized; %s shows them\n", plural(made.Messages, "message"), made.To, screen.NewCommand("pare", "session", "recall", made.Archive))), nil
	})
}
