package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A report collects the differences.
type report struct {
	names   *allowed
	cases   int
	runs    map[string]int // by command
	notRun  int
	differ  int
	meant   map[string]*group
	groups  map[string]*group
	ordered []*group
}

// A group is the differences of one kind, or of one name.
type group struct {
	kind     string
	count    int
	smallest difference
}

func (g *group) add(d difference) {
	if g.count == 0 || d.c.size < g.smallest.c.size {
		g.smallest = d
	}
	g.count++
}

func newReport(names *allowed) *report {
	return &report{names: names, runs: map[string]int{}, meant: map[string]*group{}, groups: map[string]*group{}}
}

func (r *report) same() bool { return r.differ == 0 && r.notRun == 0 }

func (r *report) add(c *testCase, found []difference, ran bool) {
	if !ran {
		r.notRun++
		return
	}
	r.cases++
	for _, s := range c.steps {
		if s.do == nil {
			r.runs[strings.Split(s.label, " ")[0]]++
		}
	}
	for _, d := range found {
		names, rest := r.names.names(d)
		if len(rest) > 0 {
			r.differ++
			d.hunks = rest
			r.put(r.groups, d.kind(), d)
			continue
		}
		for i, name := range names {
			if !slices.Contains(names[:i], name) {
				r.put(r.meant, name, d)
			}
		}
	}
}

func (r *report) put(in map[string]*group, kind string, d difference) {
	g := in[kind]
	if g == nil {
		g = &group{kind: kind}
		in[kind] = g
	}
	g.add(d)
}

func (r *report) print(w io.Writer, most int, took time.Duration) {
	total := 0
	var runs []string
	for name, n := range sorted(r.runs) {
		total += n
		runs = append(runs, fmt.Sprintf("%s %d", name, n))
	}
	fmt.Fprintf(w, "%d cases, %d commands with each binary, %s\n", r.cases, total, took.Round(time.Second))
	fmt.Fprintf(w, "  %s\n", strings.Join(runs, ", "))
	if r.notRun > 0 {
		fmt.Fprintf(w, "%d cases were NOT RUN: the time was up\n", r.notRun)
	}
	for name, g := range sorted(r.meant) {
		fmt.Fprintf(w, "named: %s, %d times; smallest: %s\n", name, g.count, where(g.smallest))
	}
	r.ordered = slices.SortedFunc(maps.Values(r.groups), func(a, b *group) int {
		return cmp.Or(cmp.Compare(b.count, a.count), cmp.Compare(a.kind, b.kind))
	})
	fmt.Fprintf(w, "%d differences without a name, in %d groups\n", r.differ, len(r.ordered))
	for i, g := range r.ordered {
		if i == most {
			fmt.Fprintf(w, "and %d more groups\n", len(r.ordered)-most)
			break
		}
		kind := strings.ReplaceAll(g.kind, "\n", "\n     ")
		fmt.Fprintf(w, "\n%3d. %d × %s\n     smallest: %s\n", i+1, g.count, kind, where(g.smallest))
		for j, h := range g.smallest.hunks {
			if j == 2 {
				fmt.Fprintf(w, "       … and %d more places\n", len(g.smallest.hunks)-2)
				break
			}
			fmt.Fprintf(w, "       - %q\n       + %q\n", short(h.old, 400), short(h.new, 400))
		}
	}
}

func where(d difference) string {
	in := ""
	if d.step.stdin != "" {
		in = " < " + d.step.stdin
	}
	return fmt.Sprintf("%s (%d bytes), %s: pare %s%s", d.c.input, d.c.size, d.what, strings.Join(d.step.args, " "), in)
}

// writeExamples writes the smallest example of each group: its files, the commands and the difference.
func (r *report) writeExamples(dir string) error {
	for i, g := range r.ordered {
		at := filepath.Join(dir, fmt.Sprintf("%03d", i+1))
		for name, data := range g.smallest.c.files {
			if err := place(filepath.Join(at, name), data); err != nil {
				return err
			}
		}
		var b strings.Builder
		fmt.Fprintf(&b, "%s\n\n", where(g.smallest))
		for _, h := range g.smallest.hunks {
			fmt.Fprintf(&b, "- %q\n+ %q\n", h.old, h.new)
		}
		if err := os.MkdirAll(at, 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(at, "difference.txt"), []byte(b.String()), 0o644); err != nil {
			return err
		}
	}
	return nil
}
