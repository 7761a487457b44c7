package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestPythonExample runs the program of examples/python against pare mock: what is refused as it
// is gets an answer when pare fix --lines has repaired it, and a line that cannot be read costs
// no other.
func TestPythonExample(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not on this machine")
	}
	pare := programPath(t)
	mock := exec.Command(pare, "mock")
	stderr, err := mock.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := mock.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { mock.Process.Signal(os.Interrupt); mock.Wait() }()
	said := make([]byte, 200)
	n, _ := stderr.Read(said)
	url := regexp.MustCompile(`http://\S+`).FindString(string(said[:n]))

	agent := exec.Command(python, "../../examples/python/agent.py", url)
	agent.Env = append(os.Environ(), "PATH="+filepath.Dir(pare)+":"+os.Getenv("PATH"), "PYTHONDONTWRITEBYTECODE=1")
	out, err := agent.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	for i, want := range []string{"400 messages.1: `tool_use` ids were found without `tool_result` blocks", "200 ", "refused: not a request", "200 "} {
		if i >= len(lines) || !strings.HasPrefix(lines[i], want) {
			t.Fatalf("line %d of\n%s\nis not %s…", i, out, want)
		}
	}
}
