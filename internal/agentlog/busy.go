package agentlog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/pare-llm/pare/internal/atomicfile"
)

// quietPeriod is the time for which a session file must have been unchanged before Pare rewrites
// it. Agents write whenever a model or a tool produces output.
const quietPeriod = 10 * time.Second

// Busy reports whether another program may be writing to a file. It errs on the safe side: most
// agents open the file for each line and lock nothing. It is safe for concurrent use.
type Busy struct {
	now time.Time
}

func NewBusy(now time.Time) *Busy { return &Busy{now} }

// CheckIdle returns an error that names the program that may be writing to a file, or the reason to
// believe so. It returns nil if the file seems idle. st is the file's information and may be nil.
func (b *Busy) CheckIdle(name string, st fs.FileInfo) error {
	if err := b.CheckUnlocked(name); err != nil {
		return err
	}
	if st == nil {
		return nil
	}
	written := st.ModTime()
	for _, k := range Originals(name) { // Pare's own recent write does not count
		if old, err := os.Stat(k.Backup); err == nil && k.Path == name {
			written = atomicfile.WrittenBefore(st, old)
			break
		}
	}
	// A time in the future comes from another machine's clock.
	if age := b.now.Sub(written); age > -quietPeriod && age < quietPeriod {
		return fmt.Errorf("it was changed %s, and its agent may still be writing", formatAge(age))
	}
	return nil
}

// CheckUnlocked returns an error if another program has the file open for writing or locked.
func (b *Busy) CheckUnlocked(name string) error {
	path, err := filepath.EvalSymlinks(name)
	if err != nil {
		return nil // it cannot be written either
	}
	if path, err = filepath.Abs(path); err != nil {
		return nil
	}
	if program := atomicfile.Writer(path); program != "" {
		return &atomicfile.OpenError{Program: program}
	}
	if locked(path) {
		return errors.New("another process has locked it")
	}
	if _, err := os.Lstat(path + ".lock"); err == nil {
		return fmt.Errorf("there is a lock beside it, %s", filepath.Base(path)+".lock")
	}
	return nil
}

func formatAge(age time.Duration) string {
	if age < time.Second {
		return "just now"
	}
	if n := int(age / time.Second); n > 1 {
		return fmt.Sprintf("%d seconds ago", n)
	}
	return "1 second ago"
}
