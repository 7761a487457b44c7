package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSessionCompactReadsTheConfiguration(t *testing.T) {
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		asked++
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"choices":[{"finish_reason":"stop","message":{"role":"assistant","content":"They agreed on everything."}}]}`)
	}))
	defer server.Close()
	dir := t.TempDir()
	conf, file, db := filepath.Join(dir, "pare.toml"), filepath.Join(dir, "talk.json"), filepath.Join(dir, "pare.db")
	for path, text := range map[string]string{
		file: talk(8), conf: fmt.Sprintf("[compact]\nendpoint = %q\nmodel = \"small\"\nmin_keep = 2\n", server.URL),
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	do := func(args ...string) string {
		t.Helper()
		var out, errs bytes.Buffer
		status := run(&environment{args: append(args, "--store", db), stdin: strings.NewReader(""), stdout: &out, stderr: &errs, getenv: func(string) string { return "" }})
		if status != statusClean {
			t.Fatalf("%v: status %d: %s", args, status, errs.String())
		}
		return out.String()
	}
	do("session", "import", "--id", "talk", file)
	do("session", "compact", "talk", "--config", conf)
	if window := do("session", "window", "talk"); asked != 1 || !strings.Contains(window, "They agreed on everything.") || strings.Contains(window, "Question 5") {
		t.Errorf("asked %d times: %s", asked, window)
	}
}
