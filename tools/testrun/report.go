package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// An event is a line of go test -json.
type event struct {
	Action, Package, Test, Output string
	ImportPath                    string // of a package that is being built
}

// A name is a test, or a package where Test is "".
type name struct{ pkg, test string }

// A report gathers events.
type report struct {
	w      io.Writer
	output map[name][]string // output of running tests
	passed int
	failed []name
	skips  map[string][]name // by reason
}

func newReport(w io.Writer) *report {
	return &report{w: w, output: map[name][]string{}, skips: map[string][]name{}}
}

func (r *report) take(e event) {
	n := name{e.Package, e.Test}
	switch e.Action {
	case "output":
		r.output[n] = append(r.output[n], e.Output)
		return
	case "build-output":
		io.WriteString(r.w, e.Output)
		return
	case "pass", "fail", "skip":
	default:
		return
	}
	said := r.output[n]
	delete(r.output, n)
	switch {
	case e.Test == "":
		r.packageEnded(e, said)
	case e.Action == "pass":
		r.passed++
	case e.Action == "skip":
		why := reason(said)
		r.skips[why] = append(r.skips[why], n)
	default:
		r.failed = append(r.failed, n)
		r.write(said)
	}
}

// packageEnded reports a package that is done. Tests without an end were interrupted by a panic or by
// the time limit.
func (r *report) packageEnded(e event, said []string) {
	if e.Action == "fail" {
		for _, n := range slices.SortedFunc(maps.Keys(r.output), func(a, b name) int { return cmp.Compare(a.test, b.test) }) {
			if n.pkg == e.Package {
				r.failed = append(r.failed, n)
				r.write(r.output[n])
				delete(r.output, n)
			}
		}
		r.write(said)
		return
	}
	for _, l := range said {
		if strings.HasPrefix(l, "ok ") || strings.HasPrefix(l, "? ") {
			io.WriteString(r.w, l)
		}
	}
}

func (r *report) write(lines []string) {
	for _, l := range lines {
		if !strings.HasPrefix(l, "=== ") {
			io.WriteString(r.w, l)
		}
	}
}

var place = regexp.MustCompile(`^\s*[\w.-]+\.go:\d+: `)

// reason returns the last line that a skipped test printed.
func reason(said []string) string {
	why := ""
	for _, l := range said {
		switch {
		case strings.HasPrefix(l, "=== "), strings.HasPrefix(strings.TrimSpace(l), "--- SKIP"):
		case place.MatchString(l):
			why = place.ReplaceAllString(l, "")
		default: // a reason of several lines
			why += l
		}
	}
	if i := strings.LastIndex(why, "> "); i >= 0 && strings.Contains(why[i:], "skip '") { // a script prints all of its commands
		_, why, _ = strings.Cut(why[i:], "skip ")
		why = strings.Trim(strings.TrimSpace(why), "'")
	}
	if why = strings.Join(strings.Fields(why), " "); why == "" {
		return "no reason given"
	}
	return why
}

// printSummary prints the counts and the tests that did not run.
func (r *report) printSummary() {
	skipped := 0
	for _, tests := range r.skips {
		skipped += len(tests)
	}
	fmt.Fprintf(r.w, "\n%d passed, %d failed, %d skipped\n", r.passed, len(r.failed), skipped)
	for _, n := range r.failed {
		fmt.Fprintf(r.w, "  failed: %s %s\n", n.pkg, n.test)
	}
	for _, why := range slices.Sorted(maps.Keys(r.skips)) {
		fmt.Fprintf(r.w, "  skipped: %s\n", why)
		for _, n := range r.skips[why] {
			fmt.Fprintf(r.w, "    %s %s\n", n.pkg, n.test)
		}
	}
}
