package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestViewOnTerminal: nobody wants a page on a terminal. It goes to a file that only
// the user can read.
func TestViewOnTerminal(t *testing.T) {
	tty, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("no terminal to be had: " + err.Error())
	}
	defer tty.Close()
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	var stderr bytes.Buffer
	w := &world{args: []string{"view", "../../examples/seed-incident.json"}, stdin: strings.NewReader(""), stdout: tty, stderr: &stderr, getenv: os.Getenv}
	if status := run(w); status != statusClean {
		t.Fatalf("status %d: %s", status, &stderr)
	}
	pages, err := filepath.Glob(filepath.Join(temp, "pare-view-*.html"))
	if err != nil || len(pages) != 1 {
		t.Fatalf("pages: %q %v", pages, err)
	}
	st, err := os.Stat(pages[0])
	if err != nil || st.Mode().Perm() != 0o600 || st.Size() < 10_000 {
		t.Errorf("%v %v", st, err)
	}
}
