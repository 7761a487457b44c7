package picture

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pare-llm/pare/cmd/internal/screen"
	"github.com/pare-llm/pare/internal/agentlog"
	"github.com/pare-llm/pare/internal/plain"
)

// A Doctor renders the diagnoses of agents' sessions.
type Doctor struct {
	Style
	Notes screen.Palette // for standard error
	Now   time.Time
	All   bool
	Home  Home
}

// Limits of the report without --all.
const (
	maxCleanProjects     = 20 // projects without broken sessions
	maxCleanNextToBroken = 3  // such projects if others have broken sessions, which are listed below the table
	maxBrokenSessions    = 20
)

// A projectRow summarizes the sessions of one agent in one project.
type projectRow struct {
	agent, project   string
	sessions, broken int
	ruleCounts       map[string]int
	lastUsed         time.Time
}

// groupByProject returns one row per agent and project, in the order of the agents and then by last
// use.
func groupByProject(all []*agentlog.Diagnosis) []*projectRow {
	var rows []*projectRow
	byName := map[[2]string]*projectRow{}
	for _, d := range all {
		key := [2]string{d.Agent.Name, d.Project}
		if byName[key] == nil {
			byName[key] = &projectRow{agent: d.Agent.Name, project: d.Project, ruleCounts: map[string]int{}}
			rows = append(rows, byName[key])
		}
		byName[key].add(d)
	}
	order := agentlog.AgentNames()
	slices.SortStableFunc(rows, func(a, b *projectRow) int {
		return cmp.Or(
			cmp.Compare(slices.Index(order, a.agent), slices.Index(order, b.agent)),
			b.lastUsed.Compare(a.lastUsed), cmp.Compare(a.project, b.project),
		)
	})
	return rows
}

func (w *projectRow) add(d *agentlog.Diagnosis) {
	w.sessions++
	if d.Modified.After(w.lastUsed) {
		w.lastUsed = d.Modified
	}
	if d.Err != nil {
		w.broken++
		w.ruleCounts["cannot be read"]++
	}
	if d.Broken() {
		w.broken++
	}
	for _, f := range d.Faults {
		if f.Effect == agentlog.Refused && d.Broken() {
			w.ruleCounts[f.Rule]++
		}
	}
}

// topRules returns the most frequent rules.
func (w *projectRow) topRules() string {
	const most = 2
	rules := slices.SortedFunc(maps.Keys(w.ruleCounts), func(a, b string) int {
		return cmp.Or(cmp.Compare(w.ruleCounts[b], w.ruleCounts[a]), cmp.Compare(a, b))
	})
	var parts []string
	for i, r := range rules {
		if i == most {
			parts = append(parts, "…")
			break
		}
		parts = append(parts, fmt.Sprintf("%s %d", r, w.ruleCounts[r]))
	}
	return strings.Join(parts, ", ")
}

// Render returns the table of projects and the list of broken sessions.
func (v *Doctor) Render(all []*agentlog.Diagnosis) []byte {
	var b bytes.Buffer
	if len(all) == 0 {
		return nil
	}
	if head := formatHeadline(all); head != "" {
		screen.Fprintf(&b, "%s\n\n", v.Paint.Bold(head))
	}
	v.writeTable(&b, groupByProject(all))
	v.writeBroken(&b, SortNewestFirst(all))
	return b.Bytes()
}

// formatHeadline returns the numbers of sessions by problem, or "" if there are none.
func formatHeadline(all []*agentlog.Diagnosis) string {
	n := map[agentlog.Outlook]int{}
	unread := 0
	for _, d := range all {
		if d.Err != nil {
			unread++
		} else {
			n[d.Outlook]++
		}
	}
	var parts []string
	add := func(n int, one, many string) {
		switch {
		case n == 0:
			return
		case n == 1:
			many = one
		}
		count := fmt.Sprint(n)
		if len(parts) == 0 {
			count = screen.Plural(n, "session")
		}
		parts = append(parts, count+" "+many)
	}
	add(n[agentlog.Unusable], "cannot be resumed", "cannot be resumed")
	add(n[agentlog.Forgets], "resumes with something lost", "resume with something lost")
	add(n[agentlog.Full], "is full", "are full")
	add(n[agentlog.Unknown], "is damaged, with an outcome that is not recorded", "are damaged, with an outcome that is not recorded")
	add(unread, "cannot be read", "cannot be read")
	return strings.Join(parts, ", ")
}

