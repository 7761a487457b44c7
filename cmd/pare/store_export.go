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
	oneSession `embed:""`
	LastTurns  *int `placeholder:"N" help:"Only the last N turns."`
	FromTurn   *int `placeholder:"N" help:"Only from the Nth turn on."`
	Lines      bool `help:"One message per line instead of a list."`
}

// part says which turns are asked for.
func (c *sessionExportCmd) part() (part store.Export, err error) {
	switch {
	case c.LastTurns != nil && c.FromTurn != nil:
		return part, errors.New("--last-turns and --from-turn exclude each other")
	case c.LastTurns != nil:
		return store.Export{LastTurns: *c.LastTurns}, positive("--last-turns", c.LastTurns)
	case c.FromTurn != nil:
		return store.Export{FromTurn: *c.FromTurn}, positive("--from-turn", c.FromTurn)
	}
	return part, nil
}

func (c *sessionExportCmd) run(w *world) int {
	part, err := c.part()
	if err != nil {
		return w.usage(err, "session export")
	}
	return c.with(w, func(ctx context.Context, st *store.Store) (int, error) {
		return statusClean, w.export(ctx, st, c.key(), part, c.Lines, w.stdout)
	})
}

// export writes the messages of a session, as a list or as lines.
func (w *world) export(ctx context.Context, st *store.Store, key store.Key, part store.Export, asLines bool, to io.Writer) error {
	out := bufio.NewWriter(to)
	between, end := "[", "]\n"
	if asLines {
		between, end = "", ""
	}
	n := 0
	err := st.Export(ctx, key, part, func(e store.Entry) error {
		n++
		w.noteDamaged(e)
		out.WriteString(between)
		if between = ","; asLines {
			between = ""
			e.Raw = oneLineOf(e.Raw)
		}
		_, err := out.Write(e.Raw)
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

// noteDamaged says, beside what is printed, that a mark stands in the place of an entry.
func (w *world) noteDamaged(e store.Entry) {
	if e.Damaged != "" {
		screen.Fprintf(w.stderr, "pare: entry %d (%s) is damaged: %s\n      a mark stands in its place; pare session fsck says more\n", e.Seq, e.ID, e.Damaged)
	}
}
