package main

import (
	"context"
	"errors"
	"strings"

	"github.com/pare-llm/pare/cmd/internal/screen"
	"github.com/pare-llm/pare/internal/plain"
	"github.com/pare-llm/pare/store"
)

type sessionSearchCmd struct {
	inStore `embed:""`
	Words   []string `arg:"" help:"Words that must all occur; quote them to find a phrase."`
	In      string   `placeholder:"ID" help:"Only this session."`
	Path    string   `placeholder:"PATH" help:"Only the session of this path below the one that --in names."`
	JSON    bool     `name:"json" help:"Print one JSON object per entry."`
}

func (c *sessionSearchCmd) run(w *world) int {
	if c.Path != "" && c.In == "" {
		return w.usage(errors.New("--path needs --in: the session that it belongs to"), "session search")
	}
	return c.with(w, func(ctx context.Context, st *store.Store) (int, error) {
		hits, err := st.Search(ctx, store.Key{Scope: c.Scope, ID: c.In, Path: c.Path}, strings.Join(c.Words, " "), 0)
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
			screen.Fprintf(&out, "%s  entry %d (%s)  %s\n", sessionName(h.Key), h.Seq, h.ID, h.Snippet)
		}
		if len(hits) == 0 && !c.JSON {
			screen.Fprintln(w.stderr, "nothing found")
		}
		return w.say([]byte(out.String())), nil
	})
}
