package agentlog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/pare-llm/pare/internal/atomicfile"
)

// settled is how long a session file must have been left alone before it is rewritten:
// agents write whenever a model or a tool says something.
const settled = 10 * time.Second

// Busy tells whether somebody may be writing to a file. All it can see is a guess,
// on the safe side: most agents open the file for each line and lock nothing. Several
// goroutines may use one.
type Busy struct {
	now  time.Time
	open func() map[string][]string // files that other processes have open, by path; the values lead to /proc
}

// NewBusy looks at what processes have open, once, when it is first asked.
func NewBusy(now time.Time) *Busy {
	return &Busy{now: now, open: sync.OnceValue(openFiles)}
}

// Why says who, or what, may be writing to a file, which st is about; nil: nobody, as far as can be seen.
func (b *Busy) Why(name string, st fs.FileInfo) error {
	if err := b.Held(name); err != nil {
		return err
	}
	if st == nil {
		return nil
	}
	written := st.ModTime()
	for _, k := range Originals(name) { // what Pare itself wrote a moment ago is nobody's work
		if was, err := os.Stat(k.Backup); err == nil && k.Path == name {
			written = atomicfile.WrittenBefore(st, was)
			break
		}
	}
	// A time in the future is another machine's.
	if age := b.now.Sub(written); age > -settled && age < settled {
		return fmt.Errorf("it was changed %s, and its agent may still be writing", ago(age))
	}
	return nil
}

// Held says who holds a file, open or locked.
func (b *Busy) Held(name string) error {
	path, err := filepath.EvalSymlinks(name)
	if err != nil {
		return nil // it cannot be written either
	}
	if path, err = filepath.Abs(path); err != nil {
		return nil
	}
	for _, fd := range b.open()[path] {
		if forWriting(fd) {
			return fmt.Errorf("%s has it open for writing", processOf(fd))
		}
	}
	if locked(path) {
		return errors.New("another process has locked it")
	}
	if _, err := os.Lstat(path + ".lock"); err == nil {
		return fmt.Errorf("there is a lock beside it, %s", filepath.Base(path)+".lock")
	}
	return nil
}

func ago(age time.Duration) string {
	if age < time.Second {
		return "just now"
	}
	if n := int(age / time.Second); n > 1 {
		return fmt.Sprintf("%d seconds ago", n)
	}
	return "1 second ago"
}

// openFiles lists the files that processes have open, where the system tells.
func openFiles() map[string][]string {
	all := map[string][]string{}
	processes, _ := os.ReadDir("/proc")
	for _, p := range processes {
		if n, err := strconv.Atoi(p.Name()); err != nil || n == os.Getpid() {
			continue
		}
		folder := filepath.Join("/proc", p.Name(), "fd")
		fds, err := os.ReadDir(folder)
		if err != nil {
			continue // somebody else's, or gone
		}
		for _, fd := range fds {
			link := filepath.Join(folder, fd.Name())
			if path, err := os.Readlink(link); err == nil && strings.HasPrefix(path, "/") {
				all[path] = append(all[path], link)
			}
		}
	}
	return all
}

// forWriting reports whether an open file, /proc/PID/fd/N, can be written to.
func forWriting(fd string) bool {
	info, err := os.ReadFile(filepath.Join(filepath.Dir(filepath.Dir(fd)), "fdinfo", filepath.Base(fd)))
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(info)) {
		if flags, ok := strings.CutPrefix(line, "flags:"); ok {
			n, err := strconv.ParseUint(strings.TrimSpace(flags), 8, 64)
			return err == nil && n&(uint64(os.O_WRONLY|os.O_RDWR)) != 0
		}
	}
	return false
}

// processOf names the process of an open file.
func processOf(fd string) string {
	folder := filepath.Dir(filepath.Dir(fd))
	name, err := os.ReadFile(filepath.Join(folder, "comm"))
	if err != nil || len(name) == 0 {
		name = []byte("a process")
	}
	return fmt.Sprintf("%s (pid %s)", strings.TrimSpace(string(name)), filepath.Base(folder))
}
