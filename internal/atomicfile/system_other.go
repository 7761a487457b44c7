//go:build !unix

package atomicfile

import (
	"io/fs"
	"os"
)

// fileIdentity is not known here: files are told apart by their resolved names.
func fileIdentity(fs.FileInfo) (string, bool) { return "", false }

// keepOwner does nothing: here a file belongs to its folder's owner.
func keepOwner(string, fs.FileInfo) {}

// tryLock does nothing: here locks are mandatory, and would keep us from replacing.
func tryLock(*os.File) (busy bool) { return false }

// canLock: here a file that is open keeps its name.
const canLock = false

// removeLeftover does nothing: here no file bears a lock.
func removeLeftover(string) {}

// runs reports whether there is a process of that number.
func runs(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	p.Release()
	return true
}

// ours: whose a file is, the system decides when it is to be removed.
func ours(fs.FileInfo) bool { return true }
