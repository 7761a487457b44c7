package agentlog

import (
	"crypto/sha256"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pare-llm/pare/internal/atomicfile"
)

// A Replacement is the new content of a file of a session. Many goroutines may read it.
type Replacement struct {
	Path string
	Raw  []byte
	Was  fs.FileInfo // when it was read
	Read []byte      // the content that was read, unpacked; nil: it is not known
	// Modified is the time that the file is to bear; zero: that of its writing. Agents
	// list sessions by time and go on with the newest, and fixing is not using.
	Modified time.Time
	// Pack compresses the content on its way into the file; nil: nothing does.
	Pack func(io.Writer) (io.WriteCloser, error)

	rows    Rows   // of a database, that are written instead
	oldRows []byte // and what they were
}

// readSum returns the hash of the content that was read; nil: it is not known.
func (r *Replacement) readSum() *[sha256.Size]byte {
	isWhole := r.Was != nil && r.Pack == nil && int64(len(r.Read)) == r.Was.Size()
	if !isWhole {
		return nil
	}
	sum := sha256.Sum256(r.Read)
	return &sum
}

// A Rewritten is a file that was replaced. Many goroutines may read it.
type Rewritten struct {
	Path   string
	Backup string // where its old content is
	Note   string // a sentence for the user; "": there is nothing to report
}

// A Writer replaces the files of sessions: all of them or, as far as can be told
// beforehand, none. It is for one goroutine.
type Writer struct {
	Files *atomicfile.Files
	Force bool // even if another process has locked a file

	staged []staged
	rows   []Replacement
	keeper backupKeeper
}

type staged struct {
	*atomicfile.Draft
	was  fs.FileInfo
	read *[sha256.Size]byte // of the content; nil: it is not known
}

// Stage writes what is to become the content of a file, where nobody sees it. A file that
// is staged already stays so.
func (w *Writer) Stage(r Replacement) error {
	if r.rows != nil {
		w.rows = append(w.rows, r)
		return nil
	}
	if slices.ContainsFunc(w.staged, func(s staged) bool { return os.SameFile(s.was, r.Was) }) {
		return nil
	}
	d, err := w.Files.New(r.Path)
	if err != nil {
		return err
	}
	w.staged = append(w.staged, staged{d, r.Was, r.readSum()})
	if r.Pack != nil {
		if err := d.Pack(r.Pack); err != nil {
			return err
		}
	}
	if !r.Modified.IsZero() {
		d.Date(r.Modified)
	}
	if _, err := d.Write(r.Raw); err != nil {
		return err
	}
	return d.Close()
}

// Unmoved is an error if a file is not what it was when it was read.
func (w *Writer) Unmoved() error {
	for _, s := range w.staged {
		if err := s.Unmoved(s.was); err != nil {
			return err
		}
	}
	return nil
}

// Commit gives the staged files their names, each in one step, and keeps what was there.
// If it fails, those before were replaced, and are returned.
func (w *Writer) Commit() ([]Rewritten, error) {
	if err := w.Unmoved(); err != nil {
		return nil, err
	}
	w.keeper.files = w.Files
	var done []Rewritten
	for _, s := range w.staged {
		r, err := s.CommitOver(s.was, atomicfile.Over{Keep: w.keeper.keepOriginal, Read: s.read, Force: w.Force})
		if err != nil {
			return done, err
		}
		done = append(done, Rewritten{s.Name(), r.Backup, r.Note})
	}
	for _, r := range w.rows {
		kept, err := r.rows.Write(r.oldRows, r.Raw)
		if err != nil {
			return done, err
		}
		done = append(done, Rewritten{r.Path, kept, ""})
	}
	w.rows = nil
	return done, nil
}

// Discard takes back what is not committed.
func (w *Writer) Discard() {
	for _, s := range w.staged {
		s.Discard()
	}
}

// A keeper keeps the originals of files: beside each or, for those of a storage, in a
// folder beside that, one for each run. opencode takes every file in its storage for one
// of its own, and a session with a backup in it would not open.
type backupKeeper struct {
	files   *atomicfile.Files
	folders map[string]string // by storage
}

// keep keeps the file at from as an original of path.
func (k *backupKeeper) keepOriginal(from, path string) (string, error) {
	storage, below, ok := findStorage(path)
	if !ok {
		return k.files.BackupAs(from, path)
	}
	if k.folders[storage] == "" {
		folder, err := newBackupFolder(storage)
		if err != nil {
			return "", err
		}
		if k.folders == nil {
			k.folders = make(map[string]string)
		}
		k.folders[storage] = folder
	}
	to := filepath.Join(k.folders[storage], below)
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return "", err
	}
	return to, k.files.LinkOrCopy(from, to)
}

