package main

import (
	"bufio"
	"errors"
	"strings"
	"time"

	"github.com/pare-llm/pare/agentlog"
	"github.com/pare-llm/pare/internal/screen"
)

// A treatment is what is about to be done to a session.
type treatment struct {
	agentlog.Place
	session *agentlog.Stored
	fixed   *agentlog.Fixed
}

// errUnmendable says that nothing can be done about a session.
var errUnmendable = errors.New("what is wrong with it cannot be fixed: go on in a new session, or go back to a copy of the file from before")

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
	out := agentlog.Writer{Files: &w.files}
	defer out.Discard() // does nothing to what is committed
	for _, f := range m.session.Replacements(m.fixed) {
		if err := out.Stage(f); err != nil {
			return "", err
		}
	}
	done, err := out.Commit()
	if err != nil || len(done) == 0 {
		return "", err
	}
	return done[0].Backup, nil
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
			screen.Fprintf(r.w.stderr, "pare: --fix asks before each change, and there is no terminal to ask on: nothing was changed\n      pare doctor --fix --yes repairs without asking\n")
		}
		return
	}
	for _, d := range brokenOf(r.all) {
		if asked.quit {
			return
		}
		screen.Fprintf(r.w.stderr, "\n%s\n", v.notes.Bold(v.names.short(d.Path)))
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
		if d.ill() {
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
		screen.Fprint(w.stderr, "  repair it? yes, no, all, quit [y/n/a/q] ")
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
				screen.Fprintln(w.stderr)
				c.quit = true
			}
		}
	}
	return c.all
}
