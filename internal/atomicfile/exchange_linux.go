package atomicfile

import (
	"errors"
	"os"
	"runtime"
	"syscall"
	"unsafe"
)

var thisSystem = system{exchange: renameExchange, lease: takeLease, isLeaseBroken: isLeaseBroken, writers: writersInProc}

// renameat2 is the number of the system call, which package syscall does not have for all
// architectures.
var renameat2 = map[string]uintptr{
	"386": 353, "amd64": 316, "arm": 382, "arm64": 276, "loong64": 276, "mips64": 5311, "mips64le": 5311,
	"ppc64": 357, "ppc64le": 357, "riscv64": 276, "s390x": 347,
}

func renameExchange(a, b string) error {
	number, ok := renameat2[runtime.GOARCH]
	if !ok {
		return errors.ErrUnsupported
	}
	from, err := syscall.BytePtrFromString(a)
	if err != nil {
		return err
	}
	to, err := syscall.BytePtrFromString(b)
	if err != nil {
		return err
	}
	const currentFolder, exchange = -100, 2 // AT_FDCWD, RENAME_EXCHANGE
	folder := currentFolder
	_, _, e := syscall.Syscall6(number, uintptr(folder), uintptr(unsafe.Pointer(from)), uintptr(folder), uintptr(unsafe.Pointer(to)), exchange, 0)
	switch e {
	case 0:
		return nil
	case syscall.EINVAL, syscall.ENOSYS, syscall.EOPNOTSUPP, syscall.EPERM: // EPERM: some sandboxes
		return errors.ErrUnsupported
	}
	return &os.LinkError{Op: "exchange", Old: a, New: b, Err: e}
}

const (
	setLease  = 1024 // F_SETLEASE
	getLease  = 1025 // F_GETLEASE
	setSignal = 10   // F_SETSIG
)

// takeLease takes a read lease, which the kernel refuses if the file is open for writing. The
// kernel announces an open for writing by SIGURG, which a process ignores by default; its default
// for that, SIGIO, would end the process.
func takeLease(file *os.File) leaseState {
	if _, _, e := syscall.Syscall(syscall.SYS_FCNTL, file.Fd(), setSignal, uintptr(syscall.SIGURG)); e != 0 {
		return leaseUnsupported
	}
	switch _, _, e := syscall.Syscall(syscall.SYS_FCNTL, file.Fd(), setLease, syscall.F_RDLCK); e {
	case 0:
		return leaseTaken
	case syscall.EAGAIN:
		return leaseRefused
	}
	return leaseUnsupported // not the owner, or a file system without leases
}

func isLeaseBroken(file *os.File) bool {
	kind, _, e := syscall.Syscall(syscall.SYS_FCNTL, file.Fd(), getLease, 0)
	return e != 0 || kind != syscall.F_RDLCK
}
