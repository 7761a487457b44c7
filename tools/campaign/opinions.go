package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

const (
	verdicts = "What doctor says" // the section of the page
	heads    = "| agent | asked | as it says | worse than it says | better than it says | repaired, shortened: clean | other faults |\n"
)

// opinionsOf writes the section of a client, and its row of the table of all.
func opinionsOf(rows []opinion) (table, sum string) {
	var kinds, damages []string
	cells := map[[2]string]string{}
	asked, right, kind, clean, remedies, faults := 0, 0, 0, 0, 0, 0
	for _, o := range rows {
		if o.says == "" {
			continue
		}
		if !slices.Contains(kinds, o.session) {
			kinds = append(kinds, o.session)
		}
		if !slices.Contains(damages, o.damage) {
			damages = append(damages, o.damage)
		}
		cells[[2]string{o.session, o.damage}] = o.cell()
		remedy := strings.HasPrefix(o.damage, "after ")
		if !remedy {
			asked++
			if o.right() {
				right++
			}
			if o.kind() {
				kind++
			}
		}
		if o.after != "" && o.after != "not repaired" || remedy {
			remedies++
			if len(o.faults) == 0 && (!remedy || o.does == whole) {
				clean++
			}
		}
		if len(o.faults) > 0 {
			faults++
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "| damage | %s |\n|%s\n", strings.Join(kinds, " | "), strings.Repeat(" --- |", len(kinds)+1))
	for _, d := range damages {
		fmt.Fprintf(&b, "| %s |", d)
		for _, k := range kinds {
			cell := cells[[2]string{k, d}]
			if cell == "" {
				cell = untouched
			}
			fmt.Fprintf(&b, " %s |", cell)
		}
		b.WriteString("\n")
	}
	return b.String(), fmt.Sprintf("%d | %d | %d | %d | %d of %d | %d |", asked, right, kind, asked-right-kind, clean, remedies, faults)
}

// opinionsIn reads the opinions of a table.
func opinionsIn(text string) (rows []opinion) {
	var sessions []string
	for _, c := range cellsIn(text) {
		if sessions == nil {
			sessions = c[1:]
			continue
		}
		for i, cell := range c[1:] {
			if o := opinionIn(cell); o.says != "" {
				o.session, o.damage = sessions[i], c[0]
				rows = append(rows, o)
			}
		}
	}
	return rows
}

// opinionIn reads what cell has written.
func opinionIn(cell string) (o opinion) {
	for i, part := range strings.Split(cell, "; ") {
		inner := strings.TrimSuffix(strings.TrimPrefix(part, "**"), "**")
		switch {
		case cell == untouched || cell == "":
		case i == 0:
			if before, after, ok := strings.Cut(part, ", **but "); ok {
				o.says = before
				o.does, o.count, _ = strings.Cut(after, "**")
			} else {
				o.says, o.count, _ = strings.Cut(part, " ")
				if o.does = o.says; o.says == "repairs" {
					o.does = whole
				}
			}
			o.count = strings.TrimSpace(o.count)
		case inner != part:
			o.faults = append(o.faults, inner)
		default:
			o.after = part
		}
	}
	return o
}

// besides are the old opinions of sessions that were not asked about anew, and the new ones.
func besides(old, rows []opinion) []opinion {
	old = slices.DeleteFunc(old, func(o opinion) bool {
		return slices.ContainsFunc(rows, func(r opinion) bool { return r.session == o.session && r.damage == o.damage })
	})
	return append(old, rows...)
}

// writeOpinions puts the section of a client into the page, in place of the one that is there, and
// its row into the table of all. Cells that were not asked about this time stay.
func writeOpinions(file, client string, rows []opinion) error {
	old, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	front, rest, ok := strings.Cut(string(old), "\n## "+verdicts+"\n")
	if !ok {
		return fmt.Errorf("%s has no section %q", file, verdicts)
	}
	mine, behind, more := strings.Cut(rest, "\n## ")
	parts := strings.Split(mine, "\n### ")
	at := slices.IndexFunc(parts, func(s string) bool { return strings.HasPrefix(s, client+"\n") })
	if at > 0 {
		rows = besides(opinionsIn(parts[at]), rows)
	}
	table, sum := opinionsOf(rows)
	row := fmt.Sprintf("| %s | %s\n", client, sum)
	before, list, ok := strings.Cut(parts[0], heads)
	if !ok {
		before, list = parts[0]+"\n", "|"+strings.Repeat(" --- |", 7)+"\n"
	}
	var lines []string
	after := list
	for strings.HasPrefix(after, "|") {
		line, tail, _ := strings.Cut(after, "\n")
		if after = tail; !strings.HasPrefix(line, "| "+client+" |") {
			lines = append(lines, line+"\n")
		}
	}
	parts[0] = before + heads + strings.Join(append(lines, row), "") + after
	section := client + "\n\n" + table
	if at > 0 {
		parts[at] = section
	} else {
		parts = append(parts, section)
	}
	for i := range parts {
		parts[i] = strings.TrimRight(parts[i], "\n") + "\n"
	}
	text := front + "\n## " + verdicts + "\n" + strings.Join(parts, "\n### ")
	if more {
		text += "\n## " + behind
	}
	return os.WriteFile(file, []byte(text), 0o644)
}
