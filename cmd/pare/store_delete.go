package main

import (
	"bufio"
	"context"
	"strings"

	"github.com/pare-llm/pare/cmd/internal/screen"
	"github.com/pare-llm/pare/store"
)

type sessionDeleteCmd struct {
	oneSession `embed:""`
	Yes        bool `short:"y" help:"Do not ask. Without a terminal nobody is asked either."`
}

func (c *sessionDeleteCmd) run(w *world) int {
	return c.with(w, func(ctx context.Context, st *store.Store) (int, error) {
		s, err := st.Session(ctx, c.key())
		if err != nil {
			return 0, err
		}
		if !c.Yes && isTerminal(w.stdin) && isTerminal(w.stderr) {
			screen.Fprintf(w.stderr, "delete %s with %s? This cannot be undone. [y/N] ", sessionName(c.key()), entries(int(s.Head)))
			answer, _ := bufio.NewReader(w.stdin).ReadString('\n')
			if a := strings.ToLower(strings.TrimSpace(answer)); a != "y" && a != "yes" {
				screen.Fprintln(w.stderr, "kept")
				return statusClean, nil
			}
		}
		if err := st.Delete(ctx, c.key()); err != nil {
			return 0, err
		}
		screen.Fprintf(w.stderr, "deleted %s with %s; its id stays taken\n", sessionName(c.key()), entries(int(s.Head)))
		return statusClean, nil
	})
}
