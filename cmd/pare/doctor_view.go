package main

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
	"github.com/pare-llm/pare/internal/plain"
	"github.com/pare-llm/pare/internal/screen"
)

// A doctorView renders diagnoses for people.
type doctorView struct {
	paint palette // of standard output
	notes palette // of standard error
	width int
	now   time.Time
	all   bool // leave nothing out
	names abbreviation
}

func (r *rounds) view() *doctorView {
	return &doctorView{
		paint: palette(r.w.colour(r.w.stdout, r.Color)), notes: palette(r.w.colour(r.w.stderr, r.Color)),
		width: r.w.width(r.w.stdout), now: r.now, all: r.All, names: r.names,
	}
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
func rowsOf(all []*diagnosis) []*row {
	var rows []*row
	byName := map[[2]string]*row{}
	for _, d := range all {
		key := [2]string{d.Agent.Name, d.project}
		if byName[key] == nil {
			byName[key] = &row{agent: d.Agent.Name, project: d.project, rules: map[string]int{}}
			rows = append(rows, byName[key])
		}
		byName[key].add(d)
	}
	order := agentNames()
	slices.SortStableFunc(rows, func(a, b *row) int {
		return cmp.Or(
			cmp.Compare(slices.Index(order, a.agent), slices.Index(order, b.agent)),
			b.last.Compare(a.last), cmp.Compare(a.project, b.project),
		)
	})
	return rows
}

func (w *row) add(d *diagnosis) {
	w.sessions++
	if d.modified.After(w.last) {
		w.last = d.modified
	}
	if d.err != nil {
		w.broken++
		w.rules["cannot be read"]++
	}
	if d.ill() {
		w.broken++
	}
	for _, f := range d.faults {
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

// render is the table, and the list of what is broken.
func (v *doctorView) render(all []*diagnosis) []byte {
	var b bytes.Buffer
	if len(all) == 0 {
		return nil
	}
	v.table(&b, rowsOf(all))
	v.list(&b, all)
	return b.Bytes()
}

func (v *doctorView) table(b *bytes.Buffer, rows []*row) {
	head := []string{"AGENT", "PROJECT", "SESSIONS", "BROKEN", "WHY", "LAST USED"}
	cells := [][]string{head}
	broken := []bool{false}
	clean, hidden := 0, 0
	for _, r := range rows {
		if r.broken == 0 {
			if clean++; clean > cleanRows && !v.all {
				hidden++
				continue
			}
		}
		project := "–"
		if r.project != "" {
			project = plain.Line(v.names.short(r.project))
		}
		cells = append(cells, []string{r.agent, project, fmt.Sprint(r.sessions), fmt.Sprint(r.broken), r.why(), screen.Ago(v.now, r.last)})
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
	rest := v.width - 2*(len(head)-1)
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
				c = v.paint.Faint(c)
			case broken[k] && (i == 3 || i == why):
				c = v.paint.Fault(c)
			}
			painted[i] = c + gap
		}
		screen.Fprintln(b, screen.TrimRight(screen.Join(painted, "  ")))
	}
	if hidden > 0 {
		screen.Fprintln(b, v.paint.Faint(fmt.Sprintf("and %s without a broken session; --all shows them", plural(hidden, "project"))))
	}
}

// list shows the sessions that are broken, and how to mend each.
func (v *doctorView) list(b *bytes.Buffer, all []*diagnosis) {
	shown, hidden := 0, 0
	for _, d := range all {
		if d.err == nil && !d.ill() {
			continue
		}
		if shown++; shown > brokenListed && !v.all {
			hidden++
			continue
		}
		screen.Fprintf(b, "\n%s  %s\n", v.paint.Bold(v.names.short(d.Path)), v.paint.Faint(d.Agent.Name+", "+screen.Ago(v.now, d.modified)))
		if d.err != nil {
			screen.Fprintf(b, "  %s\n", v.paint.Fault("cannot be read: "+failure(d.err).Message))
			continue
		}
		v.faults(b, d.faults)
		screen.Fprintf(b, "  %s %s\n", v.paint.Faint("fix:"), d.remedy(v.names.command(d)))
	}
	if hidden > 0 {
		screen.Fprintf(b, "\n%s\n", v.paint.Faint(fmt.Sprintf("and %s more that %s broken; --all shows them", plural(hidden, "session"), isAre(hidden))))
	}
}

func (v *doctorView) faults(b *bytes.Buffer, all []fault) {
	for i, f := range all {
		if i == faultsListed && !v.all && len(all) > faultsListed+1 {
			screen.Fprintf(b, "  %s\n", v.paint.Faint(fmt.Sprintf("and %d more", len(all)-i)))
			return
		}
		at := fmt.Sprintf("line %d", f.Line)
		if f.File != "" {
			at = f.File
		}
		line := screen.Printf("  %s  %s  ", at, f.Rule)
		screen.Fprintf(b, "  %s  %s  %s\n", v.paint.Place(at), v.paint.Fault(f.Rule), screen.Clip(screen.OneLine(f.Message), max(v.width-screen.Columns(line), 30)))
	}
}

// change shows what is to be done to a session, before anybody is asked.
func (v *doctorView) change(m *treatment) []byte {
	var b bytes.Buffer
	const most = 8
	for i, c := range m.fixed.Changes {
		if i == most && !v.all {
			screen.Fprintf(&b, "  %s\n", v.notes.Faint(fmt.Sprintf("and %s more", plural(len(m.fixed.Changes)-most, "change"))))
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
		screen.Fprintf(&b, "  %s  %s %s  %s\n", v.notes.Place(at), c.Action, c.Rule, screen.Clip(screen.OneLine(c.Reason), max(v.width-screen.Columns(lead), 30)))
	}
	if n := len(m.fixed.Left); n > 0 {
		screen.Fprintf(&b, "  %s\n", v.notes.Advice(fmt.Sprintf("%s would stay: it cannot be fixed", plural(n, "finding"))))
	}
	return b.Bytes()
}

// outcome tells what became of a session.
func (v *doctorView) outcome(d *diagnosis) []byte {
	switch {
	case d.mended && refusals(d.left) > 0:
		return screen.Appendf(nil, "  repaired but for %s; the original: %s\n", plural(len(d.left), "finding"), v.names.short(d.backup))
	case d.mended:
		return screen.Appendf(nil, "  %s; the original: %s\n", v.notes.Good("repaired"), v.names.short(d.backup))
	}
	return screen.Appendf(nil, "  not repaired: %s\n", d.why)
}

// tell says, to people, what it all comes to.
func (r *rounds) tell() {
	for _, err := range r.Failed {
		screen.Fprintf(r.w.stderr, "pare: %s: %s\n      what is in there was not checked\n", r.names.short(err.Path), err.Err)
	}
	if r.JSON {
		return
	}
	r.tellUnread()
	if len(r.all) == 0 {
		screen.Fprintf(r.w.stderr, "pare: no sessions found in %s\n      pare check FILE checks a file that lies elsewhere\n", r.names.short(r.home))
		return
	}
	if r.Fix {
		screen.Fprintln(r.w.stderr)
	}
	r.sum()
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
		screen.Fprintf(r.w.stderr, "pare: %s %skeeps sessions in %s%s, which pare cannot read yet\n", first.Agent.Name, also, r.names.short(first.Path), more)
	}
}

func (r *rounds) sum() {
	var broken, mended, unreadable int
	names := map[string]bool{}
	for _, d := range r.all {
		names[d.Agent.Name] = true
		switch {
		case d.err != nil:
			unreadable++
		case d.broken():
			broken++
		case d.mended:
			mended++
		}
	}
	paint := palette(r.w.colour(r.w.stderr, r.Color))
	parts := []screen.Text{}
	add := func(n int, what string, p func(any) screen.Text) {
		if n > 0 {
			parts = append(parts, p(fmt.Sprintf("%d %s", n, what)))
		}
	}
	add(len(r.all)-broken-mended-unreadable, "clean", paint.Good)
	add(mended, "repaired", paint.Good)
	add(broken, "broken", paint.Fault)
	add(unreadable, "unreadable", paint.Fault)
	screen.Fprintf(r.w.stderr, "%s of %s: %s\n", paint.Bold(plural(len(r.all), "session")), plural(len(names), "agent"), screen.Join(parts, ", "))
	if broken > 0 && !r.Fix {
		screen.Fprintln(r.w.stderr, paint.Faint("nothing was changed; --fix repairs them, and asks each time"))
	}
}

// An abbreviation writes names below the home folder with a tilde, where that is the
// home that a shell knows too.
type abbreviation struct {
	home  string
	tilde bool
	flag  string // names the home in commands; "" if it is the user's
}

func (a abbreviation) below(name string) (string, bool) {
	if !a.tilde || a.home == "" {
		return "", false
	}
	if name == a.home {
		return "", true
	}
	return strings.CutPrefix(name, a.home+string(filepath.Separator))
}

func (a abbreviation) short(name string) string {
	if rest, ok := a.below(name); ok {
		return strings.TrimSuffix("~/"+rest, "/")
	}
	return name
}

// command is what mends one session, to be copied into a shell.
func (a abbreviation) command(d *diagnosis) string {
	if d.Agent.Format == agentlog.OpenCode {
		return "pare doctor --fix --agent opencode" + a.flag
	}
	if rest, ok := a.below(d.Path); ok {
		return "pare fix --in-place ~/" + quoted(rest)
	}
	return "pare fix --in-place " + quoted(d.Path)
}
