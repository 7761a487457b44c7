package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// A file is what a draft is written to.
type file interface {
	io.WriteCloser
	Sync() error
	Chmod(fs.FileMode) error
}

// createFile makes a file that does not exist yet.
func createFile(name string, perm fs.FileMode) (file, error) {
	return os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
}

// A draft is a new file, or the new content of one, that nobody sees until commit:
// it is written under another name in the same folder. Whatever fails before, the
// file stays as it was.
type draft struct {
	name string // as the user calls it
	path string // where it really is
	temp string // where it is written; "": there is nothing to commit
	was  fs.FileInfo
	// modified is the time that the file is to bear; zero: that of its writing.
	modified time.Time

	file   file
	buf    *bufio.Writer
	packer io.WriteCloser // compresses into buf; nil: nothing is compressed
}

// newDraft begins a draft. What is neither a file nor absent, a terminal or a pipe
// for example, is written at once.
func newDraft(w *world, name, packed string) (*draft, error) {
	d := &draft{name: name, path: name}
	if real, err := filepath.EvalSymlinks(name); err == nil {
		d.path = real // a link stays a link
	}
	st, err := os.Stat(d.path)
	switch {
	case err == nil && st.IsDir():
		err = errors.New("it is a folder")
	case err == nil && !st.Mode().IsRegular():
		d.file, err = os.OpenFile(d.path, os.O_WRONLY, 0)
	case err == nil:
		d.was = st
		err = d.open(w, st.Mode().Perm())
	case errors.Is(err, fs.ErrNotExist):
		err = d.open(w, 0o666)
	}
	if err != nil {
		return nil, &writeError{name, err}
	}
	d.buf = bufio.NewWriterSize(d.file, 64<<10)
	switch packed {
	case "gzip":
		d.packer = gzip.NewWriter(d.buf)
	case "zstd":
		z, err := zstd.NewWriter(d.buf, zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true))
		if err != nil {
			d.discard(w)
			return nil, &writeError{name, err}
		}
		d.packer = z
	}
	return d, nil
}

// open makes the hidden file. From its first byte on nobody can read it who
// cannot read what it replaces.
func (d *draft) open(w *world, perm fs.FileMode) error {
	folder, base := filepath.Split(d.path)
	for n := 0; ; n++ {
		temp := filepath.Join(folder, fmt.Sprintf(".%s.pare-%d-%d", base, os.Getpid(), n))
		f, err := w.create(temp, perm)
		if errors.Is(err, fs.ErrExist) && n < 1000 {
			continue
		}
		if err != nil {
			return err
		}
		w.temps.add(temp)
		d.file, d.temp = f, temp
		if d.was == nil {
			return nil
		}
		keepOwner(temp, d.was)
		if err := f.Chmod(perm); err != nil {
			d.discard(w)
			return err
		}
		return nil
	}
}

func (d *draft) Write(p []byte) (n int, err error) {
	var w io.Writer = d.buf
	if d.packer != nil {
		w = d.packer
	}
	if n, err = w.Write(p); err != nil {
		err = &writeError{d.name, err}
	}
	return n, err
}

// close brings all of it to the disk.
func (d *draft) close() error {
	if d.file == nil {
		return nil
	}
	var err error
	if d.packer != nil {
		err = d.packer.Close()
	}
	err = errors.Join(err, d.buf.Flush())
	if d.temp != "" {
		err = errors.Join(err, d.file.Sync())
	}
	err = errors.Join(err, d.file.Close())
	d.file = nil
	if err != nil {
		return &writeError{d.name, err}
	}
	return nil
}

// discard takes the draft back.
func (d *draft) discard(w *world) {
	if d.file != nil {
		d.file.Close()
		d.file = nil
	}
	if d.temp != "" {
		os.Remove(d.temp)
		w.temps.remove(d.temp)
		d.temp = ""
	}
}

// unmoved is an error if the file is not what it was when it was read.
func (d *draft) unmoved(was fs.FileInfo) error {
	now, err := os.Stat(d.path)
	if err != nil {
		return err
	}
	if !os.SameFile(now, was) || now.Size() != was.Size() || !now.ModTime().Equal(was.ModTime()) {
		return errMoved
	}
	return nil
}

// commit gives the draft, which is closed, its name. With backup, what it replaces
// keeps existing under another name, which is returned. At every moment the name
// leads to the whole of the old or the whole of the new.
func (d *draft) commit(w *world, backup bool) (kept string, err error) {
	if d.temp == "" {
		return "", nil
	}
	if backup && d.modified.IsZero() {
		// So that undo can tell it from what is written in the very moment after this: the
		// clock of a file system ticks a hundred times a second.
		d.modified = time.Now().Add(-20 * time.Millisecond)
	}
	if !d.modified.IsZero() {
		if err := os.Chtimes(d.temp, time.Time{}, d.modified); err != nil {
			return "", &writeError{d.name, err}
		}
	}
	if backup {
		if kept, err = keepBackup(w, d.path); err != nil {
			return "", &writeError{d.name, fmt.Errorf("keep a backup: %w", err)}
		}
	}
	if err := os.Rename(d.temp, d.path); err != nil {
		if kept != "" {
			os.Remove(kept) // nothing was replaced
		}
		return "", &writeError{d.name, err}
	}
	w.temps.remove(d.temp)
	d.temp = ""
	syncFolder(d.path)
	return kept, nil
}

