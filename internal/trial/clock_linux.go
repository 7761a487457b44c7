package trial

import (
	"syscall"
	"time"
	"unsafe"
)

const threadTime = true

// threadClock is the processor time that this thread has had. getrusage would tell it
// by ticks of several milliseconds.
func threadClock() time.Duration {
	const clockThreadCPU = 3 // CLOCK_THREAD_CPUTIME_ID
	var ts syscall.Timespec
	if _, _, e := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clockThreadCPU, uintptr(unsafe.Pointer(&ts)), 0); e != 0 {
		panic(e)
	}
	return time.Duration(ts.Nano())
}
