package atomicfile

import (
	"bufio"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// A Draft is a new file, or new content for one, that is invisible until it is committed: it has
// another name in the same folder. If anything fails before, the file does not change. Only one
// goroutine may use a Draft.
type Draft struct {
	files    *Files
	name     string
	path     string
	temp     string // where it is written; "": there is nothing to commit
	direct   bool   // written at once, to what is not a file
	was      fs.FileInfo
	modified time.Time

	file   File
	lock   *os.File // a hidden file that bears a lock stays open, so that it is not taken for a leftover
	buf    *bufio.Writer
	packer io.WriteCloser // writes into buf; nil: nobody does
}

// New begins a draft. A terminal, a pipe, or anything else that is neither a file nor absent is
// written to immediately. The error is an *[Error].
func (f *Files) New(name string) (*Draft, error) { return f.begin(name, 0o666) }

// begin is New with the permissions of a new file.
func (f *Files) begin(name string, perm fs.FileMode) (*Draft, error) {
	d := &Draft{files: f, name: name}
	var err error
	if d.path, err = Resolve(name); err != nil { // a link stays a link
		return nil, &Error{name, err}
	}
	st, err := os.Stat(d.path)
	switch {
	case err == nil && st.IsDir():
		err = errors.New("it is a folder")
	case err == nil && !st.Mode().IsRegular():
		d.direct = true
		d.file, err = os.OpenFile(d.path, os.O_WRONLY, 0)
	case err == nil:
		d.was = st
		err = d.open(st.Mode().Perm())
	case errors.Is(err, fs.ErrNotExist):
		err = d.open(perm)
	}
	if err != nil {
		return nil, &Error{name, err}
	}
	d.buf = bufio.NewWriterSize(d.file, 64<<10)
	return d, nil
}

// Name returns the name that the user gave.
func (d *Draft) Name() string { return d.name }

// Path is where the file really is.
func (d *Draft) Path() string { return d.path }

// AtOnce reports whether writes take effect immediately, for example on a terminal.
func (d *Draft) AtOnce() bool { return d.direct }

// Was returns the file that existed when the draft was begun, or nil.
func (d *Draft) Was() fs.FileInfo { return d.was }

// Date lets the file bear a time that is not that of its writing.
func (d *Draft) Date(modified time.Time) { d.modified = modified }

// Pack lets everything pass through a packer on its way into the file, such as one that
// compresses. It is called before the first Write.
func (d *Draft) Pack(through func(io.Writer) (io.WriteCloser, error)) error {
	p, err := through(d.buf)
	if err != nil {
		return &Error{d.name, err}
	}
	d.packer = p
	return nil
}

// open creates the hidden file. From its first byte on, it is readable only for users who can read
// the replaced file and the inputs.
func (d *Draft) open(perm fs.FileMode) error {
	f := d.files
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return errors.New("the run is over")
	}
	if d.was == nil {
		perm &^= f.private
	}
	folder, base := filepath.Split(d.path)
	f.sweep(folder)
	for n := 0; ; n++ {
		locks := canLock && f.locks < maxLocks
		temp := filepath.Join(folder, hiddenName(base, n, locks))
		if (f.taken(temp) || hasJournal(temp)) && n < maxTries {
			continue
		}
		file, err := f.create(temp, perm)
		if errors.Is(err, fs.ErrExist) && n < maxTries {
			continue
		}
		if err != nil {
			return err
		}
		if plain, ok := file.(*os.File); ok && locks {
			if !own(plain, temp) { // a run that sweeps has taken it for a leftover
				file.Close()
				continue
			}
			d.lock = plain
			f.locks++
		}
		f.made(temp, d)
		if f != nil && f.Step != nil {
			file = &stepFile{file, f, temp}
		}
		d.file, d.temp = file, temp
		if d.was == nil {
			return nil
		}
		keepOwner(temp, d.was)
		if err := file.Chmod(perm); err != nil {
			f.remove(temp)
			delete(f.temps, temp)
			file.Close()
			if d.lock != nil {
				d.lock = nil
				f.locks--
			}
			return err
		}
		return nil
	}
}

// maxTries bounds the search for a name that is free.
const maxTries = 1000

// Write adds to the draft. Its error is an *[Error].
func (d *Draft) Write(p []byte) (n int, err error) {
	var w io.Writer = d.buf
	if d.packer != nil {
		w = d.packer
	}
	if n, err = w.Write(p); err != nil {
		err = &Error{d.name, err}
	}
	return n, err
}

// Flush passes the written bytes to the system. The error is an *[Error].
func (d *Draft) Flush() error {
	var err error
	if p, ok := d.packer.(interface{ Flush() error }); ok {
		err = p.Flush()
	}
	if err = errors.Join(err, d.buf.Flush()); err != nil {
		return &Error{d.name, err}
	}
	return nil
}

// Close brings all of it to the disk. Its error is an *[Error].
func (d *Draft) Close() error {
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
	if d.lock == nil {
		err = errors.Join(err, d.file.Close())
	}
	d.file = nil
	if err != nil {
		return &Error{d.name, err}
	}
	return nil
}

