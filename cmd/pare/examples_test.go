package main

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/pare-llm/pare/internal/trial"
)

// TestExampleProgramsWork runs the example programs against pare mock.
func TestExampleProgramsWork(t *testing.T) {
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
	said, _ := bufio.NewReader(stderr).ReadString('\n')
	url := regexp.MustCompile(`http://[0-9.:]+`).FindString(said)

	for name, command := range map[string]func(t *testing.T) []string{
		"python": func(t *testing.T) []string {
			return []string{needed(t, "python3"), "../../examples/python/agent.py"}
		},
		"go": func(t *testing.T) []string {
			trial.Long(t, "compiles the example")
			return []string{needed(t, "go"), "run", "../../examples/go/agent.go"}
		},
		"typescript": compiled,
	} {
		t.Run(name, func(t *testing.T) {
			argv := append(command(t), url)
			agent := exec.Command(argv[0], argv[1:]...)
			agent.Env = append(os.Environ(), "PATH="+filepath.Dir(pare)+string(os.PathListSeparator)+os.Getenv("PATH"), "PYTHONDONTWRITEBYTECODE=1")
			out, err := agent.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			lines := strings.Split(strings.TrimSpace(string(out)), "\n")
			for i, want := range []string{"400 messages.1: `tool_use` ids were found without `tool_result` blocks", "200 ", "refused: ", "200 "} {
				if i >= len(lines) || !strings.HasPrefix(lines[i], want) {
					t.Fatalf("line %d of\n%s\nis not %s…", i, out, want)
				}
			}
		})
	}
}

func needed(t *testing.T, program string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		t.Fatalf("%s is not on this machine: make test installs it", program)
	}
	return path
}

func compiled(t *testing.T) []string {
	trial.Long(t, "starts the compiler of TypeScript")
	if out, err := exec.Command("sh", "../../scripts/typescript.sh").CombinedOutput(); err != nil {
		t.Fatalf("scripts/typescript.sh: %v\n%s", err, out)
	}
	home, _ := os.UserHomeDir()
	at := os.Getenv("PARE_TYPESCRIPT")
	if at == "" {
		at = filepath.Join(home, ".cache", "pare-typescript")
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("../../examples/typescript")); err != nil {
		t.Fatal(err)
	}
	modules := filepath.Join(at, "node_modules")
	tsc := exec.Command(needed(t, "node"), filepath.Join(modules, "typescript", "bin", "tsc"), "--strict", "--skipLibCheck", "--target", "es2022",
		"--module", "nodenext", "--types", "node", "--typeRoots", filepath.Join(modules, "@types"), filepath.Join(dir, "agent.ts"))
	if out, err := tsc.CombinedOutput(); err != nil {
		t.Fatalf("tsc: %v\n%s", err, out)
	}
	return []string{needed(t, "node"), filepath.Join(dir, "agent.js")}
}
