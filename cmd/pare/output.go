package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/pare-llm/pare/agentlog"
)

// An output is where results go: to standard output as they come, or into drafts
// that become files when all is well. So a run that ends in status 2 has changed
// no file.
type output struct {
	w       *world
	inPlace bool
	file    *draft // for -o; nil: standard output, or in place
	spool   *spool // holds back what goes to standard output; nil: it goes at once

	current    *draft // in place: the file at hand; nil: none yet
	source     string
	changed    bool
	rewritings []rewriting
}

// A rewriting is a file that is to be replaced.
type rewriting struct {
	*draft
	read   fs.FileInfo // as it was when it was read
	backup string
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
	}
	if b.source != o.source {
		if err := o.endFile(); err != nil {
			return nil, err
		}
		o.source = b.source
	}
	if o.current == nil {
		same := func(r rewriting) bool { return os.SameFile(r.read, b.file) }
		switch {
		case b.file == nil, b.whole && !b.changed():
			return io.Discard, nil // it stays as it is
		case slices.ContainsFunc(o.rewritings, same):
			return io.Discard, nil // it was named twice
		case !b.file.Mode().IsRegular():
			return nil, &writeError{b.source, errors.New("not a regular file, so it cannot be replaced")}
		}
		d, err := newDraft(o.w, b.source, b.packed)
		if err != nil {
			return nil, err
		}
		if b.keepTime {
			d.modified = b.file.ModTime()
		}
		o.current = d
		o.rewritings = append(o.rewritings, rewriting{draft: d, read: b.file})
	}
	o.changed = o.changed || b.changed()
	return o.current, nil
}

// rewrite drafts the files of a folder that change.
func (o *output) rewrite(files []agentlog.Replacement) error {
	for _, f := range files {
		d, err := newDraft(o.w, f.Path, "")
		if err != nil {
			return err
		}
		d.modified = f.Was.ModTime()
		o.rewritings = append(o.rewritings, rewriting{draft: d, read: f.Was})
		if _, err := d.Write(f.Raw); err != nil {
			return err
		}
		if err := d.close(); err != nil {
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
		d.discard(o.w)
		return nil
	}
	return d.close()
}

// commit makes the files, all of them or, as far as can be told beforehand, none.
func (o *output) commit() error {
	if o.file != nil {
		if err := o.file.close(); err != nil {
			return err
		}
		_, err := o.file.commit(o.w, false)
		return err
	}
	if o.spool != nil {
		return o.spool.release(o.w.stdout)
	}
	if err := o.endFile(); err != nil {
		return err
	}
	for _, r := range o.rewritings {
		if err := r.unmoved(r.read); err != nil {
			return &writeError{r.name, err}
		}
	}
	for i := range o.rewritings {
		r := &o.rewritings[i]
		kept, err := r.commit(o.w, true)
		if err != nil {
			return err
		}
		r.backup = kept
	}
	return nil
}

// discard takes back what is not committed.
func (o *output) discard() {
	if o.file != nil {
		o.file.discard(o.w)
	}
	if o.spool != nil {
		o.spool.discard()
	}
	for _, r := range o.rewritings {
		r.discard(o.w)
	}
}

// committed reports whether some file was replaced already.
func (o *output) committed() bool {
	return len(o.rewritings) > 0 && o.rewritings[0].backup != ""
}

// printBackups says where the originals are.
func (o *output) printBackups(paint palette) {
	const most = 10
	for i, r := range o.rewritings {
		if r.backup == "" {
			return
		}
		if i == most {
			fmt.Fprintf(o.w.stderr, "%s\n", paint.faint(fmt.Sprintf("and %s more, each with its backup", plural(len(o.rewritings)-most, "file"))))
			return
		}
		fmt.Fprintf(o.w.stderr, "%s rewritten, the original is %s\n", plain(r.name), plain(r.backup))
		fmt.Fprintf(o.w.stderr, "  undo: pare undo %s\n", quoted(r.name))
	}
}
