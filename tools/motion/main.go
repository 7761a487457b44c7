// Command motion shows that a change of the code does not change behavior. It runs two
// binaries over the same inputs, with every command, and compares their output, their exit
// status and the files that they leave, byte for byte.
//
//	go build -o /some/old ./cmd/pare    # before the change
//	go build -o /some/new ./cmd/pare    # after it
//	go run ./tools/motion [flags] /some/old /some/new
//
// The inputs are the fixtures and scripts of this module, the zoo and the corpus next to it if
// they are present, random histories of all dialects, valid and broken, whole sessions that
// are replayed, stored sessions of agents with many kinds of damage, and requests through the
// proxy. Differences are grouped, each with its smallest example. A file of names (--allow)
// lists the intended differences. The status is 0 if there are no others and everything ran.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

type options struct {
	histories int
	damaged   int
	corpus    string
	zoo       string

	trajectories string
	only         string
	allow        string
	keep         string
	oneIn        int
	workers      int
	groups       int
	bound        time.Duration
	each         time.Duration
}

func main() {
	var o options
	flag.IntVar(&o.histories, "histories", 400, "random histories of each dialect, half of them broken")
	flag.IntVar(&o.damaged, "damaged", 20, "ways in which each stored session is damaged")
	flag.StringVar(&o.corpus, "corpus", "../shared/corpus", "folder with stored histories and sessions; none if it is absent")
	flag.StringVar(&o.zoo, "zoo", "../shared/zoo", "folder with incidents; none if it is absent")
	flag.StringVar(&o.trajectories, "trajectories", "../shared/trajectories", "folder with whole sessions to replay; none if it is absent")
	flag.StringVar(&o.only, "only", "", "regexp: run only the cases whose name matches, such as \"^trim .* zoo/\"")
	flag.StringVar(&o.allow, "allow", "", "file with the differences that are meant; see allow.go")
	flag.StringVar(&o.keep, "keep", "", "folder to which each group's smallest example is written")
	flag.IntVar(&o.oneIn, "one-in", 1, "run every Nth case only, for a quick look")
	flag.IntVar(&o.workers, "workers", 2, "cases that run at the same time")
	flag.IntVar(&o.groups, "groups", 40, "groups that are printed at most")
	flag.DurationVar(&o.bound, "for", 30*time.Minute, "the whole run takes no longer; what was not run is counted")
	flag.DurationVar(&o.each, "each", 2*time.Minute, "one command takes no longer")
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: go run ./tools/motion [flags] OLD NEW   (in the folder of the module)")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() != 2 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	same, err := motion(ctx, o, flag.Arg(0), flag.Arg(1))
	if err != nil {
		fmt.Fprintln(os.Stderr, "motion:", err)
		os.Exit(2)
	}
	if !same {
		os.Exit(1)
	}
}

// motion compares two binaries and reports whether all differences are allowed.
func motion(ctx context.Context, o options, before, after string) (same bool, err error) {
	var names *allowed
	if names, err = readAllowed(o.allow); err != nil {
		return false, err
	}
	only, err := regexp.Compile(o.only)
	if err != nil {
		return false, fmt.Errorf("--only: %w", err)
	}
	if before, err = filepath.Abs(before); err != nil {
		return false, err
	}
	if after, err = filepath.Abs(after); err != nil {
		return false, err
	}
	all, err := collect(o, slugs(before))
	if err != nil {
		return false, err
	}
	cases := all[:0]
	for i, c := range all {
		if i%max(1, o.oneIn) == 0 && only.MatchString(c.String()) {
			cases = append(cases, c)
		}
	}
	work, err := os.MkdirTemp("", "motion-")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(work)
	ctx, cancel := context.WithTimeout(ctx, o.bound)
	defer cancel()
	begun := time.Now()
	r := newReport(names)
	compareAll(ctx, o, cases, work, before, after, r)
	r.print(os.Stdout, o.groups, time.Since(begun))
	if o.keep != "" {
		if err := r.writeExamples(o.keep); err != nil {
			return false, err
		}
	}
	return r.same(), nil
}

// slugs are the rules that a binary can explain: the first word of each line.
func slugs(binary string) []string {
	out, err := exec.Command(binary, "explain").Output()
	if err != nil {
		return nil
	}
	var all []string
	for _, line := range strings.Split(string(out), "\n") {
		if word, _, ok := strings.Cut(line, " "); ok && word != "" {
			all = append(all, word)
		}
	}
	return all
}
