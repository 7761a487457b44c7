package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/pare-llm/pare/cmd/internal/picture"
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

// Help returns the detailed help of the command.
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
	c.Jobs = new(1) // the store has one writer
	return env.withStore(dsn, func(ctx context.Context, db *store.Store) (int, error) {
		ids := importIDs{id: c.ID, origins: make(map[string]origin)}
		return c.report(env, reportTask{
			command: "session import", itemNoun: "session",
			reportTranscript: func(_ picture.Style, from origin, req *wire.Request) (outcome, error) {
				return c.importTranscript(ctx, db, &ids, from, req)
			},
			printTotals: func(totals *runTotals, _ bool) {
				if totals.unreadable > 0 && totals.items > 0 {
					screen.Fprintf(env.stderr, "pare: %s imported, %d not; to import again adds what is missing\n", plural(totals.items, "session"), totals.unreadable)
				}
			},
		}), nil
	})
}

// importTranscript imports one transcript. It modifies ids.
func (c *sessionImportCmd) importTranscript(ctx context.Context, db *store.Store, ids *importIDs, from origin, req *wire.Request) (out outcome, err error) {
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
}

// checkInput reads the whole input before the import, if it can be read twice, so that unreadable
// transcripts and duplicate ids are found before the store changes.
func (c *sessionImportCmd) checkInput(env *environment) int {
	options, err := c.parseOptions()
	if err != nil {
		return env.failUsage(err, "session import")
	}
	input, err := c.openInput(env)
	if err != nil {
		return env.failUsage(err, "session import")
	}
	pointer, err := parsePointer(c.Field)
	if err != nil {
		return env.failUsage(err, "session import")
	}
	input.Data = pointer != nil
	if !input.Lasting() {
		return statusClean
	}
	ids := importIDs{id: c.ID, origins: make(map[string]origin)}
	run := &reportRun{
		parsing: parsing{options: options, pointer: pointer}, memory: &env.memory,
		itemNoun: "session", json: c.JSON, hasManyFiles: input.Many(),
		reportTranscript: func(_ picture.Style, from origin, _ *wire.Request) (out outcome, err error) {
			_, err = ids.take(from)
			return out, err
		},
	}
	totals, err := run.run(env, input, 1, 1, func(o *outcome) {
		if o.status == statusClean {
			*o = outcome{isGap: true} // the import reports it
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

// importIDs assigns session ids to transcripts.
type importIDs struct {
	id      string // the id of --id; "" derives ids from file names
	origins map[string]origin
}

// take returns the id for a transcript. Two transcripts with the same id are an error.
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

// sessionIDFrom returns the session id for a transcript, derived from its file name, line and
// thread.
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
