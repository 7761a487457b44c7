package main

import (
	"os"

	"github.com/pare-llm/pare/archive"
	"github.com/pare-llm/pare/internal/atomicfile"
	"github.com/pare-llm/pare/internal/source"
)

// An archiving is the archive of a run: a draft that takes over all lines of the file that
// was there, and replaces it when the run has succeeded.
type archiving struct {
	*archive.Writer
	draft *atomicfile.Draft
}

// openArchive begins the new content of an archive: all of the old.
func openArchive(w *world, name string) (*archiving, error) {
	d, err := newDraft(w, name, source.PackedBy(name))
	if err != nil {
		return nil, err
	}
	a := &archiving{archive.NewWriter(d), d}
	if d.Was() == nil {
		return a, nil
	}
	if err := a.takeOver(d.Path()); err != nil {
		d.Discard()
		return nil, &atomicfile.Error{Name: name, Err: err}
	}
	return a, nil
}

// takeOver copies the lines of the old archive.
func (a *archiving) takeOver(path string) error {
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
	return a.Copy(unpacked)
}

// commit makes the file, unless it would only be what it was.
func (a *archiving) commit() error {
	if a.draft.Was() != nil && !a.Added() {
		a.draft.Discard()
		return nil
	}
	// What another run has added meanwhile must not be lost.
	_, err := a.draft.CommitOver(a.draft.Was(), atomicfile.Over{})
	return err
}

func (a *archiving) discard() { a.draft.Discard() }

// archiveLines are items with where they are from. Note says that a note in the transcript
// has a name for all of them.
func archiveLines(from origin, items []archive.Item, note bool) []archive.Line {
	name := ""
	if note {
		name = archive.Name(items)
	}
	all := make([]archive.Line, len(items))
	for i, item := range items {
		all[i] = archive.Line{Item: item, Archive: name}
		if from.many {
			all[i].Source, all[i].Number = from.source, from.line
		}
	}
	return all
}
