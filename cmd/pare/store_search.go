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
	storeFlags `embed:""`
	Words      []string `arg:"" help:"Words that must all occur; quote them to find a phrase."`
	In         string   `placeholder:"ID" help:"Only this session."`
	Path       string   `placeholder:"PATH" help:"Only the session of this path below the one that --in names."`
	JSON       bool     `name:"json" help:"Print one JSON object per entry."`
}

func (c *sessionSearchCmd) run(env *environment) int {
	if c.Path != "" && c.In == "" {
		return env.failUsage(errors.New("--path needs --in: the session that it belongs to"), "session search")
	}
	return c.withExisting(env, func(ctx context.Context, db *store.Store) (int, error) {
		hits, err := db.Search(ctx, store.Key{Scope: c.Scope, ID: c.In, Path: c.Path}, strings.Join(c.Words, " "), 0)
		if err != nil {
			return 0, err
		}
		return env.printHits(hits, c.JSON, func(out io.Writer, hit store.Hit) {
			screen.Fprintf(out, "%s  entry %d (%s)  %s\n%s", formatSessionKey(hit.Key), hit.Seq, hit.ID, hit.Snippet, formatOtherSessions(hit))
		})
	})
}

// formatOtherSessions returns a line with the other sessions that share an entry.
func formatOtherSessions(hit store.Hit) screen.Text {
	const most = 3
	var names []string
	for _, k := range hit.Also[:min(len(hit.Also), most)] {
		names = append(names, formatSessionKey(k))
	}
	switch more := len(hit.Also) - most; {
	case len(names) == 0:
		return ""
	case more > 0:
		return screen.Printf("  also in %s and more\n", screen.Join(names, ", "))
	}
	return screen.Printf("  also in %s\n", screen.Join(names, ", "))
}

// printHits prints entries that were found, as JSON or with show.
func (env *environment) printHits(hits []store.Hit, asJSON bool, show func(io.Writer, store.Hit)) (int, error) {
	var out strings.Builder
	for _, hit := range hits {
		if asJSON {
			line, err := plain.Marshal(hit)
			if err != nil {
				return 0, err
			}
			out.Write(append(line, '\n'))
			continue
		}
		show(&out, hit)
	}
	if len(hits) == 0 && !asJSON {
		screen.Fprintln(env.stderr, "nothing found")
	}
	return env.writeOutput([]byte(out.String())), nil
}
