package main

import (
	"context"

	"github.com/pare-llm/pare/cmd/internal/screen"
	"github.com/pare-llm/pare/store"
)

type sessionUndoCmd struct {
	sessionFlags `embed:""`
}

func (c *sessionUndoCmd) run(env *environment) int {
	return c.withExisting(env, func(ctx context.Context, db *store.Store) (int, error) {
		kind, err := db.Undo(ctx, c.key())
		if err != nil {
			return 0, err
		}
		return env.writeOutput(screen.Appendf(nil, "the last %s is undone\n", kind)), nil
	})
}
