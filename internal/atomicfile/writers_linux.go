package atomicfile

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// writersInProc lists the processes of this user that have a file open for writing.
func writersInProc(name string) (programs []string, isKnown bool) {
	file, err := os.Stat(name)
	if err != nil {
		return nil, false
	}
	processes, err := os.ReadDir("/proc")
	if err != nil {
		return nil, false
	}
	for _, p := range processes {
		if n, err := strconv.Atoi(p.Name()); err != nil || n == os.Getpid() {
			continue
		}
		folder := filepath.Join("/proc", p.Name())
		descriptors, err := os.ReadDir(filepath.Join(folder, "fd"))
		if err != nil {
			continue // another user's, or gone
		}
		for _, fd := range descriptors {
			open, err := os.Stat(filepath.Join(folder, "fd", fd.Name()))
			if err == nil && os.SameFile(open, file) && isForWriting(filepath.Join(folder, "fdinfo", fd.Name())) {
				programs = append(programs, processName(folder))
				break
			}
		}
	}
	return programs, true
}

// isForWriting reports whether a descriptor, by its fdinfo, was opened for writing.
func isForWriting(fdinfo string) bool {
	info, err := os.ReadFile(fdinfo)
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(info)) {
		if flags, ok := strings.CutPrefix(line, "flags:"); ok {
			n, err := strconv.ParseUint(strings.TrimSpace(flags), 8, 64)
			return err == nil && n&(uint64(os.O_WRONLY|os.O_RDWR)) != 0
		}
	}
	return false
}

// processName names a process by its folder in /proc.
func processName(folder string) string {
	name, err := os.ReadFile(filepath.Join(folder, "comm"))
	if err != nil || len(name) == 0 {
		name = []byte("a process")
	}
	return fmt.Sprintf("%s (pid %s)", strings.TrimSpace(string(name)), filepath.Base(folder))
}
