package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pare-llm/pare/cmd/internal/picture"
	"github.com/pare-llm/pare/cmd/internal/screen"
	"github.com/pare-llm/pare/internal/agentlog"
)

// cured tells what became of a session.
func cured(v *picture.Doctor, d *treated) []byte {
	switch {
	case d.repaired && agentlog.Refusals(d.left) > 0:
		return screen.Appendf(nil, "  repaired except for %s; the original: %s\n", plural(len(d.left), "finding"), v.Home.Short(d.backup))
	case d.repaired:
		out := screen.Appendf(nil, "  %s; the original: %s\n", v.Notes.Good("repaired"), v.Home.Short(d.backup))
		if next := v.Next(d.Diagnosis); next != "" {
			out = screen.Appendf(out, "  %s\n", next)
		}
		return out
	}
	if d.why == skippedByUser {
		return []byte("  skipped\n")
	}
	return screen.Appendf(nil, "  not repaired: %s\n", d.why)
}

// tell says, to people, what it all comes to.
func (r *rounds) tell() {
	for _, err := range r.Failed {
		screen.Fprintf(r.w.stderr, "pare: %s: %s\n      what is in there was not checked\n", r.home.Short(err.Path), err.Err)
	}
	if r.JSON {
		return
	}
	r.tellUnread()
	if r.empty > 0 {
		screen.Fprintf(r.w.stderr, "pare: skipped %s\n", plural(r.empty, "empty session"))
	}
	if n := len(r.other); n > 0 {
		more := ""
		if n > 1 {
			more = fmt.Sprintf(" and %d more", n-1)
		}
		screen.Fprintf(r.w.stderr, "pare: skipped %s%s: it lies where sessions are, and is none\n", r.home.Short(r.other[0]), more)
	}
	if len(r.all) == 0 {
		r.tellNone()
		return
	}
	if r.Fix {
		screen.Fprintln(r.w.stderr)
	}
	r.sum()
}

// foldersTold is how many folders of an agent are named, unless it was asked for.
const foldersTold = 2

// tellNone says whose sessions were looked for, and where.
func (r *rounds) tellNone() {
	screen.Fprintf(r.w.stderr, "pare: no sessions found in %s\n", r.home.Short(r.home.Dir))
	agents := agentlog.Agents()
	for i, name := range agentlog.AgentNames() {
		if len(r.Agent) > 0 && !slices.Contains(r.Agent, name) {
			continue
		}
		var folders []string
		for _, f := range agentlog.Folders(r.search, &agents[i]) {
			folders = append(folders, r.home.Short(f))
		}
		if more := len(folders) - foldersTold; more > 0 && len(r.Agent) == 0 {
			folders = append(folders[:foldersTold], fmt.Sprintf("and %d more", more))
		}
		screen.Fprintf(r.w.stderr, "      %-15s %s\n", name, strings.Join(folders, ", "))
	}
	screen.Fprintf(r.w.stderr, "      Are they elsewhere? pare doctor --home DIR, or for one file: pare check FILE\n")
}

// tellUnread names stores that cannot be read, a line for each agent.
func (r *rounds) tellUnread() {
	for i := 0; i < len(r.Unread); {
		first := r.Unread[i]
		n := 0
		for i < len(r.Unread) && r.Unread[i].Agent == first.Agent {
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
		screen.Fprintf(r.w.stderr, "pare: %s %skeeps sessions in %s%s, which pare cannot read yet\n", first.Agent.Name, also, r.home.Short(first.Path), more)
	}
}

func (r *rounds) sum() {
	var broken, repaired, unreadable, own int
	names := map[string]bool{}
	for _, d := range r.all {
		names[d.Agent.Name] = true
		switch {
		case d.Err != nil:
			unreadable++
		case d.broken():
			broken++
		case d.repaired:
			repaired++
		case d.Outlook == agentlog.Repairs:
			own++
		}
	}
	paint := palette(r.w.colour(r.w.stderr, r.Color))
	parts := []screen.Text{}
	add := func(n int, what string, p func(any) screen.Text) {
		if n > 0 {
			parts = append(parts, p(fmt.Sprintf("%d %s", n, what)))
		}
	}
	add(len(r.all)-broken-repaired-unreadable-own, "clean", paint.Good)
	add(own, "that the agent repairs itself", paint.Good)
	add(repaired, "repaired", paint.Good)
	add(broken, "broken", paint.Fault)
	add(unreadable, "unreadable", paint.Fault)
	screen.Fprintf(r.w.stderr, "%s of %s: %s\n", paint.Bold(plural(len(r.all), "session")), plural(len(names), "agent"), screen.Join(parts, ", "))
	if broken > 0 && !r.Fix {
		screen.Fprintln(r.w.stderr, paint.Faint("Nothing changed. pare doctor --fix repairs them one by one"))
	}
	if broken+repaired > 0 {
		screen.Fprintln(r.w.stderr, paint.Faint(screen.Printf("Next time start the agent with: %s", screen.NewCommand("pare", "run", "--", r.program()))))
	}
}

// program is the agent that has the first broken session, as people start it.
func (r *rounds) program() string {
	for _, d := range r.all {
		if name, ok := programs[d.Agent.Name]; ok && (d.broken() || d.repaired) {
			return name
		}
	}
	return "claude"
}

// programs are the programs of agents whose requests pass a proxy.
var programs = map[string]string{"claude-code": "claude", "codex": "codex", "gemini-cli": "gemini", "opencode": "opencode", "pi": "pi", "qwen-code": "qwen"}
