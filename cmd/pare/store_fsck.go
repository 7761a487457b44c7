package main

import (
	"context"
	"strings"

	"github.com/pare-llm/pare/internal/plain"
	"github.com/pare-llm/pare/internal/screen"
	"github.com/pare-llm/pare/store"
)

type sessionFsckCmd struct {
	inStore `embed:""`
	Repair  bool `help:"Write again what can be derived from the entries."`
	JSON    bool `name:"json" help:"Print one JSON object per problem."`
}

func (c *sessionFsckCmd) run(w *world) int {
	return c.with(w, func(ctx context.Context, st *store.Store) (int, error) {
		problems, err := st.Fsck(ctx, c.Repair)
		if err != nil {
			return 0, err
		}
		status := statusClean
		var out strings.Builder
		for _, p := range problems {
			if !p.Repaired && !p.Harmless {
				status = statusFindings
			}
			if c.JSON {
				line, err := plain.Marshal(p)
				if err != nil {
					return 0, err
				}
				out.Write(append(line, '\n'))
				continue
			}
			done := ""
			if p.Repaired {
				done = " (repaired)"
			}
			screen.Fprintf(&out, "%s%s\n", p.String(), done)
		}
		if len(problems) == 0 {
			screen.Fprintln(w.stderr, "the store is in order")
		}
		return max(status, w.say([]byte(out.String()))), nil
	})
}
