package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pare-llm/pare/agentlog"
)

// TestAgents wants a table without slips: patterns of their own below the home folder,
// and no variable that moves nothing.
func TestAgents(t *testing.T) {
	seen := map[string]string{}
	var all []string
	for _, a := range agents {
		if a.format == agentlog.Auto || a.name == "" || len(a.files) == 0 {
			t.Errorf("%+v", a)
		}
		for _, p := range slices.Concat(a.files, a.aside, a.unread) {
			if seen[p] != "" {
				t.Errorf("%s is a place of %s and of %s", p, seen[p], a.name)
			}
			if strings.HasPrefix(p, "/") || strings.Contains(p, `\`) || strings.Contains(p, "**") {
				t.Errorf("%s: %s is no pattern below the home folder", a.name, p)
			}
			seen[p] = a.name
			all = append(all, p)
		}
	}
	for _, m := range moved {
		if !slices.ContainsFunc(all, func(p string) bool { return strings.HasPrefix(p, m.folder+"/") }) {
			t.Errorf("%s moves nothing", m.variable)
		}
	}
}

// TestSearchPlaces puts a file in every place of the table and wants it found, also
// where a variable says that it is elsewhere.
func TestSearchPlaces(t *testing.T) {
	home := t.TempDir()
	place := func(root, pattern string) string {
		name := filepath.Join(root, filepath.FromSlash(strings.ReplaceAll(pattern, "*", "x")))
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte("{}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	want := map[string]string{}
	for _, a := range agents {
		if a.format == agentlog.OpenCode {
			continue // a folder
		}
		for _, p := range slices.Concat(a.files, a.aside) {
			want[place(home, p)] = a.name
		}
	}
	elsewhere := t.TempDir()
	want[place(elsewhere, "sessions/2026/01/02/rollout-moved.jsonl")] = "codex"
	delete(want, filepath.Join(home, ".codex/sessions/x/x/x/rollout-x.jsonl"))
	delete(want, filepath.Join(home, ".codex/sessions/rollout-x.jsonl"))
	delete(want, filepath.Join(home, ".codex/archived_sessions/rollout-x.jsonl"))
	s := &search{home: home, aside: true, getenv: func(name string) string {
		if name == "CODEX_HOME" {
			return elsewhere
		}
		return ""
	}}
	got := map[string]string{}
	for i := range agents {
		s.look(&agents[i])
	}
	for _, x := range s.found {
		got[x.path] = x.agent.name
	}
	for name, agent := range want {
		if got[name] != agent {
			t.Errorf("%s of %s was not found (%q)", name, agent, got[name])
		}
	}
	if len(got) != len(want) || len(s.failed) > 0 {
		t.Errorf("found %d, want %d; failed: %v", len(got), len(want), s.failed)
	}
}

func TestProjects(t *testing.T) {
	for raw, want := range map[string]string{
		`{"type":"x"}` + "\n" + `{"cwd":"/a/b"}`:                      "/a/b",
		`{"type":"session_meta","payload":{"cwd":"C:\\a"}}`:           `C:\a`,
		`{"working_dir":"/w","description":""}`:                       "/w",
		`{"message":{"content":"{\"cwd\":\"/no\"}"}}`:                 "",
		`{"broken "cwd"` + "\n" + `{"cwd":"/a"}`:                      "/a",
		strings.Repeat("{}\n", cwdLines) + `{"cwd":"/much/too/late"}`: "",
	} {
		if got := cwdIn([]byte(raw)); got != want {
			t.Errorf("cwdIn(%.60q) = %q, want %q", raw, got, want)
		}
	}
	for raw, want := range map[string]string{
		`# Current Working Directory (/home/a b/c) Files`: "/home/a b/c",
		`# Current Workspace Directory (c:\\Users\\a)`:    `c:\Users\a`,
		`# Current Working Directory: none`:               "",
	} {
		if got := workspaceIn([]byte(raw)); got != want {
			t.Errorf("workspaceIn(%q) = %q, want %q", raw, got, want)
		}
	}
}

func TestAges(t *testing.T) {
	for s, want := range map[string]time.Duration{"36h": 36 * time.Hour, "7d": 168 * time.Hour, "1.5d": 36 * time.Hour, "2w": 336 * time.Hour} {
		if got, ok := parseAge(s); !ok || got != want {
			t.Errorf("parseAge(%q) = %v, %v", s, got, ok)
		}
	}
	for _, s := range []string{"", "d", "-1d", "0", "x", "1y", "999999999w", "nand"} {
		if got, ok := parseAge(s); ok {
			t.Errorf("parseAge(%q) = %v", s, got)
		}
	}
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for d, want := range map[time.Duration]string{
		-time.Hour: "just now", time.Second: "just now", 90 * time.Second: "1 minute ago", 5 * time.Hour: "5 hours ago", 50 * time.Hour: "2 days ago", 2000 * time.Hour: "2026-02-07",
	} {
		if got := longAgo(now, now.Add(-d)); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
}

func TestClipFront(t *testing.T) {
	for _, c := range []struct {
		in   string
		n    int
		want string
	}{{"/a/b/c", 6, "/a/b/c"}, {"/a/b/c", 4, "…b/c"}, {"日本語", 4, "…語"}, {"", 3, ""}} {
		if got := clipFront(c.in, c.n); got != c.want {
			t.Errorf("clipFront(%q, %d) = %q, want %q", c.in, c.n, got, c.want)
		}
	}
}

func TestConsent(t *testing.T) {
	for answers, want := range map[string]string{
		"y\nn\ny\n": "yny", "maybe\nYES\nno\n": "ynn", "n\na\n": "nyy", "y\nq\n": "ynn", "": "nnn", "y": "ynn",
	} {
		c := &consent{in: bufio.NewReader(strings.NewReader(answers))}
		w := &world{stderr: new(bytes.Buffer)}
		got := ""
		for range 3 {
			got += map[bool]string{true: "y", false: "n"}[c.ask(w)]
		}
		if got != want {
			t.Errorf("%q: %s, want %s", answers, got, want)
		}
	}
}

// TestDoctorBoundsMemory checks many large sessions and wants no more of them in memory
// than there are cores.
func TestDoctorBoundsMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("writes 200 MB")
	}
	home := t.TempDir()
	folder := filepath.Join(home, ".pi/agent/sessions/x")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	const sessions, size = 50, 4 << 20
	line := `{"type":"message","timestamp":"2026-01-01T00:00:01Z","message":{"role":"user","content":"` + strings.Repeat("x", 16<<10) + `"}}` + "\n"
	text := `{"type":"session","id":"s","cwd":"/x"}` + "\n" + strings.Repeat(line, size/len(line))
	for i := range sessions {
		if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("%02d.jsonl", i)), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var most uint64
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			case <-time.After(5 * time.Millisecond):
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				most = max(most, m.HeapInuse)
			}
		}
	}()
	var out, notes bytes.Buffer
	w := &world{args: []string{"doctor", "--home", home}, stdin: strings.NewReader(""), stdout: &out, stderr: &notes, getenv: func(string) string { return "" }}
	if status := run(w); status != statusClean {
		t.Fatalf("status %d\n%s%s", status, &out, &notes)
	}
	close(stop)
	<-stopped
	// A session and its index, per core, and as much again that is not collected yet.
	if limit := uint64(64<<20 + runtime.GOMAXPROCS(0)*size*6); most > limit {
		t.Errorf("%d MB were in use at a time, want at most %d", most>>20, limit>>20)
	}
	t.Logf("%d MB of sessions, at most %d MB in use", sessions*size>>20, most>>20)
}
