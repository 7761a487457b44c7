//go:build unix

package source

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// openFound opens a regular file that was found in a folder. [os.Open] asks of every file whether
// it could be waited for, which takes five calls of the system more, and no regular file can.
func openFound(path string) (*os.File, error) {
	for {
		fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
		switch {
		case err == nil:
			return os.NewFile(uintptr(fd), path), nil
		case !errors.Is(err, syscall.EINTR):
			return nil, &fs.PathError{Op: "open", Path: path, Err: err}
		}
	}
}
