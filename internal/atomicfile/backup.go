package atomicfile

import (
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
)

// maxBackup is the highest number of a backup. What has a higher one is none of ours.
const maxBackup = 999_999

var backupName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?s)^(.+)\.bak(\.[0-9]+)?$`) })

// originalOf returns the name of the file that a backup of this name would be of.
func originalOf(name string) (string, bool) {
	if !strings.Contains(name, ".bak") { // nearly always
		return "", false
	}
	m := backupName().FindStringSubmatch(name)
	if m == nil {
		return "", false
	}
	return m[1], true
}

// IsBackup reports whether path looks like a backup of a file that stands beside it.
func IsBackup(path string) bool {
	of, ok := originalOf(path)
	if !ok {
		return false
	}
	_, err := os.Stat(of)
	return err == nil
}

// BackupName is the name of a backup. They are counted from 0.
func BackupName(path string, n int) string {
	if n == 0 {
		return path + ".bak"
	}
	return fmt.Sprintf("%s.bak.%d", path, n)
}

// Backups lists the numbers of the backups of a file, the newest first.
func Backups(path string) []int {
	var all []int
	folder, base := filepath.Split(path)
	entries, _ := os.ReadDir(filepath.Clean(folder + "."))
	for _, e := range entries {
		m := backupName().FindStringSubmatch(e.Name())
		if m == nil || m[1] != base {
			continue
		}
		n, err := 0, error(nil)
		if m[2] != "" {
			n, err = strconv.Atoi(m[2][1:])
		}
		if err == nil && n <= maxBackup && BackupName(base, n) == e.Name() {
			all = append(all, n)
		}
	}
	slices.Sort(all)
	slices.Reverse(all)
	return all
}

// Backup gives a file a second name: FILE.bak, or FILE.bak.1 and so on, always behind
// those that there are, so that the highest number is the newest. It returns the name.
func (f *Files) Backup(path string) (string, error) {
	n := 0
	if all := Backups(path); len(all) > 0 {
		n = all[0] + 1
	}
	for ; n <= maxBackup; n++ {
		name := BackupName(path, n)
		err := f.link(path, name)
		switch {
		case errors.Is(err, fs.ErrExist):
			continue
		case err != nil: // a file system without hard links
			err = f.Copy(path, name)
			if errors.Is(err, fs.ErrExist) {
				continue
			}
		}
		return name, err
	}
	return "", ErrManyBackups
}

// Copy makes a copy that did not exist yet, as a whole or not at all, with the mode and the time
// of the original.
func (f *Files) Copy(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	st, err := in.Stat()
	if err != nil {
		return err
	}
	if _, err := os.Lstat(to); err == nil {
		return &fs.PathError{Op: "copy", Path: to, Err: fs.ErrExist}
	}
	d, err := f.begin(to, st.Mode().Perm())
	if err != nil {
		return err
	}
	defer d.Discard()
	if err := d.file.Chmod(st.Mode().Perm()); err != nil { // whatever the umask is
		return err
	}
	d.Date(st.ModTime()) // a link would bear it, too
	if _, err := io.Copy(d, in); err != nil {
		return err
	}
	if _, err = d.CommitOver(nil, Over{}); errors.Is(err, ErrMoved) {
		err = &fs.PathError{Op: "copy", Path: to, Err: fs.ErrExist}
	}
	return err
}

// Restore makes a backup the file again, in one step. What the file was until then, if
// there is one, is kept as a further backup, by keep (nil: beside it), whose name is
// returned. Its error is an *[Error].
func (f *Files) Restore(path, backup string, keep func(path string) (string, error)) (kept string, err error) {
	if keep == nil {
		keep = f.Backup
	}
	if st, err := os.Stat(path); err == nil {
		unlock, err := f.lock(path, true)
		if err != nil {
			return "", &Error{path, err}
		}
		defer unlock()
		if now, err := os.Stat(path); err != nil || !os.SameFile(st, now) {
			return "", &Error{path, ErrMoved}
		}
		if kept, err = keep(path); err != nil {
			return "", &Error{path, fmt.Errorf("keep a backup: %w", err)}
		}
	}
	if err := f.rename(backup, path); err != nil {
		if kept != "" {
			f.remove(kept) // a second name for what stays
		}
		return "", &Error{path, err}
	}
	SyncFolder(path)
	return kept, nil
}

// ChangedSince reports whether a file was written to after it took the place of its
// backup. It then bore the time of the backup, or one a little earlier; and the last
// thing that happened to the backup is that its old name was taken away.
func ChangedSince(now, was fs.FileInfo) bool {
	if now.ModTime().Equal(was.ModTime()) {
		return false
	}
	replaced, ok := changeTime(was)
	return ok && !now.ModTime().Before(replaced)
}

// WrittenBefore is when somebody wrote to a file for the last time before it took the place of its
// backup; if it was written to after that, or nobody can tell, when that was.
func WrittenBefore(now, was fs.FileInfo) time.Time {
	replaced, ok := changeTime(was)
	if ok && was.ModTime().Before(now.ModTime()) && !now.ModTime().After(replaced) {
		return was.ModTime()
	}
	return now.ModTime()
}