// newGeneration makes the folder for the originals of a run.
func newBackupFolder(storage string) (string, error) {
	n := 0
	if all := atomicfile.Backups(storage); len(all) > 0 {
		n = all[0] + 1
	}
	name := atomicfile.BackupName(storage, n)
	return name, os.Mkdir(name, 0o700)
}

// storageOf returns the storage of opencode that a file or folder lies in or is, and its
// name there.
func findStorage(path string) (storage, below string, ok bool) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", "", false
	}
	if IsStorage(path) {
		return path, ".", true
	}
	const depth = 4
	folder := path
	for range depth {
		name := filepath.Base(folder)
		parent := filepath.Dir(folder)
		if (name == "message" || name == "part" || name == "session") && IsStorage(parent) {
			below, err = filepath.Rel(parent, path)
			return parent, below, err == nil
		}
		folder = parent
	}
	return "", "", false
}

// A Backup is the original of a file that was replaced. Many goroutines may read it.
type Backup struct {
	Path   string      // the file
	Backup string      // what it was
	Now    fs.FileInfo // the file as it is; nil: there is none
}

func newBackup(path, backup string) Backup {
	now, err := os.Stat(path)
	if err != nil {
		now = nil
	}
	return Backup{path, backup, now}
}

// Originals lists what the newest backups of a file were, the newest first; for a storage
// of opencode or a session in it, those that the last run has kept.
func Originals(path string) []Backup {
	storage, below, inside := findStorage(path)
	if !inside {
		var all []Backup
		for _, n := range atomicfile.Backups(path) {
			all = append(all, newBackup(path, atomicfile.BackupName(path, n)))
		}
		return all
	}
	var all []Backup
	for _, n := range atomicfile.Backups(storage) {
		folder := atomicfile.BackupName(storage, n)
		for _, name := range listFiles(folder) {
			if name == below || belongsToSession(storage, folder, below, name) {
				all = append(all, newBackup(filepath.Join(storage, name), filepath.Join(folder, name)))
			}
		}
		if st, err := os.Stat(path); err == nil && st.IsDir() && len(all) > 0 {
			break
		}
	}
	return all
}

// belongs reports whether a file of a storage belongs to a folder: to all of it, or to
// the session whose messages lie there.
func belongsToSession(storage, kept, folder, name string) bool {
	if folder == "." || strings.HasPrefix(name, folder+string(filepath.Separator)) {
		return true
	}
	parts := strings.Split(filepath.ToSlash(name), "/")
	if len(parts) < 3 || parts[0] != "part" || filepath.Dir(folder) != "message" {
		return false
	}
	session, message := filepath.Base(folder), parts[1]+".json"
	if parts[1] == session { // the older layout
		return true
	}
	for _, root := range []string{storage, kept} {
		if _, err := os.Stat(filepath.Join(root, "message", session, message)); err == nil {
			return true
		}
	}
	return false
}

// filesBelow lists the files of a folder by their names in it.
func listFiles(folder string) []string {
	var all []string
	_ = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error { // what cannot be read is not there
		if err == nil && d.Type().IsRegular() && !atomicfile.IsHidden(path) {
			if name, err := filepath.Rel(folder, path); err == nil {
				all = append(all, name)
			}
		}
		return nil
	})
	return all
}

// An Undoer gives files what they were before they were replaced. It is for one
// goroutine.
type Undoer struct {
	Files  *atomicfile.Files
	Force  bool // even if another process has a file open or locked
	keeper backupKeeper
}

// Undo makes the original the file again, in one step, and keeps what the file was until
// then like an original: a second undo reverts the first one.
func (u *Undoer) Undo(k Backup) (Rewritten, error) {
	u.keeper.files = u.Files
	done, err := u.Files.Restore(k.Path, k.Backup, k.Now, atomicfile.Over{Keep: u.keeper.keepOriginal, Force: u.Force})
	if err != nil {
		return Rewritten{}, err
	}
	if storage, _, ok := findStorage(k.Path); ok { // empty folders of the backup go, too
		for folder := filepath.Dir(k.Backup); strings.HasPrefix(folder, storage+".bak"); folder = filepath.Dir(folder) {
			if os.Remove(folder) != nil {
				break
			}
		}
	}
	return Rewritten{k.Path, done.Backup, done.Note}, nil
}
