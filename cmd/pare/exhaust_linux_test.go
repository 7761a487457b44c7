package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/pare-llm/pare/internal/trial"
)

func TestEveryCommandReportsAFullDisk(t *testing.T) {
	home := t.TempDir()
	t.Chdir(home)
	if err := os.WriteFile("s.json", []byte(faulty), 0o600); err != nil {
		t.Fatal(err)
	}
	env := func(name string) string {
		if name == "HOME" {
			return home
		}
		return ""
	}
	silent := func(stdout io.Writer, args string) (int, string) {
		var errs bytes.Buffer
		status := run(&environment{args: strings.Fields(args), stdin: strings.NewReader(faulty), stdout: stdout, stderr: &errs, getenv: env})
		return status, errs.String()
	}
	for _, args := range []string{"session import s.json", "session import --id two s.json"} {
		if status, errs := silent(io.Discard, args); status != statusClean {
			t.Fatalf("%s: %s", args, errs)
		}
	}
	for _, args := range []string{
		"check s.json", "check --json s.json", "check --json --pairs", "check --lines s.json", "fix s.json", "fix --dry-run s.json", "fix --dry-run --json", "fix --lines s.json", "prune s.json", "trim --max-messages 3 s.json", "compact s.json", "count s.json",
		"count --json s.json", "split --json s.json", "split s.json", "replay s.json", "replay --json s.json", "replay --markdown s.json", "view s.json", "view --text s.json", "rules", "rules --json", "explain", "explain --json orphan-call", "init -", "init new.toml", "man", "completion zsh", "--version", "--help", "fix --help",
		"session list", "session list --json", "session show two", "session show --entries two", "session show --html two", "session show --json two", "session export two", "session export --lines two",
	} {
		status, errs := silent(fullDisk{}, args)
		if status != statusInvalid || !strings.Contains(errs, "no space left") {
			t.Errorf("%s: status %d: %s", args, status, errs)
		}
	}
}

