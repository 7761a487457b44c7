package main

import (
	"strings"
	"testing"
)

func TestPruneOfZooIsClean(t *testing.T) {
	for name, z := range zoo(t) {
		args := []string{"prune", "--json", "--as", z.Dialect, "--keep-recent", "0"}
		status, out, errs := program(strings.NewReader(z.body()), args...)
		if status > statusFindings || (status == statusFindings) != strings.Contains(errs, `"left":[{`) {
			t.Errorf("%s: status %d: %s", name, status, errs)
		}
		if now, report, _ := program(strings.NewReader(out), "check", "--as", z.Dialect); now != status {
			t.Errorf("%s: prune ended in status %d, check of its result in %d:\n%s", name, status, now, report)
		}
		if _, twice, _ := program(strings.NewReader(out), args...); twice != out {
			t.Errorf("%s: a second prune changes\n%s\nto\n%s", name, out, twice)
		}
	}
}
