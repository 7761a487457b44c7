package atomicfile

import (
	"errors"
	"os"
	"syscall"
	"unsafe"
)

var thisSystem = system{exchange: renameSwap, lease: noLease, isLeaseBroken: neverBroken, writers: writersByLsof}

// renameSwap is renameatx_np(2) with RENAME_SWAP, which APFS supports.
func renameSwap(a, b string) error {
	from, err := syscall.BytePtrFromString(a)
	if err != nil {
		return err
	}
	to, err := syscall.BytePtrFromString(b)
	if err != nil {
		return err
	}
	const renameatx, currentFolder, swap = 488, -2, 2
	folder := currentFolder
	_, _, e := syscall.Syscall6(renameatx, uintptr(folder), uintptr(unsafe.Pointer(from)), uintptr(folder), uintptr(unsafe.Pointer(to)), swap, 0)
	switch e {
	case 0:
		return nil
	case syscall.EINVAL, syscall.ENOSYS, syscall.ENOTSUP:
		return errors.ErrUnsupported
	}
	return &os.LinkError{Op: "exchange", Old: a, New: b, Err: e}
}
