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

// backup copies what is committed, page by page, into a file that gets its name when it is whole.
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

// A checkpointer works the journal into the database file a while after something was written, so
// that a copy of the file alone is not much behind. SQLite itself does so only when the journal has
// grown. Many goroutines may use it.
type checkpointer struct {
	after      time.Duration
	checkpoint func()

	mu      sync.Mutex
	timer   *time.Timer // nil: nothing was written since the last time
	stopped bool
}

// wrote is called when something was written.
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
