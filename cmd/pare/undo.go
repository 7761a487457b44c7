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

// Help returns the detailed help of the command.
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

func (c *undoCmd) run(env *environment) int {
	if len(c.Files) == 0 {
		return env.fail("which file?", undoHint())
	}
	status := statusClean
	u := &undoRun{undoCmd: c, busy: agentlog.NewBusy(time.Now()), undoer: agentlog.Undoer{Files: &env.files, Force: c.Force}, restoredPaths: map[string]bool{}}
	again := 0
	for _, name := range c.Files {
		done, err := u.undo(name)
		for _, d := range done {
			screen.Fprintf(env.stderr, "Restored %s from %s", d.name, shortBackupName(d.name, d.from))
			if d.kept != "" {
				screen.Fprintf(env.stderr, "; the replaced version is %s", shortBackupName(d.name, d.kept))
			}
			screen.Fprintln(env.stderr)
			env.printNotes([]agentlog.Rewritten{{Path: d.name, Note: d.note}})
		}
		if err != nil {
			status = max(status, env.reportUndoError(name, err))
			continue
		}
		if len(done) == 0 {
			again++
			continue
		}
		screen.Fprintf(env.stderr, "  to revert that: %s\n", undoCommand(name))
		if len(done) == 1 {
			printOldest(env, done[0])
		}
	}
	printSkipped(env.stderr, source.Skipped{Again: again})
	return status
}

// undoHint returns undo commands for the files in this folder that have backups.
func undoHint() string {
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

// printOldest prints how to restore the oldest backup. A second undo would restore the newer
// version.
func printOldest(env *environment, d restoredFile) {
	all := atomicfile.Backups(d.name)
	if len(all) == 0 {
		return
	}
	if oldest := atomicfile.BackupName(d.name, all[len(all)-1]); oldest != d.kept {
		screen.Fprintf(env.stderr, "  the oldest version: %s\n", screen.NewCommand("cp").Files(oldest, d.name))
	}
}

// An undoRun is one run of pare undo.
type undoRun struct {
	*undoCmd
	busy          *agentlog.Busy
	undoer        agentlog.Undoer
	restoredPaths map[string]bool // restoring a file twice would restore the newer version
}

// A restoredFile is a file that was restored.
type restoredFile struct{ name, from, kept, note string }

// reportUndoError prints why a file was not restored, and returns the exit status.
func (env *environment) reportUndoError(name string, err error) int {
	var we *atomicfile.Error
	if errors.As(err, &we) {
		return env.fail(we.Error(), writeHint(we, true))
	}
	p := newProblem(err)
	return env.fail(name+": "+p.Message, p.hint)
}

// undo restores the newest backup of a file, or all files that the last run changed in a folder. It
// returns nil for a file that this run has already restored.
func (u *undoRun) undo(name string) ([]restoredFile, error) {
	if path, id, ok := tables.SplitName(name); ok {
		return u.undoRows(name, path, id)
	}
	if tables.IsDatabase(name) {
		return u.undoRows(name, name, "")
	}
	path := name
	if target, err := filepath.EvalSymlinks(name); err == nil {
		path = target // replaces the target of a link, not the link
	}
	if err := u.undoer.Files.Recover(path); err != nil {
		return nil, err
	}
	absolute, err := filepath.Abs(path)
	if err != nil || u.restoredPaths[absolute] {
		return nil, err
	}
	current, err := os.Stat(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	isFolder := err == nil && current.IsDir()
	backups, err := findBackups(path, current, isFolder)
	if err != nil {
		return nil, err
	}
	for _, backup := range backups {
		if err := u.checkUnchanged(backup); err != nil {
			return nil, err
		}
	}
	var done []restoredFile
	for _, backup := range backups {
		undone, err := u.undoer.Undo(backup)
		if err != nil {
			return done, err
		}
		restored := restoredFile{name: name, from: backup.Backup, kept: undone.Backup, note: undone.Note}
		if len(backups) > 1 || isFolder && backup.Path != path {
			restored.name = backup.Path
		}
		done = append(done, restored)
	}
	u.restoredPaths[absolute] = true
	return done, nil
}

// findBackups returns the newest backup of a file, or the backups of the last run in a folder.
// current is nil if the file does not exist.
func findBackups(path string, current fs.FileInfo, isFolder bool) ([]agentlog.Backup, error) {
	backups := agentlog.Originals(path)
	if !isFolder {
		newest, err := findNewestBackup(path, current, backups)
		return []agentlog.Backup{newest}, err
	}
	if len(backups) == 0 {
		return nil, hintedError{errors.New("it is a folder"), "name the files that were rewritten: each has a .bak beside it"}
	}
	return backups, nil
}

// undoRows restores the rows of a session in a database.
func (u *undoRun) undoRows(name, path, id string) ([]restoredFile, error) {
	if u.restoredPaths[name] {
		return nil, nil
	}
	if err := u.busy.CheckUnlocked(path); err != nil && !u.Force {
		return nil, hintedError{fmt.Errorf("left as it is: %w", err), "end the agent first; --force goes back anyway"}
	}
	done, err := tables.Undo(path, id, u.Force)
	switch {
	case errors.Is(err, tables.ErrChanged):
		return nil, hintedError{err, "--force goes back anyway, and keeps what there is now as a further backup"}
	case err != nil:
		return nil, err
	}
	u.restoredPaths[name] = true
	return []restoredFile{{done.Name, done.Backup, done.Kept, ""}}, nil
}

// findNewestBackup returns the newest backup that differs from the file. An interrupted undo leaves
// a backup that is a link to the file or a copy of it.
func findNewestBackup(path string, current fs.FileInfo, all []agentlog.Backup) (agentlog.Backup, error) {
	for _, backup := range all {
		st, err := os.Lstat(backup.Backup)
		if err == nil && st.Mode().IsRegular() && (current == nil || !isCopy(path, current, backup.Backup, st)) {
			return backup, nil
		}
	}
	if current == nil {
		return agentlog.Backup{}, hintedError{errors.New("there is no such file, and no backup of it"), "give the name of a file that --in-place has rewritten"}
	}
	return agentlog.Backup{}, hintedError{errors.New("there is no backup of it"), "pare makes one, " + filepath.Base(path) + ".bak, when it rewrites a file in place"}
}

// isCopy reports whether a backup has the content of the current file: it is the same file or, on
// systems without hard links, has the same time and bytes.
func isCopy(path string, current fs.FileInfo, backup string, info fs.FileInfo) bool {
	if os.SameFile(info, current) {
		return true
	}
	if info.Size() != current.Size() || !info.ModTime().Equal(current.ModTime()) {
		return false
	}
	a, err := os.ReadFile(path)
	if err != nil {
		return false
	}
	b, err := os.ReadFile(backup)
	return err == nil && bytes.Equal(a, b)
}

// checkUnchanged returns an error if undo would lose later changes of the file.
func (u *undoRun) checkUnchanged(backup agentlog.Backup) error {
	now, err := os.Stat(backup.Path)
	if u.Force || err != nil {
		return nil // there is nothing to lose
	}
	was, err := os.Stat(backup.Backup)
	if err != nil {
		return err
	}
	if err := u.busy.CheckUnlocked(backup.Path); err != nil {
		return hintedError{fmt.Errorf("left as it is: %w", err), "end the agent first; --force goes back anyway"}
	}
	if atomicfile.ChangedSince(now, was) {
		return hintedError{fmt.Errorf("it was changed after it was rewritten, at %s: going back would lose that", now.ModTime().Format(time.DateTime)),
			"--force goes back anyway, and keeps what there is now as a further backup"}
	}
	return nil
}
