package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/pare-llm/pare/cmd/internal/screen"
	"github.com/pare-llm/pare/internal/plain"
	"github.com/pare-llm/pare/store"
)

type sessionListCmd struct {
	storeFlags `embed:""`
	In         string `placeholder:"ID" help:"The sessions that belong to this one, such as those of sub-agents, by their paths."`
	JSON       bool   `name:"json" help:"Print one JSON object per session."`
	Limit      *int   `placeholder:"N" help:"How many. Default: 100, and all of them with --json."`
}

const emptyStore = "the store is empty; pare session import FILE fills it"

func (c *sessionListCmd) run(env *environment) int {
	if err := checkPositive("--limit", c.Limit); err != nil {
		return env.failUsage(err, "session list")
	}
	dsn, status := c.resolveDSN(env)
	if status != statusClean {
		return status
	}
	if isAbsentFile(dsn) { // listing must not create the file
		if !c.JSON {
			screen.Fprintf(env.stderr, "no store yet at %s; pare session import FILE creates it\n", dsn)
		}
		return statusClean
	}
	return env.withStore(dsn, func(ctx context.Context, db *store.Store) (int, error) {
		all, more, err := c.listSessions(ctx, db)
		if err != nil {
			return 0, err
		}
		var out strings.Builder
		var id, dialect int // column widths
		for _, session := range all {
			id, dialect = max(id, screen.Columns(screen.Line(formatSessionKey(session.Key)))), max(dialect, len(session.Dialect))
		}
		for _, session := range all {
			if c.JSON {
				line, err := plain.Marshal(session)
				if err != nil {
					return 0, err
				}
				out.Write(append(line, '\n'))
				continue
			}
			pad := screen.Repeat(" ", id-screen.Columns(screen.Line(formatSessionKey(session.Key))))
			word := "entries"
			if session.Head == 1 {
				word = "entry"
			}
			screen.Fprintf(&out, "%s%s  %s  %6d %-7s  %-*s  %s%s\n", formatSessionKey(session.Key), pad, session.Updated.Format(time.DateTime), session.Head, word, dialect, session.Dialect, session.Title, formatRemembered(session))
		}
		status := env.writeOutput([]byte(out.String()))
		switch {
		case len(all) == 0 && c.In != "" && !c.JSON:
			screen.Fprintf(env.stderr, "nothing belongs to session %s\n", formatSessionKey(store.ID(c.In)))
		case len(all) == 0 && !c.JSON:
			screen.Fprintln(env.stderr, emptyStore)
		case more && c.Limit == nil:
			screen.Fprintf(env.stderr, "pare: these are the %d that changed last; --limit N shows more\n", len(all))
		}
		return status, nil
	})
}

// formatRemembered returns the agent, usage and cost of a conversation that pare serve has
// remembered, or "".
func formatRemembered(session *store.Session) string {
	r := session.Remembered
	if r == nil {
		return ""
	}
	said := []string{plural(r.Requests, "request")}
	if in := r.Usage.Input + r.Usage.Read + r.Usage.Written; in+r.Usage.Output > 0 {
		said = append(said, screen.Grouped(in)+" tokens in", screen.Grouped(r.Usage.Output)+" out")
	}
	if f := r.Fullness; f != nil {
		if f.Dollars >= 0.005 {
			said = append(said, fmt.Sprintf("$%.2f", f.Dollars))
		}
		said = append(said, strings.TrimSpace(screen.Percent(f.Share))+" full")
	}
	who := strings.Join(slices.DeleteFunc([]string{r.Agent, session.Model}, func(s string) bool { return s == "" }), ", ")
	if who != "" {
		who += ": "
	}
	return "  (" + who + strings.Join(said, ", ") + ")"
}

// listSessions returns the sessions up to the limit, and whether there are more.
func (c *sessionListCmd) listSessions(ctx context.Context, db *store.Store) (all []*store.Session, more bool, err error) {
	most := 100
	switch {
	case c.Limit != nil:
		most = *c.Limit
	case c.JSON:
		most = math.MaxInt
	}
	if c.In != "" {
		all, err = db.Paths(ctx, store.Key{Scope: c.Scope, ID: c.In})
		return all[:min(len(all), most)], len(all) > most, err
	}
	const page = 1000
	for len(all) <= most {
		var before *store.Session
		if n := len(all); n > 0 {
			before = all[n-1]
		}
		next, err := db.Sessions(ctx, c.Scope, page, before)
		if all = append(all, next...); err != nil || len(next) < page {
			return all[:min(len(all), most)], len(all) > most, err
		}
	}
	return all[:most], true, nil
}
