//go:build unix

package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// fileIdentity returns the identity of a file on this machine.
func fileIdentity(st fs.FileInfo) (string, bool) {
	s, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return "", false
	}
	return fmt.Sprintf("%d:%d", s.Dev, s.Ino), true
}

// keepOwner gives a file to the owner of the one it replaces, where we may.
func keepOwner(name string, was fs.FileInfo) {
	if st, ok := was.Sys().(*syscall.Stat_t); ok {
		_ = os.Lchown(name, int(st.Uid), int(st.Gid)) // only root may; others own both
	}
}

// tryLock locks a file for this run, and reports whether another run has locked it. Without locks
// in the file system, it reports false.
func tryLock(f *os.File) (busy bool) {
	return errors.Is(syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB), syscall.EWOULDBLOCK)
}

// canLock is true, because an open file can be locked and renamed.
const canLock = true

// removeLeftover removes a hidden file without a lock. It does nothing on file systems without
// locks.
func removeLeftover(name string) {
	st, err := os.Lstat(name)
	if err != nil || !st.Mode().IsRegular() {
		return
	}
	if !ours(st) {
		return
	}
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return
	}
	defer f.Close()
	if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil && isAt(f, name) {
		os.Remove(name)
	}
}

// ours reports whether a file is this user's, or everybody's.
func ours(st fs.FileInfo) bool {
	s, ok := st.Sys().(*syscall.Stat_t)
	return ok && (int(s.Uid) == os.Geteuid() || os.Geteuid() == 0)
}

// runs reports whether there is a process of that number.
func runs(pid int) bool {
	return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
}
