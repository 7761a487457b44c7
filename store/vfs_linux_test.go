package store_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"

	"github.com/pare-llm/pare/internal/fault"
)

// A disk is a folder whose files fail according to a source. When it loses power, writes fail, and
// each unsynced write may be lost.
type disk struct {
	folder string
	source *fault.Source

	mu      sync.Mutex
	dead    bool
	pending map[string][]piece // unsynced writes by file
}

// A piece is the previous content of a part of a file.
type piece struct {
	at, size int64  // the size of the file before
	old, new []byte // old is shorter if the file was
}

// disks are the failing folders by name.
var disks struct {
	sync.RWMutex
	byFolder map[string]*disk
	files    map[uintptr]*vfsFile // open ones, by SQLite's handle
	tables   map[uintptr]uintptr  // ours, by SQLite's own
	own      uintptr              // SQLite's
}

type vfsFile struct {
	disk *disk
	path string
	own  *lib.Tsqlite3_io_methods
}

var installVFS = sync.OnceValue(func() int32 {
	tls := libc.NewTLS()
	defer tls.Close()
	disks.byFolder, disks.files, disks.tables = make(map[string]*disk), make(map[uintptr]*vfsFile), make(map[uintptr]uintptr)
	disks.own = lib.Xsqlite3_vfs_find(tls, 0)
	name, err := libc.CString("fault")
	if err != nil {
		panic(err)
	}
	at, vfs := allocated[lib.Tsqlite3_vfs](tls)
	*vfs = *pointer[lib.Tsqlite3_vfs](disks.own)
	vfs.FzName, vfs.FpNext = name, 0
	vfs.FxOpen, vfs.FxDelete = address(vfsOpen), address(vfsDelete)
	return lib.Xsqlite3_vfs_register(tls, at, 1)
})

// newDisk lets the files of a folder fail until the test ends.
func newDisk(t *testing.T, folder string, s *fault.Source) *disk {
	t.Helper()
	if rc := installVFS(); rc != 0 {
		t.Fatalf("SQLite takes no file system of ours: %d", rc)
	}
	d := &disk{folder: folder, source: s, pending: make(map[string][]piece)}
	disks.Lock()
	defer disks.Unlock()
	disks.byFolder[folder] = d
	return d
}

func (d *disk) close() {
	disks.Lock()
	defer disks.Unlock()
	delete(disks.byFolder, d.folder)
}

// powerOff makes all writes fail.
func (d *disk) powerOff() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.dead = true
}

func (d *disk) off() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.dead
}

