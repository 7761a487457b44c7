package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/pare-llm/pare/archive"
	"github.com/pare-llm/pare/cmd/internal/screen"
	"github.com/pare-llm/pare/cmd/internal/source"
	"github.com/pare-llm/pare/internal/agentlog"
	"github.com/pare-llm/pare/internal/atomicfile"
)

// printBackups prints the files that were rewritten, each with its backup and the command that
// restores it.
func (env *environment) printBackups(paint palette, done []agentlog.Rewritten) {
	for _, f := range done {
		env.log.Info("rewritten", "file", f.Path, "backup", f.Backup)
	}
	env.printNotes(done)
	const most = 10
	for i, r := range done {
		if i == most {
			screen.Fprintf(env.stderr, "%s\n", paint.Faint(fmt.Sprintf("and %s more, each with its backup", plural(len(done)-most, "file"))))
			return
		}
		screen.Fprintf(env.stderr, "%s rewritten, the original is %s\n", r.Path, shortBackupName(r.Path, r.Backup))
		screen.Fprintf(env.stderr, "  undo: %s\n", undoCommand(r.Path))
	}
}

// printNotes prints the notes about files that were replaced.
func (env *environment) printNotes(done []agentlog.Rewritten) {
	for _, r := range done {
		if r.Note != "" {
			screen.Fprintf(env.stderr, "pare: %s: %s\n", r.Path, r.Note)
		}
	}
}

// shortBackupName returns the name of a backup, without its folder if the file is in the same
// folder.
func shortBackupName(file, backup string) string {
	if filepath.Dir(file) == filepath.Dir(backup) {
		return filepath.Base(backup)
	}
	return backup
}

// newDraft begins a file. A name that ends in .gz or .zst makes it compressed.
func newDraft(env *environment, name string) (*atomicfile.Draft, error) {
	return source.NewDraft(&env.files, name, source.PackedBy(name))
}

// writeHint returns the next step for a file that cannot be written.
func writeHint(err error, inPlace bool) string {
	switch {
	case errors.Is(err, fs.ErrPermission) && inPlace:
		return "--in-place makes a new file in the same folder; with -o FILE it is made elsewhere"
	case errors.Is(err, fs.ErrPermission):
		return "give a file in a folder that you may write to"
	case errors.Is(err, fs.ErrNotExist):
		return "make the folder first"
	case errors.Is(err, archive.ErrNoArchive):
		return "give the name of a new file, or of an archive that pare made"
	case errors.Is(err, atomicfile.ErrMoved), errors.Is(err, atomicfile.ErrLocked):
		return "run it again when no other program writes to it"
	case hasErrorType[*atomicfile.OpenError](err):
		return "end that program, and run it again"
	case hasErrorType[*atomicfile.RecoveredError](err):
		return "nothing else was changed; run it again"
	case hasErrorType[*atomicfile.StrayError](err):
		return "compare the two files, and copy the missing lines"
	case errors.Is(err, atomicfile.ErrManyBackups):
		return "move the old ones, FILE.bak.N, elsewhere"
	}
	return "no file was changed"
}

// hasErrorType reports whether err wraps an error of type E.
func hasErrorType[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}
