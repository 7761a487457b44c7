//go:build unix

package store

import (
	"io/fs"
	"syscall"
)

// checkAccess returns an error if the user may not read and write a file.
func checkAccess(path string) error {
	const readWrite = 0x4 | 0x2
	if err := syscall.Access(path, readWrite); err != nil {
		return &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return nil
}
