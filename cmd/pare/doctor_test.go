package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/pare-llm/pare/cmd/internal/screen"
	"github.com/pare-llm/pare/internal/trial"
)

func TestAgesAreParsedAndPrinted(t *testing.T) {
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
		if got := screen.Ago(now, now.Add(-d)); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
}

func TestClipFrontKeepsTheEnd(t *testing.T) {
	for _, c := range []struct {
		in   string
		n    int
		want string
	}{{"/a/b/c", 6, "/a/b/c"}, {"/a/b/c", 4, "…b/c"}, {"日本語", 4, "…語"}, {"", 3, ""}} {
		if got := screen.ClipFront(c.in, c.n); got != c.want {
			t.Errorf("screen.ClipFront(%q, %d) = %q, want %q", c.in, c.n, got, c.want)
		}
	}
}

func TestRepairPromptAsksUntilAllOrQuit(t *testing.T) {
	for answers, want := range map[string]string{
		"y\nn\ny\n": "yny", "maybe\nYES\nno\n": "ynn", "n\na\n": "nyy", "y\nq\n": "ynn", "": "nnn", "y": "ynn", "v\nd\n?\ny\nq\n": "ynn",
	} {
		c := &repairPrompt{in: bufio.NewReader(strings.NewReader(answers))}
		env := &environment{stderr: new(bytes.Buffer)}
		got := ""
		for range 3 {
			got += map[bool]string{true: "y", false: "n"}[c.ask(env, func(string) {})]
		}
		if got != want {
			t.Errorf("%q: %s, want %s", answers, got, want)
		}
	}
}

func TestDoctorBoundsMemory(t *testing.T) {
	switch {
	case trial.Race:
		t.Skip("the race detector takes memory of its own")
	case testing.Short():
		t.Skip("writes 200 MB; left to make test")
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
	// A session and its index per core, and the memory of the program itself. The limit makes the
	// collector run in time even on a busy machine.
	limit := uint64(64<<20 + runtime.GOMAXPROCS(0)*size*6)
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(int64(limit) * 3 / 4))
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
	env := &environment{args: []string{"doctor", "--home", home}, stdin: strings.NewReader(""), stdout: &out, stderr: &notes, getenv: func(string) string { return "" }}
	if status := run(env); status != statusClean {
		t.Fatalf("status %d\n%s%s", status, &out, &notes)
	}
	close(stop)
	<-stopped
	if most > limit {
		t.Errorf("%d MB were in use at a time, want at most %d", most>>20, limit>>20)
	}
	t.Logf("%d MB of sessions, at most %d MB in use", sessions*size>>20, most>>20)
}
