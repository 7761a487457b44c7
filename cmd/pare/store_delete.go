package main

import (
	"context"

	"github.com/pare-llm/pare/store"
)

type sessionDeleteCmd struct {
	inStore `embed:""`
	ID      string `arg:"" help:"The session."`
}

func (c *sessionDeleteCmd) run(w *world) int {
	return c.with(w, func(ctx context.Context, st *store.Store) (int, error) {
		return statusClean, st.Delete(ctx, c.key(c.ID))
	})
}