// TestFileLimitKeepsFiles runs every command that writes files under a file size limit.
func TestFileLimitKeepsFiles(t *testing.T) {
	trial.Long(t, "runs every command that writes")
	pare := programPath(t)
	body := `{"model":"claude-sonnet-4-5","messages":[` + strings.TrimSuffix(strings.Repeat(`{"role":"user","content":"`+strings.Repeat("word ", 200)+`"},{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":{}}]},`, 20), ",") + `]}`
	for _, args := range []string{
		"fix -o o.json s.json", "fix --in-place s.json", "fix --receipt r.jsonl -o o.json s.json", "prune -o o.json s.json", "trim --max-messages 4 --archive a.jsonl -o o.json s.json", "trim --max-messages 4 -o o.json.gz s.json",
		"compact -o o.json s.json", "view -o p.html s.json", "replay --html p.html s.json", "split --min-keep 1 --head h.json --tail t.json s.json", "init new.toml", "man pages", "session import --store st.db s.json",
	} {
		t.Chdir(t.TempDir())
		if err := os.WriteFile("s.json", []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("sh", append([]string{"-c", `ulimit -f 0 && exec "$0" "$@"`, pare}, strings.Fields(args)...)...)
		cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
		errs := new(bytes.Buffer)
		cmd.Stderr = errs
		err := cmd.Run()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != statusInvalid {
			t.Errorf("%s: %v: %s", args, err, errs)
		}
		if got, err := os.ReadFile("s.json"); err != nil || string(got) != body {
			t.Errorf("%s: the input is not what it was (%v)", args, err)
		}
		left, _ := filepath.Glob("*")
		for _, name := range left {
			if st, err := os.Stat(name); err == nil && name != "s.json" && st.Mode().IsRegular() && st.Size() > 0 {
				t.Errorf("%s: %s is there, with %d bytes", args, name, st.Size())
			}
		}
	}
}

func TestResultNeedsItsReceipt(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"s.json": faulty, "batch.jsonl": strings.Repeat(faulty+"\n", 3000), "long.json": `{"model":"gpt-4.1","messages":[` + strings.TrimSuffix(strings.Repeat(`{"role":"user","content":"hi"},{"role":"assistant","content":"ho"},`, 20), ",") + `]}`,
		"session.jsonl": `{"parentUuid":null,"sessionId":"s","version":"2.1.0","type":"user","message":{"role":"user","content":"hi"},"uuid":"a","timestamp":"2026-01-01T00:00:00Z"}` + "\n" +
			`{"parentUuid":"a","sessionId":"s","version":"2.1.0","type":"assistant","message":{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":{}}]},"uuid":"b","timestamp":"2026-01-01T00:00:01Z"}` + "\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	files := func() string {
		var b strings.Builder
		all, err := os.ReadDir(".")
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range all {
			raw, err := os.ReadFile(f.Name())
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, "%s %x\n", f.Name(), sha256.Sum256(raw))
		}
		return b.String()
	}
	was := files()
	for _, args := range []string{
		"fix --receipt /dev/full s.json", "fix --receipt /dev/full -", "fix --receipt /dev/full -o o.json s.json", "fix --receipt /dev/full -o o.json.gz s.json", "fix --receipt /dev/full --in-place s.json",
		"fix --receipt /dev/full batch.jsonl", "fix --receipt /dev/full -o o.jsonl batch.jsonl", "fix --receipt /dev/full --in-place batch.jsonl", "fix --receipt /dev/full --in-place s.json batch.jsonl",
		"fix --receipt /dev/full --lines batch.jsonl", "prune --receipt /dev/full --lines s.json",
		"fix --receipt /dev/full session.jsonl", "fix --force --receipt /dev/full --in-place session.jsonl", "fix --force --append-only --receipt /dev/full --in-place session.jsonl",
		"prune --receipt /dev/full s.json", "trim --max-messages 5 --receipt /dev/full long.json", "trim --max-messages 5 --receipt /dev/full -o o.json --archive a.jsonl long.json",
		"trim --max-messages 5 --archive /dev/full long.json", "trim --max-messages 5 --archive /dev/full --receipt r.jsonl -o o.json long.json", "trim --max-messages 5 --receipt r.jsonl -o /dev/full long.json",
		"compact --min-keep 2 --receipt /dev/full --archive a.jsonl long.json", "compact --min-keep 2 --receipt r.jsonl --archive /dev/full -i long.json", "split --head h.json --tail /dev/full long.json --json --min-keep 2",
		"replay --html /dev/full long.json",
	} {
		var out, errs bytes.Buffer
		status := run(&environment{args: strings.Fields(args), stdin: strings.NewReader(faulty), stdout: &out, stderr: &errs, getenv: func(string) string { return "" }})
		if status != statusInvalid || !strings.Contains(errs.String(), "write /dev/full: no space left") || strings.Contains(errs.String(), "rewritten") {
			t.Errorf("%s: status %d: %s", args, status, &errs)
		}
		if out.Len() > 0 && !strings.HasPrefix(args, "split") {
			t.Errorf("%s: printed %.300s", args, &out)
		}
		if now := files(); now != was {
			t.Fatalf("%s: the files are\n%sand were\n%s", args, now, was)
		}
	}
	// A device as standard output is held back, too.
	var errs bytes.Buffer
	if status := run(&environment{args: strings.Fields("trim --max-messages 5 --archive /dev/null --receipt r.jsonl -o /dev/full long.json"), stdin: strings.NewReader(""), stdout: io.Discard, stderr: &errs, getenv: func(string) string { return "" }}); status != statusInvalid || !strings.Contains(errs.String(), "what was to be removed is in the archive") {
		t.Errorf("status %d: %s", status, &errs)
	}
	if status := run(&environment{args: strings.Fields("trim --max-messages 1 --receipt r.jsonl -o /dev/full batch.jsonl"), stdin: strings.NewReader(""), stdout: io.Discard, stderr: &errs, getenv: func(string) string { return "" }}); status != statusTooSmall {
		t.Errorf("status %d: %s", status, &errs)
	}
	if now := files(); now != was {
		t.Errorf("the files are\n%sand were\n%s", now, was)
	}
	// The archive is complete before the result is written.
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	for _, args := range []string{"trim --max-messages 5 --archive a.jsonl long.json", "compact --min-keep 2 --archive a.jsonl long.json"} {
		os.Remove("a.jsonl")
		errs.Reset()
		status := run(&environment{args: strings.Fields(args), stdin: strings.NewReader(""), stdout: full, stderr: &errs, getenv: func(string) string { return "" }})
		st, err := os.Stat("a.jsonl")
		if err != nil || st.Size() == 0 {
			t.Errorf("%s: no archive: %v", args, err)
		}
		if status != statusInvalid || !strings.Contains(errs.String(), "write standard output: no space left") || !strings.Contains(errs.String(), "what was to be removed is in the archive; no other file was changed") {
			t.Errorf("%s: status %d: %s", args, status, &errs)
		}
	}
}

