package store_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pare-llm/pare/internal/trial"
)

// The adapters are modules of their own, and so are their tests. They are left out where
// what they adapt to cannot be downloaded.
func TestAdapters(t *testing.T) {
	if os.Getenv("PARE_ADAPTERS") != "1" && !trial.Soak() {
		t.Skip("left to make adapters: it downloads and compiles what the adapters adapt to")
	}
	t.Run("adkgo", func(t *testing.T) {
		t.Parallel()
		dir := filepath.Join("..", "adapters", "adkgo")
		command := func(args ...string) *exec.Cmd {
			c := exec.Command("go", args...)
			c.Dir = dir
			return c
		}
		if out, err := command("build", "./...").CombinedOutput(); err != nil {
			t.Skipf("adk-go cannot be downloaded: %v: %s", err, last(out))
		}
		if out, err := command("test", "-count=1", "./...").CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
	t.Run("claude-agent-sdk", func(t *testing.T) {
		t.Parallel()
		if _, err := exec.LookPath("npm"); err != nil {
			t.Skip("npm is not installed")
		}
		// In a folder of its own, so that nothing is left behind.
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(filepath.Join("..", "adapters", "claude-agent-sdk"))); err != nil {
			t.Fatal(err)
		}
		npm := func(args ...string) ([]byte, error) {
			c := exec.Command("npm", args...)
			c.Dir = dir
			c.Env = append(os.Environ(), "PARE="+filepath.Join(dir, "pare"))
			return c.CombinedOutput()
		}
		if out, err := npm("install", "--no-audit", "--no-fund", "--no-package-lock"); err != nil {
			t.Skipf("the SDK cannot be downloaded: %v: %s", err, last(out))
		}
		if out, err := exec.Command("go", "build", "-o", filepath.Join(dir, "pare"), "../cmd/pare").CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if out, err := npm("test"); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
}

// last is the last line.
func last(out []byte) string {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return lines[len(lines)-1]
}
