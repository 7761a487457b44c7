package main

import (
	"bufio"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pare-llm/pare/internal/trial"
)

// TestViewServeFollowsTheFile changes the file while pare view --serve runs.
func TestViewServeFollowsTheFile(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "talk.json")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(`[{"role":"user","content":"`+text+`"}]`), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("first")
	ctx := t.Context()
	cmd := exec.CommandContext(ctx, self)
	cmd.Args = []string{"pare", "view", "--serve", "--plan", "fix", path} // the test binary runs the program under this name
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		cmd.Process.Kill()
		cmd.Wait()
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "http://127.0.0.1:") {
		t.Fatalf("it says %q: %v", line, err)
	}
	url := strings.TrimSpace(line)
	ask := func(method, at, host string) (*http.Response, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(ctx, method, url+at, nil)
		if err != nil {
			t.Fatal(err)
		}
		if host != "" {
			r.Host = host
		}
		return trial.RoundTrip(t, r)
	}
	if res, body := ask("GET", "", ""); res.StatusCode != 200 || !strings.Contains(body, `"text":"first"`) || !strings.Contains(body, "connect-src 'self'") {
		t.Errorf("the page: %s %.300s", res.Status, body)
	}
	if res, body := ask("GET", "", "evil.example"); res.StatusCode != 403 || strings.Contains(body, "first") {
		t.Errorf("to another host: %s %s", res.Status, body)
	}
	if res, _ := ask("POST", "", ""); res.StatusCode != 405 {
		t.Errorf("POST: %s", res.Status)
	}
	if res, _ := ask("GET", "etc/passwd", ""); res.StatusCode != 404 {
		t.Errorf("another file: %s", res.Status)
	}
	r, err := http.NewRequestWithContext(ctx, "GET", url+"events", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	write("second, and longer")
	for events := bufio.NewReader(res.Body); ; {
		line, err := events.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if line == "event: change\n" {
			break
		}
	}
	if _, body := ask("GET", "data.json", ""); !strings.Contains(body, `"text":"second, and longer"`) {
		t.Errorf("the data: %s", body)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != statusInterrupted {
		t.Errorf("interrupted, it ends with %v", err)
	}
}
