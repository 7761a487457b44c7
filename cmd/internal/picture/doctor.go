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

	"github.com/pare-llm/pare/agentlog"
	"github.com/pare-llm/pare/cmd/internal/screen"
	"github.com/pare-llm/pare/internal/plain"
)

// A Doctor draws what is wrong with the sessions of agents, and what is done about it.
type Doctor struct {
	Style
	Notes screen.Palette // of standard error
	Now   time.Time
	All   bool // leave nothing out
	Home  Home
}

// How much is shown without --all.
const (
	cleanRows    = 20 // projects without a broken session
	brokenListed = 20 // sessions
	faultsListed = 3  // of each session
)

// A row is the sessions that an agent has of a project.
type row struct {
	agent, project   string
	sessions, broken int
	rules            map[string]int
	last             time.Time
}

// rowsOf puts diagnoses into rows, by agent in the order of the table, then the newest
// first.
func rowsOf(all []*agentlog.Diagnosis) []*row {
	var rows []*row
	byName := map[[2]string]*row{}
	for _, d := range all {
		key := [2]string{d.Agent.Name, d.Project}
		if byName[key] == nil {
			byName[key] = &row{agent: d.Agent.Name, project: d.Project, rules: map[string]int{}}
			rows = append(rows, byName[key])
		}
		byName[key].add(d)
	}
	order := agentlog.AgentNames()
	slices.SortStableFunc(rows, func(a, b *row) int {
		return cmp.Or(
			cmp.Compare(slices.Index(order, a.agent), slices.Index(order, b.agent)),
			b.last.Compare(a.last), cmp.Compare(a.project, b.project),
		)
	})
	return rows
}

func (w *row) add(d *agentlog.Diagnosis) {
	w.sessions++
	if d.Modified.After(w.last) {
		w.last = d.Modified
	}
	if d.Err != nil {
		w.broken++
		w.rules["cannot be read"]++
	}
	if d.Ill() {
		w.broken++
	}
	for _, f := range d.Faults {
		if f.Effect == agentlog.Refused {
			w.rules[f.Rule]++
		}
	}
}

// why names the commonest rules.
func (w *row) why() string {
	const most = 2
	rules := slices.SortedFunc(maps.Keys(w.rules), func(a, b string) int {
		return cmp.Or(cmp.Compare(w.rules[b], w.rules[a]), cmp.Compare(a, b))
	})
	var parts []string
	for i, r := range rules {
		if i == most {
			parts = append(parts, "…")
			break
		}
		parts = append(parts, fmt.Sprintf("%s %d", r, w.rules[r]))
	}
	return strings.Join(parts, ", ")
}

// Render is the table, and the list of what is broken.
func (v *Doctor) Render(all []*agentlog.Diagnosis) []byte {
	var b bytes.Buffer
	if len(all) == 0 {
		return nil
	}
	v.table(&b, rowsOf(all))
	v.list(&b, Newest(all))
	return b.Bytes()
}

