package main

import (
	"context"

	"github.com/pare-llm/pare/store"
)

type sessionDeleteCmd struct {
	oneSession `embed:""`
}

func (c *sessionDeleteCmd) run(w *world) int {
	return c.with(w, func(ctx context.Context, st *store.Store) (int, error) {
		return statusClean, st.Delete(ctx, c.key())
	})
}
