package main

import (
	"context"
	"strings"
	"time"

	"github.com/pare-llm/pare/internal/plain"
	"github.com/pare-llm/pare/internal/screen"
	"github.com/pare-llm/pare/store"
)

type sessionListCmd struct {
	inStore `embed:""`
	JSON    bool `name:"json" help:"Print one JSON object per session."`
	Limit   int  `default:"100" placeholder:"N" help:"How many. Default: 100."`
}

func (c *sessionListCmd) run(w *world) int {
	return c.with(w, func(ctx context.Context, st *store.Store) (int, error) {
		all, err := st.Sessions(ctx, c.Scope, c.Limit, nil)
		if err != nil {
			return 0, err
		}
		var out strings.Builder
		for _, x := range all {
			if c.JSON {
				line, err := plain.Marshal(x)
				if err != nil {
					return 0, err
				}
				out.Write(append(line, '\n'))
				continue
			}
			screen.Fprintf(&out, "%s  %s  %6d entries  %-16s  %s\n", x.ID, x.Updated.Format(time.DateTime), x.Head, x.Dialect, x.Title)
		}
		if len(all) == 0 && !c.JSON {
			screen.Fprintln(w.stderr, "the store is empty; pare session import FILE fills it")
		}
		return w.say([]byte(out.String())), nil
	})
}
