package main

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// measure is the first argument of this program when go test runs it before the binary of a
// package; the second is the file for the costs.
const measure = "-measure-a-package"

// disablesCache reports whether every test runs again. Only then can packages be measured, because go
// test caches no result of a test that another program runs.
func disablesCache(args []string) bool {
	return slices.ContainsFunc(args, func(a string) bool {
		return strings.HasPrefix(a, "-count") || strings.HasPrefix(a, "--count")
	})
}

// createCostFile creates the file for the costs of the packages and returns the flags for go test.
func createCostFile() (file string, flags []string, err error) {
	self, err := os.Executable()
	if err != nil {
		return "", nil, err
	}
	f, err := os.CreateTemp("", "testrun-")
	if err != nil {
		return "", nil, err
	}
	return f.Name(), []string{"-exec", fmt.Sprintf("'%s' %s '%s'", self, measure, f.Name())}, f.Close()
}

// runMeasured runs the binary of a package in its folder and appends its processor time, children
// included, to the file.
func runMeasured(file string, args []string) (status int) {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM, syscall.SIGQUIT)
	err := cmd.Start()
	if err == nil {
		go func() {
			for s := range stop {
				cmd.Process.Signal(s)
			}
		}()
		cmd.Wait()
	}
	s := cmd.ProcessState
	if s == nil {
		fmt.Fprintln(os.Stderr, "testrun:", err)
		return 2
	}
	dir, _ := os.Getwd()
	if f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0); err == nil {
		fmt.Fprintf(f, "%d %s\n", s.UserTime()+s.SystemTime(), dir)
		f.Close()
	}
	return max(s.ExitCode(), -s.ExitCode()) // -1 is a signal
}

// printDearest prints the packages with the most processor time of a run.
func printDearest(w io.Writer, file string, all time.Duration) {
	const shown = 15
	type cost struct {
		time.Duration
		pkg string
	}
	var pkgs []cost
	f, err := os.Open(file)
	if err != nil {
		return
	}
	defer f.Close()
	here, _ := os.Getwd()
	building := all
	for in := bufio.NewScanner(f); in.Scan(); {
		var c cost
		took, dir, _ := strings.Cut(in.Text(), " ")
		if _, err := fmt.Sscan(took, (*int64)(&c.Duration)); err != nil {
			continue
		}
		if c.pkg = dir; here != "" {
			if rel, err := filepath.Rel(here, dir); err == nil {
				c.pkg = filepath.ToSlash(rel)
			}
		}
		building -= c.Duration
		pkgs = append(pkgs, c)
	}
	slices.SortFunc(pkgs, func(a, b cost) int { return cmp.Or(cmp.Compare(b.Duration, a.Duration), cmp.Compare(a.pkg, b.pkg)) })
	var others time.Duration
	for i, c := range pkgs {
		if i < shown {
			fmt.Fprintf(w, "%7.1f s  %s\n", c.Seconds(), c.pkg)
		} else {
			others += c.Duration
		}
	}
	if n := len(pkgs) - shown; n > 0 {
		fmt.Fprintf(w, "%7.1f s  %d other packages\n", others.Seconds(), n)
	}
	fmt.Fprintf(w, "%7.1f s  compiling, vetting and linking\n", building.Seconds())
}
