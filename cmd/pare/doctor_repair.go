package main

import (
	"bufio"
	"bytes"
	"slices"
	"strings"
	"time"

	"github.com/pare-llm/pare/cmd/internal/picture"
	"github.com/pare-llm/pare/cmd/internal/screen"
	"github.com/pare-llm/pare/internal/agentlog"
)

// A treated session is one that was examined, and what was done about it.
type treated struct {
	*agentlog.Diagnosis
	repaired bool
	backup   string
	left     []agentlog.Fault // what could not be repaired
	why      string           // it was not repaired
}

// broken reports whether the session cannot be resumed as it should be, as it is now.
func (d *treated) broken() bool {
	if d.repaired {
		return agentlog.Refusals(d.left) > 0
	}
	return d.Broken()
}

// skippedByUser is why a session was not repaired that a person has been asked about.
const skippedByUser = "skipped"

// repair repairs a session if agree does, and notes what came of it.
func (r *rounds) repair(d *treated, agree func(*agentlog.RepairPlan) bool) {
	if err := r.w.files.Recover(d.Path); err != nil {
		d.why = failure(err).Message
		return
	}
	m, err := d.Treat(agentlog.NewBusy(time.Now()))
	if err != nil {
		d.why = failure(err).Message
		return
	}
	if !agree(m) {
		d.why = skippedByUser
		return
	}
	done, err := m.Replace(&r.w.files)
	if err != nil {
		d.why = failure(err).Message
		return
	}
	if len(done) > 0 {
		d.backup = done[0].Backup
	}
	r.w.printNotes(done)
	d.repaired, d.left = true, agentlog.Faults(m.Fixed.Left)
}

// repairAll repairs broken sessions one by one: shows what is to be done, asks, does it.
func (r *rounds) repairAll(v *picture.Doctor) {
	asked := &consent{all: r.Yes, in: bufio.NewReader(r.w.stdin)}
	if !r.Yes && (!isTerminal(r.w.stdin) || !isTerminal(r.w.stderr)) {
		if len(r.treatable()) > 0 {
			screen.Fprintf(r.w.stderr, "pare: --fix asks before each change, and there is no terminal to ask on: nothing was changed\n      pare doctor --fix --yes repairs without asking\n")
		}
		return
	}
	for _, d := range r.treatable() {
		if asked.quit {
			return
		}
		screen.Fprintf(r.w.stderr, "\n%s\n%s\n", v.Notes.Bold(picture.Called(d.Diagnosis)), v.Notes.Faint(v.Home.Short(d.Path)))
		r.repair(d, func(m *agentlog.RepairPlan) bool {
			r.w.stderr.Write(v.Changes(m))
			return asked.ask(r.w, func(what string) { r.look(v, d, m, what) })
		})
		r.w.stderr.Write(cured(v, d))
	}
}

// treatable are the sessions that are repaired.
func (r *rounds) treatable() []*treated {
	var all []*treated
	for _, d := range r.all {
		if r.treats(d) {
			all = append(all, d)
		}
	}
	slices.SortStableFunc(all, func(a, b *treated) int { return b.Modified.Compare(a.Modified) }) // as they are listed
	return all
}

// treats reports whether a session is repaired: one that its agent repairs itself only if nothing
// is to be left out.
func (r *rounds) treats(d *treated) bool { return d.Broken() || r.All && d.Outlook == agentlog.Repairs }

// consent asks before each change, until an answer settles the rest.
type consent struct {
	in        *bufio.Reader
	all, quit bool
}

// ask asks whether to go on. The end of the input is a no, to everything. Whoever is not sure may look
// at the session, or at the difference, first.
func (c *consent) ask(w *world, look func(what string)) bool {
	for !c.all && !c.quit {
		screen.Fprint(w.stderr, "  repair it? yes, no, all, quit, view, difference, help [y/n/a/q/v/d/?] ")
		line, err := c.in.ReadString('\n')
		switch answer := strings.ToLower(strings.TrimSpace(line)); answer {
		case "y", "yes":
			return true
		case "n", "no":
			return false
		case "a", "all":
			c.all = true
		case "q", "quit":
			c.quit = true
		case "v", "view", "d", "diff", "difference":
			look(answer[:1])
		case "?", "h", "help":
			screen.Fprint(w.stderr, consentHelp)
		default:
			if err != nil {
				screen.Fprintln(w.stderr)
				c.quit = true
			}
		}
	}
	return c.all
}

const consentHelp = `  y  repair this session; the original becomes FILE.bak, and pare undo FILE restores it
  n  leave it as it is
  a  repair this one and all that follow
  q  leave this one and all that follow
  v  view the end of the session
  d  show the lines that the repair takes away (−) and adds (+)
`

// look shows the end of a session, or what its repair changes.
func (r *rounds) look(v *picture.Doctor, d *treated, m *agentlog.RepairPlan, what string) {
	if what == "d" {
		r.w.stderr.Write(v.Difference(m))
		return
	}
	const most = 24
	var page bytes.Buffer
	_ = run(&world{args: []string{"view", "--text", "--color", "never", d.Path}, stdin: strings.NewReader(""), stdout: &page, stderr: &page, getenv: r.w.getenv})
	lines := bytes.SplitAfter(page.Bytes(), []byte("\n"))
	if len(lines) > most {
		lines = lines[len(lines)-most:]
		screen.Fprintf(r.w.stderr, "  %s\n", v.Notes.Faint(screen.Printf("…; all of it: %s", screen.NewCommand("pare", "view").Files(d.Path))))
	}
	r.w.stderr.Write(bytes.Join(lines, nil))
}
