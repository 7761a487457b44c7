package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pare-llm/pare/internal/atomicfile"
	"github.com/pare-llm/pare/internal/fault"
	"github.com/pare-llm/pare/internal/trial"
)

type writerRun struct {
	t        *testing.T
	home     string
	path     string
	old, new []byte
	args     []string
	undoes   bool
}

func writerCases(t *testing.T, home string) []*writerRun {
	t.Helper()
	claude := filepath.Join(home, ".claude", "projects", "-work", "0a1b2c3d-0000-4000-8000-000000000000.jsonl")
	gemini := filepath.Join(home, "chats", "session-2026.json")
	var all []*writerRun
	for _, c := range []struct {
		path, raw string
		args      []string
	}{
		{claude, interrupted, []string{"fix", "--in-place", claude}},
		{claude, interrupted, []string{"fix", "--in-place", "--append-only", claude}},
		{claude, interrupted, []string{"doctor", "--home", home, "--fix", "--yes"}},
		{gemini, chat, []string{"fix", "--in-place", gemini}},
		{claude, interrupted, []string{"undo", claude}},
		{gemini, chat, []string{"undo", gemini}},
	} {
		r := &writerRun{t: t, home: home, path: c.path, old: []byte(c.raw), args: c.args, undoes: c.args[0] == "undo"}
		r.prepare()
		fixing := c.args
		if r.undoes {
			fixing = []string{"fix", "--in-place", c.path}
			r.prepareFixed()
		} else if status, errs := r.run(nil, fixing...); status != statusClean {
			t.Fatalf("%v: status %d: %s", fixing, status, errs)
		}
		r.new = r.content()
		if bytes.Equal(r.old, r.new) {
			t.Fatalf("%v changes nothing", fixing)
		}
		all = append(all, r)
	}
	return all
}

func (r *writerRun) prepare() {
	r.t.Helper()
	if err := os.RemoveAll(filepath.Dir(r.path)); err != nil {
		r.t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(r.path), 0o700); err != nil {
		r.t.Fatal(err)
	}
	aged(r.t, r.path, r.old)
}

func (r *writerRun) prepareFixed() {
	r.t.Helper()
	r.prepare()
	if status, errs := r.run(nil, "fix", "--in-place", r.path); status != statusClean {
		r.t.Fatalf("fix: status %d: %s", status, errs)
	}
}

func (r *writerRun) run(step func(op, path string) error, args ...string) (int, string) {
	var errs bytes.Buffer
	env := &environment{args: args, stdin: strings.NewReader(""), stdout: io.Discard, stderr: &errs, getenv: func(string) string { return "" }, files: atomicfile.Files{Step: step}}
	status := run(env)
	env.files.Clear() // as main does
	return status, errs.String()
}

func (r *writerRun) content() []byte {
	r.t.Helper()
	raw, err := os.ReadFile(r.path)
	if err != nil {
		r.t.Fatal(err)
	}
	return raw
}

func (r *writerRun) kept() (all map[string][]byte, hidden []string) {
	r.t.Helper()
	all = make(map[string][]byte)
	entries, err := os.ReadDir(filepath.Dir(r.path))
	if err != nil {
		r.t.Fatal(err)
	}
	for _, e := range entries {
		path := filepath.Join(filepath.Dir(r.path), e.Name())
		if atomicfile.IsHidden(path) {
			hidden = append(hidden, e.Name())
		} else if path != r.path {
			if all[path], err = os.ReadFile(path); err != nil {
				r.t.Fatal(err)
			}
		}
	}
	return all, hidden
}

