//go:build !unix

package atomicfile

import (
	"io/fs"
	"os"
)

// fileIdentity is unknown on this system: files are compared by their resolved names.
func fileIdentity(fs.FileInfo) (string, bool) { return "", false }

// keepOwner does nothing: here a file belongs to its folder's owner.
func keepOwner(string, fs.FileInfo) {}

// tryLock does nothing: locks are mandatory on this system and would prevent replacing.
func tryLock(*os.File) (busy bool) { return false }

// canLock is false, because an open file cannot be renamed on this system.
const canLock = false

// removeLeftover does nothing: no file has a lock.
func removeLeftover(string) {}

// runs reports whether a process with that id exists.
func runs(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	p.Release()
	return true
}

// ours returns true: the system checks the owner when the file is removed.
func ours(fs.FileInfo) bool { return true }
