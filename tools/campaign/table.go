package main

import (
	"fmt"
	"slices"
	"strings"
)

// A row is the outcome of one damage of one session.
type row struct {
	session, damage string
	before, after   string // requests of the client; after is "" if the session had nothing to damage
}

// failed reports whether a repaired session is not sent as it should be.
func (r row) failed() bool { return r.after != "" && !strings.HasPrefix(r.after, clean) }

// noCell is the cell of a damage that a session has nothing for.
const noCell = "–"

// cell is a row in a table that has its session and its damage as heads.
func (r row) cell() string {
	after := short(r.after)
	switch {
	case r.after == "":
		return noCell
	case r.failed():
		after = "**" + after + "**"
	}
	return short(r.before) + " → " + after
}

// short is a verdict in a table: a clean one is only its count.
func short(verdict string) string { return strings.TrimPrefix(verdict, clean+" ") }

// String formats a row for the terminal.
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

// sum returns a sentence on how the repaired sessions of a client fared.
func sum(rows []row) string {
	n := count(rows)
	return fmt.Sprintf("%d of %d sessions are sent whole and clean after the fix, %d before it.", n.good, n.all, n.worked)
}
