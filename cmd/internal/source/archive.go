package source

import (
	"os"

	"github.com/pare-llm/pare/archive"
	"github.com/pare-llm/pare/internal/atomicfile"
)

// An Archive is the archive of a run: a draft that takes over all lines of the file that
// was there, and replaces it when the run has succeeded.
type Archive struct {
	*archive.Writer
	draft *atomicfile.Draft
}

// OpenArchive begins the new content of an archive: all of the old.
func OpenArchive(files *atomicfile.Files, name string) (*Archive, error) {
	d, err := NewDraft(files, name, PackedBy(name))
	if err != nil {
		return nil, err
	}
	a := &Archive{archive.NewWriter(d), d}
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
func (a *Archive) takeOver(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	unpacked, _, err := Unpack(f, 0)
	if err != nil {
		return err
	}
	defer unpacked.Close()
	return a.Copy(unpacked)
}

// Close brings all of it to the disk.
func (a *Archive) Close() error {
	if a.idle() {
		return nil
	}
	return a.draft.Close()
}

// idle reports whether the file would only be what it was.
func (a *Archive) idle() bool { return a.draft.Was() != nil && !a.Added() }

// Commit makes the file, unless it would only be what it was.
func (a *Archive) Commit() error {
	if a.idle() {
		a.draft.Discard()
		return nil
	}
	// What another run has added meanwhile must not be lost.
	_, err := a.draft.CommitOver(a.draft.Was(), atomicfile.Over{})
	return err
}

// Discard leaves the file as it was.
func (a *Archive) Discard() { a.draft.Discard() }
