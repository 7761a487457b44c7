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
type treatment struct {
	*agentlog.Diagnosis
	isRepaired bool
	backup     string
	remaining  []agentlog.Fault // what could not be repaired
	reason     string           // it was not repaired
}

// broken reports whether the session cannot be resumed as it should be, as it is now.
func (t *treatment) isBroken() bool {
	if t.isRepaired {
		return agentlog.Refusals(t.remaining) > 0
	}
	return t.Broken()
}

// skippedByUser is why a session was not repaired that a person has been asked about.
const skippedByUser = "skipped"

// repair repairs a session if agree does, and notes what came of it.
func (d *doctorRun) repairSession(t *treatment, agree func(*agentlog.RepairPlan) bool) {
	if err := d.w.files.Recover(t.Path); err != nil {
		t.reason = newProblem(err).Message
		return
	}
	m, err := t.PlanRepair(agentlog.NewBusy(time.Now()))
	if err != nil {
		t.reason = newProblem(err).Message
		return
	}
	if !agree(m) {
		t.reason = skippedByUser
		return
	}
	done, err := m.Replace(&d.w.files)
	if err != nil {
		t.reason = newProblem(err).Message
		return
	}
	if len(done) > 0 {
		t.backup = done[0].Backup
	}
	d.w.printNotes(done)
	t.isRepaired, t.remaining = true, agentlog.Faults(m.Fixed.Remaining)
}

// repairAll repairs broken sessions one by one: shows what is to be done, asks, does it.
func (d *doctorRun) repairAll(v *picture.Doctor) {
	asked := &repairPrompt{acceptsAll: d.Yes, in: bufio.NewReader(d.w.stdin)}
	if !d.Yes && (!isTerminal(d.w.stdin) || !isTerminal(d.w.stderr)) {
		if len(d.repairable()) > 0 {
			screen.Fprintf(d.w.stderr, "pare: --fix asks before each change, and there is no terminal to ask on: nothing was changed\n      pare doctor --fix --yes repairs without asking\n")
		}
		return
	}
	for _, t := range d.repairable() {
		if asked.hasQuit {
			return
		}
		screen.Fprintf(d.w.stderr, "\n%s\n%s\n", v.Notes.Bold(picture.Called(t.Diagnosis)), v.Notes.Faint(v.Home.Short(t.Path)))
		d.repairSession(t, func(m *agentlog.RepairPlan) bool {
			d.w.stderr.Write(v.Changes(m))
			return asked.ask(d.w, func(what string) { d.preview(v, t, m, what) })
		})
		d.w.stderr.Write(formatTreatment(v, t))
	}
}

// treatable are the sessions that are repaired.
func (d *doctorRun) repairable() []*treatment {
	var all []*treatment
	for _, t := range d.treatments {
		if d.shouldRepair(t) {
			all = append(all, t)
		}
	}
	slices.SortStableFunc(all, func(a, b *treatment) int { return b.Modified.Compare(a.Modified) }) // as they are listed
	return all
}

// treats reports whether a session is repaired: one that its agent repairs itself only if nothing
// is to be left out.
func (d *doctorRun) shouldRepair(t *treatment) bool {
	return t.Broken() || d.All && t.Outlook == agentlog.Repairs
}

// consent asks before each change, until an answer settles the rest.
type repairPrompt struct {
	in                  *bufio.Reader
	acceptsAll, hasQuit bool
}

// ask asks whether to go on. The end of the input is a no, to everything. Whoever is not sure may look
// at the session, or at the difference, first.
func (p *repairPrompt) ask(env *environment, look func(what string)) bool {
	for !p.acceptsAll && !p.hasQuit {
		screen.Fprint(env.stderr, "  repair it? yes, no, all, quit, view, difference, help [y/n/a/q/v/d/?] ")
		line, err := p.in.ReadString('\n')
		switch answer := strings.ToLower(strings.TrimSpace(line)); answer {
		case "y", "yes":
			return true
		case "n", "no":
			return false
		case "a", "all":
			p.acceptsAll = true
		case "q", "quit":
			p.hasQuit = true
		case "v", "view", "d", "diff", "difference":
			look(answer[:1])
		case "?", "h", "help":
			screen.Fprint(env.stderr, consentHelp)
		default:
			if err != nil {
				screen.Fprintln(env.stderr)
				p.hasQuit = true
			}
		}
	}
	return p.acceptsAll
}

const consentHelp = `  y  repair this session; the original becomes FILE.bak, and pare undo FILE restores it
  n  leave it as it is
  a  repair this one and all that follow
  q  leave this one and all that follow
  v  view the end of the session
  d  show the lines that the repair takes away (−) and adds (+)
`

// look shows the end of a session, or what its repair changes.
func (d *doctorRun) preview(v *picture.Doctor, t *treatment, m *agentlog.RepairPlan, what string) {
	if what == "d" {
		d.w.stderr.Write(v.Difference(m))
		return
	}
	const most = 24
	var page bytes.Buffer
	_ = run(&environment{args: []string{"view", "--text", "--color", "never", t.Path}, stdin: strings.NewReader(""), stdout: &page, stderr: &page, getenv: d.w.getenv})
	lines := bytes.SplitAfter(page.Bytes(), []byte("\n"))
	if len(lines) > most {
		lines = lines[len(lines)-most:]
		screen.Fprintf(d.w.stderr, "  %s\n", v.Notes.Faint(screen.Printf("…; all of it: %s", screen.NewCommand("pare", "view").Files(t.Path))))
	}
	d.w.stderr.Write(bytes.Join(lines, nil))
}
