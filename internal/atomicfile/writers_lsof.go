//go:build unix

package atomicfile

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// writersByLsof returns the processes that have a file open for writing, according to lsof, which
// macOS includes.
func writersByLsof(name string) (programs []string, isKnown bool) {
	tool := "/usr/sbin/lsof"
	if _, err := os.Stat(tool); err != nil {
		if tool, err = exec.LookPath("lsof"); err != nil {
			return nil, false
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	// lsof ends with status 1 if no process has the file open.
	out, err := exec.CommandContext(ctx, tool, "-w", "-F", "pca", "--", name).Output()
	if ctx.Err() != nil || len(out) == 0 && !isStatus(err, 1) {
		return nil, false
	}
	return parseLsof(string(out)), true
}

func isStatus(err error, status int) bool {
	exit, ok := err.(*exec.ExitError)
	return ok && exit.ExitCode() == status
}

// parseLsof reads lines of lsof -F pca: p1234, cnode, and for each descriptor f7 and aw.
func parseLsof(out string) (programs []string) {
	pid, command, isListed := "", "", false
	for line := range strings.Lines(out) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" {
			continue
		}
		switch value := line[1:]; line[0] {
		case 'p':
			pid, isListed = value, false
		case 'c':
			command = value
		case 'a':
			isWriter := value == "w" || value == "u"
			if isWriter && !isListed && pid != strconv.Itoa(os.Getpid()) {
				programs = append(programs, fmt.Sprintf("%s (pid %s)", command, pid))
				isListed = true
			}
		}
	}
	return programs
}
