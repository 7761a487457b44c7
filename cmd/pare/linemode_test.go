package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"testing"

	"github.com/pare-llm/pare/internal/trial"
)

// TestEveryLineIsAnsweredImmediately writes each line only after the answer to the previous one.
func TestEveryLineIsAnsweredImmediately(t *testing.T) {
	long := `{"messages":[{"role":"user","content":"` + strings.Repeat("long ", 50_000) + `"}]}`
	for _, args := range []string{"check --lines", "fix --lines", "prune --lines", "trim --lines --max-messages 2", "fix --lines --dry-run --json"} {
		t.Run(args, func(t *testing.T) {
			cmd := exec.Command(programPath(t), strings.Fields(args)...)
			in, stdout := trial.OpenPipes(t, cmd)
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
			// The last line needs no line break.
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

func TestAnswersAreSingleLines(t *testing.T) {
	for in, want := range map[string]string{"": "\n", "a": "a\n", "a\n": "a\n", "a\r\n": "a\r\n", "{\n  \"a\": 1\n}\n": "{\"a\": 1}\n"} {
		if got := string(toSingleLine([]byte(in))); got != want {
			t.Errorf("oneLineOf(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestByteOrderMarksInLinesAreKept(t *testing.T) {
	const mark, fine = "\ufeff", `{"messages":[{"role":"user","content":"hi"}]}`
	in := mark + faulty + "\n" + mark + fine + "\r\n" + mark + "\n" + faulty + "\n" + mark + faulty
	do := func(args, in string) (int, string, string) {
		var out, errs bytes.Buffer
		status := run(&environment{args: strings.Fields(args), stdin: strings.NewReader(in), stdout: &out, stderr: &errs, getenv: func(string) string { return "" }})
		return status, out.String(), errs.String()
	}
	_, fixed, _ := do("fix", faulty)
	want := mark + fixed + "\n" + mark + fine + "\r\n" + mark + "\n" + fixed + "\n" + mark + fixed
	if status, out, errs := do("fix", in); status != statusClean || out != want {
		t.Errorf("fix: status %d: %q, %s", status, out, errs)
	}
	if status, out, errs := do("check --json", in); status != statusFindings || strings.Count(out, "\n") != 4 {
		t.Errorf("check: status %d: %s, %s", status, out, errs)
	}
	in = strings.Replace(in, mark+"\n", "", 1)
	want = strings.Replace(want, mark+"\n", "", 1) + "\n"
	if status, out, errs := do("fix --lines", in); status != statusClean || out != want {
		t.Errorf("fix --lines: status %d: %q, %s", status, out, errs)
	}
	// Offsets count the byte order mark, columns do not.
	if status, _, errs := do("check", fine+"\n"+mark+`{"messages":[}`); status != statusInvalid || !strings.Contains(errs, "stdin:2:14: invalid JSON at byte 16") {
		t.Errorf("status %d: %s", status, errs)
	}
}
