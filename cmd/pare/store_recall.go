package main

import (
	"context"

	"github.com/pare-llm/pare/store"
)

type sessionRecallCmd struct {
	inStore `embed:""`
	Handle  string `arg:"" help:"The name in the placeholder."`
}

func (c *sessionRecallCmd) run(w *world) int {
	return c.with(w, func(ctx context.Context, st *store.Store) (int, error) {
		raw, err := st.Recall(ctx, c.Scope, c.Handle)
		if err != nil {
			return 0, err
		}
		return w.say(append(raw, '\n')), nil
	})
}