func (v *Doctor) table(b *bytes.Buffer, rows []*row) {
	head := []string{"AGENT", "PROJECT", "SESSIONS", "BROKEN", "WHY", "LAST USED"}
	cells := [][]string{head}
	broken := []bool{false}
	clean, hidden := 0, 0
	for _, r := range rows {
		if r.broken == 0 {
			if clean++; clean > cleanRows && !v.All {
				hidden++
				continue
			}
		}
		project := "–"
		if r.project != "" {
			project = plain.Line(v.Home.Short(r.project))
		}
		cells = append(cells, []string{r.agent, project, fmt.Sprint(r.sessions), fmt.Sprint(r.broken), r.why(), screen.Ago(v.Now, r.last)})
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
			if i == 2 || i == 3 { // numbers
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

// Newest are diagnoses in the order in which people want them: the session that died today comes
// first.
func Newest(all []*agentlog.Diagnosis) []*agentlog.Diagnosis {
	return slices.SortedStableFunc(slices.Values(all), func(a, b *agentlog.Diagnosis) int { return b.Modified.Compare(a.Modified) })
}

// list shows the sessions that are broken, and how to mend each.
func (v *Doctor) list(b *bytes.Buffer, all []*agentlog.Diagnosis) {
	shown, hidden := 0, 0
	for _, d := range all {
		if d.Err == nil && !d.Ill() {
			continue
		}
		if shown++; shown > brokenListed && !v.All {
			hidden++
			continue
		}
		screen.Fprintf(b, "\n%s  %s\n", v.Paint.Bold(v.Home.Short(d.Path)), v.Paint.Faint(d.Agent.Name+", "+screen.Ago(v.Now, d.Modified)))
		if d.Err != nil {
			screen.Fprintf(b, "  %s\n", v.Paint.Fault("cannot be read: "+d.Unreadable()))
			continue
		}
		v.faults(b, d.Faults)
		screen.Fprintf(b, "  %s %s\n", v.Paint.Faint("fix:"), remedy(d.Remedy, v.Home.Command(d)))
	}
	if hidden > 0 {
		screen.Fprintf(b, "\n%s\n", v.Paint.Faint(fmt.Sprintf("and %s more that %s broken; --all shows them", screen.Plural(hidden, "session"), screen.IsAre(hidden))))
	}
}

func (v *Doctor) faults(b *bytes.Buffer, all []agentlog.Fault) {
	for i, f := range all {
		if i == faultsListed && !v.All && len(all) > faultsListed+1 {
			screen.Fprintf(b, "  %s\n", v.Paint.Faint(fmt.Sprintf("and %d more", len(all)-i)))
			return
		}
		at := fmt.Sprintf("line %d", f.Line)
		if f.File != "" {
			at = f.File
		}
		line := screen.Printf("  %s  %s  ", at, f.Rule)
		screen.Fprintf(b, "  %s  %s  %s\n", v.Paint.Place(at), v.Paint.Fault(f.Rule), screen.Clip(screen.OneLine(f.Message), max(v.Width-screen.Columns(line), 30)))
	}
}

// Changes shows what is to be done to a session, before anybody is asked.
func (v *Doctor) Changes(t *agentlog.Treatment) []byte {
	var b bytes.Buffer
	const most = 8
	for i, c := range t.Fixed.Changes {
		if i == most && !v.All {
			screen.Fprintf(&b, "  %s\n", v.Notes.Faint(fmt.Sprintf("and %s more", screen.Plural(len(t.Fixed.Changes)-most, "change"))))
			break
		}
		at := fmt.Sprintf("line %d", c.Line)
		switch {
		case c.File != "":
			at = c.File
		case c.Line == 0:
			at = "new line"
		}
		lead := screen.Printf("  %s  %s %s  ", at, c.Action, c.Rule)
		screen.Fprintf(&b, "  %s  %s %s  %s\n", v.Notes.Place(at), c.Action, c.Rule, screen.Clip(screen.OneLine(c.Reason), max(v.Width-screen.Columns(lead), 30)))
	}
	if n := len(t.Fixed.Left); n > 0 {
		screen.Fprintf(&b, "  %s\n", v.Notes.Advice(fmt.Sprintf("%s would stay: it cannot be fixed", screen.Plural(n, "finding"))))
	}
	return b.Bytes()
}

// remedy is what to do about a session that is ill, if command fixes it.
func remedy(r agentlog.Remedy, command string) string {
	if r.Full { // which repairs it, too
		command = strings.Replace(command, "pare fix", "pare trim", 1)
	}
	if !r.Leaves {
		return command
	}
	return Partly(r, command)
}

// Partly is what to do about a session of which command fixes a part, or nothing.
func Partly(r agentlog.Remedy, command string) string {
	if !r.Fixes {
		return "pare fix cannot fix it: " + r.Instead
	}
	return "to fix a part of it: " + command + "; for the rest: " + r.Instead
}

// A Home writes names below the home folder with a tilde, where that is the
// home that a shell knows too.
type Home struct {
	Dir   string
	Tilde bool
	Flag  string // names the home in commands; "" if it is the user's
}

func (a Home) below(name string) (string, bool) {
	if !a.Tilde || a.Dir == "" {
		return "", false
	}
	if name == a.Dir {
		return "", true
	}
	return strings.CutPrefix(name, a.Dir+string(filepath.Separator))
}

// Short is a name as people write it.
func (a Home) Short(name string) string {
	if rest, ok := a.below(name); ok {
		return strings.TrimSuffix("~/"+rest, "/")
	}
	return name
}

// Command is what fixes one session, to be copied into a shell.
func (a Home) Command(d *agentlog.Diagnosis) string {
	if d.Agent.Format == agentlog.OpenCode {
		return "pare doctor --fix --agent opencode" + a.Flag
	}
	if rest, ok := a.below(d.Path); ok {
		return "pare fix --in-place ~/" + screen.Quoted(rest)
	}
	return "pare fix --in-place " + screen.Quoted(d.Path)
}
