package atomicfile

import (
	"errors"
	"syscall"
)

var thisSystem = system{exchange: cannotExchange, lease: noLease, isLeaseBroken: neverBroken, writers: writersBySharing}

func cannotExchange(string, string) error { return errors.ErrUnsupported }

// errSharing is ERROR_SHARING_VIOLATION.
const errSharing = syscall.Errno(32)

// writersBySharing opens a file and shares it with no process. That fails if a process has it open.
func writersBySharing(name string) (programs []string, isKnown bool) {
	path, err := syscall.UTF16PtrFromString(name)
	if err != nil {
		return nil, false
	}
	file, err := syscall.CreateFile(path, syscall.GENERIC_READ, 0, nil, syscall.OPEN_EXISTING, syscall.FILE_ATTRIBUTE_NORMAL, 0)
	if errors.Is(err, errSharing) {
		return []string{"another program"}, true
	}
	if err != nil {
		return nil, false
	}
	syscall.CloseHandle(file)
	return nil, true
}
