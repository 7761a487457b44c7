package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"testing"

	"github.com/pare-llm/pare/internal/trial"
)

// TestDefectU5Lines keeps one process of each command open and talks to it line by line:
// the next line is written only after the last one was answered. It would wait for ever
// for an answer that is held back.
func TestDefectU5Lines(t *testing.T) {
	long := `{"messages":[{"role":"user","content":"` + strings.Repeat("long ", 50_000) + `"}]}`
	for _, args := range []string{"check --lines", "fix --lines", "prune --lines", "trim --lines --max-messages 2", "fix --lines --dry-run --json"} {
		t.Run(args, func(t *testing.T) {
			cmd := exec.Command(programPath(t), strings.Fields(args)...)
			in, stdout := trial.Piped(t, cmd)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			out := bufio.NewReader(stdout)
			ask := func(line string) string {
				t.Helper()
				if _, err := io.WriteString(in, line+"\n"); err != nil {
					t.Fatal(err)
				}
				answer, err := out.ReadString('\n')
				if err != nil || !json.Valid([]byte(answer)) {
					t.Fatalf("%.60s: %.200q, %v", line, answer, err)
				}
				return answer
			}
			for i := range 20 {
				clean := fmt.Sprintf(`{"messages":[{"role":"user","content":"%d"}]}`, i)
				if got := ask(clean); strings.HasPrefix(args, "fix --lines") && !strings.Contains(args, "dry") && got != clean+"\n" {
					t.Errorf("a clean line came back as %q", got)
				}
				if got := ask(faulty); strings.Contains(got, `{"error"`) || !strings.Contains(got, "orphan-result") && !strings.Contains(got, "without its call") {
					t.Errorf("%q", got)
				}
				if got := ask("no JSON"); !strings.HasPrefix(got, `{"error":{"message":`) || !strings.Contains(got, fmt.Sprintf(`"line":%d,`, 6*i+3)) {
					t.Errorf("%q", got)
				}
				if got := ask(""); !strings.HasPrefix(got, `{"error":{"message":"the line is empty"`) {
					t.Errorf("%q", got)
				}
				ask(long)
				ask(`[]`)
			}
			// The last line need not be ended.
			if _, err := io.WriteString(in, `{"messages":[{"role":"user","content":"last"}]}`); err != nil {
				t.Fatal(err)
			}
			in.Close()
			rest, err := io.ReadAll(out)
			if err != nil || strings.Count(string(rest), "\n") != 1 {
				t.Errorf("at the end: %q, %v", rest, err)
			}
			if err := cmd.Wait(); cmd.ProcessState.ExitCode() != statusInvalid {
				t.Errorf("it ended with %v", err)
			}
		})
	}
}

// Every answer is one line, whatever it is made of.
func TestOneLineOf(t *testing.T) {
	for in, want := range map[string]string{"": "\n", "a": "a\n", "a\n": "a\n", "a\r\n": "a\r\n", "{\n  \"a\": 1\n}\n": "{\"a\": 1}\n"} {
		if got := string(oneLineOf([]byte(in))); got != want {
			t.Errorf("oneLineOf(%q) = %q, want %q", in, got, want)
		}
	}
}
