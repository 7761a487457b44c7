//go:build linux

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pare-llm/pare/internal/benchdata"
	"github.com/pare-llm/pare/internal/trial"
)

func TestFolder(t *testing.T) {
	files, runs := trial.Size(1000), 1
	if trial.Soak() {
		files, runs = 10_000, 3
	}
	pare := programPath(t)
	folder := t.TempDir()
	size, broken := writeSessions(t, folder, files)

	var read, check fastest
	for range runs { // alternating runs meet the same noise
		cmd := exec.Command("sh", "-c", `find "$0" -name '*.jsonl' -print0 | xargs -0 cat | wc -c`, folder)
		out := read.run(t, cmd, 0)
		if got := strings.TrimSpace(string(out)); got != strconv.FormatInt(size, 10) {
			t.Fatalf("%s of %d bytes", got, size)
		}
		out = check.run(t, exec.Command(pare, "check", "--json", folder), statusFindings)
		if lines, found := tellings(t, out); lines != files || found != broken {
			t.Errorf("%d of %d files are told about, %d of %d broken ones", lines, files, found, broken)
		}
	}
	if !trial.Race && check.peak > 300<<20 { // excludes the memory of the race detector
		t.Errorf("peak memory is %d MB", check.peak>>20)
	}
	if !trial.Soak() {
		return
	}
	mb := func(d time.Duration) float64 { return float64(size) / 1e6 / d.Seconds() }
	t.Logf("%d files, %d MB: check %.0f MB/s, cat | wc -c %.0f MB/s: %.2f times as long; peak memory %d MB; %.1f of %d cores",
		files, size/1e6, mb(check.wall), mb(read.wall), check.wall.Seconds()/read.wall.Seconds(), check.peak>>20, check.cores, runtime.NumCPU())
	if want := 0.6 * float64(runtime.NumCPU()); check.cores < want {
		t.Errorf("%.2f of %d cores are used", check.cores, runtime.NumCPU())
	}
}

type fastest struct {
	wall  time.Duration
	cores float64
	peak  int64
}

func (f *fastest) run(t *testing.T, cmd *exec.Cmd, status int) []byte {
	t.Helper()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	start := time.Now()
	err := cmd.Run()
	wall := time.Since(start)
	if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != status {
		t.Fatalf("%v: %v: %.1000s", cmd.Args, err, errs.String())
	}
	cores := (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds() / wall.Seconds()
	if f.wall == 0 || wall < f.wall {
		f.wall = wall
	}
	f.cores = max(f.cores, cores)
	f.peak = max(f.peak, cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss<<10)
	return out.Bytes()
}

func tellings(t *testing.T, report []byte) (lines, found int) {
	t.Helper()
	last := ""
	for line := range bytes.Lines(report) {
		var r struct {
			Source   string
			Findings []struct{ Rule string }
		}
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if r.Source <= last {
			t.Fatalf("%s comes behind %s", r.Source, last)
		}
		last = r.Source
		lines++
		if slices.ContainsFunc(r.Findings, func(f struct{ Rule string }) bool { return f.Rule != "over-window" }) { // long histories may exceed the window
			found++
		}
	}
	return lines, found
}

func writeSessions(t *testing.T, folder string, files int) (size int64, broken int) {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	for i := range files {
		dir := filepath.Join(folder, fmt.Sprintf("-home-me-project-%03d", i/100))
		if i%100 == 0 {
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		want := 2000 + r.IntN(8000)
		switch k := r.IntN(100); {
		case k == 0:
			want = 300_000 + r.IntN(900_000)
		case k < 20:
			want = 20_000 + r.IntN(70_000)
		}
		lost := i%50 == 7
		if lost {
			broken++
		}
		f, err := os.Create(filepath.Join(dir, fmt.Sprintf("%08d-0000-4000-8000-000000000000.jsonl", i)))
		if err != nil {
			t.Fatal(err)
		}
		b := bufio.NewWriterSize(f, 1<<16)
		n := benchdata.ClaudeCode(b, r, want, lost)
		if err := b.Flush(); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		size += n
	}
	return size, broken
}
