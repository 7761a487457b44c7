package main

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestViewOnTerminal(t *testing.T) {
	tty, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("no terminal to be had: " + err.Error())
	}
	defer tty.Close()
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	var stderr bytes.Buffer
	env := &environment{args: []string{"view", "../../examples/seed-incident.json"}, stdin: strings.NewReader(""), stdout: tty, stderr: &stderr, getenv: func(string) string { return "" }}
	if status := run(env); status != statusClean {
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

func TestViewOpensTheBrowser(t *testing.T) {
	tty, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("no terminal to be had: " + err.Error())
	}
	defer tty.Close()
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	// Stands in for the desktop. The file appears completely or not at all.
	script := "#!/bin/sh\nprintf %s \"$1\" > " + dir + "/opening && mv " + dir + "/opening " + dir + "/opened\n"
	if err := os.WriteFile(filepath.Join(dir, "xdg-open"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	var stderr bytes.Buffer
	desktop := func(name string) string { return map[string]string{"DISPLAY": ":0"}[name] }
	env := &environment{args: []string{"view", "../../examples/seed-incident.json"}, stdin: strings.NewReader(""), stdout: tty, stderr: &stderr, getenv: desktop}
	if status := run(env); status != statusClean {
		t.Fatalf("status %d: %s", status, &stderr)
	}
	pages, _ := filepath.Glob(filepath.Join(dir, "pare-view-*.html"))
	var opened []byte
	for opened == nil {
		if t.Context().Err() != nil {
			t.Fatal("nothing was opened")
		}
		opened, _ = os.ReadFile(filepath.Join(dir, "opened"))
		runtime.Gosched()
	}
	if len(pages) != 1 || string(opened) != pages[0] {
		t.Errorf("opened %q of %q", opened, pages)
	}
	for _, c := range []struct{ system, set, want string }{
		{"linux", "", ""}, {"linux", "WAYLAND_DISPLAY", "xdg-open"}, {"freebsd", "DISPLAY", "xdg-open"}, {"darwin", "", "open"}, {"windows", "", "rundll32"},
		{"darwin", "SSH_CONNECTION", ""}, {"linux", "SSH_CONNECTION", ""},
	} {
		got := ""
		if with := findOpener(c.system, func(name string) string { return map[string]string{c.set: "x"}[name] }); with != nil {
			got = with[0]
		}
		if got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}
