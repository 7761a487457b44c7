package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/pare-llm/pare/internal/trial"
	"github.com/pare-llm/pare/wire"
)

func heavy(t *testing.T, size int64) int64 {
	t.Helper()
	switch {
	case trial.Race:
		t.Skip("the race detector takes memory of its own")
	case testing.Short():
		t.Skip("takes 100 MB of disk; left to make test")
	case trial.Soak():
		return size
	}
	return size / 3
}

// TestHugeDocumentIsChecked checks a document of 300 MB in little more than 300 MB of memory.
func TestHugeDocumentIsChecked(t *testing.T) {
	file := filepath.Join(t.TempDir(), "huge.json")
	size := writeHuge(t, file, heavy(t, 300<<20))
	cmd := exec.Command("pare", "check", "--json", file)
	out, err := cmd.Output()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	s := decode(t, string(out))
	if *s.Calls != *s.Results || *s.Calls == 0 {
		t.Errorf("%d calls, %d results", *s.Calls, *s.Results)
	}
	wantPeak(t, cmd, size, 1.2)

	cmd = exec.Command("pare", "fix", file)
	var n byteCount
	cmd.Stdout = &n
	if err := cmd.Run(); cmd.ProcessState == nil {
		t.Fatal(err)
	}
	if int64(n) != size {
		t.Errorf("%d of %d bytes came back", n, size)
	}
	wantPeak(t, cmd, size, 1.2)
}

// TestHugeDocumentIsRepaired limits the memory of a repair to the document, its result and both
// indexes.
func TestHugeDocumentIsRepaired(t *testing.T) {
	total := heavy(t, 300<<20)
	if !trial.Soak() {
		total /= 2
	}
	folder := t.TempDir()
	for _, d := range []wire.Dialect{wire.OpenAIChat, wire.Anthropic, wire.OpenAIResponses} {
		file := filepath.Join(folder, d.String()+".json")
		size := writeBroken(t, file, d, total)
		all := [][]string{
			{"fix", file}, {"prune", file}, // and commands that do not depend on the dialect
			{"trim", "--max-tokens", "100000", file}, {"fix"}, {"fix", "--receipt", filepath.Join(folder, "changes"), "-o", filepath.Join(folder, "fixed"), file}, {"fix", "--in-place", file},
		}
		if d != wire.OpenAIChat {
			all = all[:2]
		}
		for _, args := range all {
			cmd := exec.Command("pare", args...)
			var n byteCount
			cmd.Stdout = &n
			if len(args) == 1 {
				f, err := os.Open(file)
				if err != nil {
					t.Fatal(err)
				}
				defer f.Close()
				cmd.Stdin = struct{ io.Reader }{f} // a pipe
			}
			if err := cmd.Run(); cmd.ProcessState == nil || cmd.ProcessState.ExitCode() > statusFindings {
				t.Fatal(args, err)
			}
			if args[0] == "fix" && len(args) < 3 && int64(n) < size*9/10 {
				t.Errorf("%v: %d of %d bytes came back", args, n, size)
			}
			wantPeak(t, cmd, size, 3.2)
		}
	}
}

