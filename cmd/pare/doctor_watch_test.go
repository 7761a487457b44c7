package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestDoctorWatchReportsNewTroubleOnce watches a session that breaks, fills up and recovers. The
// test triggers every look, so no clock decides.
func TestDoctorWatchReportsNewTroubleOnce(t *testing.T) {
	home := t.TempDir()
	file := filepath.Join(home, ".claude/projects/-home-ada-shop/s.jsonl")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	line := func(n, parent int, kind, message string) string {
		up := "null"
		if parent > 0 {
			up = fmt.Sprintf(`"u%d"`, parent)
		}
		return fmt.Sprintf(`{"parentUuid":%s,"isSidechain":false,"sessionId":"s1","cwd":"/home/ada/shop","version":"1.0.128","type":%q,"message":%s,"uuid":"u%d","timestamp":"2026-03-01T10:00:%02d.000Z"}`+"\n", up, kind, message, n, n)
	}
	counted := func(n int) string {
		return line(4, 3, "assistant", fmt.Sprintf(`{"id":"msg_4","role":"assistant","model":"claude-sonnet-4-5","content":[{"type":"text","text":"Done."}],"usage":{"input_tokens":%d,"output_tokens":9}}`, n))
	}
	begin := line(1, 0, "user", `{"role":"user","content":"Add a discount code"}`)
	call := line(2, 1, "assistant", `{"id":"msg_2","role":"assistant","model":"claude-sonnet-4-5","content":[{"type":"tool_use","id":"toolu_1","name":"Bash","input":{"command":"npm test"}}]}`)
	result := line(3, 2, "user", `{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"ok"}]}`)
	lost := line(3, 2, "user", `{"role":"user","content":"And?"}`)
	steps := []struct{ is, want string }{ // the content of the file, and the expected report
		{begin, ``},
		{begin + call, ``}, // the call is still running
		{begin + call + result, ``},
		{begin + call + result + counted(100_000), ``},
		{begin + call + result + counted(160_000), `▣ shop — “Add a discount code”.*\n  95\.2 % of the 168,000 tokens available: let the agent compact it now`},
		{begin + call + result + counted(161_000), ``},                       // reported already
		{begin + call + result + counted(300_000), `resumes as it was left`}, // the model has a larger window
		{begin + call + lost, `! shop — “Add a discount code”.*\n  resumes, but the agent forgets a part of it\n  the call Bash\(npm test\) has no result`},
		{begin + call + result, `✓ shop — “Add a discount code”.*\n  resumes as it was left`},
		{begin + call + result + counted(199_999), `full: 119\.1 % of the 168,000 tokens available`},
	}
	writes := 0
	write := func(text string) {
		writes++
		at := time.Date(2026, 3, 1, 10, 0, writes, 0, time.UTC) // every write has a different time
		if err := errors.Join(os.WriteFile(file, []byte(text), 0o600), os.Chtimes(file, at, at)); err != nil {
			t.Fatal(err)
		}
	}
	write(steps[0].is)
	var out, notes bytes.Buffer
	looks := -1
	again := func() bool {
		looks++
		step := steps[looks/3]
		switch looks % 3 {
		case 0: // the agent writes, and the next look finds a larger file
			out.Reset()
			write(step.is)
		case 2:
			if found := regexp.MustCompile(step.want).MatchString(out.String()); !found || step.want == "" && out.Len() > 0 {
				t.Errorf("step %d: want %q, got %q", looks/3, step.want, &out)
			}
		}
		return looks < 3*len(steps)-1
	}
	env := &environment{args: []string{"doctor", "--watch", "--home", home}, stdin: strings.NewReader(""), stdout: &out, stderr: &notes, getenv: func(string) string { return "" }, recheck: again}
	run(env)
	if !strings.Contains(notes.String(), "watching 1 session") {
		t.Errorf("%s", &notes)
	}
	if status, said := told(t, "doctor", "--watch", "--fix"); status != statusInvalid || !strings.Contains(said, "--watch only looks") {
		t.Errorf("%d %s", status, said)
	}
}
