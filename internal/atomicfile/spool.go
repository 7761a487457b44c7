package atomicfile

import (
	"errors"
	"io"
	"os"
)

// A Spool holds results back until all of them are known to be well: in memory, and
// beyond a few megabytes in a temporary file. It is for one goroutine.
type Spool struct {
	files *Files
	held  []byte
	file  *os.File // nil: held is all
}

// Spool makes one.
func (f *Files) Spool() *Spool { return &Spool{files: f} }

// MaxHeld is how much a spool holds in memory.
const MaxHeld = 8 << 20

// spoolName is the name of the file in errors.
const spoolName = "a temporary file"

func (s *Spool) Write(p []byte) (int, error) {
	if s.file == nil && len(s.held)+len(p) <= MaxHeld {
		s.held = append(s.held, p...)
		return len(p), nil
	}
	if s.file == nil {
		if err := s.spill(); err != nil {
			return 0, &Error{spoolName, err}
		}
	}
	n, err := s.file.Write(p)
	if err != nil {
		err = &Error{spoolName, err}
	}
	return n, err
}

// spill moves what is held to a file.
func (s *Spool) spill() error {
	s.files.mu.Lock()
	defer s.files.mu.Unlock()
	if s.files.closed {
		return errors.New("the run is over")
	}
	f, err := os.CreateTemp("", "pare-*")
	if err != nil {
		return err
	}
	s.file = f
	s.files.made(f.Name(), nil)
	_, err = f.Write(s.held)
	s.held = nil
	return err
}

// Release writes everything to out.
func (s *Spool) Release(out io.Writer) error {
	defer s.Discard()
	if s.file == nil {
		_, err := out.Write(s.held)
		return err
	}
	if _, err := s.file.Seek(0, io.SeekStart); err != nil {
		return &Error{spoolName, err}
	}
	_, err := io.Copy(out, s.file)
	return err
}

// Discard takes the file away.
func (s *Spool) Discard() {
	if s.file == nil {
		return
	}
	s.file.Close()
	os.Remove(s.file.Name())
	s.files.gone(s.file.Name())
	s.file = nil
}
