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

// A Replacement is the new content of a session file.
type Replacement struct {
	Path       string
	Raw        []byte
	OldInfo    fs.FileInfo // when it was read
	OldContent []byte      // the content that was read, uncompressed; nil if unknown
	// Modified is the modification time for the file; zero means the current time. Agents list
	// sessions by time and resume the newest, and a repair is not a use of the session.
	Modified time.Time
	// Pack compresses the content; nil writes it as it is.
	Pack func(io.Writer) (io.WriteCloser, error)

	rows    Rows   // written instead of a file
	oldRows []byte // their content when they were read
}

// readSum returns the hash of the content that was read, or nil if it is unknown.
func (r *Replacement) readSum() *[sha256.Size]byte {
	isWhole := r.OldInfo != nil && r.Pack == nil && int64(len(r.OldContent)) == r.OldInfo.Size()
	if !isWhole {
		return nil
	}
	sum := sha256.Sum256(r.OldContent)
	return &sum
}

// A Rewritten is a file that was replaced.
type Rewritten struct {
	Path   string
	Backup string // with the old content
	Note   string // a sentence for the user; may be ""
}

// A Writer replaces the files of sessions: all of them or, as far as errors can be foreseen, none.
// It is not safe for concurrent use.
type Writer struct {
	Files *atomicfile.Files
	Force bool // write even if another process has locked a file

	staged []staged
	rows   []Replacement
	keeper backupKeeper
}

type staged struct {
	*atomicfile.Draft
	was  fs.FileInfo
	read *[sha256.Size]byte // of the content; nil if unknown
}

// Stage writes the new content of a file to a hidden draft. It does nothing for a file that is
// already staged.
func (w *Writer) Stage(r Replacement) error {
	if r.rows != nil {
		w.rows = append(w.rows, r)
		return nil
	}
	if slices.ContainsFunc(w.staged, func(s staged) bool { return os.SameFile(s.was, r.OldInfo) }) {
		return nil
	}
	d, err := w.Files.New(r.Path)
	if err != nil {
		return err
	}
	w.staged = append(w.staged, staged{d, r.OldInfo, r.readSum()})
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

// CheckUnmodified returns an error if a file was changed after it was read.
func (w *Writer) CheckUnmodified() error {
	for _, s := range w.staged {
		if err := s.Unmoved(s.was); err != nil {
			return err
		}
	}
	return nil
}

// Commit replaces the files atomically, one after the other, and keeps backups. After an error, it
// returns the files that were already replaced.
func (w *Writer) Commit() ([]Rewritten, error) {
	if err := w.CheckUnmodified(); err != nil {
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

// Discard removes the drafts that were not committed.
func (w *Writer) Discard() {
	for _, s := range w.staged {
		s.Discard()
	}
}

// A backupKeeper keeps the originals of files: next to each file or, for files of an opencode
// storage, in a new folder next to the storage for each run. opencode reads every file in its
// storage, and a session with a backup in it would not open.
type backupKeeper struct {
	files   *atomicfile.Files
	folders map[string]string // by storage
}

// keepOriginal keeps the file at from as the backup of path.
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

// newBackupFolder creates the backup folder of a run.
func newBackupFolder(storage string) (string, error) {
	n := 0
	if all := atomicfile.Backups(storage); len(all) > 0 {
		n = all[0] + 1
	}
	name := atomicfile.BackupName(storage, n)
	return name, os.Mkdir(name, 0o700)
}

// findStorage returns the opencode storage that contains a file or folder, and the name relative to
// it.
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

// A Backup is the original of a replaced file.
type Backup struct {
	Path    string      // of the file
	Backup  string      // of the original
	Current fs.FileInfo // the current file; nil if it does not exist
}

func newBackup(path, backup string) Backup {
	now, err := os.Stat(path)
	if err != nil {
		now = nil
	}
	return Backup{path, backup, now}
}

// Originals returns the backups of a file, newest first. For an opencode storage, or a session in
// it, it returns the files that the last run backed up.
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

// belongsToSession reports whether a file of a storage is in a folder, or is a part of the session
// with that message folder.
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

// listFiles returns the names of all files in a folder, relative to it.
func listFiles(folder string) []string {
	var all []string
	// Skip unreadable folders.
	_ = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && !atomicfile.IsHidden(path) {
			if name, err := filepath.Rel(folder, path); err == nil {
				all = append(all, name)
			}
		}
		return nil
	})
	return all
}

// An Undoer restores originals of replaced files. It is not safe for concurrent use.
type Undoer struct {
	Files  *atomicfile.Files
	Force  bool // write even if another process has a file open or locked
	keeper backupKeeper
}

// Undo atomically restores an original and keeps a backup of the current file, so that a second
// undo reverts the first one.
func (u *Undoer) Undo(k Backup) (Rewritten, error) {
	u.keeper.files = u.Files
	done, err := u.Files.Restore(k.Path, k.Backup, k.Current, atomicfile.Over{Keep: u.keeper.keepOriginal, Force: u.Force})
	if err != nil {
		return Rewritten{}, err
	}
	if storage, _, ok := findStorage(k.Path); ok { // also remove empty folders of the backup
		for folder := filepath.Dir(k.Backup); strings.HasPrefix(folder, storage+".bak"); folder = filepath.Dir(folder) {
			if os.Remove(folder) != nil {
				break
			}
		}
	}
	return Rewritten{k.Path, done.Backup, done.Note}, nil
}
