package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/pare-llm/pare/cmd/internal/screen"
	"github.com/pare-llm/pare/store"
)

type sessionDeleteCmd struct {
	oneSession `embed:""`
	Keep       string `placeholder:"FILE" help:"Write the messages to FILE first, which must not exist yet: pare session import --id NEW FILE brings them back."`
	Yes        bool   `short:"y" help:"Do not ask. Without a terminal nobody is asked either."`
}

func (c *sessionDeleteCmd) run(w *world) int {
	return c.with(w, func(ctx context.Context, st *store.Store) (int, error) {
		s, err := st.Session(ctx, c.key())
		if err != nil {
			return 0, err
		}
		if !c.Yes && isTerminal(w.stdin) && isTerminal(w.stderr) {
			screen.Fprintf(w.stderr, "delete %s with %s? %s [y/N] ", sessionName(c.key()), entries(int(s.Head)), c.back())
			answer, _ := bufio.NewReader(w.stdin).ReadString('\n')
			if a := strings.ToLower(strings.TrimSpace(answer)); a != "y" && a != "yes" {
				screen.Fprintln(w.stderr, "kept")
				return statusClean, nil
			}
		}
		if err := c.keep(ctx, w, st); err != nil {
			return 0, err
		}
		if err := st.Delete(ctx, c.key()); err != nil {
			return 0, err
		}
		screen.Fprintf(w.stderr, "deleted %s with %s; its id stays taken\n", sessionName(c.key()), entries(int(s.Head)))
		if c.Keep != "" {
			screen.Fprintf(w.stderr, "  to bring its messages back: %s\n", screen.NewCommand("pare", "session", "import", "--id", "NEW").Files(c.Keep))
		}
		return statusClean, nil
	})
}

// back is what whoever is asked should know.
func (c *sessionDeleteCmd) back() string {
	if c.Keep != "" {
		return "Its messages go to " + c.Keep + "."
	}
	return "This cannot be undone; --keep FILE writes its messages to a file first."
}

// keep writes the messages of the session to a file, as a whole or not at all.
func (c *sessionDeleteCmd) keep(ctx context.Context, w *world, st *store.Store) error {
	if c.Keep == "" {
		return nil
	}
	if _, err := os.Lstat(c.Keep); err == nil {
		return hinted{fmt.Errorf("--keep %s: there is such a file already", c.Keep), "give another name; nothing was deleted"}
	}
	d, err := w.files.New(c.Keep)
	if err != nil {
		return err
	}
	defer d.Discard() // does nothing to what is committed
	if err := w.export(ctx, st, c.key(), store.Export{}, false, d); err != nil {
		return err
	}
	return d.Commit()
}
