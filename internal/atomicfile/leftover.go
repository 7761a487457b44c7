package atomicfile

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
)

// A run that is killed leaves its hidden files behind. A run that lives holds a lock on each of
// its own, from the first byte to the last step, and the system takes the lock away with the
// run, wherever it ran: so a hidden file without a lock is nobody's, and the next run that
// writes into the folder removes it.

// hiddenPattern is how hidden files are called that bear a lock.
var hiddenPattern = regexp.MustCompile(`^\..+\.pare-[0-9]+-[0-9]+$`)

// maxLocks is how many hidden files of a run are open at a time. Those beyond have another name,
// and are never swept.
const maxLocks = 128

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
	return hiddenPattern.MatchString(name) || len(name) > 0 && name[len(name)-1] == '+' && hiddenPattern.MatchString(name[:len(name)-1])
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
	for _, name := range names {
		if hiddenPattern.MatchString(name) {
			removeLeftover(filepath.Join(folder, name))
		}
	}
}
