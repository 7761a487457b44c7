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

// A sqliteFile is the file of a database, and the journal beside it, as they were when they
// were opened. What is written to files that nobody finds under their names any more is lost,
// and SQLite does not mind.
type sqliteFile struct {
	path, journal string
	info          fs.FileInfo
	journalInfo   atomic.Pointer[fs.FileInfo] // nil: not seen yet
}

// making is held while a file is made: whoever closes one, however he came by it, gives up the
// locks that the connections of the whole process have on it, and another process may then take
// the journal away under them. So a file that is there is neither opened nor closed here.
var creating sync.Mutex

// newSQLiteFile makes the file, for nobody but its owner, if it is not there. The journal beside
// it gets its mode.
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
		journal = real // SQLite keeps it beside the file, not beside the link
	}
	return &sqliteFile{path: path, journal: journal + "-wal", info: info}, nil
}

// there is an error if somebody has removed or replaced the files.
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
