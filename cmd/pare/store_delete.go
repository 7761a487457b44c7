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
	sessionFlags `embed:""`
	Keep         string `placeholder:"FILE" help:"Write the messages to FILE first, which must not exist yet: pare session import --id NEW FILE brings them back."`
	Yes          bool   `short:"y" help:"Do not ask. Without a terminal nobody is asked either."`
}

func (c *sessionDeleteCmd) run(env *environment) int {
	return c.withExisting(env, func(ctx context.Context, db *store.Store) (int, error) {
		s, err := db.Session(ctx, c.key())
		if err != nil {
			return 0, err
		}
		if !c.Yes && isTerminal(env.stdin) && isTerminal(env.stderr) {
			screen.Fprintf(env.stderr, "delete %s with %s? %s [y/N] ", formatSessionKey(c.key()), pluralEntries(int(s.Head)), c.warning())
			answer, _ := bufio.NewReader(env.stdin).ReadString('\n')
			if a := strings.ToLower(strings.TrimSpace(answer)); a != "y" && a != "yes" {
				screen.Fprintln(env.stderr, "kept")
				return statusClean, nil
			}
		}
		if err := c.exportFirst(ctx, env, db); err != nil {
			return 0, err
		}
		if err := db.Delete(ctx, c.key()); err != nil {
			return 0, err
		}
		screen.Fprintf(env.stderr, "deleted %s with %s; its id stays taken\n", formatSessionKey(c.key()), pluralEntries(int(s.Head)))
		if c.Keep != "" {
			screen.Fprintf(env.stderr, "  to bring its messages back: %s\n", screen.NewCommand("pare", "session", "import", "--id", "NEW").Files(c.Keep))
		}
		return statusClean, nil
	})
}

// warning returns the consequence of the deletion for the question to the user.
func (c *sessionDeleteCmd) warning() string {
	if c.Keep != "" {
		return "Its messages go to " + c.Keep + "."
	}
	return "This cannot be undone; --keep FILE writes its messages to a file first."
}

// exportFirst writes the messages of the session to --keep atomically, if it is given.
func (c *sessionDeleteCmd) exportFirst(ctx context.Context, env *environment, db *store.Store) error {
	if c.Keep == "" {
		return nil
	}
	if _, err := os.Lstat(c.Keep); err == nil {
		return hintedError{fmt.Errorf("--keep %s: there is such a file already", c.Keep), "give another name; nothing was deleted"}
	}
	draft, err := env.files.New(c.Keep)
	if err != nil {
		return err
	}
	defer draft.Discard() // does nothing after Commit
	if err := env.exportMessages(ctx, db, c.key(), store.Export{}, false, draft); err != nil {
		return err
	}
	return draft.Commit()
}
