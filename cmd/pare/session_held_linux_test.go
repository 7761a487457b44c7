package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/pare-llm/pare/internal/trial"
)

func TestSessionInUseIsKept(t *testing.T) {
	for name, hold := range map[string]func(*testing.T, string){"open for writing": holdOpen, "locked": holdLock} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x.jsonl")
			aged(t, path, []byte(interrupted))
			hold(t, path)
			status, _, errs := program(nil, "fix", "--in-place", path)
			if status != statusInvalid || !strings.Contains(errs, "left as it is") || !strings.Contains(errs, "--force") {
				t.Errorf("status %d: %s", status, errs)
			}
			wantOnly(t, path, interrupted)
			if status, _, errs := program(nil, "fix", "--in-place", "--force", path); status != statusClean {
				t.Errorf("--force: status %d: %s", status, errs)
			}
			if status, _, errs := program(nil, "undo", path); name == "locked" && status != statusClean {
				t.Errorf("the lock was that of the original: status %d: %s", status, errs)
			}
		})
	}
}

func holdOpen(t *testing.T, path string) {
	cmd := exec.Command("sh", "-c", `exec 3>>"$1"; echo; read x`, "sh", path)
	stdin, out := trial.OpenPipes(t, cmd)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stdin.Close(); cmd.Wait() })
	if _, err := out.Read(make([]byte, 1)); err != nil { // the process has opened the file
		t.Fatal(err)
	}
}

func holdLock(t *testing.T, path string) {
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
}