// powerOn restores power. Unsynced writes are kept, lost, or torn between two sectors. No file may
// be open.
func (d *disk) powerOn(t *testing.T, r *rand.Rand) (lost int) {
	t.Helper()
	const sector = 512
	for path, pieces := range d.pending {
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			continue // the file and its writes are gone
		}
		end := int64(-1)
		for i := len(pieces) - 1; i >= 0; i-- {
			p := pieces[i]
			f.WriteAt(p.old, p.at)
			if len(p.old) < len(p.new) {
				end = p.size
			}
		}
		if end >= 0 {
			f.Truncate(end)
		}
		for _, p := range pieces {
			switch r.IntN(4) {
			case 0, 1:
				lost++
			case 2:
				f.WriteAt(p.new, p.at)
			default:
				if n := len(p.new) / sector; n > 0 {
					f.WriteAt(p.new[:r.IntN(n)*sector], p.at)
				}
				lost++
			}
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	os.Remove(filepath.Join(d.folder, "pare.db-shm")) // it was never on the disk
	return lost
}

// allocated returns memory of SQLite's allocator, which is never freed.
func allocated[T any](tls *libc.TLS) (at uintptr, p *T) {
	at = libc.Xmalloc(tls, libc.Tsize_t(unsafe.Sizeof(*p)))
	return at, pointer[T](at)
}

// pointer and address turn what SQLite calls a pointer into one of Go, and a function into what
// SQLite calls a pointer to one.
func pointer[T any](p uintptr) *T { return *(**T)(unsafe.Pointer(&p)) }

func address[F any](f F) uintptr {
	return *(*uintptr)(unsafe.Pointer(&f))
}

func function[F any](p uintptr) F { return *(*F)(unsafe.Pointer(&p)) }

func bytesAt(p uintptr, n int32) []byte { return unsafe.Slice(pointer[byte](p), n) }

func vfsOpen(tls *libc.TLS, _ uintptr, name, file uintptr, flags int32, outFlags uintptr) int32 {
	own := pointer[lib.Tsqlite3_vfs](disks.own)
	path := ""
	if name != 0 {
		path = libc.GoString(name)
	}
	disks.RLock()
	d := disks.byFolder[filepath.Dir(path)]
	disks.RUnlock()
	if d != nil && (d.off() || d.source.Fails("sqlite open")) {
		pointer[lib.Tsqlite3_file](file).FpMethods = 0
		return lib.SQLITE_CANTOPEN
	}
	rc := function[func(*libc.TLS, uintptr, uintptr, uintptr, int32, uintptr) int32](own.FxOpen)(tls, disks.own, name, file, flags, outFlags)
	f := pointer[lib.Tsqlite3_file](file)
	if rc != 0 || d == nil || f.FpMethods == 0 {
		return rc
	}
	disks.Lock()
	defer disks.Unlock()
	at := disks.tables[f.FpMethods]
	if at == 0 {
		var table *lib.Tsqlite3_io_methods
		at, table = allocated[lib.Tsqlite3_io_methods](tls)
		*table = *pointer[lib.Tsqlite3_io_methods](f.FpMethods)
		table.FxClose, table.FxRead, table.FxWrite = address(vfsClose), address(vfsRead), address(vfsWrite)
		table.FxTruncate, table.FxSync, table.FxShmLock = address(vfsTruncate), address(vfsSync), address(vfsShmLock)
		table.FxFetch, table.FxUnfetch, table.FiVersion = 0, 0, min(table.FiVersion, 2)
		disks.tables[f.FpMethods] = at
	}
	disks.files[file] = &vfsFile{d, path, pointer[lib.Tsqlite3_io_methods](f.FpMethods)}
	f.FpMethods = at
	return rc
}

func vfsDelete(tls *libc.TLS, _ uintptr, name uintptr, sync int32) int32 {
	path := libc.GoString(name)
	disks.RLock()
	d := disks.byFolder[filepath.Dir(path)]
	disks.RUnlock()
	if d != nil && (d.off() || d.source.Fails("sqlite delete")) {
		return lib.SQLITE_IOERR_DELETE
	}
	if d != nil {
		d.mu.Lock()
		delete(d.pending, path)
		d.mu.Unlock()
	}
	own := pointer[lib.Tsqlite3_vfs](disks.own)
	return function[func(*libc.TLS, uintptr, uintptr, int32) int32](own.FxDelete)(tls, disks.own, name, sync)
}

func fileOf(file uintptr) *vfsFile {
	disks.RLock()
	defer disks.RUnlock()
	return disks.files[file]
}

func vfsClose(tls *libc.TLS, file uintptr) int32 {
	f := fileOf(file)
	disks.Lock()
	delete(disks.files, file)
	disks.Unlock()
	return function[func(*libc.TLS, uintptr) int32](f.own.FxClose)(tls, file)
}

func (f *vfsFile) read(tls *libc.TLS, file, to uintptr, n int32, at int64) int32 {
	return function[func(*libc.TLS, uintptr, uintptr, int32, int64) int32](f.own.FxRead)(tls, file, to, n, at)
}

func vfsRead(tls *libc.TLS, file, to uintptr, n int32, at int64) int32 {
	f := fileOf(file)
	if f.disk.source.FailsWeighted("sqlite read", 0.3) {
		return lib.SQLITE_IOERR_READ
	}
	return f.read(tls, file, to, n, at)
}

func vfsWrite(tls *libc.TLS, file, from uintptr, n int32, at int64) int32 {
	f := fileOf(file)
	d := f.disk
	if d.off() {
		return lib.SQLITE_IOERR_WRITE
	}
	write := function[func(*libc.TLS, uintptr, uintptr, int32, int64) int32](f.own.FxWrite)
	if d.source.Fails("sqlite write") {
		if n > 1 && d.source.Rand("torn").IntN(2) == 0 {
			d.source.CountFailure("sqlite write torn")
			f.keep(tls, file, from, n/2, at)
			write(tls, file, from, n/2, at)
		}
		return lib.SQLITE_IOERR_WRITE
	}
	if d.source.FailsWeighted("sqlite full", 0.3) {
		return lib.SQLITE_FULL
	}
	f.keep(tls, file, from, n, at)
	return write(tls, file, from, n, at)
}

// keep saves the bytes that a write is about to change.
func (f *vfsFile) keep(tls *libc.TLS, file, from uintptr, n int32, at int64) {
	if !strings.HasSuffix(f.path, "pare.db") && !strings.HasSuffix(f.path, "-wal") && !strings.HasSuffix(f.path, "-journal") {
		return
	}
	at8 := tls.Alloc(8) // SQLite's memory does not move
	function[func(*libc.TLS, uintptr, uintptr) int32](f.own.FxFileSize)(tls, file, at8)
	size := *pointer[int64](at8)
	tls.Free(8)
	p := piece{at: at, size: size, new: append([]byte(nil), bytesAt(from, n)...)}
	if was := min(int64(n), size-at); was > 0 {
		to := libc.Xmalloc(tls, libc.Tsize_t(was))
		f.read(tls, file, to, int32(was), at)
		p.old = append(p.old, bytesAt(to, int32(was))...)
		libc.Xfree(tls, to)
	}
	f.disk.mu.Lock()
	f.disk.pending[f.path] = append(f.disk.pending[f.path], p)
	f.disk.mu.Unlock()
}

func vfsTruncate(tls *libc.TLS, file uintptr, size int64) int32 {
	f := fileOf(file)
	if f.disk.off() || f.disk.source.Fails("sqlite truncate") {
		return lib.SQLITE_IOERR_TRUNCATE
	}
	// Truncation takes effect immediately, as it may on a disk.
	f.disk.mu.Lock()
	var left []piece
	for _, p := range f.disk.pending[f.path] {
		if n := size - p.at; n > 0 {
			p.new, p.old, p.size = p.new[:min(int64(len(p.new)), n)], p.old[:min(int64(len(p.old)), n)], min(p.size, size)
			left = append(left, p)
		}
	}
	f.disk.pending[f.path] = left
	f.disk.mu.Unlock()
	return function[func(*libc.TLS, uintptr, int64) int32](f.own.FxTruncate)(tls, file, size)
}

func vfsSync(tls *libc.TLS, file uintptr, flags int32) int32 {
	f := fileOf(file)
	if f.disk.off() || f.disk.source.Fails("sqlite sync") {
		return lib.SQLITE_IOERR_FSYNC
	}
	// The power is off or on for the whole machine: a real sync would only take time.
	f.disk.mu.Lock()
	delete(f.disk.pending, f.path)
	f.disk.mu.Unlock()
	return 0
}

func vfsShmLock(tls *libc.TLS, file uintptr, offset, n, flags int32) int32 {
	f := fileOf(file)
	const unlock = 1
	if flags&unlock == 0 && f.disk.source.FailsWeighted("sqlite lock", 0.3) {
		return lib.SQLITE_BUSY
	}
	return function[func(*libc.TLS, uintptr, int32, int32, int32) int32](f.own.FxShmLock)(tls, file, offset, n, flags)
}
