package main

import (
	"bufio"
	"context"
	"errors"
	"io"

	"github.com/pare-llm/pare/cmd/internal/screen"
	"github.com/pare-llm/pare/store"
)

type sessionExportCmd struct {
	sessionFlags `embed:""`
	LastTurns    *int `placeholder:"N" help:"Only the last N turns."`
	FromTurn     *int `placeholder:"N" help:"Only from the Nth turn on."`
	Lines        bool `help:"One message per line instead of a list."`
}

// exportRange returns the turns to export.
func (c *sessionExportCmd) exportRange() (part store.Export, err error) {
	switch {
	case c.LastTurns != nil && c.FromTurn != nil:
		return part, errors.New("--last-turns and --from-turn exclude each other")
	case c.LastTurns != nil:
		return store.Export{LastTurns: *c.LastTurns}, checkPositive("--last-turns", c.LastTurns)
	case c.FromTurn != nil:
		return store.Export{FromTurn: *c.FromTurn}, checkPositive("--from-turn", c.FromTurn)
	}
	return part, nil
}

func (c *sessionExportCmd) run(env *environment) int {
	part, err := c.exportRange()
	if err != nil {
		return env.failUsage(err, "session export")
	}
	return c.withExisting(env, func(ctx context.Context, db *store.Store) (int, error) {
		return statusClean, env.exportMessages(ctx, db, c.key(), part, c.Lines, env.stdout)
	})
}

// exportMessages writes the messages of a session as a list or as lines.
func (env *environment) exportMessages(ctx context.Context, db *store.Store, key store.Key, part store.Export, asLines bool, to io.Writer) error {
	out := bufio.NewWriter(to)
	between, end := "[", "]\n"
	if asLines {
		between, end = "", ""
	}
	n := 0
	err := db.Export(ctx, key, part, func(entry store.Entry) error {
		n++
		env.warnDamaged(entry)
		out.WriteString(between)
		if between = ","; asLines {
			between = ""
			entry.Raw = toSingleLine(entry.Raw)
		}
		_, err := out.Write(entry.Raw)
		return err
	})
	if err != nil {
		return err
	}
	if n == 0 && !asLines {
		out.WriteString("[")
	}
	out.WriteString(end)
	return out.Flush()
}

// warnDamaged prints that an entry is damaged and was replaced by a mark.
func (env *environment) warnDamaged(entry store.Entry) {
	if entry.Damaged != "" {
		screen.Fprintf(env.stderr, "pare: entry %d (%s) is damaged: %s\n      a mark stands in its place; pare session fsck says more\n", entry.Seq, entry.ID, entry.Damaged)
	}
}
