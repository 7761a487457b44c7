package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pare-llm/pare/cmd/internal/picture"
	"github.com/pare-llm/pare/cmd/internal/screen"
	"github.com/pare-llm/pare/internal/agentlog"
)

// formatTreatment returns the line about the repair of a session.
func formatTreatment(report *picture.Doctor, t *treatment) []byte {
	switch {
	case t.isRepaired && agentlog.Refusals(t.remaining) > 0:
		return screen.Appendf(nil, "  repaired except for %s; the original: %s\n", plural(len(t.remaining), "finding"), report.Home.Short(t.backup))
	case t.isRepaired:
		out := screen.Appendf(nil, "  %s; the original: %s\n", report.Notes.Good("repaired"), report.Home.Short(t.backup))
		if next := report.ResumeHint(t.Diagnosis); next != "" {
			out = screen.Appendf(out, "  %s\n", next)
		}
		return out
	}
	if t.reason == skippedByUser {
		return []byte("  skipped\n")
	}
	return screen.Appendf(nil, "  not repaired: %s\n", t.reason)
}

// printNotes prints the notes after the report and the totals.
func (d *doctorRun) printNotes() {
	for _, err := range d.Failed {
		screen.Fprintf(d.env.stderr, "pare: %s: %s\n      what is in there was not checked\n", d.home.Short(err.Path), err.Err)
	}
	if d.JSON {
		return
	}
	d.printUnreadableStores()
	if d.emptySessions > 0 {
		screen.Fprintf(d.env.stderr, "pare: skipped %s\n", plural(d.emptySessions, "empty session"))
	}
	if n := len(d.strayFiles); n > 0 {
		more := ""
		if n > 1 {
			more = fmt.Sprintf(" and %d more", n-1)
		}
		screen.Fprintf(d.env.stderr, "pare: skipped %s%s: it lies where sessions are, and is none\n", d.home.Short(d.strayFiles[0]), more)
	}
	if len(d.treatments) == 0 {
		d.printNoSessions()
		return
	}
	if d.Fix {
		screen.Fprintln(d.env.stderr)
	}
	d.printTotals()
}

// maxListedFolders is the number of folders per agent that printNoSessions lists, unless the agent
// was named.
const maxListedFolders = 2

// printNoSessions prints the agents and the folders that were searched.
func (d *doctorRun) printNoSessions() {
	screen.Fprintf(d.env.stderr, "pare: no sessions found in %s\n", d.home.Short(d.home.Dir))
	agents := agentlog.Agents()
	for i, name := range agentlog.AgentNames() {
		if len(d.Agent) > 0 && !slices.Contains(d.Agent, name) {
			continue
		}
		var folders []string
		for _, f := range agentlog.Folders(d.search, &agents[i]) {
			folders = append(folders, d.home.Short(f))
		}
		if more := len(folders) - maxListedFolders; more > 0 && len(d.Agent) == 0 {
			folders = append(folders[:maxListedFolders], fmt.Sprintf("and %d more", more))
		}
		screen.Fprintf(d.env.stderr, "      %-15s %s\n", name, strings.Join(folders, ", "))
	}
	screen.Fprintf(d.env.stderr, "      Are they elsewhere? pare doctor --home DIR, or for one file: pare check FILE\n")
}

// printUnreadableStores prints the stores that Pare cannot read, one line per agent.
func (d *doctorRun) printUnreadableStores() {
	for i := 0; i < len(d.Unreadable); {
		first := d.Unreadable[i]
		n := 0
		for i < len(d.Unreadable) && d.Unreadable[i].Agent == first.Agent {
			i++
			n++
		}
		more := ""
		if n > 1 {
			more = fmt.Sprintf(" and %d more", n-1)
		}
		also := ""
		if first.Agent.Format.Readable() {
			also = "also "
		}
		screen.Fprintf(d.env.stderr, "pare: %s %skeeps sessions in %s%s, which pare cannot read yet\n", first.Agent.Name, also, d.home.Short(first.Path), more)
	}
}

func (d *doctorRun) printTotals() {
	var broken, repaired, unreadable, own int
	names := map[string]bool{}
	for _, t := range d.treatments {
		names[t.Agent.Name] = true
		switch {
		case t.Err != nil:
			unreadable++
		case t.isBroken():
			broken++
		case t.isRepaired:
			repaired++
		case t.Outlook == agentlog.Repairs:
			own++
		}
	}
	paint := palette(d.env.wantsColor(d.env.stderr, d.Color))
	parts := []screen.Text{}
	add := func(n int, what string, p func(any) screen.Text) {
		if n > 0 {
			parts = append(parts, p(fmt.Sprintf("%d %s", n, what)))
		}
	}
	add(len(d.treatments)-broken-repaired-unreadable-own, "clean", paint.Good)
	add(own, "that the agent repairs itself", paint.Good)
	add(repaired, "repaired", paint.Good)
	add(broken, "broken", paint.Fault)
	add(unreadable, "unreadable", paint.Fault)
	screen.Fprintf(d.env.stderr, "%s of %s: %s\n", paint.Bold(plural(len(d.treatments), "session")), plural(len(names), "agent"), screen.Join(parts, ", "))
	if broken > 0 && !d.Fix {
		screen.Fprintln(d.env.stderr, paint.Faint("Nothing changed. pare doctor --fix repairs them one by one"))
	}
	if broken+repaired > 0 {
		screen.Fprintln(d.env.stderr, paint.Faint(screen.Printf("Next time start the agent with: %s", screen.NewCommand("pare", "run", "--", d.agentProgram()))))
	}
}

// agentProgram returns the program of the agent that has the first broken session.
func (d *doctorRun) agentProgram() string {
	for _, t := range d.treatments {
		if name, ok := proxiedPrograms[t.Agent.Name]; ok && (t.isBroken() || t.isRepaired) {
			return name
		}
	}
	return "claude"
}

// proxiedPrograms maps agents to their programs, for agents that pare run supports.
var proxiedPrograms = map[string]string{"claude-code": "claude", "codex": "codex", "gemini-cli": "gemini", "opencode": "opencode", "pi": "pi", "qwen-code": "qwen"}
