package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"os"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/atomicfile"
	"github.com/pare-llm/pare/internal/source"
)

// An archive is a file that keeps what plans take out, a JSON line each. What it held
// before stays, and no line is written twice.
type archive struct {
	draft *atomicfile.Draft
	known map[[sha256.Size]byte]bool
	old   bool // the file was there before
	added bool
}

// archiveMark is how every line begins.
var archiveMark = []byte(`{"id":"pare-`)

var errNoArchive = errors.New("it exists already and is no archive")

// openArchive begins the new content of an archive: all of the old.
func openArchive(w *world, name string) (*archive, error) {
	a := &archive{known: map[[sha256.Size]byte]bool{}}
	d, err := newDraft(w, name, source.PackedBy(name))
	if err != nil {
		return nil, err
	}
	a.draft, a.old = d, d.Was() != nil
	if !a.old {
		return a, nil
	}
	if err := a.takeOver(d.Path()); err != nil {
		d.Discard()
		return nil, &atomicfile.Error{Name: name, Err: err}
	}
	return a, nil
}

// takeOver copies the lines of the old archive.
func (a *archive) takeOver(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	unpacked, _, err := source.Unpack(f, 0)
	if err != nil {
		return err
	}
	defer unpacked.Close()
	for r := bufio.NewReaderSize(unpacked, 64<<10); ; {
		l, err := r.ReadBytes('\n')
		if len(l) > 0 {
			l = append(bytes.TrimRight(l, "\r\n"), '\n')
			if !bytes.HasPrefix(l, archiveMark) {
				return errNoArchive
			}
			if err := a.write(l); err != nil {
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

// add appends lines.
func (a *archive) add(lines [][]byte) error {
	for _, l := range lines {
		if a.known[sha256.Sum256(l)] {
			continue
		}
		a.added = true
		if err := a.write(l); err != nil {
			return err
		}
	}
	return nil
}

func (a *archive) write(line []byte) error {
	a.known[sha256.Sum256(line)] = true
	_, err := a.draft.Write(line)
	return err
}

// commit makes the file, unless it would only be what it was.
func (a *archive) commit() error {
	if a.old && !a.added {
		a.draft.Discard()
		return nil
	}
	// What another run has added meanwhile must not be lost.
	_, err := a.draft.CommitOver(a.draft.Was(), atomicfile.Over{})
	return err
}

func (a *archive) discard() { a.draft.Discard() }

// archiveLines renders items. Their bytes are kept as they are, for the id is made from
// them. Those that take several lines are put on one, and exact has the true bytes, in
// base64. Archive is the name that a note in the transcript has for all of them.
func archiveLines(from origin, items []pare.Item, note bool) [][]byte {
	var all [][]byte
	archive := ""
	if note {
		archive = pare.ArchiveID(items)
	}
	for _, item := range items {
		head := struct {
			ID      string `json:"id"`
			Path    string `json:"path"`
			Archive string `json:"archive,omitempty"`
			Source  string `json:"source,omitempty"`
			Line    int    `json:"line,omitempty"`
			Exact   []byte `json:"exact,omitempty"`
		}{ID: item.ID, Path: item.Path, Archive: archive}
		if from.many {
			head.Source, head.Line = from.source, from.line
		}
		raw := item.Raw
		if bytes.ContainsAny(raw, "\r\n") {
			head.Exact, raw = raw, joinLines(raw)
		}
		line := append(bytes.TrimRight(encode(head), "}\n"), `,"raw":`...)
		all = append(all, append(append(line, raw...), '}', '\n'))
	}
	return all
}

// joinLines takes out line breaks with the indent behind them. In JSON they can stand
// between its parts only.
func joinLines(raw []byte) []byte {
	one := make([]byte, 0, len(raw))
	indent := false
	for _, c := range raw {
		indent = c == '\n' || c == '\r' || indent && (c == ' ' || c == '\t')
		if !indent {
			one = append(one, c)
		}
	}
	return one
}
