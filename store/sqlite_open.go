package store

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"syscall"

	lib "modernc.org/sqlite/lib"
)

// explainFileError explains why a file cannot be opened or its folder cannot be created, and what
// to do about it.
func explainFileError(path string, err error) error {
	at, cause := path, err
	var where *fs.PathError
	if errors.As(err, &where) {
		at, cause = where.Path, where.Err
	}
	for _, c := range []struct {
		causes    []error
		kind      error // nil: trying again does not help
		why, next string
	}{
		{[]error{fs.ErrPermission}, nil, "this user may not write to " + at, "allow it, or name a file in a folder of yours"},
		{[]error{syscall.EROFS}, nil, at + " is on a file system that is only read", "name a file elsewhere"},
		{[]error{syscall.ENOTDIR}, nil, at + " is no folder", "name a file in a folder"},
		{[]error{syscall.ENAMETOOLONG}, nil, "the name is too long", "name another file"},
		{[]error{syscall.ELOOP}, nil, at + " is a link that leads back to itself", "name another file"},
		{[]error{syscall.ENOSPC, syscall.EDQUOT}, ErrFull, "there is no room for " + at, "make room, then try again"},
		{[]error{syscall.EMFILE, syscall.ENFILE}, ErrUnavailable, "too many files are open", "try again when some are closed, or raise the limit (ulimit -n)"},
		{[]error{fs.ErrNotExist}, ErrUnavailable, at + " lies in a folder that is not there", "see whether a disk is missing or a link leads nowhere, then try again"},
	} {
		for _, e := range c.causes {
			switch {
			case !errors.Is(cause, e):
			case c.kind == nil:
				return fmt.Errorf("open store: %s cannot be opened: %s (%w); %s", path, c.why, cause, c.next)
			default:
				return fmt.Errorf("open store: %w: %s cannot be opened: %s (%w); %s", c.kind, path, c.why, cause, c.next)
			}
		}
	}
	return fmt.Errorf("open store: %w: %s cannot be opened (%w); see whether its disk is there and in order, then try again", ErrUnavailable, path, cause)
}

// explainOpenError names the file that could be opened, but not used as a database.
func (e *sqliteEngine) explainOpenError(err error) error {
	switch sqliteCode(err) {
	case lib.SQLITE_CANTOPEN, lib.SQLITE_READONLY, lib.SQLITE_PERM, lib.SQLITE_IOERR:
		return fmt.Errorf("%s: %w; SQLite keeps files beside it (-wal, -shm): see whether this user may write them in %s, and whether the disk is in order", e.path, err, filepath.Dir(e.path))
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED:
		return fmt.Errorf("%s: %w; another program keeps it locked: try again when that has ended", e.path, err)
	}
	return fmt.Errorf("%s: %w", e.path, err)
}
