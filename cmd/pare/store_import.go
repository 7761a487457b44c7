package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/pare-llm/pare/cmd/internal/screen"
	"github.com/pare-llm/pare/internal/plain"
	"github.com/pare-llm/pare/store"
	"github.com/pare-llm/pare/wire"
)

type sessionImportCmd struct {
	storeFlags  `embed:""`
	ID          string `placeholder:"ID" help:"The id of the session; for one transcript. Default: made from the name of the file."`
	reportFlags `embed:""`
}

// Help is the page's first paragraph.
func (c *sessionImportCmd) Help() string {
	return `For example:

    pare session import request.json
    pare session import ~/.claude/projects/-work/0a1b….jsonl
    pare session import --store postgres://localhost/pare sessions/

Importing a file again adds what it has grown by.`
}

func (c *sessionImportCmd) run(env *environment) int {
	dsn, status := c.resolveDSN(env)
	if status != statusClean {
		return status
	}
	if status := c.checkInput(env); status != statusClean {
		return status
	}
	c.Jobs = new(1) // one writer
	return env.withStore(dsn, func(ctx context.Context, db *store.Store) (int, error) {
		ids := importIDs{id: c.ID, origins: make(map[string]origin)}
		return c.report(env, "session import", "session", func(style report, from origin, req *wire.Request) (out outcome, err error) {
			id, err := ids.take(from)
			if err != nil {
				return out, err
			}
			added, err := db.Import(ctx, store.Key{Scope: c.Scope, ID: id}, from.String(), req)
			if err != nil {
				return out, err
			}
			out.rules = []string{"imported"}
			if c.JSON {
				out.out, err = plain.Marshal(map[string]any{"id": id, "source": from.source, "added": added})
				out.out = append(out.out, '\n')
				return out, err
			}
			out.out = screen.Appendf(nil, "%s: %s from %s\n", id, pluralEntries(added), from.String())
			return out, nil
		}, nil, func(totals *runTotals, _ bool) {
			if totals.unreadable > 0 && totals.items > 0 {
				screen.Fprintf(env.stderr, "pare: %s imported, %d not; to import again adds what is missing\n", plural(totals.items, "session"), totals.unreadable)
			}
		}), nil
	})
}

// look reads everything before anything is written, where it can be read twice: what cannot
// be read, or would become a session together with another one, is found while the store is
// as it was.
func (c *sessionImportCmd) checkInput(env *environment) int {
	opts, err := c.parseOptions()
	if err != nil {
		return env.failUsage(err, "session import")
	}
	input, err := c.openInput(env)
	if err != nil {
		return env.failUsage(err, "session import")
	}
	way, err := parsePointer(c.Field)
	if err != nil {
		return env.failUsage(err, "session import")
	}
	input.Data = way != nil
	if !input.Lasting() {
		return statusClean
	}
	ids := importIDs{id: c.ID, origins: make(map[string]origin)}
	t := &reportRun{memory: &env.memory, opts: opts, json: c.JSON, hasManyFiles: input.Many(), pointer: way, reportTranscript: func(_ report, from origin, _ *wire.Request) (out outcome, err error) {
		_, err = ids.take(from)
		return out, err
	}}
	totals, err := t.run(env, input, 1, 1, "session", func(o *outcome) {
		if o.status == statusClean {
			*o = outcome{isGap: true} // what is to be said of it is said by the import
		}
	})
	if err != nil {
		return env.failOutput(err)
	}
	if totals.status != statusClean {
		screen.Fprintf(env.stderr, "pare: nothing was imported\n")
	}
	return totals.status
}

// importIDs are the ids of the sessions that an import makes.
type importIDs struct {
	id      string // the one that was asked for; "": each has its own
	origins map[string]origin
}

// take returns the id for what comes from a place. Two of one id are an error.
func (i *importIDs) take(from origin) (string, error) {
	id := i.id
	if id == "" {
		id = sessionIDFrom(from)
	}
	if first, taken := i.origins[id]; taken {
		return "", hintedError{fmt.Errorf("it would become session %s, as %s does", id, first.String()), "import them one by one, with an --id each"}
	}
	i.origins[id] = from
	return id, nil
}

func pluralEntries(n int) string {
	if n == 1 {
		return "1 entry"
	}
	return fmt.Sprintf("%d entries", n)
}

// importID makes the id of a session from where it comes from.
func sessionIDFrom(from origin) string {
	name := filepath.Base(from.source)
	for _, end := range []string{".gz", ".zst", ".jsonl", ".ndjson", ".json"} {
		name = strings.TrimSuffix(name, end)
	}
	if from.line > 0 {
		name = fmt.Sprintf("%s-%d", name, from.line)
	}
	if from.thread != "" {
		name += "-" + from.thread
	}
	return strings.ReplaceAll(name, "/", "-")
}
