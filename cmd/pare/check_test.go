package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/pare-llm/pare/internal/corpus"
	"github.com/pare-llm/pare/internal/trial"
)

func program(stdin io.Reader, args ...string) (status int, stdout, stderr string) {
	var out, errs bytes.Buffer
	parser := parsers.Get().(*kong.Kong)
	defer parsers.Put(parser)
	parser.Model.Target.SetZero()
	env := &environment{args: args, stdin: stdin, stdout: &out, stderr: &errs, getenv: func(string) string { return "" }}
	status = env.run(parser)
	return status, out.String(), errs.String()
}

var parsers = sync.Pool{New: func() any { return newParser(&environment{stdout: io.Discard, stderr: io.Discard}, nil) }}

func TestParserCanParseTwice(t *testing.T) {
	body := `{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"user","content":"b"}]}`
	lines := [][]string{
		{"check", "--json", "--strict", "--advice", "--as", "openai-chat", "--jobs", "3"}, {"check"}, {"fix", "--orphan-call", "drop"}, {"fix"}, {"--help"}, {"trim", "--max-messages", "2"},
		{"trim"}, {"check", "--no-such-flag"}, {"prune", "--json", "-n"}, {"count"}, {"explain", "orphan-call"}, {"explain"}, {"split", "--min-keep=1", "--json"}, {"split"}, {"fix", "--help"}, {"rules"},
	}
	type outcome struct {
		status    int
		out, errs string
	}
	want := make([]outcome, len(lines))
	for i, args := range lines {
		var out, errs bytes.Buffer
		status := run(&environment{args: args, stdin: strings.NewReader(body), stdout: &out, stderr: &errs, getenv: func(string) string { return "" }})
		want[i] = outcome{status, out.String(), errs.String()}
	}
	for i := range lines {
		for j, args := range lines[i:] {
			if status, out, errs := program(strings.NewReader(body), args...); (outcome{status, out, errs}) != want[i+j] {
				t.Errorf("%v: status %d\n%s%s\nwant %+v", args, status, out, errs, want[i+j])
			}
		}
	}
}

// TestPartialCommandLineHelpsLikeAll compares each command's help from a partial parser with that
// of the full one.
func TestPartialCommandLineHelpsLikeAll(t *testing.T) {
	for _, n := range grammarForTest().Children {
		for _, args := range [][]string{{n.Name, "--help"}, {n.Name, "--no-such-flag"}, {n.Name, "--log", "loud"}} {
			var out, errs bytes.Buffer
			status := run(&environment{args: args, stdin: strings.NewReader(""), stdout: &out, stderr: &errs, getenv: func(string) string { return "" }})
			wantStatus, wantOut, wantErrs := program(strings.NewReader(""), args...)
			if status != wantStatus || out.String() != wantOut || errs.String() != wantErrs {
				t.Errorf("%v: status %d\n%s%s\nwant %d\n%s%s", args, status, &out, &errs, wantStatus, wantOut, wantErrs)
			}
		}
		if got := len(buildParser(partialCommandLine([]string{n.Name}), &environment{stdout: io.Discard, stderr: io.Discard}, nil).Model.Children); got != 1 {
			t.Errorf("pare %s: a grammar of %d commands", n.Name, got)
		}
	}
}

type shape struct {
	Source   *string    `json:"source"`
	Line     int        `json:"line"`
	Dialect  *string    `json:"dialect"`
	Profile  *string    `json:"profile"`
	Messages *int       `json:"messages"`
	Calls    *int       `json:"calls"`
	Results  *int       `json:"results"`
	Findings *[]finding `json:"findings"`
}

type finding struct {
	Rule     *string   `json:"rule"`
	Path     *string   `json:"path"`
	IDs      *[]string `json:"ids"`
	Message  *string   `json:"message"`
	Provider *string   `json:"provider_rule"`
	Advice   bool      `json:"advice"`
	Effect   string    `json:"effect"`
	Instead  string    `json:"instead"`
}

func decode(t *testing.T, line string) shape {
	t.Helper()
	var s shape
	d := json.NewDecoder(strings.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		t.Fatalf("%v in %s", err, line)
	}
	if s.Source == nil || s.Dialect == nil || s.Profile == nil || s.Messages == nil || s.Calls == nil || s.Results == nil || s.Findings == nil {
		t.Fatalf("a field is missing: %s", line)
	}
	for _, f := range *s.Findings {
		if f.Rule == nil || *f.Rule == "" || f.Path == nil || f.IDs == nil || f.Message == nil || *f.Message == "" {
			t.Fatalf("a field of a finding is missing: %s", line)
		}
	}
	return s
}

type zooCase struct{ corpus.Incident }

func (z zooCase) body() string { return string(z.Body()) }

func zoo(t testing.TB) map[string]zooCase {
	cases := make(map[string]zooCase)
	for i, z := range corpus.Zoo(t) {
		if i%5 > 0 && (testing.Short() || trial.Race) {
			continue // package wire tests these
		}
		cases[z.ID] = zooCase{z}
	}
	return cases
}

