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

const emptyStore = "the store is empty; pare session import FILE fills it"

func (c *sessionListCmd) run(w *world) int {
	dsn, status := c.dsn(w)
	if status != statusClean {
		return status
	}
	if absent(dsn) { // nobody has imported anything yet; looking makes no file
		if !c.JSON {
			screen.Fprintln(w.stderr, emptyStore)
		}
		return statusClean
	}
	return w.withStore(dsn, func(ctx context.Context, st *store.Store) (int, error) {
		all, err := st.Sessions(ctx, c.Scope, c.Limit, nil)
		if err != nil {
			return 0, err
		}
		var out strings.Builder
		var id, dialect int // how wide they are
		for _, x := range all {
			id, dialect = max(id, screen.Columns(screen.Line(x.ID))), max(dialect, len(x.Dialect))
		}
		for _, x := range all {
			if c.JSON {
				line, err := plain.Marshal(x)
				if err != nil {
					return 0, err
				}
				out.Write(append(line, '\n'))
				continue
			}
			pad := screen.Repeat(" ", id-screen.Columns(screen.Line(x.ID)))
			screen.Fprintf(&out, "%s%s  %s  %6d entries  %-*s  %s\n", x.ID, pad, x.Updated.Format(time.DateTime), x.Head, dialect, x.Dialect, x.Title)
		}
		if len(all) == 0 && !c.JSON {
			screen.Fprintln(w.stderr, emptyStore)
		}
		return w.say([]byte(out.String())), nil
	})
}
