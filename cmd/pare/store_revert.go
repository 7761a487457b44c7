package main

import (
	"context"
	"errors"

	"github.com/pare-llm/pare/cmd/internal/screen"
	"github.com/pare-llm/pare/store"
)

type sessionRevertCmd struct {
	sessionFlags `embed:""`
	Turns        *int   `placeholder:"N" help:"How many turns to revert."`
	To           string `placeholder:"ENTRY" help:"The entry that stays last: its number, as show prints it, or its id."`
}

func (c *sessionRevertCmd) run(env *environment) int {
	if err := checkPositive("--turns", c.Turns); err != nil {
		return env.failUsage(err, "session revert")
	}
	if (c.Turns != nil) == (c.To != "") {
		return env.failUsage(errors.New("give either --turns or --to"), "session revert")
	}
	return c.withExisting(env, func(ctx context.Context, db *store.Store) (n int, err error) {
		if c.To != "" {
			var to string
			if to, err = resolveEntryID(ctx, db, c.key(), c.To); err != nil {
				return 0, err
			}
			n, err = db.Revert(ctx, c.key(), store.Anywhere, to)
		} else {
			n, err = db.RevertTurns(ctx, c.key(), store.Anywhere, *c.Turns)
		}
		if err != nil {
			return 0, err
		}
		return env.writeOutput(screen.Appendf(nil, "%s reverted; %s undoes that\n", plural(n, "message"), screen.NewCommand("pare", "session", "undo").Words(sessionArgs(c.key())...))), nil
	})
}
