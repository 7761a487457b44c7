// Package atomicfile writes files completely or not at all, and keeps backups of replaced files.
//
// A [Draft] is a file that is invisible until it is committed. [Files] are the files of one run.
// Every file that the run reads or writes is claimed there, so that no file has two conflicting
// roles, however it is spelled. The package uses only the standard library, because packages of
// every layer depend on it.
package atomicfile

import (
	"io"
	"io/fs"
	"os"
	"sync"
	"time"
)

// A File is the destination of a draft.
type File interface {
	io.WriteCloser
	Sync() error
	Chmod(fs.FileMode) error
}

// Files are the files of one run. The zero value is ready to use, by many goroutines.
type Files struct {
	// Create creates a file that does not exist. Nil uses the system. Tests inject failures.
	Create func(name string, perm fs.FileMode) (File, error)
	// Step, if set, is called before each change of the disk, with the operation and the file. If
	// it returns an error, the change fails with it. Tests inject failures.
	Step func(op, path string) error
	// Patience limits the wait for another run that replaces the same file. Zero means five seconds.
	Patience time.Duration

	mu      sync.Mutex
	closed  bool
	temps   map[string]*Draft // hidden files that exist; nil: not a draft's
	claims  map[string][]claim
	writes  []claim
	changed changed
	folding map[string]bool // by folder: whether it takes a.json and A.json for one
	private fs.FileMode     // permissions that new files do without
	swept   map[string]bool // folders in which leftovers were looked for
	locks   int             // hidden files that bear a lock

	testSystem *system // nil: the operating system
}

// CreateFile makes a file that does not exist yet.
func CreateFile(name string, perm fs.FileMode) (File, error) {
	return os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
}

func (f *Files) create(name string, perm fs.FileMode) (File, error) {
	if err := f.step("create", name); err != nil {
		return nil, err
	}
	if f.Create != nil {
		return f.Create(name, perm)
	}
	return CreateFile(name, perm)
}

// step passes a point at which a test may let something fail.
func (f *Files) step(op, path string) error {
	if f == nil || f.Step == nil {
		return nil
	}
	if err := f.Step(op, path); err != nil {
		return &fs.PathError{Op: op, Path: path, Err: err}
	}
	return nil
}

func (f *Files) rename(from, to string) error {
	if err := f.step("rename", from); err != nil {
		return err
	}
	return os.Rename(from, to)
}

func (f *Files) link(from, to string) error {
	if err := f.step("link", to); err != nil {
		return err
	}
	return os.Link(from, to)
}

// remove removes a file that is not needed. If that fails, a later run removes it.
func (f *Files) remove(name string) {
	if f.step("remove", name) == nil {
		os.Remove(name)
	}
}

// A stepFile passes a step before everything that is done to it. A write that fails may have
// written half of it.
type stepFile struct {
	File
	files *Files
	name  string
}

func (s *stepFile) Write(p []byte) (int, error) {
	if err := s.files.step("write", s.name); err != nil {
		n, _ := s.File.Write(p[:len(p)/2])
		return n, err
	}
	return s.File.Write(p)
}

func (s *stepFile) Sync() error {
	if err := s.files.step("sync", s.name); err != nil {
		return err
	}
	return s.File.Sync()
}

func (s *stepFile) Close() error {
	err := s.File.Close()
	if failed := s.files.step("close", s.name); failed != nil {
		return failed
	}
	return err
}

func (s *stepFile) Chmod(mode fs.FileMode) error {
	if err := s.files.step("chmod", s.name); err != nil {
		return err
	}
	return s.File.Chmod(mode)
}

// Restrict removes permissions from the new files of the run that an input with this mode does not
// have, including files that are begun. Replaced files keep their modes.
func (f *Files) Restrict(input fs.FileMode) {
	f.mu.Lock()
	defer f.mu.Unlock()
	more := 0o066 &^ input.Perm() &^ f.private
	if more == 0 {
		return
	}
	f.private |= more
	for temp, d := range f.temps {
		if d == nil || d.was != nil {
			continue
		}
		if st, err := os.Stat(temp); err == nil {
			_ = os.Chmod(temp, st.Mode().Perm()&^f.private) // it is ours
		}
	}
}

// Clear removes the hidden files of a run that is about to end, and lets no further one
// be made.
func (f *Files) Clear() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	for name := range f.temps {
		f.remove(name)
	}
}

// made notes a hidden file. The caller holds the lock.
func (f *Files) made(name string, d *Draft) {
	if f.temps == nil {
		f.temps = map[string]*Draft{}
	}
	f.temps[name] = d
}

// gone forgets a hidden file.
func (f *Files) gone(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.temps, name)
}
