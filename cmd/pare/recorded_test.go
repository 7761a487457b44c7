package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pare-llm/pare/internal/agentlog"
)

func ccSession(parts, turns int) string {
	var b strings.Builder
	at, parent, n := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), "null", 0
	line := func(kind, more string) {
		n++
		at = at.Add(5 * time.Minute)
		fmt.Fprintf(&b, `{"parentUuid":%s,"isSidechain":false,"sessionId":"s","type":%q,%s,"uuid":"u%d","timestamp":%q}`+"\n", parent, kind, more, n, at.Format(time.RFC3339))
		parent = fmt.Sprintf(`"u%d"`, n)
	}
	for p := range parts {
		if p > 0 {
			parent = "null"
			line("system", `"subtype":"compact_boundary","content":"Conversation compacted"`)
		}
		for i := range turns {
			line("user", fmt.Sprintf(`"message":{"role":"user","content":"question %d of part %d"}`, i, p))
			line("assistant", fmt.Sprintf(`"message":{"id":"m%d","role":"assistant","model":"claude-opus-4-6","content":[{"type":"text","text":"answer"}],"usage":{"input_tokens":3,"cache_read_input_tokens":30000,"cache_creation_input_tokens":5000,"cache_creation":{"ephemeral_1h_input_tokens":%d}}}`, n, 5000*(p%2)))
		}
	}
	return b.String()
}

func TestSessionsAreSplitAtCompactions(t *testing.T) {
	for parts := 1; parts <= 4; parts++ {
		l, err := agentlog.Read("s.jsonl", []byte(ccSession(parts, 3)), agentlog.Options{})
		if err != nil {
			t.Fatal(err)
		}
		all, err := splitSession(l)
		if err != nil {
			t.Fatal(err)
		}
		if len(all) != parts {
			t.Fatalf("%d parts are %d", parts, len(all))
		}
		for p, part := range all {
			ms := part.request.Transcript().Messages()
			if len(ms) != 6 || !strings.Contains(string(part.request.Raw()), fmt.Sprintf("question 0 of part %d", p)) {
				t.Errorf("part %d of %d: %d messages: %s", p, parts, len(ms), part.request.Raw())
			}
			for i := range ms {
				if i > 0 && part.Times[i].Sub(part.Times[i-1]) != 5*time.Minute {
					t.Errorf("part %d, message %d: %v", p, i, part.Times[i])
				}
				if bill := part.Bills[i]; (bill.Read == 30000 && bill.Written == 5000 && bill.Hour == 5000*(p%2)) != (i%2 == 1) {
					t.Errorf("part %d, message %d: %+v", p, i, bill)
				}
			}
		}
	}
}

func TestReplayUsesRecordedBills(t *testing.T) {
	file := filepath.Join(t.TempDir(), "s.jsonl")
	if err := os.WriteFile(file, []byte(ccSession(3, 4)), 0o600); err != nil {
		t.Fatal(err)
	}
	status, out, stderr := program(nil, "replay", "--cache-life", "5m", "--json", file)
	if status != statusClean {
		t.Fatal(status, stderr)
	}
	if n := strings.Count(out, `"histories":1,"requests":4,`); n != 3 {
		t.Errorf("%d parts: %s", n, out)
	}
	if strings.Count(out, `"cold":3`) != 3 || strings.Contains(out, `"beside":0`) {
		t.Error(out)
	}
}
