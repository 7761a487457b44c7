//go:build unix

package proxy

import (
	"syscall"
	"time"
)

const hasProcessTime = true

// processTime returns the processor time of this process.
func processTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