func (v *Doctor) writeTable(b *bytes.Buffer, rows []*projectRow) {
	head := []string{"AGENT", "PROJECT", "SESSIONS", "BROKEN", "WHY", "LAST USED"}
	cells := [][]string{head}
	broken := []bool{false}
	clean, hidden, most := 0, 0, maxCleanProjects
	if slices.ContainsFunc(rows, func(r *projectRow) bool { return r.broken > 0 }) {
		most = maxCleanNextToBroken
	}
	for _, r := range rows {
		if r.broken == 0 {
			if clean++; clean > most && !v.All {
				hidden++
				continue
			}
		}
		project := "–"
		if r.project != "" {
			project = plain.Line(v.Home.Short(r.project))
		}
		cells = append(cells, []string{r.agent, project, fmt.Sprint(r.sessions), fmt.Sprint(r.broken), r.topRules(), screen.Ago(v.Now, r.lastUsed)})
		broken = append(broken, r.broken > 0)
	}
	widths := make([]int, len(head))
	for _, line := range cells {
		for i, c := range line {
			widths[i] = max(widths[i], screen.Columns(c))
		}
	}
	const project, why = 1, 4
	widths[why] = min(widths[why], 36)
	rest := v.Width - 2*(len(head)-1)
	for i, n := range widths {
		if i != project {
			rest -= n
		}
	}
	widths[project] = min(widths[project], max(rest, 16))
	for k, line := range cells {
		line[project] = screen.ClipFront(line[project], widths[project])
		line[why] = screen.Clip(line[why], widths[why])
		painted := make([]screen.Text, len(line))
		for i, cell := range line {
			c := screen.Line(cell)
			gap := screen.Repeat(" ", widths[i]-screen.Columns(c))
			if i == 2 || i == 3 { // columns with numbers
				c, gap = gap+c, ""
			}
			switch {
			case k == 0:
				c = v.Paint.Faint(c)
			case broken[k] && (i == 3 || i == why):
				c = v.Paint.Fault(c)
			}
			painted[i] = c + gap
		}
		screen.Fprintln(b, screen.TrimRight(screen.Join(painted, "  ")))
	}
	if hidden > 0 {
		screen.Fprintln(b, v.Paint.Faint(fmt.Sprintf("and %s without a broken session; --all shows them", screen.Plural(hidden, "project"))))
	}
}

// SortNewestFirst returns the diagnoses ordered by modification time, because users look for the
// session that failed last.
func SortNewestFirst(all []*agentlog.Diagnosis) []*agentlog.Diagnosis {
	return slices.SortedStableFunc(slices.Values(all), func(a, b *agentlog.Diagnosis) int { return b.Modified.Compare(a.Modified) })
}

// writeBroken writes the broken sessions, each with its repair command.
func (v *Doctor) writeBroken(b *bytes.Buffer, all []*agentlog.Diagnosis) {
	shown, hidden := 0, 0
	for _, d := range all {
		if d.Err == nil && !d.Broken() && !(v.All && d.Outlook == agentlog.Repairs) {
			continue
		}
		if shown++; shown > maxBrokenSessions && !v.All {
			hidden++
			continue
		}
		if d.Err != nil {
			screen.Fprintf(b, "\n%s  %s\n", v.Paint.Bold(v.Home.Short(d.Path)), v.Paint.Faint(d.Agent.Name+", "+screen.Ago(v.Now, d.Modified)))
			screen.Fprintf(b, "  %s\n", v.Paint.Fault("cannot be read: "+d.Unreadable()))
			continue
		}
		v.writeSession(b, d)
	}
	if hidden > 0 {
		screen.Fprintf(b, "\n%s\n", v.Paint.Faint(fmt.Sprintf("and %s more that %s broken; --all shows them", screen.Plural(hidden, "session"), screen.IsAre(hidden))))
	}
}

