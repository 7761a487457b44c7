//go:build !linux && !darwin && !freebsd && !netbsd

package atomicfile

import (
	"io/fs"
	"time"
)

// changeTime is not known here.
func changeTime(fs.FileInfo) (time.Time, bool) { return time.Time{}, false }
