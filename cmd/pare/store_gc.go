package main

import (
	"context"
	"time"

	"github.com/pare-llm/pare/internal/screen"
	"github.com/pare-llm/pare/store"
)

type sessionGcCmd struct {
	inStore    `embed:""`
	Idle       time.Duration `placeholder:"TIME" help:"Delete sessions that nothing was appended to for so long, such as 720h."`
	Originals  time.Duration `placeholder:"TIME" help:"Let go of what a summary stands for, once that is so old. Windows do not change; recall and undo cannot reach it any more."`
	Tombstones time.Duration `placeholder:"TIME" help:"Forget that a session was deleted, after so long."`
	Receipts   time.Duration `placeholder:"TIME" help:"Forget what pare serve did to requests, after so long; it does so by itself after 30 days."`
}

func (c *sessionGcCmd) run(w *world) int {
	return c.with(w, func(ctx context.Context, st *store.Store) (int, error) {
		done, err := st.Collect(ctx, c.Scope, store.Retain{Idle: c.Idle, Originals: c.Originals, Tombstones: c.Tombstones, Receipts: c.Receipts})
		if err != nil {
			return 0, err
		}
		return w.say(screen.Appendf(nil, "%s deleted, %s let go, %s and %s forgotten, %s removed\n",
			plural(done.Sessions, "session"), entries(done.Entries), plural(done.Tombstones, "tombstone"), plural(done.Receipts, "receipt"), plural(done.Media, "attachment"))), nil
	})
}
