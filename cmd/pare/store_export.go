package main

import (
	"bufio"
	"context"

	"github.com/pare-llm/pare/store"
)

type sessionExportCmd struct {
	inStore   `embed:""`
	ID        string `arg:"" help:"The session."`
	LastTurns int    `placeholder:"N" help:"Only the last N turns."`
	FromTurn  int    `placeholder:"N" help:"Only from the Nth turn on."`
	Lines     bool   `help:"One message per line, in the place of a list."`
}

func (c *sessionExportCmd) run(w *world) int {
	return c.with(w, func(ctx context.Context, st *store.Store) (int, error) {
		out := bufio.NewWriter(w.stdout)
		between, end := "[", "]\n"
		if c.Lines {
			between, end = "", ""
		}
		n := 0
		err := st.Export(ctx, c.key(c.ID), store.Export{LastTurns: c.LastTurns, FromTurn: c.FromTurn}, func(e store.Entry) error {
			n++
			out.WriteString(between)
			if between = ","; c.Lines {
				between = ""
			}
			_, err := out.Write(e.Raw)
			if c.Lines {
				out.WriteByte('\n')
			}
			return err
		})
		if err != nil {
			return 0, err
		}
		if n == 0 && !c.Lines {
			out.WriteString("[")
		}
		out.WriteString(end)
		return statusClean, out.Flush()
	})
}