func writeBroken(t *testing.T, file string, d wire.Dialect, size int64) (n int64) {
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	b := bufio.NewWriterSize(f, 1<<20)
	text := strings.Repeat(`some \"output\" of a tool, and more of it\n`, 70)
	var head, call, result string
	switch d {
	case wire.OpenAIChat:
		head = `{"model":"gpt-5","messages":[{"role":"user","content":"go"}`
		call = `,{"role":"assistant","content":null,"tool_calls":[{"id":"call_%d","type":"function","function":{"name":"sh","arguments":"{}"}}]}`
		result = `,{"role":"tool","tool_call_id":"call_%d","content":"%s"}`
	case wire.Anthropic:
		head = `{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[{"role":"user","content":"go"}`
		call = `,{"role":"assistant","content":[{"type":"tool_use","id":"toolu_%d","name":"sh","input":{}}]}`
		result = `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_%d","content":"%s"}]}`
	default:
		head = `{"model":"gpt-5","input":[{"type":"message","role":"user","content":"go"}`
		call = `,{"type":"function_call","call_id":"call_%d","name":"sh","arguments":"{}"}`
		result = `,{"type":"function_call_output","call_id":"call_%d","output":"%s"}`
	}
	write := func(s string) {
		k, _ := b.WriteString(s)
		n += int64(k)
	}
	write(head)
	for i := 1; n < size; i++ {
		c, r := fmt.Sprintf(call, i), fmt.Sprintf(result, i, text)
		if i%27 == 0 {
			switch i / 27 % 4 {
			case 0:
				r = ""
			case 1:
				c = ""
			case 2:
				r += r
			case 3:
				c, r = r, c
			}
		}
		write(c)
		write(r)
	}
	write("]}\n")
	if err := errors.Join(b.Flush(), f.Close()); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestHugeSessionIsRepaired limits the memory to two copies of a session of 180 MB.
func TestHugeSessionIsRepaired(t *testing.T) {
	total := heavy(t, 180<<20)
	file := filepath.Join(t.TempDir(), "huge.jsonl")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	b := bufio.NewWriterSize(f, 1<<20)
	text := strings.Repeat(`some \"output\" of a tool, and more of it\n`, 250)
	const head = `"sessionId":"s","timestamp":"2026-01-01T00:00:00.000Z","message":`
	fmt.Fprintf(b, `{"type":"user","uuid":"b0","parentUuid":null,%s{"role":"user","content":"go"}}`+"\n", head)
	size := int64(0)
	for i := 1; size < total; i++ {
		m, _ := fmt.Fprintf(b, `{"type":"assistant","uuid":"a%d","parentUuid":"b%d",%s{"id":"m%d","role":"assistant","content":[{"type":"tool_use","id":"t%d","name":"sh","input":{}}]}}`+"\n", i, i-1, head, i, i)
		n, _ := fmt.Fprintf(b, `{"type":"user","uuid":"b%d","parentUuid":"a%d",%s{"role":"user","content":[{"type":"tool_result","tool_use_id":"t%d","content":"%s"}]}}`+"\n", i, i, head, i, text)
		size += int64(m + n)
	}
	if err := errors.Join(b.Flush(), f.Close()); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("pare", "check", "--json", file)
	if out, err := cmd.Output(); err != nil || !strings.Contains(string(out), `"format":"claude-code"`) {
		t.Fatalf("%v: %s", err, out)
	}
	wantPeak(t, cmd, size, 2.4)
}

func wantPeak(t *testing.T, cmd *exec.Cmd, size int64, most float64) {
	t.Helper()
	idle := exec.Command("pare", "--version")
	if err := idle.Run(); err != nil {
		t.Fatal(err)
	}
	peak := peakOf(cmd) - peakOf(idle)
	ratio := float64(peak) / float64(size)
	t.Logf("%v: %.2f", cmd.Args[1:2], ratio)
	if ratio > most {
		t.Errorf("%v: peak memory is %.2f times the input", cmd.Args[1:], ratio)
	}
}

func peakOf(cmd *exec.Cmd) int64 { return cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10 }

type byteCount int64

func (n *byteCount) Write(p []byte) (int, error) {
	*n += byteCount(len(p))
	return len(p), nil
}

func writeHuge(t *testing.T, file string, size int64) int64 {
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	b := bufio.NewWriterSize(f, 1<<20)
	text := strings.Repeat(`some \"output\" of a tool, and more of it\n`, 250)
	b.WriteString(`{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[{"role":"user","content":"go"}`)
	for i, n := 0, int64(0); n < size; i++ {
		m, _ := fmt.Fprintf(b, `,{"role":"assistant","content":[{"type":"tool_use","id":"toolu_%d","name":"sh","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_%d","content":"%s"}]}`, i, i, text)
		n += int64(m)
	}
	b.WriteString("]}\n")
	if err := b.Flush(); err != nil {
		t.Fatal(err)
	}
	st, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return st.Size()
}
