package main

import (
	"context"

	"github.com/pare-llm/pare/cmd/internal/screen"
	"github.com/pare-llm/pare/store"
)

type sessionBackupCmd struct {
	storeFlags `embed:""`
	File       string `arg:"" name:"file" help:"Where to write the copy; the file must not exist yet."`
}

func (c *sessionBackupCmd) run(env *environment) int {
	return c.withExisting(env, func(ctx context.Context, db *store.Store) (int, error) {
		if err := db.Backup(ctx, c.File); err != nil {
			return 0, err
		}
		return env.writeOutput(screen.Appendf(nil, "the store was copied to %s\n", c.File)), nil
	})
}
