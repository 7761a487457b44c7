//go:build unix

package main

import (
	"io/fs"
	"os"
	"syscall"
)

// keepOwner gives a file to the owner of the one it replaces, where we may.
func keepOwner(name string, was fs.FileInfo) {
	if st, ok := was.Sys().(*syscall.Stat_t); ok {
		_ = os.Lchown(name, int(st.Uid), int(st.Gid)) // only root may; others own both
	}
}
