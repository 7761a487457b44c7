package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pare-llm/pare/cmd/internal/screen"
	"github.com/pare-llm/pare/cmd/internal/source"
	"github.com/pare-llm/pare/cmd/internal/tables"
	"github.com/pare-llm/pare/internal/agentlog"
	"github.com/pare-llm/pare/internal/atomicfile"
)

type undoCmd struct {
	Files []string `arg:"" optional:"" name:"file" help:"Files that --in-place has rewritten, or the folder of a session of opencode."`
	Force bool     `help:"Restore even if the file has changed since, or its agent may still be writing to it."`
}

// Help is the page's first paragraph.
func (c *undoCmd) Help() string {
	return `For example:

    pare undo session.jsonl
    pare undo --force session.jsonl               even if it was changed since

The newest backup (FILE.bak, or the FILE.bak.N with the highest number) becomes the
file again, in one step. What the file was until then is kept as a further backup, so
that a second undo reverts the first one. To go further back, copy an older backup
over the file. A file that was changed after it was
rewritten is left alone (status 2): going back would undo that change, too.`
}

func (c *undoCmd) run(w *world) int {
	if len(c.Files) == 0 {
		return w.fail("which file?", undoWhat())
	}
	status := statusClean
	u := &undoing{undoCmd: c, held: agentlog.NewBusy(time.Now()), back: agentlog.Undoer{Files: &w.files, Force: c.Force}, seen: map[string]bool{}}
	again := 0
	for _, name := range c.Files {
		done, err := u.undo(name)
		for _, d := range done {
			screen.Fprintf(w.stderr, "Restored %s from %s", d.name, besideIt(d.name, d.from))
			if d.kept != "" {
				screen.Fprintf(w.stderr, "; the replaced version is %s", besideIt(d.name, d.kept))
			}
			screen.Fprintln(w.stderr)
			w.printNotes([]agentlog.Rewritten{{Path: d.name, Note: d.note}})
		}
		if err != nil {
			status = max(status, w.undone(name, err))
			continue
		}
		if len(done) == 0 {
			again++
			continue
		}
		screen.Fprintf(w.stderr, "  to revert that: %s\n", undoCommand(name))
		if len(done) == 1 {
			tellOlder(w, done[0])
		}
	}
	printSkipped(w.stderr, source.Skipped{Again: again})
	return status
}

// undoWhat says which files could be named: those of this folder that have a backup.
func undoWhat() string {
	const most = 4
	var commands []string
	all, _ := filepath.Glob("*.bak*")
	for _, name := range all {
		of, _, _ := strings.Cut(name, ".bak")
		command := undoCommand(of).String()
		if atomicfile.IsBackup(name) && !slices.Contains(commands, command) && len(commands) < most {
			commands = append(commands, command)
		}
	}
	if commands == nil {
		return "name the file that was rewritten: the command that did it has printed the line, pare undo FILE"
	}
	return strings.Join(commands, " or ")
}

// undoCommand returns the command that restores a file.
func undoCommand(name string) screen.Command { return screen.NewCommand("pare", "undo").Files(name) }

// tellOlder names the backups from before the one that was restored, the oldest: a further undo goes
// forward again.
func tellOlder(w *world, d restored) {
	all := atomicfile.Backups(d.name)
	if len(all) == 0 {
		return
	}
	if oldest := atomicfile.BackupName(d.name, all[len(all)-1]); oldest != d.kept {
		screen.Fprintf(w.stderr, "  the oldest version: %s\n", screen.NewCommand("cp").Files(oldest, d.name))
	}
}

// An undoing is one run of undo.
type undoing struct {
	*undoCmd
	held *agentlog.Busy
	back agentlog.Undoer
	seen map[string]bool // files that this run has restored: twice would be not at all
}

// A restored is a file that is what it was.
type restored struct{ name, from, kept, note string }

// undone reports a file that stays as it is.
func (w *world) undone(name string, err error) int {
	var we *atomicfile.Error
	if errors.As(err, &we) {
		return w.fail(we.Error(), writeHint(we, true))
	}
	p := failure(err)
	return w.fail(name+": "+p.Message, p.hint)
}

