package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"
)

// backup copies the committed pages into a temporary file and renames it when it is complete.
func (e *sqliteEngine) backup(ctx context.Context, path string) (err error) {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(fmt.Errorf("%w: %s is there already; name another file", ErrUsage, path), err)
	}
	part := path + ".part"
	f, err := os.OpenFile(part, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	f.Close()
	defer func() {
		if err != nil {
			os.Remove(part)
		}
	}()
	db, err := sqliteDB(e.path, "deferred", 1)
	if err != nil {
		return err
	}
	defer db.Close()
	if _, err := db.ExecContext(ctx, `VACUUM INTO ?`, part); err != nil {
		return err
	}
	return os.Rename(part, path)
}

// A checkpointer writes the journal into the database file some time after a change, so that a copy
// of the file alone is nearly up to date. SQLite itself waits until the journal has grown.
type checkpointer struct {
	after      time.Duration
	checkpoint func()

	mu      sync.Mutex
	timer   *time.Timer // nil: no change since the last checkpoint
	stopped bool
}

// schedule schedules a checkpoint after a change.
func (c *checkpointer) schedule() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timer != nil || c.stopped {
		return
	}
	c.timer = time.AfterFunc(c.after, func() {
		c.mu.Lock()
		c.timer = nil
		ended := c.stopped
		c.mu.Unlock()
		if !ended {
			c.checkpoint()
		}
	})
}

func (c *checkpointer) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = true
	if c.timer != nil {
		c.timer.Stop()
	}
}
