package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/pare-llm/pare/agentlog"
	"github.com/pare-llm/pare/internal/atomicfile"
)

type undoCmd struct {
	Files []string `arg:"" name:"file" help:"Files that --in-place has rewritten."`
	Force bool     `help:"Go back even if the file was changed after it was rewritten, or its agent may still be writing to it."`
}

// Help is the page's first paragraph.
func (c *undoCmd) Help() string {
	return `For example:

    pare undo session.jsonl
    pare undo --force session.jsonl               even if it was changed since

The newest backup (FILE.bak, or the FILE.bak.N with the highest number) becomes the
file again, in one step. What the file was until then is kept as a further backup, so
that a second undo takes the first one back. A file that was changed after it was
rewritten is left alone (status 2): going back would take that change out, too.`
}

func (c *undoCmd) run(w *world) int {
	status := statusClean
	held := agentlog.NewBusy(time.Now())
	for _, name := range c.Files {
		from, kept, err := c.undo(w, name, held)
		if err != nil {
			status = max(status, w.undone(name, err))
			continue
		}
		fmt.Fprintf(w.stderr, "%s is what %s was", plain(name), plain(from))
		if kept != "" {
			fmt.Fprintf(w.stderr, "; what it was until now is %s", plain(kept))
		}
		fmt.Fprintf(w.stderr, "\n  to take that back: pare undo %s\n", quoted(name))
	}
	return status
}

// undone reports a file that stays as it is.
func (w *world) undone(name string, err error) int {
	var we *atomicfile.Error
	if errors.As(err, &we) {
		return w.fail(we.Error(), writeHint(we, true))
	}
	p := failure(err)
	return w.fail(name+": "+p.Message, p.hint)
}

// undo makes the newest backup the file again. It returns the name that it had, and the
// one under which the file is kept. Both steps leave the whole of either under the name
// of the file.
func (c *undoCmd) undo(w *world, name string, held *agentlog.Busy) (from, kept string, err error) {
	path := name
	if real, err := filepath.EvalSymlinks(name); err == nil {
		path = real // a link stays a link
	}
	now, err := os.Stat(path)
	gone := errors.Is(err, fs.ErrNotExist)
	switch {
	case err != nil && !gone:
		return "", "", err
	case !gone && now.IsDir():
		return "", "", hinted{errors.New("it is a folder"), "name the files that were rewritten: each has a .bak beside it"}
	}
	from, was, err := newestBackup(path, now)
	if err != nil {
		return "", "", err
	}
	if !gone {
		if err := c.allowed(path, now, was, held); err != nil {
			return "", "", err
		}
	}
	kept, err = w.files.Restore(path, from)
	return from, kept, err
}

// newestBackup finds the newest backup that is not the file itself under another name,
// which is what an undo that was cut off leaves.
func newestBackup(path string, now fs.FileInfo) (string, fs.FileInfo, error) {
	for _, n := range atomicfile.Backups(path) {
		name := atomicfile.BackupName(path, n)
		st, err := os.Lstat(name)
		if err == nil && st.Mode().IsRegular() && (now == nil || !os.SameFile(st, now)) {
			return name, st, nil
		}
	}
	if now == nil {
		return "", nil, hinted{errors.New("there is no such file, and no backup of it"), "give the name of a file that --in-place has rewritten"}
	}
	return "", nil, hinted{errors.New("there is no backup of it"), "pare makes one, " + plain(filepath.Base(path)) + ".bak, when it rewrites a file in place"}
}

// allowed is an error if going back would lose what came after the rewriting.
func (c *undoCmd) allowed(path string, now, was fs.FileInfo, held *agentlog.Busy) error {
	if c.Force {
		return nil
	}
	if err := held.Held(path); err != nil {
		return hinted{fmt.Errorf("left as it is: %w", err), "end the agent first; --force goes back all the same"}
	}
	if changedSince(now, was) {
		return hinted{fmt.Errorf("it was changed after it was rewritten, at %s: going back would lose that", now.ModTime().Format(time.DateTime)),
			"--force goes back all the same, and keeps what there is now as a further backup"}
	}
	return nil
}

// changedSince reports whether a file was written to after it took the place of its
// backup. It then bore the time of the backup, or one a little earlier; and the last
// thing that happened to the backup is that its old name was taken away.
func changedSince(now, was fs.FileInfo) bool {
	if now.ModTime().Equal(was.ModTime()) {
		return false
	}
	replaced, ok := changeTime(was)
	return ok && !now.ModTime().Before(replaced)
}