// writeSession writes one session with its outlook, the cause and the next step.
func (v *Doctor) writeSession(b *bytes.Buffer, d *agentlog.Diagnosis) {
	mark, will := v.Paint.Fault("✗"), "cannot be resumed"
	switch d.Outlook {
	case agentlog.Repairs:
		mark, will = v.Paint.Faint("·"), "resumes: the agent repairs it itself"
	case agentlog.Unknown:
		mark, will = v.Paint.Advice("?"), "damaged: no record of how "+formatAgent(d)+" resumes such a session"
	case agentlog.Forgets:
		mark, will = v.Paint.Advice("!"), "resumes, but the agent forgets a part of it"
	case agentlog.Full:
		mark, will = v.Paint.Fault("▣"), "full: longer than the window of its model"
		if share, known := d.Size.Share(); known && share > 1 {
			will = fmt.Sprintf("full: %.1f %% of the %s tokens available", 100*share, screen.Grouped(d.Size.Room()))
		}
	}
	v.writeHeading(b, mark, d)
	recorded := d.RecordedVersion != "" && d.Outlook != agentlog.Unknown
	if recorded && d.Version == "" {
		will += " (as recorded with " + d.Agent.Name + " " + d.RecordedVersion + ")"
	}
	screen.Fprintf(b, "  %s\n", will)
	for _, line := range screen.Wrap(plain.Line(d.Cause), max(v.Width-4, 30)) {
		screen.Fprintf(b, "  %s\n", line)
	}
	if n := agentlog.Refusals(d.Faults); n > 1 {
		screen.Fprintf(b, "  %s\n", v.Paint.Faint("and "+screen.Plural(n-1, "more finding")))
	}
	screen.Fprintf(b, "  %s %s\n", v.Paint.Faint("fix:"), formatRemedy(d.Remedy, v.Home.RepairCommand(d)))
	if next := v.ResumeHint(d); next != "" {
		screen.Fprintf(b, "  %s\n", v.Paint.Faint(next))
	}
}

// formatAgent returns the agent and its version, if it is known.
func formatAgent(d *agentlog.Diagnosis) string {
	return strings.TrimSpace(d.Agent.Name + " " + d.Version)
}

func (v *Doctor) writeHeading(b *bytes.Buffer, mark screen.Text, d *agentlog.Diagnosis) {
	screen.Fprintf(b, "\n%s %s  %s\n", mark, v.Paint.Bold(SessionTitle(d)),
		v.Paint.Faint(fmt.Sprintf("%s · %s · %s · %s", d.Agent.Name, screen.Ago(v.Now, d.Modified), screen.Plural(d.Messages, "message"), formatFileSize(d.Bytes))))
}

// SessionTitle returns the project and the title of a session.
func SessionTitle(d *agentlog.Diagnosis) string {
	name := d.Title
	if name == "" {
		name = filepath.Base(d.Path)
	}
	project := ""
	if d.Project != "" {
		project = filepath.Base(d.Project) + " — "
	}
	return plain.Line(project + "“" + name + "”")
}

// ResumeHint returns the command that resumes a repaired session, or "" if there is none.
func (v *Doctor) ResumeHint(d *agentlog.Diagnosis) screen.Text {
	words := d.Resume()
	elsewhere := v.Home.Flag != nil && !slices.Contains(words, d.Path) // the agent looks in the home folder of the user
	if words == nil || elsewhere {
		return ""
	}
	command := screen.NewCommand(words...)
	if filepath.IsAbs(d.Project) {
		command = v.Home.addFile(screen.NewCommand("cd"), d.Project).Then(command)
	}
	return screen.Printf("then: %s", command)
}

// formatFileSize returns a file size for people.
func formatFileSize(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%d bytes", n)
	case n < 1_000_000:
		return fmt.Sprintf("%d kB", n/1000)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}

// RenderChanges returns the changes of a repair, for the question to the user.
func (v *Doctor) RenderChanges(t *agentlog.RepairPlan) []byte {
	var b bytes.Buffer
	const most = 8
	for i, change := range t.Fixed.Changes {
		if i == most && !v.All {
			screen.Fprintf(&b, "  %s\n", v.Notes.Faint(fmt.Sprintf("and %s more", screen.Plural(len(t.Fixed.Changes)-most, "change"))))
			break
		}
		at := fmt.Sprintf("line %d", change.Line)
		switch {
		case change.File != "":
			at = change.File
		case change.Line == 0:
			at = "new line"
		}
		lead := screen.Printf("  %s  %s %s  ", at, change.Action, change.Rule)
		screen.Fprintf(&b, "  %s  %s %s  %s\n", v.Notes.Place(at), change.Action, change.Rule, screen.Clip(screen.OneLine(change.Reason), max(v.Width-screen.Columns(lead), 30)))
	}
	if n := len(t.Fixed.Remaining); n > 0 {
		screen.Fprintf(&b, "  %s\n", v.Notes.Advice(fmt.Sprintf("%s would stay: it cannot be fixed", screen.Plural(n, "finding"))))
	}
	return b.Bytes()
}

