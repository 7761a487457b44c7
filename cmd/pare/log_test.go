package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLogLevels(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s\nFORGED.json")
	run1 := func(env string, args ...string) (int, string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(faulty), 0o600); err != nil {
			t.Fatal(err)
		}
		var out, errs bytes.Buffer
		w := &environment{args: args, stdin: strings.NewReader(faulty), stdout: &out, stderr: &errs, getenv: func(name string) string {
			if name == "PARE_LOG" {
				return env
			}
			return ""
		}}
		return run(w), errs.String()
	}
	for _, c := range []struct {
		env, args  string
		want, none string
	}{
		{"", "check", "", "level="},
		{"", "check --log debug", `msg=read source=`, "level=WARN"},
		{"debug", "check", `msg=read source=`, "level=WARN"},
		{"DEBUG", "fix --in-place", `msg=rewritten file=`, ""},
		{"debug", "fix --in-place --log info", `msg=rewritten file=`, "level=DEBUG"},
		{"debug", "fix --in-place --log error", "", "level="},
		{"", "trim --max-messages 2 --log debug", `msg=event type=`, ""},
		{"info", "count", "", "level=DEBUG"},
		{"debug", "explain orphan-call", `msg=run`, ""},
	} {
		args := strings.Fields(c.args)
		if args[0] != "explain" {
			args = append(args, path)
		}
		status, errs := run1(c.env, args...)
		if status > statusFindings || !strings.Contains(errs, c.want) || c.none != "" && strings.Contains(errs, c.none) {
			t.Errorf("PARE_LOG=%s %s: status %d: %s", c.env, c.args, status, errs)
		}
		checkForPeople(t, c.args, errs, false)
	}
	for _, c := range [][2]string{{"loud", "check"}, {"", "check --log loud"}, {"debug", "check --log x"}} {
		if status, errs := run1(c[0], append(strings.Fields(c[1]), path)...); status != statusInvalid || !strings.Contains(errs, "is no level") {
			t.Errorf("PARE_LOG=%s %s: status %d: %s", c[0], c[1], status, errs)
		}
	}
}
