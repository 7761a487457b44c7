package main

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/pare-llm/pare/archive"
	"github.com/pare-llm/pare/store"
)

type recallCmd struct {
	storeFlags `embed:""`
	Handle     string `arg:"" help:"The handle in the placeholder, such as pare-2f0b1c."`
	Archive    string `placeholder:"FILE" help:"Look in FILE first. Default: archive.file of the configuration."`
	Config     string `placeholder:"FILE" help:"Read FILE instead of pare.toml."`
}

// Help returns the detailed help of the command.
func (c *recallCmd) Help() string {
	return `For example:

    pare recall pare-2f0b1c
    pare recall pare-2f0b1c --archive removed.jsonl

Prints the JSON of what was removed from a conversation. The placeholder that took its place has
the handle. Pare looks in the archive, and then in the store of sessions.`
}

func (c *recallCmd) run(env *environment) int {
	file := c.Archive
	if file == "" {
		conf, used, err := env.loadConfig(c.Config)
		if err != nil {
			return env.failConfig(used, err)
		}
		file = archiveFile(conf)
	}
	original, err := recallFromFile(file, c.Handle)
	switch {
	case err == nil:
		return env.writeOutput(original)
	case !errors.Is(err, archive.ErrNotFound) && !errors.Is(err, fs.ErrNotExist):
		return env.fail(err.Error(), "name the archive with --archive FILE")
	}
	dsn, status := c.resolveDSN(env)
	if status != statusClean {
		return status
	}
	if isAbsentFile(dsn) {
		return env.fail("nothing is archived as "+c.Handle, "name the archive with --archive FILE, or the store with --store")
	}
	return env.withStore(dsn, func(ctx context.Context, db *store.Store) (int, error) {
		raw, err := db.Recall(ctx, c.Scope, c.Handle)
		if err != nil {
			return 0, err
		}
		return env.writeOutput(append(raw, '\n')), nil
	})
}

// recallFromFile returns the items that a handle names, a line each. The error wraps
// [archive.ErrNotFound] if the archive does not have them, and [fs.ErrNotExist] if there is no such
// file.
func recallFromFile(name, handle string) ([]byte, error) {
	if _, err := os.Stat(name); err != nil {
		return nil, err
	}
	file, err := archive.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	items, err := archive.Recall(context.Background(), file, handle)
	if len(items) == 0 {
		return nil, err
	}
	var out []byte
	for _, item := range items {
		out = append(append(out, item.Raw...), '\n')
	}
	return out, nil
}
