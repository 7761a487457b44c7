package atomicfile

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// hiddenPattern matches the names of hidden files with a lock. A running process locks its hidden
// files from the first byte to the last step, and the system removes the locks when the process
// ends. So a hidden file without a lock was left by a killed run, and the next run that writes into
// the folder removes it.
var hiddenPattern = regexp.MustCompile(`(?s)^\..+\.pare-[0-9]+-[0-9]+$`)

// maxLocks limits the hidden files with a lock in a run. Further ones have names without a lock.
const maxLocks = 128

// unlocked matches the names of hidden files without a lock, on systems without locks and beyond
// maxLocks. They name the process, and are removed if that process does not run and the file was
// not written to for a day. A run on another machine with the same folder is not seen, but never
// takes a day between the last byte and the rename.
var unlocked = regexp.MustCompile(`(?s)^\..+\.pare-([0-9]+)-[0-9]+\+$`)

// abandonedAfter is the time without writes after which an unlocked hidden file is abandoned.
const abandonedAfter = 24 * time.Hour

// removeAbandoned removes a hidden file without a lock if its run is over.
func removeAbandoned(name, process string) {
	pid, err := strconv.Atoi(process)
	if err != nil || pid <= 0 || runs(pid) {
		return
	}
	if st, err := os.Lstat(name); err == nil && st.Mode().IsRegular() && ours(st) && time.Since(st.ModTime()) > abandonedAfter {
		os.Remove(name) // fails on Windows if it is open
	}
}

func hiddenName(base string, n int, locks bool) string {
	name := fmt.Sprintf(".%s.pare-%d-%d", base, os.Getpid(), n)
	if !locks {
		name += "+"
	}
	return name
}

// IsHidden reports whether a file is called like one that a run has not yet given its name.
func IsHidden(name string) bool {
	name = filepath.Base(name)
	name = strings.TrimSuffix(strings.TrimSuffix(name, journalSuffix), asideSuffix)
	return hiddenPattern.MatchString(name) || unlocked.MatchString(name)
}

// own locks a hidden file that was just made. false: another run was faster, and has removed it
// as a leftover.
func own(f *os.File, name string) bool {
	return !tryLock(f) && isAt(f, name)
}

// isAt reports whether a file is still the one of that name.
func isAt(f *os.File, name string) bool {
	now, err := os.Lstat(name)
	if err != nil {
		return false
	}
	st, err := f.Stat()
	return err == nil && os.SameFile(now, st)
}

// sweep removes the files that killed runs have left in a folder, once per folder. The caller holds
// the lock of f.
func (f *Files) sweep(folder string) {
	if folder == "" {
		folder = "."
	}
	if f.swept[folder] {
		return
	}
	if f.swept == nil {
		f.swept = make(map[string]bool)
	}
	f.swept[folder] = true
	d, err := os.Open(folder)
	if err != nil {
		return // writing there reports the error
	}
	names, _ := d.Readdirnames(-1)
	d.Close()
	f.sweepJournals(folder)
	for _, name := range names {
		if IsHidden(name) && hasJournal(filepath.Join(folder, name)) {
			continue
		}
		if hiddenPattern.MatchString(name) {
			removeLeftover(filepath.Join(folder, name))
		} else if m := unlocked.FindStringSubmatch(name); m != nil {
			removeAbandoned(filepath.Join(folder, name), m[1])
		}
	}
}
