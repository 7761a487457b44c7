package main

import (
	"bytes"
	"fmt"
	"os"
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
// there, else at the end.
func writePage(file, client string, rows []row) error {
	old, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	head := "## " + client + "\n"
	fmt.Fprintf(&b, "%s\n%s\n\n%s", head, sum(rows), tableHead)
	for _, r := range rows {
		b.WriteString(r.String())
	}
	front, behind, found := bytes.Cut(old, []byte(head))
	var rest []byte
	if found {
		if i := bytes.Index(behind, []byte("\n## ")); i >= 0 {
			rest = behind[i:]
		}
	} else {
		front = append(bytes.TrimRight(front, "\n"), "\n\n"...)
	}
	return os.WriteFile(file, append(append(front, b.Bytes()...), rest...), 0o644)
}
