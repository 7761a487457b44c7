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
	sessionFlags `embed:""`
	MinKeep      *int `placeholder:"N" help:"Keep at least the last N messages. Default: what the configuration says, or 12."`
	configFlags  `embed:""`
}

// Help returns the detailed help of the command.
func (c *sessionCompactCmd) Help() string {
	return `For example:

    pare session compact talk
    pare session compact talk --config pare.toml

Who writes the summary, and how, is what the table [compact] of the configuration says; without
one, lines are copied out and no model is asked.`
}

// buildCompactor returns the compactor of the configuration and the flags. If the status is not
// statusClean, it has printed an error.
func (c *sessionCompactCmd) buildCompactor(env *environment) (*pare.Compactor, int) {
	conf, used, status := c.load(env, false)
	if status != statusClean {
		return nil, status
	}
	by := &pare.Compactor{MinKeep: 12}
	if conf.Compact != nil {
		policy, err := conf.Policy(env.getenv)
		if err != nil {
			return nil, env.failConfig(used, err)
		}
		by = policy.Compact
	}
	if by.Summarize == nil {
		by.Summarize = summaries.Extract(summaries.ExtractOptions{})
	}
	if c.MinKeep != nil {
		by.MinKeep = *c.MinKeep
	}
	return by, statusClean
}

func (c *sessionCompactCmd) run(env *environment) int {
	if c.MinKeep != nil {
		if err := checkNotNegative("--min-keep", *c.MinKeep); err != nil {
			return env.failUsage(err, "session compact")
		}
	}
	by, status := c.buildCompactor(env)
	if status != statusClean {
		return status
	}
	return c.withExisting(env, func(ctx context.Context, db *store.Store) (int, error) {
		by.Memory = db.Memory()
		made, err := db.Compact(ctx, c.key(), by)
		var not *pare.CompactionError
		if errors.As(err, &not) && not.Reason == "larger" {
			screen.Fprintf(env.stderr, "nothing to compact: %v\n", not.Err)
			return statusClean, nil
		}
		if err != nil {
			return 0, err
		}
		if made == nil {
			screen.Fprintln(env.stderr, "nothing to compact")
			return statusClean, nil
		}
		return env.writeOutput(screen.Appendf(nil, "%s up to entry %d are summarized; %s shows them\n", plural(made.Messages, "message"), made.To, screen.NewCommand("pare", "session", "recall", made.Archive))), nil
	})
}