func (r *writerRun) try(step func(op, path string) error) {
	t := r.t
	t.Helper()
	if r.undoes {
		r.prepareFixed()
	} else {
		r.prepare()
	}
	status, errs := r.run(step, r.args...)
	now := r.content()
	kept, _ := r.kept()
	holds := func(raw []byte) bool {
		return bytes.Equal(now, raw) || slices.ContainsFunc(slices.Collect(mapValues(kept)), func(k []byte) bool { return bytes.Equal(k, raw) })
	}
	if !bytes.Equal(now, r.old) && !bytes.Equal(now, r.new) {
		t.Errorf("%v: the session is neither the old nor the new one (status %d: %s):\n%s", r.args, status, errs, now)
	}
	if !holds(r.old) {
		t.Errorf("%v: what was there is nowhere any more (status %d: %s)", r.args, status, errs)
	}
	if r.undoes && !holds(r.new) {
		t.Errorf("%v: what was undone is nowhere any more (status %d: %s)", r.args, status, errs)
	}
	for name, raw := range kept { // a backup is complete as soon as it has its name
		if !bytes.Equal(raw, r.old) && !bytes.Equal(raw, r.new) {
			t.Errorf("%v: %s is half of something", r.args, filepath.Base(name))
		}
	}
	want := r.new
	if r.undoes {
		want = r.old
	}
	if status == statusClean && !bytes.Equal(now, want) {
		t.Errorf("%v: status 0, and nothing was done", r.args)
	}
	if status != statusClean && errs == "" {
		t.Errorf("%v: status %d without a word", r.args, status)
	}
	r.recover()
}

func (r *writerRun) recover() {
	t := r.t
	t.Helper()
	fix := []string{"fix", "--in-place", r.path}
	if slices.Contains(r.args, "--append-only") {
		fix = r.args
	}
	if status, errs := r.run(nil, fix...); status != statusClean || !bytes.Equal(r.content(), r.new) {
		t.Errorf("%v: a second fix: status %d: %s", r.args, status, errs)
	}
	if status, errs := r.run(nil, "undo", r.path); status != statusClean || !bytes.Equal(r.content(), r.old) {
		t.Errorf("%v: an undo behind it: status %d: %s", r.args, status, errs)
	}
	if status, errs := r.run(nil, fix...); status != statusClean || !bytes.Equal(r.content(), r.new) {
		t.Errorf("%v: a third fix: status %d: %s", r.args, status, errs)
	}
	if _, hidden := r.kept(); len(hidden) > 0 {
		t.Errorf("%v: %v are left", r.args, hidden)
	}
}

func mapValues(m map[string][]byte) func(func([]byte) bool) {
	return func(yield func([]byte) bool) {
		for _, v := range m {
			if !yield(v) {
				return
			}
		}
	}
}

// TestSessionSurvivesAFaultAtEveryStep fails each step of writing a session once, and kills the run
// at each step once.
func TestSessionSurvivesAFaultAtEveryStep(t *testing.T) {
	steps := 0
	for _, r := range writerCases(t, t.TempDir()) {
		for _, killed := range []bool{false, true} {
			for at := 1; ; at += trial.Stride(4) {
				n := 0
				r.try(func(op, path string) error {
					if n++; n == at || killed && n > at {
						return fault.Err
					}
					return nil
				})
				if t.Failed() {
					t.Fatalf("%v: step %d failed, the run was killed there: %v", r.args, at, killed)
				}
				if n < at {
					steps += at - 1
					break
				}
			}
		}
	}
	if steps < 50 {
		t.Errorf("only %d steps were tried", steps)
	}
	t.Logf("%d steps", steps)
}

// TestSessionSurvivesRandomFaults fails random steps of writing a session.
func TestSessionSurvivesRandomFaults(t *testing.T) {
	cases := writerCases(t, t.TempDir())
	var tally fault.Tally
	fault.Run(t, 60, func(t *testing.T, s *fault.Source) {
		chance := s.Rand("case")
		r := *cases[chance.IntN(len(cases))]
		r.t = t
		dead := false
		if chance.IntN(2) == 0 {
			s.AfterCalls(chance.IntN(20), func() { dead = true; s.CountFailure("killed") })
		}
		rate := []float64{1, 10, 60}[chance.IntN(3)] // a run has few steps
		r.try(func(op, path string) error {
			if s.FailsWeighted("file "+op, rate) || dead {
				return fault.Err
			}
			return nil
		})
		tally.Add(s, 4)
	})
	t.Log(&tally)
}
