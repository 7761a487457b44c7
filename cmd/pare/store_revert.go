package main

import (
	"context"
	"errors"

	"github.com/pare-llm/pare/cmd/internal/screen"
	"github.com/pare-llm/pare/store"
)

type sessionRevertCmd struct {
	oneSession `embed:""`
	Turns      *int   `placeholder:"N" help:"How many turns to revert."`
	To         string `placeholder:"ENTRY" help:"The entry that stays last: its number, as show prints it, or its id."`
}

func (c *sessionRevertCmd) run(w *world) int {
	if err := positive("--turns", c.Turns); err != nil {
		return w.usage(err, "session revert")
	}
	if (c.Turns != nil) == (c.To != "") {
		return w.usage(errors.New("give either --turns or --to"), "session revert")
	}
	return c.with(w, func(ctx context.Context, st *store.Store) (n int, err error) {
		if c.To != "" {
			var to string
			if to, err = entryID(ctx, st, c.key(), c.To); err != nil {
				return 0, err
			}
			n, err = st.Revert(ctx, c.key(), store.Anywhere, to)
		} else {
			n, err = st.RevertTurns(ctx, c.key(), store.Anywhere, *c.Turns)
		}
		if err != nil {
			return 0, err
		}
		return w.say(screen.Appendf(nil, "%s reverted; %s undoes that\n", plural(n, "message"), screen.NewCommand("pare", "session", "undo").Words(sessionWords(c.key())...))), nil
	})
}
