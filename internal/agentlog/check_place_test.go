package agentlog

import (
	"bytes"
	"strings"
	"testing"

	"github.com/pare-llm/pare/wire"
)

// interrupted is a session in which the user continued before a call had a result.
const interrupted = `{"type":"user","uuid":"u1","parentUuid":null,"sessionId":"s","timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"user","content":"go"}}
{"type":"assistant","uuid":"u2","parentUuid":"u1","sessionId":"s","timestamp":"2026-01-01T00:00:01.000Z","message":{"id":"m1","role":"assistant","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{}}]}}
{"type":"user","uuid":"u3","parentUuid":"u2","sessionId":"s","timestamp":"2026-01-01T00:00:02.000Z","message":{"role":"user","content":"still there?"}}
`

// TestStubLeavesNextPrompt checks that the stub of a lost result is a separate line and that the
// next prompt changes only its parent.
func TestStubLeavesNextPrompt(t *testing.T) {
	l := mustRead(t, "x.jsonl", []byte(interrupted))
	fixed, err := l.Fix(Options{})
	if err != nil || len(fixed.Remaining) > 0 {
		t.Fatal(err, fixed)
	}
	was, now := strings.Split(interrupted, "\n"), strings.Split(string(fixed.Raw), "\n")
	if len(now) != len(was)+1 || now[0] != was[0] || now[1] != was[1] || !strings.Contains(now[2], `"tool_use_id":"t1"`) {
		t.Fatalf("%s", fixed.Raw)
	}
	_, message, _ := strings.Cut(was[2], `"message":`)
	if !strings.HasSuffix(now[3], message) {
		t.Errorf("the prompt was changed: %s", now[3])
	}
	verify(t, "x.jsonl", []byte(interrupted), fixed)
}

// TestFindingsHavePlaces checks the threads of findings and the lines of messages.
func TestFindingsHavePlaces(t *testing.T) {
	l := mustRead(t, "x.jsonl", []byte(interrupted))
	found := l.Check(wire.CheckOptions{})
	if len(found) != 1 || found[0].Of() != l.Threads[0] {
		t.Fatalf("%+v", found)
	}
	for i, want := range []int{1, 2, 3, 0} {
		if got := l.Line(l.Threads[0], i); got != want {
			t.Errorf("message %d is in line %d, not in %d", i, want, got)
		}
	}
}

// TestDetectListWithLines checks that a list or request whose items have a line each is not
// detected as a session.
func TestDetectListWithLines(t *testing.T) {
	items := `[
{"type":"message","role":"user","content":"hi"},
{"type":"function_call","call_id":"c1","name":"ls","arguments":"{}"},
{"type":"function_call_output","call_id":"c1","output":""}
]`
	for _, raw := range []string{items, `{"model":"gpt-5","input":` + items + `}`} {
		if f, ok := Detect("x.json", []byte(raw)); ok {
			t.Errorf("%s was taken for a session of %v", raw, f)
		}
		if _, err := Read("x.json", bytes.Clone([]byte(raw)), Options{}); err == nil {
			t.Error("it was read")
		}
	}
}
