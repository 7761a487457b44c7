package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// A row is what came of one damage of one session.
type row struct {
	session, damage string
	before, after   string // what the client sent; after is "" where there was nothing to damage so
}

// failed reports whether a repaired session is not sent as it should be.
func (r row) failed() bool { return r.after != "" && !strings.HasPrefix(r.after, clean) }

// untouched is the cell of a damage that a session has nothing for.
const untouched = "–"

// cell is a row in a table that has its session and its damage as heads.
func (r row) cell() string {
	after := short(r.after)
	switch {
	case r.after == "":
		return untouched
	case r.failed():
		after = "**" + after + "**"
	}
	return short(r.before) + " → " + after
}

// short is a verdict in a table: a clean one is only its count.
func short(verdict string) string { return strings.TrimPrefix(verdict, clean+" ") }

// long is the verdict that short was made of.
func long(s string) string {
	s = strings.Trim(s, "*")
	if got, all, ok := strings.Cut(s, "/"); ok && got == all {
		return clean + " " + s
	}
	return s
}

// String is a row for people who watch.
func (r row) String() string {
	return fmt.Sprintf("%-22s %-40s %s\n", r.session, r.damage, r.cell())
}

// A tally is how the sessions of a client fared.
type tally struct {
	kinds, damages    int
	all, worked, good int // damaged sessions, and those that are sent whole and clean before a fix and after
}

func count(rows []row) (n tally) {
	kinds, damages := map[string]bool{}, map[string]bool{}
	for _, r := range rows {
		if r.after == "" {
			continue
		}
		kinds[r.session] = true
		if r.damage != none {
			damages[r.damage] = true
		}
		n.all++
		if !r.failed() {
			n.good++
		}
		if strings.HasPrefix(r.before, clean) {
			n.worked++
		}
	}
	n.kinds, n.damages = len(kinds), len(damages)
	return n
}

// table writes rows with a column for each session and a line for each damage.
func table(rows []row) string {
	var sessions, damages []string
	cells := map[[2]string]string{}
	for _, r := range rows {
		if !slices.Contains(damages, r.damage) {
			damages = append(damages, r.damage)
		}
		cells[[2]string{r.session, r.damage}] = r.cell()
	}
	for _, k := range kinds {
		if slices.ContainsFunc(rows, func(r row) bool { return r.session == k.name }) {
			sessions = append(sessions, k.name)
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "| damage | %s |\n|%s\n", strings.Join(sessions, " | "), strings.Repeat(" --- |", len(sessions)+1))
	for _, d := range damages {
		fmt.Fprintf(&b, "| %s |", d)
		for _, s := range sessions {
			fmt.Fprintf(&b, " %s |", cells[[2]string{s, d}])
		}
		b.WriteString("\n")
	}
	return b.String()
}

// cellsIn are the cells of the lines of a table, its head first.
func cellsIn(text string) (lines [][]string) {
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "|") {
			continue
		}
		c := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range c {
			c[i] = strings.TrimSpace(c[i])
		}
		if lines == nil || c[0] != "---" && len(c) == len(lines[0]) {
			lines = append(lines, c)
		}
	}
	return lines
}

// rowsIn reads the rows of a table.
func rowsIn(text string) (rows []row) {
	var sessions []string
	for _, c := range cellsIn(text) {
		if sessions == nil {
			sessions = c[1:]
			continue
		}
		for i, s := range sessions {
			before, after, ok := strings.Cut(c[i+1], " → ")
			if ok {
				rows = append(rows, row{s, c[0], long(before), long(after)})
			} else if c[i+1] != "" {
				rows = append(rows, row{session: s, damage: c[0]})
			}
		}
	}
	return rows
}

// merge puts new rows in the place of old ones of the same session and damage; the damages
// stand in the order that is given.
func merge(old, rows []row, damages []string) (all []row) {
	same := func(r row) func(row) bool {
		return func(o row) bool { return o.session == r.session && o.damage == r.damage }
	}
	for _, r := range old {
		if !slices.ContainsFunc(rows, same(r)) {
			all = append(all, r)
		}
	}
	all = append(all, rows...)
	place := func(r row) int {
		if i := slices.Index(damages, r.damage); i >= 0 {
			return i
		}
		return len(damages)
	}
	slices.SortStableFunc(all, func(a, b row) int { return place(a) - place(b) })
	return all
}

// overview begins the table of all clients.
const overview = "| agent | sessions | damages | resumed | clean before the fix | clean after it |\n"

// writePage writes the section of a client into a page: in place of the one that is
// there, else at the end, and the table of all clients. Cells that were not run this time stay.
func writePage(file, client string, rows []row, damages []string) error {
	old, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	sections := strings.Split(string(old), "\n## ")
	at := slices.IndexFunc(sections, func(s string) bool { return strings.HasPrefix(s, client+"\n") })
	if at < 0 {
		at, sections = len(sections), append(sections, "")
	}
	all := merge(rowsIn(sections[at]), rows, damages)
	sections[at] = fmt.Sprintf("%s\n\n%s\n\n%s", client, sum(all), table(all))
	lines := overview + "|" + strings.Repeat(" --- |", 6) + "\n"
	for i, s := range sections {
		if sections[i] = strings.TrimRight(s, "\n") + "\n"; i == 0 {
			continue
		}
		name, rest, _ := strings.Cut(s, "\n")
		if n := count(rowsIn(rest)); n.all > 0 && strings.Contains(rest, ofAll) { // other sections have tables, too
			lines += fmt.Sprintf("| %s | %d | %d | %d | %d | %d |\n", name, n.kinds, n.damages, n.all, n.worked, n.good)
		}
	}
	if front, behind, ok := strings.Cut(sections[0], overview); ok {
		for strings.HasPrefix(behind, "|") {
			_, behind, _ = strings.Cut(behind, "\n")
		}
		sections[0] = front + lines + behind
	}
	return os.WriteFile(file, []byte(strings.Join(sections, "\n## ")), 0o644)
}

// ofAll begins the section of a client, behind two numbers.
const ofAll = " sessions are sent whole and clean after the fix"

// sum says how the repaired sessions of a client fared.
func sum(rows []row) string {
	n := count(rows)
	return fmt.Sprintf("%d of %d%s, %d before it.", n.good, n.all, ofAll, n.worked)
}
