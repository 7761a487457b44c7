package main

import (
	"context"
	"fmt"
	"time"

	"github.com/pare-llm/pare/cmd/internal/screen"
	"github.com/pare-llm/pare/store"
)

type sessionGcCmd struct {
	storeFlags `embed:""`
	Idle       *time.Duration `placeholder:"TIME" help:"Delete sessions with no new entry for this long, such as 720h."`
	Originals  *time.Duration `placeholder:"TIME" help:"Delete entries that a summary replaced this long ago. Windows stay the same; recall and undo can no longer reach them."`
	Tombstones *time.Duration `placeholder:"TIME" help:"Forget deleted sessions after this long."`
	Receipts   *time.Duration `placeholder:"TIME" help:"Delete the receipts of pare serve after this long; the server does so itself after 30 days."`
}

// retention returns how long data is kept. Kinds without a flag are kept forever.
func (c *sessionGcCmd) retention() (r store.Retention, err error) {
	for _, f := range []struct {
		name  string
		given *time.Duration
		to    *time.Duration
	}{{"--idle", c.Idle, &r.Idle}, {"--originals", c.Originals, &r.Originals}, {"--tombstones", c.Tombstones, &r.Tombstones}, {"--receipts", c.Receipts, &r.Receipts}} {
		if f.given == nil {
			continue
		}
		if *f.to = *f.given; *f.to <= 0 {
			return r, fmt.Errorf("%s must be longer than nothing, such as 1s", f.name)
		}
	}
	return r, nil
}

func (c *sessionGcCmd) run(env *environment) int {
	retain, err := c.retention()
	if err != nil {
		return env.failUsage(err, "session gc")
	}
	return c.withExisting(env, func(ctx context.Context, db *store.Store) (int, error) {
		done, err := db.Collect(ctx, c.Scope, retain)
		if err != nil {
			return 0, err
		}
		return env.writeOutput(screen.Appendf(nil, "removed: %s, %s, %s, %s, %s\n",
			plural(done.Sessions, "session"), pluralEntries(done.Entries), plural(done.Tombstones, "tombstone"), plural(done.Receipts, "receipt"), plural(done.Media, "attachment"))), nil
	})
}
