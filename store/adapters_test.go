package store_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pare-llm/pare/internal/trial"
)

// TestClaudeAgentSDKAdapter runs the tests of the TypeScript adapter against a real pare serve. It
// is skipped if the SDK cannot be downloaded.
func TestClaudeAgentSDKAdapter(t *testing.T) {
	if os.Getenv("PARE_ADAPTERS") != "1" && !trial.Soak() {
		t.Skip("left to make adapters: it downloads the SDK of another language")
	}
	if _, err := exec.LookPath("npm"); err != nil {
		t.Skip("npm is not installed")
	}
	// A temporary folder leaves no files.
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
}

// last returns the last line.
func last(out []byte) string {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return lines[len(lines)-1]
}