// undo makes the newest backup the file again, or those of the last run for a session
// that is a folder. Each step leaves the whole of either under the name of the file. Nothing
// is done for a name that leads to what this run has restored.
func (u *undoing) undo(name string) ([]restored, error) {
	if path, id, ok := tables.Split(name); ok {
		return u.rows(name, path, id)
	} else if tables.Is(name) {
		return u.rows(name, name, "")
	}
	path := name
	if real, err := filepath.EvalSymlinks(name); err == nil {
		path = real // a link stays a link
	}
	if err := u.back.Files.Recover(path); err != nil {
		return nil, err
	}
	whole, err := filepath.Abs(path)
	if err != nil || u.seen[whole] {
		return nil, err
	}
	now, err := os.Stat(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	all := agentlog.Originals(path)
	if err != nil || !now.IsDir() {
		k, err := newest(path, now, all)
		if err != nil {
			return nil, err
		}
		all = []agentlog.Backup{k}
	}
	if len(all) == 0 {
		return nil, hinted{errors.New("it is a folder"), "name the files that were rewritten: each has a .bak beside it"}
	}
	for _, k := range all {
		if err := u.allowed(k); err != nil {
			return nil, err
		}
	}
	var done []restored
	for _, k := range all {
		undone, err := u.back.Undo(k)
		if err != nil {
			return done, err
		}
		d := restored{name, k.Backup, undone.Backup, undone.Note}
		if len(all) > 1 || k.Path != path && now != nil && now.IsDir() {
			d.name = k.Path
		}
		done = append(done, d)
	}
	u.seen[whole] = true
	return done, nil
}

// rows gives a session in a database the rows that it had.
func (u *undoing) rows(name, path, id string) ([]restored, error) {
	if u.seen[name] {
		return nil, nil
	}
	if err := u.held.Held(path); err != nil && !u.Force {
		return nil, hinted{fmt.Errorf("left as it is: %w", err), "end the agent first; --force goes back anyway"}
	}
	session, from, kept, err := tables.Undo(path, id, u.Force)
	switch {
	case errors.Is(err, tables.ErrChanged):
		return nil, hinted{err, "--force goes back anyway, and keeps what there is now as a further backup"}
	case err != nil:
		return nil, err
	}
	u.seen[name] = true
	return []restored{{session, from, kept, ""}}, nil
}

// newest finds the newest backup that is not the file itself under another name, or a copy of it,
// which is what an undo that was cut off leaves.
func newest(path string, now fs.FileInfo, all []agentlog.Backup) (agentlog.Backup, error) {
	for _, k := range all {
		st, err := os.Lstat(k.Backup)
		if err == nil && st.Mode().IsRegular() && (now == nil || !copyOf(path, now, k.Backup, st)) {
			return k, nil
		}
	}
	if now == nil {
		return agentlog.Backup{}, hinted{errors.New("there is no such file, and no backup of it"), "give the name of a file that --in-place has rewritten"}
	}
	return agentlog.Backup{}, hinted{errors.New("there is no backup of it"), "pare makes one, " + filepath.Base(path) + ".bak, when it rewrites a file in place"}
}

// copyOf reports whether a backup was made of the file as it is now: it is the same file or, where
// there are no hard links, has the same time and the same bytes.
func copyOf(path string, now fs.FileInfo, backup string, st fs.FileInfo) bool {
	if os.SameFile(st, now) {
		return true
	}
	if st.Size() != now.Size() || !st.ModTime().Equal(now.ModTime()) {
		return false
	}
	a, err := os.ReadFile(path)
	if err != nil {
		return false
	}
	b, err := os.ReadFile(backup)
	return err == nil && bytes.Equal(a, b)
}

// allowed is an error if going back would lose what came after the rewriting.
func (u *undoing) allowed(k agentlog.Backup) error {
	now, err := os.Stat(k.Path)
	if u.Force || err != nil {
		return nil // there is nothing to lose
	}
	was, err := os.Stat(k.Backup)
	if err != nil {
		return err
	}
	if err := u.held.Held(k.Path); err != nil {
		return hinted{fmt.Errorf("left as it is: %w", err), "end the agent first; --force goes back anyway"}
	}
	if atomicfile.ChangedSince(now, was) {
		return hinted{fmt.Errorf("it was changed after it was rewritten, at %s: going back would lose that", now.ModTime().Format(time.DateTime)),
			"--force goes back anyway, and keeps what there is now as a further backup"}
	}
	return nil
}
