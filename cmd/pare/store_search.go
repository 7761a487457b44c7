package main

import (
	"context"
	"errors"
	"io"
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
		return w.hits(hits, c.JSON, func(out io.Writer, h store.Hit) {
			screen.Fprintf(out, "%s  entry %d (%s)  %s\n%s", sessionName(h.Key), h.Seq, h.ID, h.Snippet, alsoIn(h))
		})
	})
}

// alsoIn names the other sessions that share an entry, on a line of its own.
func alsoIn(h store.Hit) screen.Text {
	const most = 3
	var names []string
	for _, k := range h.Also[:min(len(h.Also), most)] {
		names = append(names, sessionName(k))
	}
	switch more := len(h.Also) - most; {
	case len(names) == 0:
		return ""
	case more > 0:
		return screen.Printf("  also in %s and more\n", screen.Join(names, ", "))
	}
	return screen.Printf("  also in %s\n", screen.Join(names, ", "))
}

// hits lists entries that were found, as JSON or as show writes one.
func (w *world) hits(hits []store.Hit, asJSON bool, show func(io.Writer, store.Hit)) (int, error) {
	var out strings.Builder
	for _, h := range hits {
		if asJSON {
			line, err := plain.Marshal(h)
			if err != nil {
				return 0, err
			}
			out.Write(append(line, '\n'))
			continue
		}
		show(&out, h)
	}
	if len(hits) == 0 && !asJSON {
		screen.Fprintln(w.stderr, "nothing found")
	}
	return w.say([]byte(out.String())), nil
}