// TestCheckOfZoo checks every incident of the zoo with and without --json.
func TestCheckOfZoo(t *testing.T) {
	for name, z := range zoo(t) {
		t.Run(name, func(t *testing.T) {
			status, out, errs := program(strings.NewReader(z.body()), "check", "--json", "--as", z.Dialect)
			if status > statusFindings || errs != "" {
				t.Fatalf("status %d: %s", status, errs)
			}
			if strings.Count(out, "\n") != 1 {
				t.Fatalf("want one line, got %q", out)
			}
			s := decode(t, out)
			if (len(*s.Findings) > 0) != (status == statusFindings) {
				t.Errorf("status %d with %d findings", status, len(*s.Findings))
			}
			again, report, _ := program(strings.NewReader(z.body()), "check", "--as", z.Dialect)
			if again != status {
				t.Errorf("status %d for people, %d with --json", again, status)
			}
			for _, f := range *s.Findings {
				if !strings.Contains(report, *f.Rule) {
					t.Errorf("%s is not in the report:\n%s", *f.Rule, report)
				}
			}
		})
	}
}

func TestBatchKeepsOrderInLittleMemory(t *testing.T) {
	const lines, size = 2000, 40_000
	text := strings.Repeat("x", size)
	r, w := io.Pipe()
	go func() {
		b := bufio.NewWriter(w)
		for i := range lines {
			extra := ""
			if i%7 == 0 { // Some lines are much longer, so that workers overtake each other.
				extra = text[:1000*(i%40)]
			}
			fmt.Fprintf(b, `{"input":[{"role":"user","content":"%s%s"},{"type":"function_call_output","call_id":"call_%d","output":""}]}`+"\n", text, extra, i)
		}
		b.Flush()
		w.Close()
	}()
	before := heap()
	watched := &watch{r: r}
	status, out, errs := program(watched, "check", "--json", "--jobs", "2")
	if status != statusFindings {
		t.Fatalf("status %d: %s", status, errs)
	}
	got := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	if len(got) != lines {
		t.Fatalf("%d lines, want %d", len(got), lines)
	}
	for i, line := range got {
		s := decode(t, line)
		ids := *(*s.Findings)[0].IDs
		if s.Line != i+1 || len(ids) != 1 || ids[0] != fmt.Sprintf("call_%d", i) {
			t.Fatalf("line %d reports %s", i+1, line)
		}
	}
	// The batch has 80 MB; a few chunks are much smaller.
	most := int64(watched.peak) - int64(before)
	t.Logf("the heap grew by %d KB", most>>10)
	if most > 8<<20 {
		t.Errorf("the heap grew by %d MB", most>>20)
	}
}

type watch struct {
	r     io.Reader
	reads int
	peak  uint64
}

func (w *watch) Read(p []byte) (int, error) {
	if w.reads++; w.reads%50 == 0 {
		w.peak = max(w.peak, heap())
	}
	return w.r.Read(p)
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func TestFullDiskIsReported(t *testing.T) {
	var errs bytes.Buffer
	batch := strings.Repeat(`[{"role":"user","content":"hi"}]`+"\n", 50_000)
	status := run(&environment{args: []string{"check", "--json"}, stdin: strings.NewReader(batch), stdout: fullDisk{}, stderr: &errs, getenv: os.Getenv})
	if status != statusInvalid || !strings.Contains(errs.String(), "no space left") {
		t.Errorf("status %d: %s", status, errs.String())
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

func FuzzCheck(f *testing.F) {
	for _, z := range zoo(f) { // Each input is added once, because all are run before the first new input.
		if len(z.body())%2 == 0 {
			f.Add([]byte(z.body()), false)
		} else {
			f.Add([]byte(z.body()+"\n\n"+z.body()), true)
		}
	}
	f.Add([]byte("\xef\xbb\xbf{\"body\":{\"messages\":[{}]},\"url\":\"/models/%zz\"}"), true)
	f.Add([]byte("\x28\xb5\x2f\xfd"), false)
	f.Add([]byte(interrupted), false)
	f.Add([]byte("lost\"}\n"+interrupted[:len(interrupted)-9]), false)
	f.Add([]byte(chat), true)
	f.Fuzz(func(t *testing.T, in []byte, strict bool) {
		args := []string{"check", "--json", "--advice"}
		if strict {
			args = append(args, "--strict")
		}
		status, out, errs := program(bytes.NewReader(in), args...)
		if strings.Contains(errs, "bug of its own") {
			t.Fatal(errs)
		}
		if status == statusInvalid && errs == "" {
			t.Error("status 2 without a word")
		}
		for line := range strings.Lines(out) {
			if !json.Valid([]byte(line)) {
				t.Errorf("not JSON: %q", line)
			}
		}
		again, report, _ := program(bytes.NewReader(in), append([]string{"check"}, args[2:]...)...)
		if again != status {
			t.Errorf("status %d, for people %d", status, again)
		}
		if i := strings.IndexFunc(report, func(r rune) bool { return r < ' ' && r != '\n' }); i >= 0 {
			t.Errorf("a control character in the report: %q", report)
		}
	})
}
