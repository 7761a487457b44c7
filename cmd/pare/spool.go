package main

import (
	"io"
	"os"
)

// A spool holds results back until all of them are known to be well: in memory, and
// beyond a few megabytes in a temporary file.
type spool struct {
	w    *world
	held []byte
	file *os.File // nil: held is all
}

const maxHeld = 8 << 20

func (s *spool) Write(p []byte) (int, error) {
	if s.file == nil && len(s.held)+len(p) <= maxHeld {
		s.held = append(s.held, p...)
		return len(p), nil
	}
	if s.file == nil {
		if err := s.spill(); err != nil {
			return 0, &writeError{"a temporary file", err}
		}
	}
	n, err := s.file.Write(p)
	if err != nil {
		err = &writeError{"a temporary file", err}
	}
	return n, err
}

// spill moves what is held to a file.
func (s *spool) spill() error {
	f, err := os.CreateTemp("", "pare-*")
	if err != nil {
		return err
	}
	s.file = f
	s.w.temps.add(f.Name())
	_, err = f.Write(s.held)
	s.held = nil
	return err
}

// release writes everything to out.
func (s *spool) release(out io.Writer) error {
	defer s.discard()
	if s.file == nil {
		_, err := out.Write(s.held)
		return err
	}
	if _, err := s.file.Seek(0, io.SeekStart); err != nil {
		return &writeError{"a temporary file", err}
	}
	_, err := io.Copy(out, s.file)
	return err
}

// discard takes the file away.
func (s *spool) discard() {
	if s.file == nil {
		return
	}
	s.file.Close()
	os.Remove(s.file.Name())
	s.w.temps.remove(s.file.Name())
	s.file = nil
}
