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

// A treatment is a session that was examined, and the result of its repair.
type treatment struct {
	*agentlog.Diagnosis
	isRepaired bool
	backup     string
	remaining  []agentlog.Fault // findings that could not be repaired
	reason     string           // the session was not repaired
}

// isBroken reports whether the session, after a repair if there was one, cannot be resumed
// completely.
func (t *treatment) isBroken() bool {
	if t.isRepaired {
		return agentlog.Refusals(t.remaining) > 0
	}
	return t.Broken()
}

// skippedByUser is the reason for a session that the user chose not to repair.
const skippedByUser = "skipped"

// repairSession repairs a session if agree returns true, and stores the result in t.
func (d *doctorRun) repairSession(t *treatment, agree func(*agentlog.RepairPlan) bool) {
	if err := d.env.files.Recover(t.Path); err != nil {
		t.reason = newProblem(err).Message
		return
	}
	plan, err := t.PlanRepair(agentlog.NewBusy(time.Now()))
	if err != nil {
		t.reason = newProblem(err).Message
		return
	}
	if !agree(plan) {
		t.reason = skippedByUser
		return
	}
	done, err := plan.Replace(&d.env.files)
	if err != nil {
		t.reason = newProblem(err).Message
		return
	}
	if len(done) > 0 {
		t.backup = done[0].Backup
	}
	d.env.printNotes(done)
	t.isRepaired, t.remaining = true, agentlog.Faults(plan.Fixed.Remaining)
}

// repairAll shows the repair of each broken session, asks the user, and repairs it.
func (d *doctorRun) repairAll(report *picture.Doctor) {
	asked := &repairPrompt{acceptsAll: d.Yes, in: bufio.NewReader(d.env.stdin)}
	if !d.Yes && (!isTerminal(d.env.stdin) || !isTerminal(d.env.stderr)) {
		if len(d.repairable()) > 0 {
			screen.Fprintf(d.env.stderr, "pare: --fix asks before each change, and there is no terminal to ask on: nothing was changed\n      pare doctor --fix --yes repairs without asking\n")
		}
		return
	}
	for _, t := range d.repairable() {
		if asked.hasQuit {
			return
		}
		screen.Fprintf(d.env.stderr, "\n%s\n%s\n", report.Notes.Bold(picture.SessionTitle(t.Diagnosis)), report.Notes.Faint(report.Home.Short(t.Path)))
		d.repairSession(t, func(plan *agentlog.RepairPlan) bool {
			d.env.stderr.Write(report.RenderChanges(plan))
			return asked.ask(d.env, func(what string) { d.preview(report, t, plan, what) })
		})
		d.env.stderr.Write(formatTreatment(report, t))
	}
}

// repairable returns the sessions to repair, in the order of the report.
func (d *doctorRun) repairable() []*treatment {
	var all []*treatment
	for _, t := range d.treatments {
		if d.shouldRepair(t) {
			all = append(all, t)
		}
	}
	slices.SortStableFunc(all, func(a, b *treatment) int { return b.Modified.Compare(a.Modified) }) // the order of the report
	return all
}

// shouldRepair reports whether a session is repaired. Sessions that the agent repairs itself are
// repaired only with --all.
func (d *doctorRun) shouldRepair(t *treatment) bool {
	return t.Broken() || d.All && t.Outlook == agentlog.Repairs
}

// A repairPrompt asks before each repair until the user answers "all" or "quit".
type repairPrompt struct {
	in                  *bufio.Reader
	acceptsAll, hasQuit bool
}

// ask reports whether to repair a session. The end of the input counts as "quit". preview shows the
// session ("v") or the difference ("d").
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

// preview shows the end of a session, or the lines that its repair changes.
func (d *doctorRun) preview(report *picture.Doctor, t *treatment, plan *agentlog.RepairPlan, what string) {
	if what == "d" {
		d.env.stderr.Write(report.RenderDifference(plan))
		return
	}
	const most = 24
	var page bytes.Buffer
	_ = run(&environment{args: []string{"view", "--text", "--color", "never", t.Path}, stdin: strings.NewReader(""), stdout: &page, stderr: &page, getenv: d.env.getenv})
	lines := bytes.SplitAfter(page.Bytes(), []byte("\n"))
	if len(lines) > most {
		lines = lines[len(lines)-most:]
		screen.Fprintf(d.env.stderr, "  %s\n", report.Notes.Faint(screen.Printf("…; all of it: %s", screen.NewCommand("pare", "view").Files(t.Path))))
	}
	d.env.stderr.Write(bytes.Join(lines, nil))
}
