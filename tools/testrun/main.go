// Command testrun runs go test and tells what was not tested: the lines of the
// packages, the output of what failed, and at the end how many tests passed,
// failed and were skipped, and why, and how much processor time all of it took. Its arguments are those of go test, its status
// is go test's.
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
	cmd := exec.Command("go", append([]string{"test", "-json"}, os.Args[1:]...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "testrun:", err)
		os.Exit(2)
	}
	tell(os.Stdout, out)
	err = cmd.Wait()
	if s := cmd.ProcessState; s != nil {
		fmt.Printf("%.0f s of processor time, what was compiled and what tests started included\n", (s.UserTime() + s.SystemTime()).Seconds())
	}
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		os.Exit(max(exit.ExitCode(), 1)) // -1 is a signal
	case err != nil:
		fmt.Fprintln(os.Stderr, "testrun:", err)
		os.Exit(2)
	}
}

// tell reads the events of go test and writes what a person wants to know.
func tell(w io.Writer, events io.Reader) {
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
	r.end()
}
