package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"
)

// allowed lists the intended differences. A file of them has one per line, # starts a comment:
//
//	NAME = REGEXP            every hunk that matches is called NAME
//	NAME ~ REGEXP => TEXT    a match in the old side of a hunk became TEXT in the new side
//
// A hunk is matched as three lines: the command, the place of the difference and the input
// ("fix --receipt stdout zoo/zoo-001.json#0"), - and the old pieces, + and the new ones; (?s)
// lets a dot match line ends. The first line ends with the results of the two checks, see
// causes. A difference is allowed if each of its hunks has a name.
type allowed struct{ rows []allowedRow }

type allowedRow struct {
	name string
	re   *regexp.Regexp
	by   *string
}

func readAllowed(file string) (*allowed, error) {
	a := &allowed{}
	if file == "" {
		return a, nil
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	for n, line := range strings.Split(string(data), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		name, rest, ok := strings.Cut(line, " ")
		rest = strings.TrimSpace(rest)
		if !ok || rest[0] != '=' && rest[0] != '~' {
			return nil, fmt.Errorf("%s:%d: want NAME = REGEXP or NAME ~ REGEXP => TEXT", file, n+1)
		}
		row := allowedRow{name: name}
		pattern := strings.TrimSpace(rest[1:])
		if rest[0] == '~' {
			from, to, ok := strings.Cut(pattern, "=>")
			if !ok {
				return nil, fmt.Errorf("%s:%d: %s ~ has no =>", file, n+1, name)
			}
			pattern, to = strings.TrimSpace(from), strings.TrimSpace(to)
			row.by = &to
		}
		if row.re, err = regexp.Compile(pattern); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, n+1, err)
		}
		a.rows = append(a.rows, row)
	}
	return a, nil
}

// names returns the names of a difference's hunks, and those hunks which have none.
func (a *allowed) names(d difference) (all []string, rest []hunk) {
	for _, h := range d.hunks {
		if name, ok := a.name(d, h); ok {
			all = append(all, name)
		} else {
			rest = append(rest, h)
		}
	}
	return all, rest
}

func (a *allowed) name(d difference, h hunk) (string, bool) {
	old, renamed := h.old, ""
	for _, row := range a.rows {
		switch {
		case row.by == nil && row.re.MatchString(d.text(h)):
			return row.name, true
		case row.by != nil && row.re.MatchString(old):
			// Several renamings may meet in one piece.
			old, renamed = row.re.ReplaceAllString(old, *row.by), row.name
			if old == h.new {
				return renamed, true
			}
		}
	}
	return "", false
}
