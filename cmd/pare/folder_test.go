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
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// buildPare builds the program itself: what the other tests run is the test binary.
func buildPare(t *testing.T) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "pare")
	if out, err := exec.Command("go", "build", "-o", to, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return to
}

// TestFolder checks a folder of 10,000 session files with the real program: on all
// cores, in little memory, and every file is told about, in order. It prints the
// speed beside that of reading alone.
func TestFolder(t *testing.T) {
	files := 10_000
	if testing.Short() || raceEnabled {
		files = 1000
	}
	pare := buildPare(t)
	folder := t.TempDir()
	size, broken := writeSessions(t, folder, files)

	var read, check fastest
	for range 3 { // by turns, so that the same noise meets both
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
	mb := func(d time.Duration) float64 { return float64(size) / 1e6 / d.Seconds() }
	t.Logf("%d files, %d MB: check %.0f MB/s, cat | wc -c %.0f MB/s: %.2f times as long; peak memory %d MB; %.1f of %d cores",
		files, size/1e6, mb(check.wall), mb(read.wall), check.wall.Seconds()/read.wall.Seconds(), check.peak>>20, check.cores, runtime.NumCPU())

	if check.peak > 300<<20 {
		t.Errorf("peak memory is %d MB", check.peak>>20)
	}
	switch free := freeCores(); {
	case free < 1.7:
		t.Logf("%.1f cores are to be had: whether all are used is not judged", free)
	case check.cores < 1.2:
		t.Errorf("%.2f of %.1f free cores are used", check.cores, free)
	}
}

// fastest is the best of several runs.
type fastest struct {
	wall  time.Duration
	cores float64 // that were busy with it
	peak  int64   // memory, the highest of all runs
}

// run runs a command that must end with that status, and returns its output.
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

// tellings counts the lines of a report and those with findings. They come in the
// order of the files.
func tellings(t *testing.T, report []byte) (lines, found int) {
	t.Helper()
	last := ""
	for line := range bytes.Lines(report) {
		var r struct {
			Source   string
			Findings []json.RawMessage
		}
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if r.Source <= last {
			t.Fatalf("%s comes behind %s", r.Source, last)
		}
		last = r.Source
		lines++
		if len(r.Findings) > 0 {
			found++
		}
	}
	return lines, found
}

// freeCores measures how many cores this process gets if it wants all of them.
func freeCores() float64 {
	spent := func() time.Duration {
		var u syscall.Rusage
		_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	const long = 300 * time.Millisecond
	start, before := time.Now(), spent()
	var all sync.WaitGroup
	for range runtime.NumCPU() {
		all.Go(func() {
			for time.Since(start) < long {
			}
		})
	}
	all.Wait()
	return float64(spent()-before) / float64(time.Since(start))
}

// writeSessions writes sessions as Claude Code does, most of them small, some long, in
// projects of a hundred. Every fiftieth has lost a result.
func writeSessions(t *testing.T, folder string, files int) (size int64, broken int) {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	output := strings.Repeat(`func (s *server) handle(w http.ResponseWriter) {\n\tlog.Printf(\"%s\\n\", s.name) // größer → Ⅷ\n}\n`, 200)
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
		n := writeSession(b, r, want, lost, output)
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

// writeSession writes one session of about that size: prompts, each with a call and
// its result and a reply.
func writeSession(b *bufio.Writer, r *rand.Rand, want int, lost bool, output string) (size int64) {
	parent := "null"
	line := func(n int, kind, message string) {
		uuid := fmt.Sprintf(`"%08x-%04x-4000-8000-000000000000"`, r.Uint32(), n&0xffff)
		m, _ := fmt.Fprintf(b, `{"parentUuid":%s,"isSidechain":false,"userType":"external","cwd":"/home/me/project","sessionId":"5f0e1b9e-6f3e-4c57-8a55-1f4f4e1f8c11","version":"2.1.325","gitBranch":"main","type":"%s","message":%s,"uuid":%s,"timestamp":"2026-01-%02dT%02d:%02d:%02d.000Z"}`+"\n",
			parent, kind, message, uuid, 1+n/86400%28, n/3600%24, n/60%60, n%60)
		size += int64(m)
		parent = uuid
	}
	for n := 0; int(size) < want; n += 4 {
		part := output[:strings.LastIndexByte(output[:1+min(len(output)-1, 500+r.IntN(6000))], '}')+1]
		line(n, "user", fmt.Sprintf(`{"role":"user","content":"prompt %d: look at it"}`, n))
		line(n+1, "assistant", fmt.Sprintf(`{"id":"msg_%d","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":[{"type":"tool_use","id":"toolu_%d","name":"Read","input":{"file_path":"/home/me/project/x.go"}}],"stop_reason":"tool_use","usage":{"input_tokens":9,"output_tokens":9}}`, n, n))
		if !lost || n > 0 {
			line(n+2, "user", fmt.Sprintf(`{"role":"user","content":[{"tool_use_id":"toolu_%d","type":"tool_result","content":"%s"}]}`, n, part))
		}
		line(n+3, "assistant", fmt.Sprintf(`{"id":"msg_%d","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":[{"type":"text","text":"It handles a request. That is all."}],"stop_reason":"end_turn","usage":{"input_tokens":9,"output_tokens":9}}`, n+3))
	}
	return size
}
