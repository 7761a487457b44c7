package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pare-llm/pare/wire"
)

func TestCheckReportsOverlongRequests(t *testing.T) {
	long := strings.Repeat("several words of a log. ", 400_000)
	for _, c := range []struct {
		body string
		over bool
	}{
		{`{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[{"role":"user","content":%q}]}`, true},
		{`{"model":"gpt-5","messages":[{"role":"user","content":%q}]}`, true},
		{`{"model":"gpt-5","input":[{"role":"user","content":%q}]}`, true},
		{`{"model":"nobody-knows","messages":[{"role":"user","content":%q}]}`, false},
	} {
		for text, over := range map[string]bool{long: c.over, "short": false} {
			req, err := wire.Parse([]byte(fmt.Sprintf(c.body, text)), wire.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if _, got := findOverWindow(req); got != over {
				t.Errorf("%.60s with %d bytes: %v", c.body, len(text), got)
			}
		}
	}
}

// TestCompactMakesFullSessionsFit compacts sessions that are full for different reasons; a second
// run must change nothing.
func TestCompactMakesFullSessionsFit(t *testing.T) {
	for _, turns := range []int{0, 2, 5, 12} {
		for huge := range min(turns+1, 3) {
			name := filepath.Join(t.TempDir(), "s.jsonl")
			var lines strings.Builder
			n := 0
			line := func(kind, message string) {
				up := "null"
				if n > 0 {
					up = fmt.Sprintf(`"u%d"`, n)
				}
				n++
				fmt.Fprintf(&lines, `{"parentUuid":%s,"isSidechain":false,"sessionId":"s1","cwd":"/home/ada/shop","version":"2.1.325","type":%q,"message":%s,"uuid":"u%d","timestamp":"2026-03-01T10:00:%02d.000Z"}`+"\n", up, kind, message, n, n%60)
			}
			for i := range turns + 1 {
				said := "ok"
				if i == turns*huge/2 { // at the start, in the middle, at the end
					said = strings.Repeat("several words of a log. ", 45_000)
				}
				line("user", fmt.Sprintf(`{"role":"user","content":"Prompt %d"}`, i))
				line("assistant", fmt.Sprintf(`{"id":"msg_%d","role":"assistant","model":"claude-sonnet-4-5","content":[{"type":"tool_use","id":"toolu_%d","name":"Bash","input":{"command":"npm test"}}]}`, i, i))
				line("user", fmt.Sprintf(`{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_%d","content":%q}]}`, i, said))
				line("assistant", fmt.Sprintf(`{"id":"end_%d","role":"assistant","model":"claude-sonnet-4-5","content":[{"type":"text","text":"Done."}]}`, i))
			}
			old := time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)
			if err := errors.Join(os.WriteFile(name, []byte(lines.String()), 0o600), os.Chtimes(name, old, old)); err != nil {
				t.Fatal(err)
			}
			bytesOf := func() string { raw, _ := os.ReadFile(name); return string(raw) }
			if status, said := told(t, "compact", "--in-place", name); status != statusClean {
				t.Fatalf("%d turns, %d: %d %s", turns, huge, status, said)
			}
			once := bytesOf()
			if !strings.HasPrefix(once, lines.String()) {
				t.Errorf("%d turns, %d: lines of the session are others", turns, huge)
			}
			if status, said := told(t, "count", "--above", "50%", name); status != statusClean {
				t.Errorf("%d turns, %d: %s", turns, huge, said)
			}
			if _, said := told(t, "count", name); turns == 12 && huge < 2 && strings.Contains(said, "0 calls") { // the log was dropped long ago
				t.Errorf("%d turns, %d: the calls that were last are gone: %s", turns, huge, said)
			}
			if status, said := told(t, "check", name); status != statusClean {
				t.Errorf("%d turns, %d: %s", turns, huge, said)
			}
			if _, said := told(t, "compact", "--in-place", name); bytesOf() != once {
				t.Errorf("%d turns, %d: a second run changes more: %s", turns, huge, said)
			} else if told(t, "undo", "--force", name); bytesOf() != lines.String() {
				t.Errorf("%d turns, %d: undo gives other bytes", turns, huge)
			}
		}
	}
}
