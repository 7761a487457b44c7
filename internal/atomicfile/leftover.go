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

// A run that is killed leaves its hidden files behind. A run that lives holds a lock on each of
// its own, from the first byte to the last step, and the system takes the lock away with the
// run, wherever it ran: so a hidden file without a lock is nobody's, and the next run that
// writes into the folder removes it. Where there are no locks, as on Windows, and beyond those
// that a run may hold, the name says so, and which process it was: its file goes when no such
// process runs here and nobody has written to it for a day. A run on another machine that
// shares the folder is not seen, but takes no day between its last byte and the file's name.

// hiddenPattern is how hidden files are called that bear a lock.
var hiddenPattern = regexp.MustCompile(`(?s)^\..+\.pare-[0-9]+-[0-9]+$`)

// maxLocks is how many hidden files of a run are open at a time. Those beyond have another name.
const maxLocks = 128

// unlocked is how hidden files are called that bear no lock.
var unlocked = regexp.MustCompile(`(?s)^\..+\.pare-([0-9]+)-[0-9]+\+$`)

// abandonedAfter is how long nobody has written to a file without a lock that nobody will.
const abandonedAfter = 24 * time.Hour

// removeAbandoned removes a hidden file without a lock if its run is over.
func removeAbandoned(name, process string) {
	pid, err := strconv.Atoi(process)
	if err != nil || pid <= 0 || runs(pid) {
		return
	}
	if st, err := os.Lstat(name); err == nil && st.Mode().IsRegular() && ours(st) && time.Since(st.ModTime()) > abandonedAfter {
		os.Remove(name) // on Windows not if somebody has it open
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

// sweep removes what runs that were killed have left in a folder, once. The caller holds the
// lock of f.
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
		return // whoever writes there will say so
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
