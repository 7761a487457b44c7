package main

import (
	"context"
	"strings"

	"github.com/pare-llm/pare/cmd/internal/screen"
	"github.com/pare-llm/pare/internal/plain"
	"github.com/pare-llm/pare/store"
)

type sessionFsckCmd struct {
	storeFlags `embed:""`
	Repair     bool `help:"Rebuild what can be derived from the entries, and quarantine entries that cannot be read: they are kept, with a mark in their place."`
	JSON       bool `name:"json" help:"Print one JSON object per problem."`
}

// damagedHint is the advice for a damaged store.
const damagedHint = "stop what writes to it and restore a backup; without one, pare session export ID saves what can still be read of a session, and pare session import puts it into a new --store"

func (c *sessionFsckCmd) run(env *environment) int {
	return c.withExisting(env, func(ctx context.Context, db *store.Store) (int, error) {
		problems, err := db.Fsck(ctx, c.Repair)
		if err != nil {
			return 0, err
		}
		status, damaged := statusClean, false
		var out strings.Builder
		for _, p := range problems {
			if !p.Repaired && !p.Harmless {
				status = statusFindings
			}
			damaged = damaged || p.Damaged && !p.Repaired
			if c.JSON {
				line, err := plain.Marshal(p)
				if err != nil {
					return 0, err
				}
				out.Write(append(line, '\n'))
				continue
			}
			done := ""
			switch {
			case p.Repaired:
				done = " (repaired)"
			case p.Quarantined:
				done = " (quarantined)"
			}
			screen.Fprintf(&out, "%s%s\n", p.String(), done)
		}
		if status != statusClean && !c.Repair && !damaged {
			screen.Fprintln(env.stderr, "pare session fsck --repair rebuilds what can be derived and quarantines entries that cannot be read")
		}
		if damaged {
			screen.Fprintf(env.stderr, "pare: the file of the store is damaged\n      %s\n", damagedHint)
		}
		if len(problems) == 0 {
			screen.Fprintln(env.stderr, "the store is in order")
			if all, err := db.Sessions(ctx, c.Scope, 1, nil); err == nil && len(all) == 0 {
				screen.Fprintln(env.stderr, "it has no sessions; if it is a copy that was made while pare was running, the file beside the original (-wal) had them: pare session backup FILE makes a copy that is whole")
			}
		}
		return max(status, env.writeOutput([]byte(out.String()))), nil
	})
}
