//go:build darwin || freebsd || netbsd

package atomicfile

import (
	"io/fs"
	"syscall"
	"time"
)

// changeTime is when the names, the owner or the mode of a file last changed, or its
// content.
func changeTime(st fs.FileInfo) (time.Time, bool) {
	s, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return time.Time{}, false
	}
	return time.Unix(s.Ctimespec.Unix()), true
}
