package pgtest

import "syscall"

// enough is the space in bytes for the databases of a run. A test has a database of about 8 MB, whose
// many files take longer to create on a disk.
const enough = 2 << 30

// inMemory returns a folder in memory with enough space, or "".
func inMemory() string {
	const folder = "/dev/shm"
	var s syscall.Statfs_t
	const tmpfs = 0x01021994
	if syscall.Statfs(folder, &s) != nil || int64(s.Type) != tmpfs || int64(s.Bavail)*int64(s.Bsize) < enough || syscall.Access(folder, 2) != nil {
		return ""
	}
	return folder
}

func endWithParent(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGINT }
