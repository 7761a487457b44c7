// Command testrun runs go test and reports the tests that did not run. It prints the lines of
// the packages and the output of failed tests. At the end it prints the number of tests that
// passed, failed and were skipped, the reasons, and the processor time. With -count, which
// disables the cache, it also lists the packages with the most processor time. Its arguments
// and its exit status are those of go test.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
)

func main() {
	if len(os.Args) > 3 && os.Args[1] == measure {
		os.Exit(runMeasured(os.Args[2], os.Args[3:]))
	}
	status, err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "testrun:", err)
	}
	os.Exit(status)
}

func run(args []string) (status int, err error) {
	args = append([]string{"-json"}, args...)
	file := ""
	if disablesCache(args) {
		var flags []string
		if file, flags, err = createCostFile(); err != nil {
			return 2, err
		}
		defer os.Remove(file)
		args = append(flags, args...)
	}
	cmd := exec.Command("go", append([]string{"test"}, args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return 2, err
	}
	writeReport(os.Stdout, out)
	err = cmd.Wait()
	if s := cmd.ProcessState; s != nil {
		all := s.UserTime() + s.SystemTime()
		if file != "" {
			printDearest(os.Stdout, file, all)
		}
		fmt.Printf("%.0f s of processor time, what was compiled and what tests started included\n", all.Seconds())
	}
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		return max(exit.ExitCode(), 1), nil // -1 is a signal
	case err != nil:
		return 2, err
	}
	return 0, nil
}

// writeReport reads the events of go test and writes the report.
func writeReport(w io.Writer, events io.Reader) {
	r := newReport(w)
	in := bufio.NewReaderSize(events, 1<<16)
	for {
		line, err := in.ReadBytes('\n')
		var e event
		switch {
		case len(line) == 0:
		case json.Unmarshal(line, &e) != nil || e.Action == "":
			w.Write(line) // of go itself
		default:
			r.take(e)
		}
		if err != nil {
			break
		}
	}
	r.printSummary()
}
