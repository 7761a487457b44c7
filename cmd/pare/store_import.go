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
	inStore   `embed:""`
	ID        string `placeholder:"ID" help:"The id of the session; for one transcript. Default: made from the name of the file."`
	reporting `embed:""`
}

// Help is the page's first paragraph.
func (c *sessionImportCmd) Help() string {
	return `For example:

    pare session import request.json
    pare session import ~/.claude/projects/-work/0a1b….jsonl
    pare session import --store postgres://localhost/pare sessions/

Importing a file again adds what it has grown by.`
}

func (c *sessionImportCmd) run(w *world) int {
	dsn, status := c.dsn(w)
	if status != statusClean {
		return status
	}
	if status := c.look(w); status != statusClean {
		return status
	}
	c.Jobs = new(1) // one writer
	return w.withStore(dsn, func(ctx context.Context, st *store.Store) (int, error) {
		ids := importIDs{id: c.ID, first: make(map[string]origin)}
		return c.tell(w, "session import", "session", func(v report, from origin, r *wire.Request) (out outcome, err error) {
			id, err := ids.take(from)
			if err != nil {
				return out, err
			}
			added, err := st.Import(ctx, store.Key{Scope: c.Scope, ID: id}, from.String(), r)
			if err != nil {
				return out, err
			}
			out.rules = []string{"imported"}
			if c.JSON {
				out.out, err = plain.Marshal(map[string]any{"id": id, "source": from.source, "added": added})
				out.out = append(out.out, '\n')
				return out, err
			}
			out.out = screen.Appendf(nil, "%s: %s from %s\n", id, entries(added), from.String())
			return out, nil
		}, nil, func(sum *summary, _ bool) {
			if sum.unreadable > 0 && sum.number > 0 {
				screen.Fprintf(w.stderr, "pare: %s imported, %d not; to import again adds what is missing\n", plural(sum.number, "session"), sum.unreadable)
			}
		}), nil
	})
}

// look reads everything before anything is written, where it can be read twice: what cannot
// be read, or would become a session together with another one, is found while the store is
// as it was.
func (c *sessionImportCmd) look(w *world) int {
	opts, err := c.options()
	if err != nil {
		return w.usage(err, "session import")
	}
	in, err := c.input(w)
	if err != nil {
		return w.usage(err, "session import")
	}
	way, err := parseField(c.Field)
	if err != nil {
		return w.usage(err, "session import")
	}
	in.Data = way != nil
	if !in.Lasting() {
		return statusClean
	}
	ids := importIDs{id: c.ID, first: make(map[string]origin)}
	t := &telling{memory: &w.memory, opts: opts, json: c.JSON, many: in.Many(), way: way, tell: func(_ report, from origin, _ *wire.Request) (out outcome, err error) {
		_, err = ids.take(from)
		return out, err
	}}
	sum, err := t.run(w, in, 1, 1, "session", func(o *outcome) {
		if o.status == statusClean {
			*o = outcome{gap: true} // what is to be said of it is said by the import
		}
	})
	if err != nil {
		return w.unwritten(err)
	}
	if sum.status != statusClean {
		screen.Fprintf(w.stderr, "pare: nothing was imported\n")
	}
	return sum.status
}

// importIDs are the ids of the sessions that an import makes.
type importIDs struct {
	id    string // the one that was asked for; "": each has its own
	first map[string]origin
}

// take returns the id for what comes from a place. Two of one id are an error.
func (i *importIDs) take(from origin) (string, error) {
	id := i.id
	if id == "" {
		id = importID(from)
	}
	if first, taken := i.first[id]; taken {
		return "", hinted{fmt.Errorf("it would become session %s, as %s does", id, first.String()), "import them one by one, with an --id each"}
	}
	i.first[id] = from
	return id, nil
}

func entries(n int) string {
	if n == 1 {
		return "1 entry"
	}
	return fmt.Sprintf("%d entries", n)
}

// importID makes the id of a session from where it comes from.
func importID(from origin) string {
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
