package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"
)

// A testCase is a folder with files and the commands that run in it, one after the other.
type testCase struct {
	input string // where the files are from
	size  int
	files map[string][]byte
	steps []step
}

// A step is one run of a binary, or something done to the files in between.
type step struct {
	label string // name in the counts, such as "trim --max-turns"
	args  []string
	stdin string   // a file; "" is an empty input
	do    []string // cp, rm, mkdir, mv, chmod: instead of a run
	calls []call   // that are sent to the server that the step runs
}

func (c *testCase) String() string { return c.steps[0].label + " " + c.input }

// A result holds the outputs of one binary for a case.
type result struct {
	steps []output
	files map[string]string
}

type output struct {
	stdout, stderr string
	status         string
}

// compareAll runs the cases side by side. The report takes them in their order, so
// that the same binaries give the same report.
func compareAll(ctx context.Context, o options, cases []*testCase, work, before, after string, r *report) {
	results := make([]chan []difference, len(cases))
	for i := range results {
		results[i] = make(chan []difference, 1)
	}
	next := make(chan int)
	var wg sync.WaitGroup
	for w := range o.workers {
		wg.Go(func() {
			dir := filepath.Join(work, fmt.Sprint(w))
			for i := range next {
				results[i] <- compare(ctx, o, cases[i], dir, before, after)
			}
		})
	}
	go func() {
		defer close(next)
		for i := range cases {
			if ctx.Err() != nil {
				close(results[i]) // not run
				continue
			}
			next <- i
		}
	}()
	for i, c := range cases {
		found, ran := <-results[i]
		r.add(c, found, ran && ctx.Err() == nil)
	}
	wg.Wait()
}

// unknown is how a binary answers to a flag or a command that it does not have.
var unknown = regexp.MustCompile(`(?m)^pare: (unknown flag|unexpected argument|unknown command)`)

// compare runs one case with both binaries, each in the same folder, so that no path
// in an output differs.
func compare(ctx context.Context, o options, c *testCase, dir, before, after string) []difference {
	a := run(ctx, o.each, c, dir, before)
	b := run(ctx, o.each, c, dir, after)
	var all []difference
	for i, s := range c.steps {
		if s.do != nil {
			continue
		}
		x, y := a.steps[i], b.steps[i]
		if unknown.MatchString(x.stderr) && x.status != y.status {
			return all // a flag or command of the new one: from here on there is nothing to compare
		}
		all = append(all, diff(c, s, "status", x.status, y.status)...)
		all = append(all, diff(c, s, "stdout", x.stdout, y.stdout)...)
		all = append(all, diff(c, s, "stderr", x.stderr, y.stderr)...)
	}
	for name, x := range sorted(a.files) {
		if y, ok := b.files[name]; ok {
			all = append(all, diff(c, c.steps[0], "file "+name, x, y)...)
		} else {
			all = append(all, difference{c: c, step: c.steps[0], what: "file " + name, hunks: []hunk{{old: "written", new: "not written"}}})
		}
	}
	for name := range sorted(b.files) {
		if _, ok := a.files[name]; !ok {
			all = append(all, difference{c: c, step: c.steps[0], what: "file " + name, hunks: []hunk{{old: "not written", new: "written"}}})
		}
	}
	if len(all) > 0 {
		causes := findCauses(ctx, o.each, c, dir, before, after, a, b)
		for i := range all {
			all[i].causes = causes
		}
	}
	return all
}

// fileTime is the time of every file at the start of a case. Session files that were changed a
// moment ago are refused, and ages are printed in days.
var fileTime = time.Now().Add(-72 * time.Hour).Truncate(time.Hour)

func run(ctx context.Context, each time.Duration, c *testCase, dir, binary string) result {
	r := result{files: map[string]string{}}
	fault := func(err error) result {
		r.steps = make([]output, len(c.steps))
		r.steps[0].status = "the case cannot be set up: " + err.Error()
		return r
	}
	if err := os.RemoveAll(dir); err != nil {
		return fault(err)
	}
	home := filepath.Join(dir, "home")
	if err := os.MkdirAll(home, 0o755); err != nil {
		return fault(err)
	}
	for name, data := range c.files {
		if err := place(filepath.Join(dir, name), data); err != nil {
			return fault(err)
		}
	}
	for _, s := range c.steps {
		if s.do != nil {
			runFileCommands(dir, s.do)
			r.steps = append(r.steps, output{})
			continue
		}
		r.steps = append(r.steps, runStep(ctx, each, s, dir, home, binary))
	}
	_ = filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return nil
		}
		data, err := os.ReadFile(name)
		if err != nil {
			data = []byte(err.Error())
		}
		short, _ := filepath.Rel(dir, name)
		if was, ok := c.files[short]; !ok || !bytes.Equal(was, data) {
			r.files[short] = string(data)
		}
		return nil
	})
	return r
}

func runStep(ctx context.Context, each time.Duration, s step, dir, home, binary string) output {
	ctx, cancel := context.WithTimeout(ctx, each)
	defer cancel()
	if s.calls != nil {
		return runServe(ctx, s, dir, home, binary)
	}
	cmd := exec.CommandContext(ctx, binary, s.args...)
	cmd.Dir, cmd.Env = dir, environment(home)
	cmd.WaitDelay = time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if s.stdin != "" {
		f, err := os.Open(filepath.Join(dir, s.stdin))
		if err == nil {
			defer f.Close()
			cmd.Stdin = f
		}
	}
	err := cmd.Run()
	out := output{stdout: stdout.String(), stderr: stderr.String(), status: "0"}
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		out = output{status: "took too long"}
	case errors.As(err, &exit):
		out.status = fmt.Sprint(exit.ExitCode())
	case err != nil:
		out.status = strings.ReplaceAll(err.Error(), binary, "the binary")
	}
	return out
}

// environment is the same for both binaries.
func environment(home string) []string {
	return []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "TZ=UTC", "LANG=C.UTF-8", "TERM=dumb", "GOMAXPROCS=2"}
}

// runFileCommands runs the file operations that scripts have between two commands. Failures are
// ignored, because both binaries get the same.
func runFileCommands(dir string, words []string) {
	at := func(name string) string {
		if filepath.IsAbs(name) {
			return name
		}
		return filepath.Join(dir, name)
	}
	args := words[1:]
	switch {
	case words[0] == "cp" && len(args) == 2:
		to := at(args[1])
		if data, err := os.ReadFile(at(args[0])); err == nil {
			if info, err := os.Stat(to); err == nil && info.IsDir() {
				to = filepath.Join(to, filepath.Base(args[0]))
			}
			_ = place(to, data)
		}
	case words[0] == "mv" && len(args) == 2:
		_ = os.Rename(at(args[0]), at(args[1]))
	case words[0] == "rm":
		for _, name := range args {
			_ = os.RemoveAll(at(name))
		}
	case words[0] == "mkdir":
		for _, name := range args {
			_ = os.MkdirAll(at(name), 0o755)
		}
	}
}

func place(name string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(name, data, 0o644); err != nil {
		return err
	}
	return os.Chtimes(name, fileTime, fileTime)
}