// RenderDifference returns the lines that a repair removes and adds.
func (v *Doctor) RenderDifference(t *agentlog.RepairPlan) []byte {
	const most = 24
	var b bytes.Buffer
	for _, d := range t.Differences() {
		screen.Fprintf(&b, "  %s\n", v.Notes.Faint(v.Home.Short(d.Path)))
		WriteDifference(&b, v.Notes, v.Width, most, d.Before, d.After)
	}
	return b.Bytes()
}

// RenderNews returns the new state of a session whose agent is running.
func (v *Doctor) RenderNews(d *agentlog.Diagnosis) []byte {
	var b bytes.Buffer
	switch share, known := d.Size.Share(); {
	case d.Err != nil:
		v.writeHeading(&b, v.Paint.Fault("✗"), d)
		screen.Fprintf(&b, "  cannot be read: %s\n", d.Unreadable())
	case d.Running > agentlog.Repairs:
		v.writeSession(&b, d)
	case known && share >= NearlyFull:
		v.writeHeading(&b, v.Paint.Advice("▣"), d)
		screen.Fprintf(&b, "  %.1f %% of the %s tokens available: let the agent compact it now\n", 100*share, screen.Grouped(d.Size.Room()))
	default:
		v.writeHeading(&b, v.Paint.Good("✓"), d)
		screen.Fprintf(&b, "  resumes as it was left\n")
	}
	return b.Bytes()
}

// NearlyFull is the share of the room above which a session is reported. The agent's own compaction
// still works then.
const NearlyFull = 0.9

// formatRemedy returns the next step for a broken session.
func formatRemedy(r agentlog.Remedy, command screen.Command) screen.Text {
	if !r.Leaves {
		return screen.Printf("%s", command)
	}
	return DescribePartialRepair(r, command)
}

// DescribePartialRepair returns the next step for a session that command repairs only in part, or
// not at all.
func DescribePartialRepair(r agentlog.Remedy, command screen.Command) screen.Text {
	if !r.Fixes {
		return screen.Printf("pare fix cannot fix it: %s", r.Instead)
	}
	return screen.Printf("to fix a part of it: %s; for the rest: %s", command, r.Instead)
}

// RepairCommandName returns the pare command that repairs a session. Trim also repairs.
func RepairCommandName(r agentlog.Remedy) string {
	if r.Full {
		return "trim"
	}
	return "fix"
}

// A Home shortens paths in the home folder to ~.
type Home struct {
	Dir   string
	Tilde bool     // the folder is the home of the shell, too
	Flag  []string // names the folder in commands; nil if it is the user's home
}

func (a Home) cutHome(name string) (string, bool) {
	if !a.Tilde || a.Dir == "" {
		return "", false
	}
	if name == a.Dir {
		return "", true
	}
	return strings.CutPrefix(name, a.Dir+string(filepath.Separator))
}

// Short returns a path for people.
func (a Home) Short(name string) string {
	if rest, ok := a.cutHome(name); ok {
		return strings.TrimSuffix("~/"+rest, "/")
	}
	return name
}

// RepairCommand returns the command that repairs one session.
func (a Home) RepairCommand(d *agentlog.Diagnosis) screen.Command {
	if d.Agent.Format == agentlog.OpenCode {
		return screen.NewCommand("pare", "doctor", "--fix", "--agent", "opencode").Words(a.Flag...)
	}
	return a.addFile(screen.NewCommand("pare", RepairCommandName(d.Remedy), "--in-place"), d.Path)
}

// addFile adds a path to a command, with ~ if possible.
func (a Home) addFile(c screen.Command, name string) screen.Command {
	if rest, ok := a.cutHome(name); ok {
		return c.HomeFile(rest)
	}
	return c.Files(name)
}
