package main

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/pare-llm/pare/agentlog"
	"github.com/pare-llm/pare/internal/atomicfile"
)

// A treatment is what is about to be done to a session.
type treatment struct {
	agentlog.Place
	session *agentlog.Stored
	fixed   *agentlog.Fixed
}

// errUnmendable says that nothing can be done about a session.
var errUnmendable = errors.New("what is wrong with it cannot be mended")

// prepare reads a session again and mends it, in memory, unless somebody may be writing
// to it.
func prepare(x agentlog.Place, busy *agentlog.Busy) (*treatment, error) {
	l, err := x.Open(agentlog.Options{})
	if err != nil {
		return nil, err
	}
	if err := busy.Why(l.Newest()); err != nil {
		return nil, err
	}
	fixed, err := l.Fix(agentlog.Options{})
	if err != nil {
		return nil, err
	}
	if len(fixed.Changes) == 0 {
		return nil, errUnmendable
	}
	return &treatment{x, l, fixed}, nil
}

// write replaces the files, each as a whole, and returns where the originals are.
func (m *treatment) write(w *world) (backup string, err error) {
	var drafts []*atomicfile.Draft
	defer func() {
		for _, d := range drafts {
			d.Discard()
		}
	}()
	files := m.session.Replacements(m.fixed)
	for _, f := range files {
		d, err := w.files.New(f.Path)
		if err != nil {
			return "", err
		}
		drafts = append(drafts, d)
		if _, err := d.Write(f.Raw); err != nil {
			return "", err
		}
		if err := d.Close(); err != nil {
			return "", err
		}
	}
	for i, d := range drafts {
		if err := d.Unmoved(files[i].Was); err != nil {
			return "", err
		}
		// Agents list sessions by time and go on with the newest; mending is not using.
		d.Date(files[i].Was.ModTime())
	}
	beside := m.Agent.Format != agentlog.OpenCode
	for i, d := range drafts {
		if !beside {
			if backup, err = m.keepElsewhere(w, d.Path()); err != nil {
				return "", &atomicfile.Error{Name: d.Name(), Err: fmt.Errorf("keep a backup: %w", err)}
			}
		}
		kept, err := d.CommitOver(files[i].Was, atomicfile.Over{Backup: beside})
		if err != nil {
			return "", err
		}
		if beside {
			backup = kept
		}
	}
	return backup, nil
}

// keepElsewhere copies a file of opencode's storage to a folder beside the storage and
// returns that folder: opencode takes every file in it for one of its own, and a
// session with a backup in it would not open.
func (m *treatment) keepElsewhere(w *world, name string) (string, error) {
	storage := m.session.Path
	below, err := filepath.Rel(storage, name)
	if err != nil {
		return "", err
	}
	folder := storage + ".bak"
	for n := 0; ; n++ {
		if n > 0 {
			folder = fmt.Sprintf("%s.bak.%d", storage, n)
		}
		to := filepath.Join(folder, below)
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			return "", err
		}
		if err := w.files.Copy(name, to); !errors.Is(err, fs.ErrExist) {
			return folder, err
		}
	}
}

// mend mends a session if agree does, and notes what came of it.
func (r *rounds) mend(d *diagnosis, agree func(*treatment) bool) {
	m, err := prepare(d.Place, agentlog.NewBusy(time.Now()))
	if err != nil {
		d.why = failure(err).Message
		return
	}
	if !agree(m) {
		d.why = "as you wish"
		return
	}
	if d.backup, err = m.write(r.w); err != nil {
		d.why = failure(err).Message
		return
	}
	d.mended, d.left = true, faultsOf(m.fixed.Left)
}

// mendAll mends broken sessions one by one: shows what is to be done, asks, does it.
func (r *rounds) mendAll(v *doctorView) {
	asked := &consent{all: r.Yes, in: bufio.NewReader(r.w.stdin)}
	if !r.Yes && (!isTerminal(r.w.stdin) || !isTerminal(r.w.stderr)) {
		if len(brokenOf(r.all)) > 0 {
			fmt.Fprintf(r.w.stderr, "pare: --fix asks before each change, and there is no terminal to ask on: nothing was changed\n      pare doctor --fix --yes mends without asking\n")
		}
		return
	}
	for _, d := range brokenOf(r.all) {
		if asked.quit {
			return
		}
		fmt.Fprintf(r.w.stderr, "\n%s\n", v.notes.bold(plain(v.names.short(d.Path))))
		r.mend(d, func(m *treatment) bool {
			r.w.stderr.Write(v.change(m))
			return asked.ask(r.w)
		})
		r.w.stderr.Write(v.outcome(d))
	}
}

func brokenOf(all []*diagnosis) []*diagnosis {
	var broken []*diagnosis
	for _, d := range all {
		if len(d.faults) > 0 {
			broken = append(broken, d)
		}
	}
	return broken
}

// consent asks before each change, until an answer settles the rest.
type consent struct {
	in        *bufio.Reader
	all, quit bool
}

// ask asks whether to go on. The end of the input is a no, to everything.
func (c *consent) ask(w *world) bool {
	for !c.all && !c.quit {
		fmt.Fprint(w.stderr, "  mend it? yes, no, all, quit [y/n/a/q] ")
		line, err := c.in.ReadString('\n')
		switch strings.ToLower(strings.TrimSpace(line)) {
		case "y", "yes":
			return true
		case "n", "no":
			return false
		case "a", "all":
			c.all = true
		case "q", "quit":
			c.quit = true
		default:
			if err != nil {
				fmt.Fprintln(w.stderr)
				c.quit = true
			}
		}
	}
	return c.all
}