// unlock releases the lock of the file, which is not hidden any more.
func (d *Draft) unlock() {
	if d.lock == nil {
		return
	}
	d.lock.Close() // all of it is on the disk
	d.lock = nil
	d.files.mu.Lock()
	d.files.locks--
	d.files.mu.Unlock()
}

// Discard takes the draft back, unless it is committed.
func (d *Draft) Discard() {
	if d.file != nil && d.lock == nil {
		d.file.Close()
	}
	d.file = nil
	if d.temp != "" {
		d.files.remove(d.temp)
		d.files.gone(d.temp)
		d.temp = ""
	}
	d.unlock()
}

// Commit closes the draft and gives it its name, and replaces an existing file. At every moment the
// name leads to the complete old or the complete new content.
func (d *Draft) Commit() error {
	if err := d.Close(); err != nil {
		return err
	}
	if d.temp == "" {
		return nil
	}
	if err := d.date(); err != nil {
		return err
	}
	return d.rename()
}

// Over configures the replacement of a file whose content the draft was made from.
type Over struct {
	// Backup keeps the old content under another name.
	Backup bool
	// Keep, if set, keeps the file at from instead, as old content of path, and returns its new name.
	Keep func(from, path string) (string, error)
	// Read is the SHA-256 of the content that was read; nil: it is not known, and only size and time
	// are compared.
	Read *[sha256.Size]byte
	// Force replaces the file even if another process has locked it or has it open.
	Force bool
}

// CommitOver is Commit for a draft that was made from was (nil: from nothing). If the file is
// another one by now, or was written to before, during or just after the exchange, it stays: the
// error wraps [ErrMoved], or an [OpenError] if a program has it open for writing. Of several runs
// that replace one file one goes first, and the others find it moved. A [StrayError] names the
// file with the lines that programs wrote to the wrong one.
func (d *Draft) CommitOver(was fs.FileInfo, how Over) (Replaced, error) {
	if err := d.Close(); err != nil {
		return Replaced{}, err
	}
	if d.temp == "" {
		return Replaced{}, nil
	}
	keep := how.Keep
	if keep == nil && how.Backup {
		keep = d.files.BackupAs
	}
	if keep != nil && d.modified.IsZero() {
		// So that an undo can tell it from what is written in the very moment after this:
		// the clock of a file system ticks a hundred times a second.
		d.modified = time.Now().Add(-20 * time.Millisecond)
	}
	if err := d.date(); err != nil {
		return Replaced{}, err
	}
	if was == nil {
		return Replaced{}, d.appear()
	}
	e := exchangeOrder{path: d.path, temp: d.temp, was: was, how: how, keep: keep, unlock: d.release}
	done, err := d.files.carryOut(e)
	var unfinished *unfinishedError
	if errors.As(err, &unfinished) {
		d.forget() // the journal knows the hidden file
	}
	if err != nil {
		return Replaced{}, &Error{d.name, err}
	}
	d.forget()
	SyncFolder(d.path)
	return done, nil
}

// Unmoved returns an error if the file has changed since it was read.
func (d *Draft) Unmoved(was fs.FileInfo) error {
	now, err := os.Stat(d.path)
	if err == nil && !isSame(now, was) {
		err = ErrMoved
	}
	if err != nil {
		return &Error{d.name, err}
	}
	return nil
}

func (d *Draft) date() error {
	if d.modified.IsZero() {
		return nil
	}
	err := d.files.step("chtimes", d.temp)
	if err == nil {
		err = os.Chtimes(d.temp, time.Time{}, d.modified)
	}
	if err != nil {
		return &Error{d.name, err}
	}
	return nil
}

func (d *Draft) rename() error {
	if err := d.files.rename(d.temp, d.path); err != nil {
		return &Error{d.name, err}
	}
	d.settle()
	return nil
}

// appear gives the draft its name unless the name is taken.
func (d *Draft) appear() error {
	err := d.files.link(d.temp, d.path)
	switch {
	case errors.Is(err, fs.ErrExist):
		return &Error{d.name, ErrMoved}
	case err != nil: // a file system without hard links
		if _, err := os.Lstat(d.path); err == nil {
			return &Error{d.name, ErrMoved}
		}
		return d.rename()
	}
	d.files.remove(d.temp)
	d.settle()
	return nil
}

// settle ends a draft that has its name.
func (d *Draft) settle() {
	d.forget()
	SyncFolder(d.path)
}

// release closes the hidden file, which a journal protects from now on.
func (d *Draft) release() {
	d.files.gone(d.temp)
	d.unlock()
}

// forget leaves the hidden file as it is.
func (d *Draft) forget() {
	d.files.gone(d.temp)
	d.temp = ""
	d.unlock()
}

// SyncFolder syncs the folder of path.
func SyncFolder(path string) {
	if folder, err := os.Open(filepath.Dir(path)); err == nil {
		folder.Sync() // not every system can; the content is on the disk either way
		folder.Close()
	}
}

// WriteFile makes a file of data, as a whole or not at all. Its error is an *[Error].
func (f *Files) WriteFile(name string, data []byte) error {
	d, err := f.New(name)
	if err != nil {
		return err
	}
	defer d.Discard()
	if _, err := d.Write(data); err != nil {
		return err
	}
	return d.Commit()
}
