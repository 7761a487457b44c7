package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

const tableHead = "| session | damage | sent before the fix | sent after it |\n| --- | --- | --- | --- |\n"

// String is the row of a table, with its newline.
func (r row) String() string {
	return fmt.Sprintf("| %s | %s | %s | %s |\n", r.session, r.damage, r.before, r.after)
}

// sum says how the repaired sessions of a client fared.
func sum(rows []row) string {
	n, good, worked := 0, 0, 0
	for _, r := range rows {
		if r.after == "" {
			continue
		}
		n++
		if !r.failed {
			good++
		}
		if strings.HasPrefix(r.before, clean) {
			worked++
		}
	}
	return fmt.Sprintf("%d of %d sessions are sent whole and clean after the fix, %d before it.", good, n, worked)
}

// writePage writes the section of a client into a page: in place of the one that is
// there, else at the end. Rows of sessions that were not held this time stay.
func writePage(file, client string, rows []row) error {
	old, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	head := "## " + client + "\n"
	front, behind, found := strings.Cut(string(old), head)
	rest := ""
	if found {
		if i := strings.Index(behind, "\n## "); i >= 0 {
			behind, rest = behind[:i], behind[i:]
		}
	} else {
		front = strings.TrimRight(front, "\n") + "\n\n"
	}
	all := merge(rowsIn(behind), rows)
	var b strings.Builder
	fmt.Fprintf(&b, "%s%s\n%s\n\n%s", front, head, sum(all), tableHead)
	for _, r := range all {
		b.WriteString(r.String())
	}
	return os.WriteFile(file, []byte(b.String()+rest), 0o644)
}

// rowsIn reads the rows of a table.
func rowsIn(table string) (rows []row) {
	for line := range strings.Lines(table) {
		if c := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|"); len(c) == 4 && !strings.Contains(tableHead, line) {
			for i := range c {
				c[i] = strings.TrimSpace(c[i])
			}
			rows = append(rows, row{c[0], c[1], c[2], c[3], strings.HasPrefix(c[3], "**")})
		}
	}
	return rows
}

// merge puts new rows in the place of old ones of the same session, in the order of the
// kinds.
func merge(old, rows []row) (all []row) {
	for _, k := range kinds {
		of := func(r row) bool { return r.session == k.name }
		from := rows
		if !slices.ContainsFunc(rows, of) {
			from = old
		}
		for _, r := range from {
			if of(r) {
				all = append(all, r)
			}
		}
	}
	return all
}
