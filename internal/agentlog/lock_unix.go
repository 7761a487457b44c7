//go:build unix

package agentlog

import (
	"errors"
	"os"
	"syscall"
)

// locked reports whether another process has locked a file against readers.
func locked(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	record := syscall.Flock_t{Type: syscall.F_RDLCK}
	if err := syscall.FcntlFlock(f.Fd(), syscall.F_GETLK, &record); err == nil && record.Type != syscall.F_UNLCK {
		return true
	}
	// Closing the file releases this lock.
	return errors.Is(syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB), syscall.EWOULDBLOCK)
}
