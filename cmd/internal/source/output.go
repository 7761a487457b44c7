package source

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/pare-llm/pare/internal/agentlog"
	"github.com/pare-llm/pare/internal/atomicfile"
)

// An Output is where results go: to standard output as they come, or into drafts
// that become files when all is well. So a run that ends in status 2 has changed
// no file.
type Output struct {
	Stdout  io.Writer
	Files   *atomicfile.Files // of the run
	InPlace bool
	Force   bool              // replace a file even if another process has locked it
	File    *atomicfile.Draft // nil: standard output, or in place
	Spool   *atomicfile.Spool // holds back what cannot be taken back; nil: it goes at once

	current    *atomicfile.Draft // in place: the file at hand; nil: none yet
	source     string
	changed    bool
	rewritings []rewriting
	sessions   agentlog.Writer // in place: the files of sessions
	done       []agentlog.Rewritten
}

// A Part is results of one source, in order.
type Part struct {
	Source  string
	Whole   bool        // of the document
	Changed bool        // some of it differs from the source
	Packed  string      // how the source was compressed
	File    fs.FileInfo // nil: not a file

	Session []agentlog.Replacement // of a session, in place: the files that change
}

// A rewriting is a file that is to be replaced.
type rewriting struct {
	*atomicfile.Draft
	read fs.FileInfo // as it was when it was read
}

// Writer returns where the results of a part go.
func (o *Output) Writer(b *Part) (io.Writer, error) {
	switch {
	case o.Spool != nil:
		return o.Spool, nil
	case o.File != nil:
		return o.File, nil
	case !o.InPlace:
		return o.Stdout, nil
	case len(b.Session) > 0:
		return io.Discard, nil // a session, whose files are replaced
	}
	if b.Source != o.source {
		if err := o.endFile(); err != nil {
			return nil, err
		}
		o.source = b.Source
	}
	if o.current == nil {
		same := func(r rewriting) bool { return os.SameFile(r.read, b.File) }
		if b.File == nil || b.Whole && !b.Changed {
			return io.Discard, nil // it stays as it is
		}
		if err := o.Files.Claim(RoleInput, b.Source, atomicfile.Replace); err != nil {
			return nil, err
		}
		switch {
		case slices.ContainsFunc(o.rewritings, same):
			return io.Discard, nil // it was named twice
		case !b.File.Mode().IsRegular():
			return nil, &atomicfile.Error{Name: b.Source, Err: errors.New("not a regular file, so it cannot be replaced")}
		}
		d, err := NewDraft(o.Files, b.Source, b.Packed)
		if err != nil {
			return nil, err
		}
		o.current = d
		o.rewritings = append(o.rewritings, rewriting{Draft: d, read: b.File})
	}
	o.changed = o.changed || b.Changed
	return o.current, nil
}

// Rewrite stages the files of a session that change.
func (o *Output) Rewrite(files []agentlog.Replacement) error {
	o.sessions.Files, o.sessions.Force = o.Files, o.Force
	for _, f := range files {
		if err := o.Files.Claim(RoleInput, f.Path, atomicfile.Replace); err != nil {
			return err
		}
		if err := o.sessions.Stage(f); err != nil {
			return err
		}
	}
	return nil
}

// endFile ends the file at hand. One that nothing changed in is left alone.
func (o *Output) endFile() error {
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

// Streams reports whether results leave as they come, and cannot be taken back.
func (o *Output) Streams() bool {
	return !o.InPlace && o.Spool == nil && (o.File == nil || o.File.AtOnce())
}

// Hold holds results back until they are committed, where they would leave as they come.
func (o *Output) Hold() {
	if o.Streams() {
		o.Spool = o.Files.Spool()
	}
}

// Close brings all results to the disk that are going to be files. What can fail about
// those then is their names.
func (o *Output) Close() error {
	if o.File != nil && o.Spool == nil {
		return o.File.Close()
	}
	return o.endFile()
}

// Commit makes the files, all of them or, as far as can be told beforehand, none.
func (o *Output) Commit() error {
	if o.Spool != nil {
		var to io.Writer = o.Stdout
		if o.File != nil {
			to = o.File
		}
		if err := o.Spool.Release(to); err != nil {
			return err
		}
	}
	if o.File != nil {
		return o.File.Commit()
	}
	if err := o.endFile(); err != nil {
		return err
	}
	for _, r := range o.rewritings {
		if err := r.Unmoved(r.read); err != nil {
			return err
		}
	}
	if err := o.sessions.CheckUnmodified(); err != nil {
		return err
	}
	for _, r := range o.rewritings {
		done, err := r.CommitOver(r.read, atomicfile.Over{Backup: true, Force: o.Force})
		if err != nil {
			return err
		}
		o.done = append(o.done, agentlog.Rewritten{Path: r.Name(), Backup: done.Backup, Note: done.Note})
	}
	done, err := o.sessions.Commit()
	o.done = append(o.done, done...)
	return err
}

// Discard takes back what is not committed.
func (o *Output) Discard() {
	if o.File != nil {
		o.File.Discard()
	}
	if o.Spool != nil {
		o.Spool.Discard()
	}
	for _, r := range o.rewritings {
		r.Discard()
	}
	o.sessions.Discard()
}

// Done lists the files that were replaced, and where the originals are.
func (o *Output) Done() []agentlog.Rewritten { return o.done }

// NewDraft begins a file of a run, packed as it is to be: gzip, zstd, or "".
func NewDraft(files *atomicfile.Files, name, packed string) (*atomicfile.Draft, error) {
	d, err := files.New(name)
	if err != nil {
		return nil, err
	}
	if packer := Packer(packed); packer != nil {
		if err := d.Pack(packer); err != nil {
			d.Discard()
			return nil, err
		}
	}
	return d, nil
}
