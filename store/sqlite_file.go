package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
)

// A sqliteFile identifies the database file and its journal as they were opened. SQLite does not
// notice if they are removed or replaced, and further writes would be lost.
type sqliteFile struct {
	path, journal string
	info          fs.FileInfo
	journalInfo   atomic.Pointer[fs.FileInfo] // nil: not seen yet
}

// creating is held while a file is created. Closing a file drops all POSIX locks of the process on
// it, and another process could then delete the journal. So an existing file is never opened or
// closed here.
var creating sync.Mutex

// newSQLiteFile creates the file with access for its owner only, if it does not exist. The journal
// gets the same mode.
func newSQLiteFile(path string) (*sqliteFile, error) {
	creating.Lock()
	defer creating.Unlock()
	info, err := os.Stat(path)
	switch {
	case err == nil:
		err = checkAccess(path)
	case errors.Is(err, fs.ErrNotExist):
		var f *os.File
		if f, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600); err == nil {
			f.Close()
			info, err = os.Stat(path)
		}
	}
	if err != nil {
		return nil, explainFileError(path, err)
	}
	journal := path
	if real, err := filepath.EvalSymlinks(path); err == nil {
		journal = real // SQLite resolves links
	}
	return &sqliteFile{path: path, journal: journal + "-wal", info: info}, nil
}

// checkFiles returns an error if the files were removed or replaced.
func (f *sqliteFile) checkFiles() error {
	now, err := os.Stat(f.path)
	if err != nil || !os.SameFile(now, f.info) {
		return f.goneError(f.path)
	}
	now, err = os.Stat(f.journal)
	switch was := f.journalInfo.Load(); {
	case was == nil && err == nil:
		f.journalInfo.CompareAndSwap(nil, &now)
	case was != nil && (err != nil || !os.SameFile(now, *was)):
		return f.goneError(f.journal)
	}
	return nil
}

func (f *sqliteFile) goneError(name string) error {
	return fmt.Errorf("%w: %s was removed or replaced while it was in use; put it back, or start again with what is there", ErrUnavailable, name)
}
