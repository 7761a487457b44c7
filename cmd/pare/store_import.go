package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/pare-llm/pare/internal/plain"
	"github.com/pare-llm/pare/internal/screen"
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
	return w.withStore(dsn, func(ctx context.Context, st *store.Store) (int, error) {
		c.Jobs = 1 // one writer
		seen := make(map[string]bool)
		return c.tell(w, "session import", "session", func(v report, from origin, r *wire.Request) (out outcome, err error) {
			id := c.ID
			if id == "" {
				id = importID(from)
			}
			if seen[id] {
				return out, fmt.Errorf("two transcripts would become session %s; import them one by one with --id", id)
			}
			seen[id] = true
			added, err := st.Import(ctx, c.key(id), from.String(), r)
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
		}, nil, func(*summary, bool) {}), nil
	})
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