// TestAnsweredLinesHaveReceipts closes the output early; the receipt must cover exactly the
// answered lines.
func TestAnsweredLinesHaveReceipts(t *testing.T) {
	pare := programPath(t)
	t.Chdir(t.TempDir())
	if err := os.WriteFile("batch.jsonl", []byte(strings.Repeat(faulty+"\n", 3000)), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("sh", "-c", `"$0" fix --lines --receipt r.jsonl batch.jsonl | head -n 1`, pare).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	more, _ := filepath.Glob(".*")
	receipt, err := os.ReadFile("r.jsonl")
	if err != nil || len(more) > 0 || !bytes.HasSuffix(receipt, []byte("}\n")) || bytes.Count(receipt, []byte("\n")) == 3000 {
		t.Errorf("%v %v: %d lines", more, err, bytes.Count(receipt, []byte("\n")))
	}
	// A dry run writes no receipt.
	if out, err := exec.Command(pare, "fix", "--lines", "--dry-run", "--receipt", "dry.jsonl", "batch.jsonl").CombinedOutput(); err != nil {
		t.Fatalf("%v: %.300s", err, out)
	}
	if _, err := os.Stat("dry.jsonl"); err == nil {
		t.Error("a dry run wrote a file")
	}
}

func bomb(t *testing.T, ways string, size int, piece string) []byte {
	t.Helper()
	var data bytes.Buffer
	into := func(how rune, write func(io.Writer)) {
		t.Helper()
		next := new(bytes.Buffer)
		var w io.WriteCloser = gzip.NewWriter(next)
		if how == 'z' {
			var err error
			if w, err = zstd.NewWriter(next); err != nil {
				t.Fatal(err)
			}
		}
		write(w)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		data = *next
	}
	for i, how := range ways {
		into(how, func(w io.Writer) {
			if i > 0 {
				w.Write(bytes.Clone(data.Bytes()))
				return
			}
			for n := 0; n < size; n += len(piece) {
				io.WriteString(w, piece)
			}
		})
	}
	return data.Bytes()
}

// TestCompressedBombsStayWithinMemory reads small files that are huge when unpacked.
func TestCompressedBombsStayWithinMemory(t *testing.T) {
	trial.Long(t, "unpacks some hundred megabytes")
	if trial.Race {
		t.Skip("the race detector takes memory of its own")
	}
	pare := programPath(t)
	const size, most = 40 << 20, 250 << 10 // bytes when unpacked, and KB of memory
	text := strings.Repeat("x", 1<<16)
	open := `{"messages":[{"role":"user","content":"`
	files := map[string][]byte{
		"one.json.gz":       bomb(t, "g", size, text),
		"one.json.zst":      bomb(t, "z", size, text),
		"brackets.json.gz":  bomb(t, "g", size, strings.Repeat("[", 1<<16)),
		"body.json.gz":      bomb(t, "g", size, open+text),
		"twice.json.gz":     bomb(t, "gg", size, text),
		"mixed.json.zst":    bomb(t, "gzgz", size, text),
		"deep/a/b/c/d.json": []byte(`{"messages":` + strings.Repeat(`[{"a":`, 100_000)),
		"keys.json":         []byte(`{"messages":[],` + strings.Repeat(`"k":1,`, 200_000) + `"z":1}`),
		"number.json":       []byte(`{"messages":[{"role":"user","content":` + strings.Repeat("9", 1<<20) + `}]}`),
		"escapes.json":      []byte(`[{"role":"user","content":"` + strings.Repeat(`\u0000`, 200_000) + `"}]`),
	}
	dir := t.TempDir()
	for name, data := range files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	check := func(args ...string) {
		t.Helper()
		cmd := exec.Command(pare, args...)
		cmd.Dir = dir
		// The memory in use counts, not the delay of the collector on a busy machine.
		cmd.Env = append(os.Environ(), "GOMEMLIMIT=180MiB")
		errs := new(bytes.Buffer)
		cmd.Stderr = errs
		_ = cmd.Run()
		if code := cmd.ProcessState.ExitCode(); code < 0 || code > statusTooSmall {
			t.Errorf("%v: %v: %.300s", args, cmd.ProcessState, errs)
		}
		if used := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss; used > most {
			t.Errorf("%v: %d KB of memory, more than %d", args, used, most)
		}
	}
	for i, name := range slices.Sorted(maps.Keys(files)) {
		for j, command := range []string{"check", "fix --dry-run", "count"} {
			if i%3 != j && !trial.Soak() {
				continue // every command gets the folder with all files
			}
			check(append(strings.Fields(command), "--max-size", "5MB", name)...)
		}
	}
	for _, command := range []string{"check", "count", "fix --dry-run"} {
		check(append(strings.Fields(command), "--max-size", "5MB", "--jobs", "2", ".")...)
	}
	if err := os.Mkdir(filepath.Join(dir, "many"), 0o777); err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		if err := os.WriteFile(filepath.Join(dir, "many", fmt.Sprintf("%d.json.gz", i)), files["one.json.gz"], 0o600); err != nil {
			t.Fatal(err)
		}
	}
	check("check", "--max-size", "5MB", "--jobs", "2", "many")
}
