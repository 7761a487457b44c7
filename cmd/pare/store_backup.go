package main

import (
	"context"

	"github.com/pare-llm/pare/cmd/internal/screen"
	"github.com/pare-llm/pare/store"
)

type sessionBackupCmd struct {
	inStore `embed:""`
	File    string `arg:"" name:"file" help:"Where to write the copy; the file must not exist yet."`
}

func (c *sessionBackupCmd) run(w *world) int {
	return c.with(w, func(ctx context.Context, st *store.Store) (int, error) {
		if err := st.Backup(ctx, c.File); err != nil {
			return 0, err
		}
		return w.say(screen.Appendf(nil, "the store was copied to %s\n", c.File)), nil
	})
}
