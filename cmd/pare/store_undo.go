package main

import (
	"context"

	"github.com/pare-llm/pare/cmd/internal/screen"
	"github.com/pare-llm/pare/store"
)

type sessionUndoCmd struct {
	oneSession `embed:""`
}

func (c *sessionUndoCmd) run(w *world) int {
	return c.with(w, func(ctx context.Context, st *store.Store) (int, error) {
		kind, err := st.Undo(ctx, c.key())
		if err != nil {
			return 0, err
		}
		return w.say(screen.Appendf(nil, "the last %s is undone\n", kind)), nil
	})
}
