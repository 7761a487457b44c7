package pgtest

import "syscall"

// enough is room for the databases of a run: a test has one of some 8 MB, and files are made
// for each table of the catalog, which a disk takes longer for than the server.
const enough = 2 << 30

// inMemory is a folder that is on no disk and has enough room; "" if there is none.
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
