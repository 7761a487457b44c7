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

// settled is how long a session file must have been left alone before it is rewritten:
// agents write whenever a model or a tool says something.
const quietPeriod = 10 * time.Second

// Busy tells whether somebody may be writing to a file. All it can see is a guess,
// on the safe side: most agents open the file for each line and lock nothing. Several
// goroutines may use one.
type Busy struct {
	now time.Time
}

// NewBusy returns a Busy that compares times with now.
func NewBusy(now time.Time) *Busy { return &Busy{now} }

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
	if age := b.now.Sub(written); age > -quietPeriod && age < quietPeriod {
		return fmt.Errorf("it was changed %s, and its agent may still be writing", formatAge(age))
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
