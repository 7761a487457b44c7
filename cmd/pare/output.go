package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/pare-llm/pare/agentlog"
	"github.com/pare-llm/pare/archive"
	"github.com/pare-llm/pare/internal/atomicfile"
	"github.com/pare-llm/pare/internal/screen"
	"github.com/pare-llm/pare/internal/source"
)

// An output is where results go: to standard output as they come, or into drafts
// that become files when all is well. So a run that ends in status 2 has changed
// no file.
type output struct {
	w       *world
	inPlace bool
	force   bool              // replace a file even if another process has locked it
	file    *atomicfile.Draft // for -o; nil: standard output, or in place
	spool   *atomicfile.Spool // holds back what goes to standard output; nil: it goes at once

	current    *atomicfile.Draft // in place: the file at hand; nil: none yet
	source     string
	changed    bool
	rewritings []rewriting
	sessions   agentlog.Writer // in place: the files of sessions
	done       []agentlog.Rewritten
}

// A rewriting is a file that is to be replaced.
type rewriting struct {
	*atomicfile.Draft
	read fs.FileInfo // as it was when it was read
}

// writer returns where the results of a batch go.
func (o *output) writer(b *batch) (io.Writer, error) {
	switch {
	case o.file != nil:
		return o.file, nil
	case o.spool != nil:
		return o.spool, nil
	case !o.inPlace:
		return o.w.stdout, nil
	case len(b.files) > 0:
		return io.Discard, nil // a session, whose files are replaced
	}
	if b.source != o.source {
		if err := o.endFile(); err != nil {
			return nil, err
		}
		o.source = b.source
	}
	if o.current == nil {
		same := func(r rewriting) bool { return os.SameFile(r.read, b.file) }
		if b.file == nil || b.whole && !b.changed() {
			return io.Discard, nil // it stays as it is
		}
		if err := o.w.files.Claim(source.RoleInput, b.source, atomicfile.Replace); err != nil {
			return nil, err
		}
		switch {
		case slices.ContainsFunc(o.rewritings, same):
			return io.Discard, nil // it was named twice
		case !b.file.Mode().IsRegular():
			return nil, &atomicfile.Error{Name: b.source, Err: errors.New("not a regular file, so it cannot be replaced")}
		}
		d, err := newDraft(o.w, b.source, b.packed)
		if err != nil {
			return nil, err
		}
		o.current = d
		o.rewritings = append(o.rewritings, rewriting{Draft: d, read: b.file})
	}
	o.changed = o.changed || b.changed()
	return o.current, nil
}

// rewrite stages the files of a session that change.
func (o *output) rewrite(files []agentlog.Replacement) error {
	o.sessions.Files, o.sessions.Force = &o.w.files, o.force
	for _, f := range files {
		if err := o.w.files.Claim(source.RoleInput, f.Path, atomicfile.Replace); err != nil {
			return err
		}
		if err := o.sessions.Stage(f); err != nil {
			return err
		}
	}
	return nil
}

// endFile ends the file at hand. One that nothing changed in is left alone.
func (o *output) endFile() error {
	d, changed := o.current, o.changed
	o.current, o.changed = nil, false
	if d == nil {
		return nil
	}
	if !changed {
		o.rewritings = o.rewritings[:len(o.rewritings)-1]
		d.Discard()
		return nil
	}
	return d.Close()
}

// commit makes the files, all of them or, as far as can be told beforehand, none.
func (o *output) commit() error {
	if o.file != nil {
		return o.file.Commit()
	}
	if o.spool != nil {
		return o.spool.Release(o.w.stdout)
	}
	if err := o.endFile(); err != nil {
		return err
	}
	for _, r := range o.rewritings {
		if err := r.Unmoved(r.read); err != nil {
			return err
		}
	}
	if err := o.sessions.Unmoved(); err != nil {
		return err
	}
	for _, r := range o.rewritings {
		kept, err := r.CommitOver(r.read, atomicfile.Over{Backup: true, Force: o.force})
		if err != nil {
			return err
		}
		o.done = append(o.done, agentlog.Rewritten{Path: r.Name(), Backup: kept})
	}
	done, err := o.sessions.Commit()
	o.done = append(o.done, done...)
	return err
}

// discard takes back what is not committed.
func (o *output) discard() {
	if o.file != nil {
		o.file.Discard()
	}
	if o.spool != nil {
		o.spool.Discard()
	}
	for _, r := range o.rewritings {
		r.Discard()
	}
	o.sessions.Discard()
}

// committed reports whether some file was replaced already.
func (o *output) committed() bool { return len(o.done) > 0 }

// printBackups says where the originals are.
func (o *output) printBackups(paint palette) {
	const most = 10
	for i, r := range o.done {
		if i == most {
			screen.Fprintf(o.w.stderr, "%s\n", paint.Faint(fmt.Sprintf("and %s more, each with its backup", plural(len(o.done)-most, "file"))))
			return
		}
		screen.Fprintf(o.w.stderr, "%s rewritten, the original is %s\n", r.Path, r.Backup)
		screen.Fprintf(o.w.stderr, "  undo: pare undo %s\n", quoted(r.Path))
	}
}

// newDraft begins a file, packed as it is to be: gzip, zstd, or "".
func newDraft(w *world, name, packed string) (*atomicfile.Draft, error) {
	d, err := w.files.New(name)
	if err != nil {
		return nil, err
	}
	if packer := source.Packer(packed); packer != nil {
		if err := d.Pack(packer); err != nil {
			d.Discard()
			return nil, err
		}
	}
	return d, nil
}

// writeHint says what to do about a file that cannot be written.
func writeHint(err error, inPlace bool) string {
	switch {
	case errors.Is(err, fs.ErrPermission) && inPlace:
		return "--in-place makes a new file in the same folder; with -o FILE it is made elsewhere"
	case errors.Is(err, fs.ErrPermission):
		return "give a file in a folder that you may write to"
	case errors.Is(err, fs.ErrNotExist):
		return "make the folder first"
	case errors.Is(err, archive.ErrNoArchive):
		return "give the name of a new file, or of an archive that pare made"
	case errors.Is(err, atomicfile.ErrMoved), errors.Is(err, atomicfile.ErrLocked):
		return "run it again when nobody writes to it"
	case errors.Is(err, atomicfile.ErrManyBackups):
		return "move the old ones, FILE.bak.N, elsewhere"
	}
	return "no file was changed"
}
