package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestOpenErrorsExplainTheCause checks that the error for a file that cannot be opened names the
// file, the cause, the next step, and whether to try again.
func TestOpenErrorsExplainTheCause(t *testing.T) {
	for cause, want := range map[syscall.Errno]struct {
		kind error
		next string
	}{
		syscall.EACCES:       {nil, "allow it"},
		syscall.EPERM:        {nil, "allow it"},
		syscall.EROFS:        {nil, "elsewhere"},
		syscall.ENOTDIR:      {nil, "in a folder"},
		syscall.ENAMETOOLONG: {nil, "another file"},
		syscall.ELOOP:        {nil, "another file"},
		syscall.ENOSPC:       {ErrFull, "make room"},
		syscall.EDQUOT:       {ErrFull, "make room"},
		syscall.EMFILE:       {ErrUnavailable, "ulimit -n"},
		syscall.ENFILE:       {ErrUnavailable, "ulimit -n"},
		syscall.ENOENT:       {ErrUnavailable, "try again"},
		syscall.EIO:          {ErrUnavailable, "try again"},
		syscall.ESTALE:       {ErrUnavailable, "try again"},
	} {
		err := explainFileError("a/pare.db", &fs.PathError{Op: "open", Path: "a", Err: cause})
		if !strings.HasPrefix(err.Error(), "open store: ") || !strings.Contains(err.Error(), "a/pare.db cannot be opened") || !strings.Contains(err.Error(), want.next) || !errors.Is(err, cause) {
			t.Errorf("%v: %v", cause, err)
		}
		for _, kind := range []error{ErrFull, ErrUnavailable} {
			if errors.Is(err, kind) != (kind == want.kind) {
				t.Errorf("%v: %v; want it to be %v", cause, err, want.kind)
			}
		}
	}
}

// TestOpenErrorsOfRealFiles checks the errors for files that cannot be opened.
func TestOpenErrorsOfRealFiles(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	nowhere := filepath.Join(dir, "link")
	if err := os.Symlink(filepath.Join(dir, "gone", "pare.db"), nowhere); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path string
		kind error
		want []string
	}{
		{filepath.Join(file, "pare.db"), nil, []string{file + " is no folder", "name a file in a folder"}},
		{nowhere, ErrUnavailable, []string{"lies in a folder that is not there", "then try again"}},
	} {
		s, err := Open(t.Context(), c.path)
		if err == nil {
			s.Close()
			t.Errorf("%s is opened", c.path)
			continue
		}
		for _, want := range append(c.want, "open store: ", c.path) {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%v: %q is missing", err, want)
			}
		}
		if errors.Is(err, ErrUnavailable) != (c.kind != nil) {
			t.Errorf("%v: want it to be %v", err, c.kind)
		}
	}
}

// TestUnusableFileErrors checks the errors for files that SQLite cannot use.
func TestUnusableFileErrors(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "gone", "pare.db")
	db, err := sqliteDB(path, "deferred", 1)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	cause := db.Ping()
	err = (&sqliteEngine{sqliteFile: &sqliteFile{path: path}}).explainOpenError(cause)
	for _, want := range []string{path + ": ", "-wal", "may write them in " + filepath.Dir(path)} {
		if !strings.Contains(err.Error(), want) || !errors.Is(err, cause) {
			t.Errorf("%v: %q is missing", err, want)
		}
	}
}