// syncFolder brings the names beside path to the disk.
func syncFolder(path string) {
	if folder, err := os.Open(filepath.Dir(path)); err == nil {
		folder.Sync() // not every system can; the content is on the disk either way
		folder.Close()
	}
}

// keepBackup gives a file a second name: FILE.bak, or FILE.bak.1 and so on, always
// behind those that there are, so that the highest number is the newest.
func keepBackup(w *world, path string) (string, error) {
	n := 0
	if all := backupsOf(path); len(all) > 0 {
		n = all[0] + 1
	}
	for ; ; n++ {
		name := backupOf(path, n)
		err := os.Link(path, name)
		switch {
		case errors.Is(err, fs.ErrExist):
			continue
		case err != nil: // a file system without hard links
			err = copyFile(w, path, name)
			if errors.Is(err, fs.ErrExist) {
				continue
			}
		}
		return name, err
	}
}

// backupOf is the name of a backup. They are counted from 0.
func backupOf(path string, n int) string {
	if n == 0 {
		return path + ".bak"
	}
	return fmt.Sprintf("%s.bak.%d", path, n)
}

// backupsOf lists the numbers of the backups of a file, the newest first.
func backupsOf(path string) []int {
	var all []int
	folder, base := filepath.Split(path)
	entries, _ := os.ReadDir(filepath.Clean(folder + "."))
	for _, e := range entries {
		m := backupName.FindStringSubmatch(e.Name())
		if m == nil || m[1] != base {
			continue
		}
		n, err := 0, error(nil)
		if m[2] != "" {
			n, err = strconv.Atoi(m[2][1:])
		}
		if err == nil && backupOf(base, n) == e.Name() {
			all = append(all, n)
		}
	}
	slices.Sort(all)
	slices.Reverse(all)
	return all
}

func copyFile(w *world, from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	st, err := in.Stat()
	if err != nil {
		return err
	}
	out, err := w.create(to, st.Mode().Perm())
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err = errors.Join(err, out.Sync(), out.Close()); err != nil {
		os.Remove(to)
		return err
	}
	_ = os.Chtimes(to, time.Time{}, st.ModTime()) // a link would bear it, too
	return nil
}

// A writeError says which file cannot be written, by the name the user knows, and
// why.
type writeError struct {
	name string
	err  error
}

func (e *writeError) Error() string {
	why := e.err
	var path *fs.PathError
	if errors.As(why, &path) {
		why = path.Err // the path is that of the hidden file
	}
	var link *os.LinkError
	if errors.As(why, &link) {
		why = link.Err
	}
	return "write " + e.name + ": " + why.Error()
}

func (e *writeError) Unwrap() error { return e.err }

// hint says what to do about it.
func (e *writeError) hint(inPlace bool) string {
	switch {
	case errors.Is(e.err, fs.ErrPermission) && inPlace:
		return "--in-place makes a new file in the same folder; with -o FILE it is made elsewhere"
	case errors.Is(e.err, fs.ErrPermission):
		return "give a file in a folder that you may write to"
	case errors.Is(e.err, fs.ErrNotExist):
		return "make the folder first"
	case errors.Is(e.err, errNoArchive):
		return "give the name of a new file, or of an archive that pare made"
	case errors.Is(e.err, errMoved):
		return "run it again when nobody writes to it"
	}
	return "no file was changed"
}

var errMoved = errors.New("somebody else wrote to it meanwhile")

var backupName = regexp.MustCompile(`^(.+)\.bak(\.[0-9]+)?$`)

// isBackup reports whether path looks like a backup of a file that stands beside
// it.
func isBackup(path string) bool {
	m := backupName.FindStringSubmatch(path)
	if m == nil {
		return false
	}
	_, err := os.Stat(m[1])
	return err == nil
}

// packedBy tells from a file's name how its content is to be compressed.
func packedBy(name string) string {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".gz":
		return "gzip"
	case ".zst":
		return "zstd"
	}
	return ""
}

// temps are the hidden files that exist, so that an interrupt can take them away.
type temps struct {
	mu    sync.Mutex
	names map[string]bool
}

func (t *temps) add(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.names == nil {
		t.names = map[string]bool{}
	}
	t.names[name] = true
}

func (t *temps) remove(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.names, name)
}

// clear removes all of them, and keeps the lock: the program is about to end.
func (t *temps) clear() {
	t.mu.Lock()
	for name := range t.names {
		os.Remove(name)
	}
}
