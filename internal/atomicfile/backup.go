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

// maxBackup is the highest number of a backup.
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

// IsBackup reports whether path looks like a backup of a file in the same folder.
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
func (f *Files) Backup(path string) (string, error) { return f.BackupAs(path, path) }

// BackupAs gives the file at from a name as the newest backup of path.
func (f *Files) BackupAs(from, path string) (string, error) {
	n := 0
	if all := Backups(path); len(all) > 0 {
		n = all[0] + 1
	}
	for ; n <= maxBackup; n++ {
		name := BackupName(path, n)
		err := f.LinkOrCopy(from, name)
		if !errors.Is(err, fs.ErrExist) {
			return name, err
		}
	}
	return "", ErrManyBackups
}

// findBackup returns the backup of path that is the same file as st, or "".
func findBackup(path string, st fs.FileInfo) string {
	for _, n := range Backups(path) {
		name := BackupName(path, n)
		if kept, err := os.Stat(name); err == nil && os.SameFile(kept, st) {
			return name
		}
	}
	return ""
}

// LinkOrCopy gives a file a further name or, in a file system without hard links, makes a copy.
func (f *Files) LinkOrCopy(from, to string) error {
	err := f.link(from, to)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	return f.Copy(from, to)
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

// Restore makes a backup the file again, in one step. If the file at path is not was, or a program
// has it open for writing, it stays, unless how forces it; nil: there is none. The content of the
// file until then is kept as a further backup, whose name is returned. Its error is an *[Error].
func (f *Files) Restore(path, backup string, was fs.FileInfo, how Over) (Replaced, error) {
	if was == nil {
		if err := f.rename(backup, path); err != nil {
			return Replaced{}, &Error{path, err}
		}
		SyncFolder(path)
		return Replaced{}, nil
	}
	temp, err := f.hiddenLink(backup, path)
	if err != nil {
		return Replaced{}, &Error{path, err}
	}
	keep := how.Keep
	if keep == nil {
		keep = f.BackupAs
	}
	done, err := f.carryOut(exchangeOrder{path: path, temp: temp, was: was, how: how, keep: keep, spent: backup, unlock: func() {}})
	if err != nil {
		var unfinished *unfinishedError
		if !errors.As(err, &unfinished) {
			f.remove(temp)
			if now, err := os.Stat(path); err == nil && !isSame(now, was) {
				f.markWritten(path)
			}
		}
		return Replaced{}, &Error{path, err}
	}
	SyncFolder(path)
	return done, nil
}

// hiddenLink gives a backup of path a hidden name.
func (f *Files) hiddenLink(backup, path string) (string, error) {
	folder, base := filepath.Split(path)
	for n := 0; ; n++ {
		temp := filepath.Join(folder, hiddenName(base, n, canLock))
		if hasJournal(temp) && n < maxTries {
			continue
		}
		err := f.LinkOrCopy(backup, temp)
		if !errors.Is(err, fs.ErrExist) || n == maxTries {
			return temp, err
		}
	}
}

// ChangedSince reports whether a file was written to after it took the place of its backup. Until
// then it has the time of the backup, or one before the exchange, and a change time that is later
// than that: a write makes the two equal.
func ChangedSince(now, was fs.FileInfo) bool {
	if now.ModTime().Equal(was.ModTime()) {
		return false
	}
	if changed, ok := changeTime(now); ok && changed.Equal(now.ModTime()) {
		return true
	}
	replaced, ok := changeTime(was)
	return ok && !now.ModTime().Before(replaced)
}

// WrittenBefore returns the time of the last write to a file before its backup replaced it. If the
// file was written to afterwards, or the time is unknown, it returns the time of the last write.
func WrittenBefore(now, was fs.FileInfo) time.Time {
	replaced, ok := changeTime(was)
	if ok && was.ModTime().Before(now.ModTime()) && !now.ModTime().After(replaced) {
		return was.ModTime()
	}
	return now.ModTime()
}
