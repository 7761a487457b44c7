package main

import (
	"context"
	"strings"

	"github.com/pare-llm/pare/internal/plain"
	"github.com/pare-llm/pare/internal/screen"
	"github.com/pare-llm/pare/store"
)

type sessionSearchCmd struct {
	inStore `embed:""`
	Words   []string `arg:"" help:"Words that all must be there; in quotes they stand together."`
	In      string   `placeholder:"ID" help:"Only this session."`
	JSON    bool     `name:"json" help:"Print one JSON object per entry."`
}

func (c *sessionSearchCmd) run(w *world) int {
	return c.with(w, func(ctx context.Context, st *store.Store) (int, error) {
		hits, err := st.Search(ctx, c.key(c.In), strings.Join(c.Words, " "), 0)
		if err != nil {
			return 0, err
		}
		var out strings.Builder
		for _, h := range hits {
			if c.JSON {
				line, err := plain.Marshal(h)
				if err != nil {
					return 0, err
				}
				out.Write(append(line, '\n'))
				continue
			}
			screen.Fprintf(&out, "%s  entry %d (%s)  %s\n", h.Key.String(), h.Seq, h.ID, h.Snippet)
		}
		if len(hits) == 0 && !c.JSON {
			screen.Fprintln(w.stderr, "nothing is found")
		}
		return w.say([]byte(out.String())), nil
	})
}
