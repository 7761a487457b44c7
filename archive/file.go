package archive

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
)

// A File is an archive in a file of JSON lines, which only ever grows. Many goroutines
// may use it, and several processes may add to one file: each adds whole lines, and finds
// those of the others when it is opened.
type File struct {
	mu   sync.Mutex
	f    *os.File
	at   map[string]place // by id
	torn bool             // the file ends inside a line: a crash
}

type place struct{ from, size int64 }

// Open opens an archive, or makes it, and reads it once. A file that is none is
// ErrNoArchive.
func Open(name string) (*File, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	a := &File{f: f, at: make(map[string]place)}
	if err := a.index(); err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return a, nil
}

// index finds the lines.
func (a *File) index() error {
	info, err := a.f.Stat()
	switch {
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return ErrNoArchive
	}
	r := bufio.NewReaderSize(io.NewSectionReader(a.f, 0, info.Size()), 64<<10)
	for from := int64(0); ; {
		l, err := r.ReadBytes('\n')
		whole := err == nil
		if err != nil && err != io.EOF {
			return err
		}
		if len(l) == 0 {
			return nil
		}
		bare := bytes.TrimRight(l, "\r\n")
		if !bytes.HasPrefix(bare, mark) && !bytes.HasPrefix(mark, bare) {
			return ErrNoArchive
		}
		// A line that a crash has torn stays where it is, and what it should have held may be
		// put again.
		if x, err := ParseLine(bare); err == nil {
			if _, twice := a.at[x.ID]; !twice {
				a.at[x.ID] = place{from, int64(len(bare))}
			}
		}
		a.torn = !whole
		from += int64(len(l))
	}
}

// Put appends what is not there yet and waits until it is on the disk.
func (a *File) Put(ctx context.Context, items ...Item) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	var lines []byte
	fresh := make(map[string]place)
	if a.torn {
		lines = append(lines, '\n')
	}
	for _, i := range items {
		if !i.Genuine() {
			return fmt.Errorf("archive: %s is not the id of its bytes, %s", i.ID, ID(i.Raw))
		}
		if !readable(i.Raw) {
			return fmt.Errorf("archive: %s is no JSON; its line could not be read again", i.ID)
		}
		_, kept := a.at[i.ID]
		if _, twice := fresh[i.ID]; kept || twice {
			continue
		}
		from := len(lines)
		lines = Line{Item: i}.Append(lines)
		fresh[i.ID] = place{int64(from), int64(len(lines) - from - 1)}
	}
	if len(fresh) == 0 {
		return nil
	}
	// In one write: another process may append, too.
	n, err := a.f.Write(lines)
	if err != nil {
		a.torn = a.torn || n > 0
		return fmt.Errorf("archive: %w", err)
	}
	a.torn = false
	if err := a.f.Sync(); err != nil {
		return fmt.Errorf("archive: %w", err)
	}
	end, err := a.f.Seek(0, io.SeekCurrent)
	if err != nil {
		return fmt.Errorf("archive: %w", err)
	}
	for id, p := range fresh {
		a.at[id] = place{end - int64(len(lines)) + p.from, p.size}
	}
	return nil
}

// Get reads an item; its bytes are compared with the id.
func (a *File) Get(ctx context.Context, id string) (Item, error) {
	if err := ctx.Err(); err != nil {
		return Item{}, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	p, ok := a.at[id]
	if !ok {
		return Item{}, fmt.Errorf("archive: %q: %w", id, ErrNotFound)
	}
	line := make([]byte, p.size)
	if _, err := a.f.ReadAt(line, p.from); err != nil {
		return Item{}, fmt.Errorf("archive: %q: %w", id, err)
	}
	l, err := ParseLine(line)
	switch {
	case err != nil:
		return Item{}, fmt.Errorf("archive: %q: %w", id, err)
	case l.ID != id:
		return Item{}, fmt.Errorf("archive: %q: its line has become that of %s", id, l.ID)
	}
	return l.Item, nil
}

// Close closes the file.
func (a *File) Close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.f.Close(); err != nil && !errors.Is(err, fs.ErrClosed) {
		return err
	}
	return nil
}
