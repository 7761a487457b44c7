package main

import (
	"context"
	"errors"
	"io"

	"github.com/pare-llm/pare/cmd/internal/screen"
	"github.com/pare-llm/pare/store"
)

type sessionRecallCmd struct {
	storeFlags `embed:""`
	Handle     string `arg:"" optional:"" help:"The name in the placeholder."`
	About      string `placeholder:"WORDS" help:"Look through all sessions for what is most about these words, the best first."`
	Limit      *int   `placeholder:"N" help:"With --about: how many entries. Default: 10."`
	JSON       bool   `name:"json" help:"With --about: print one JSON object per entry."`
}

// Help returns the detailed help of the command.
func (c *sessionRecallCmd) Help() string {
	return `For example:

    pare session recall pare-2f0b1c
    pare session recall --about "when do tokens expire"

Of --about any word counts, in any form that English gives it; rare ones count more. Of two
entries that are as good the newer one comes first. To find all words, or a phrase, use
pare session search.`
}

func (c *sessionRecallCmd) run(env *environment) int {
	switch {
	case (c.Handle == "") == (c.About == ""):
		return env.failUsage(errors.New("give the name in a placeholder, or --about WORDS"), "session recall")
	case c.About == "" && (c.JSON || c.Limit != nil):
		return env.failUsage(errors.New("--json and --limit need --about"), "session recall")
	}
	if err := checkPositive("--limit", c.Limit); err != nil {
		return env.failUsage(err, "session recall")
	}
	return c.withExisting(env, func(ctx context.Context, db *store.Store) (int, error) {
		if c.About != "" {
			return c.searchAbout(ctx, env, db)
		}
		raw, err := db.Recall(ctx, c.Scope, c.Handle)
		if err != nil {
			return 0, err
		}
		return env.writeOutput(append(raw, '\n')), nil
	})
}

// searchAbout prints the entries that match the words of --about best.
func (c *sessionRecallCmd) searchAbout(ctx context.Context, env *environment, db *store.Store) (int, error) {
	limit := 0
	if c.Limit != nil {
		limit = *c.Limit
	}
	hits, err := db.SearchRanked(ctx, c.Scope, c.About, limit)
	if err != nil {
		return 0, err
	}
	return env.printHits(hits, c.JSON, func(out io.Writer, hit store.Hit) {
		screen.Fprintf(out, "%s  entry %d  %s\n%s", formatSessionKey(hit.Key), hit.Seq, hit.Snippet, formatOtherSessions(hit))
	})
}
