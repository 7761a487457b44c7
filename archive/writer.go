package archive

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"io"
)

// A Writer writes lines, none of them twice. It belongs to one goroutine.
type Writer struct {
	to    io.Writer
	known map[[sha256.Size]byte]bool
	added bool
}

// NewWriter returns a writer of lines.
func NewWriter(to io.Writer) *Writer {
	return &Writer{to: to, known: make(map[[sha256.Size]byte]bool)}
}

// Copy takes over the lines of an older archive. The error is ErrNoArchive if it is none.
func (w *Writer) Copy(old io.Reader) error {
	for r := bufio.NewReaderSize(old, 64<<10); ; {
		l, err := r.ReadBytes('\n')
		if len(l) > 0 {
			l = append(bytes.TrimRight(l, "\r\n"), '\n')
			if !bytes.HasPrefix(l, mark) {
				return ErrNoArchive
			}
			if err := w.write(l); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// Add writes lines that are not there yet.
func (w *Writer) Add(lines ...Line) error {
	for _, l := range lines {
		raw := l.Append(nil)
		if w.known[sha256.Sum256(raw)] {
			continue
		}
		w.added = true
		if err := w.write(raw); err != nil {
			return err
		}
	}
	return nil
}

// Added reports whether there is anything that was not copied.
func (w *Writer) Added() bool { return w.added }

func (w *Writer) write(line []byte) error {
	w.known[sha256.Sum256(line)] = true
	_, err := w.to.Write(line)
	return err
}
