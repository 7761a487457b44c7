package main

import (
	"cmp"
	"context"

	"github.com/pare-llm/pare/cmd/internal/screen"
	"github.com/pare-llm/pare/store"
)

type sessionForkCmd struct {
	sessionFlags `embed:""`
	New          string `arg:"" optional:"" help:"The id of the new session. Default: a random one."`
	At           string `placeholder:"ENTRY" help:"The last entry that both share: its number, as show prints it, or its id. Default: the last one."`
}

func (c *sessionForkCmd) run(env *environment) int {
	return c.withExisting(env, func(ctx context.Context, db *store.Store) (int, error) {
		at, err := resolveEntryID(ctx, db, c.key(), c.At)
		if err != nil {
			return 0, err
		}
		session, err := db.Fork(ctx, c.key(), at, store.Key{Scope: c.Scope, ID: cmp.Or(c.New, store.NewID())})
		if err != nil {
			return 0, err
		}
		return env.writeOutput(screen.Appendf(nil, "%s\n", session.ID)), nil
	})
}
