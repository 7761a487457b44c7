package main

import (
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/pare-llm/pare/internal/trial"
)

func TestStartIsIdle(t *testing.T) {
	cmd := exec.Command(programPath(t), "--version")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	lines := regexp.MustCompile(`(?m)^init github\.com/pare-llm/(pare\S*) .* (\d+) bytes, \d+ allocs$`).FindAllStringSubmatch(string(out), -1)
	if len(lines) < 5 {
		t.Fatalf("the runtime tells of %d packages:\n%s", len(lines), out)
	}
	for _, l := range lines {
		limit := 16 << 10
		if strings.HasSuffix(l[1], "cmd/pare") {
			continue
		}
		if strings.HasSuffix(l[1], "pare/internal/dialect") {
			limit = 300 << 10 // the table of rules, which every check needs
		}
		if trial.Race {
			limit += limit / 4 // the race detector allocates more
		}
		if n, _ := strconv.Atoi(l[2]); n > limit {
			t.Errorf("%s allocates %d bytes before the program begins, more than %d; sync.OnceValue does it when it is needed", l[1], n, limit)
		}
	}
}
