package agentlog

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/pare-llm/pare/wire"
)

// TestNewLinesHavePromptID checks that new user lines have the promptId of their prompt if the
// agent writes one.
func TestNewLinesHavePromptID(t *testing.T) {
	prompted := func(line, id string) string {
		return strings.Replace(line, `"type":"user"`, `"promptId":"`+id+`","type":"user"`, 1)
	}
	old := func(line, _ string) string { return line }
	for name, c := range map[string]struct {
		write func(line, id string) string
		want  []string
	}{
		"newer": {prompted, []string{"p1", "p2"}},
		"older": {old, []string{"", ""}},
	} {
		raw := c.write(ccWrite("u1", "", 1, said("one")), "p1") +
			ccWrite("a1", "u1", 2, replied("m1", calling("c1"))) +
			ccWrite("a2", "a1", 3, replied("m2", textReply)) +
			c.write(ccWrite("u2", "a2", 4, said("two")), "p2") +
			ccWrite("a3", "u2", 5, replied("m3", calling("c2"))) +
			ccWrite("a4", "a3", 6, replied("m4", calling("c3"))) +
			c.write(ccWrite("r3", "a4", 7, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"c3","content":"x"}]}`), "p2")
		l, err := Read("s.jsonl", []byte(raw), Options{})
		if err != nil {
			t.Fatal(err)
		}
		fixed, err := l.Fix(Options{})
		if err != nil || len(fixed.Remaining) > 0 || len(fixed.Changes) == 0 {
			t.Fatalf("%s: %d changes, left %v, %v", name, len(fixed.Changes), fixed.Remaining, err)
		}
		stubs := 0
		for line := range strings.Lines(string(fixed.Raw)) {
			var o struct {
				UUID, PromptID string
				Message        struct{ Content json.RawMessage }
			}
			if err := json.Unmarshal([]byte(line), &o); err != nil {
				t.Fatal(err)
			}
			for i, id := range []string{"c1", "c2"} {
				if strings.Contains(string(o.Message.Content), `"tool_use_id":"`+id+`"`) {
					if stubs++; o.PromptID != c.want[i] {
						t.Errorf("%s: the stub for %s has promptId %q, want %q", name, id, o.PromptID, c.want[i])
					}
				}
			}
		}
		if stubs != 2 {
			t.Errorf("%s: %d stubs in %s", name, stubs, fixed.Raw)
		}
	}
}

// TestSeveralResultsInOneUnit checks that a repair of one result does not affect the other results
// of its event or message.
func TestSeveralResultsInOneUnit(t *testing.T) {
	event := func(id, author, parts string) string {
		role := map[string]string{"user": "user", "agent": "model", "tool": "user"}[author]
		return `{"id":"` + id + `","invocation_id":"i1","author":"` + author + `","content":{"role":"` + role + `","parts":[` + parts + `]},"timestamp":1}`
	}
	call := func(id string) string { return `{"function_call":{"id":"` + id + `","name":"f","args":{}}}` }
	answer := func(id, says string) string {
		return `{"function_response":{"id":"` + id + `","name":"f","response":{"output":"` + says + `"}}}`
	}
	adkFile := func(events ...string) string {
		return `{"app_name":"a","user_id":"u","id":"s","events":[` + strings.Join(events, ",") + `]}`
	}
	turn := func(id, role, content string) string {
		return `{"id":"` + id + `","role":"` + role + `","created":1,"content":[` + content + `]}`
	}
	request := func(id string) string {
		return `{"type":"toolRequest","id":"` + id + `","toolCall":{"status":"success","value":{"name":"f","arguments":{}}}}`
	}
	response := func(id, says string) string {
		return `{"type":"toolResponse","id":"` + id + `","toolResult":{"status":"success","value":[{"type":"text","text":"` + says + `"}]}}`
	}
	const head = `{"working_dir":"/x","description":"d","message_count":4}`
	gooseFile := func(lines ...string) string { return head + "\n" + strings.Join(lines, "\n") + "\n" }
	both := []string{"of c1", "stray words"}
	for _, c := range []struct {
		name, raw   string
		repair      wire.Repair
		keep, loses []string
	}{
		{"adk, a stray in front", adkFile(event("e1", "user", `{"text":"q"}`), event("e2", "agent", call("c1")), event("e3", "tool", answer("c9", "stray words")+","+answer("c1", "of c1")), event("e4", "agent", `{"text":"a"}`)), wire.Repair{}, both, nil},
		{"adk, a stray behind", adkFile(event("e1", "user", `{"text":"q"}`), event("e2", "agent", call("c1")), event("e3", "tool", answer("c1", "of c1")+","+answer("c9", "stray words")), event("e4", "agent", `{"text":"a"}`)), wire.Repair{}, both, nil},
		{"adk, two strays", adkFile(event("e1", "user", `{"text":"q"}`), event("e2", "agent", call("c1")), event("e3", "tool", answer("c8", "other words")+","+answer("c1", "of c1")+","+answer("c9", "stray words")), event("e4", "agent", `{"text":"a"}`)), wire.Repair{}, append([]string{"other words"}, both...), nil},
		{"adk, a stray goes", adkFile(event("e1", "user", `{"text":"q"}`), event("e2", "agent", call("c1")), event("e3", "tool", answer("c9", "stray words")+","+answer("c1", "of c1")), event("e4", "agent", `{"text":"a"}`)), wire.Repair{OrphanResult: wire.RemedyDrop}, both[:1], both[1:]},
		{"adk, answered twice", adkFile(event("e1", "user", `{"text":"q"}`), event("e2", "agent", call("c1")+","+call("c2")), event("e3", "tool", answer("c1", "of c1")+","+answer("c1", "stray words")+","+answer("c2", "of c2")), event("e4", "agent", `{"text":"a"}`)), wire.Repair{}, append([]string{"of c2"}, both...), nil},
		{"adk, only strays", adkFile(event("e1", "user", `{"text":"q"}`), event("e2", "agent", `{"text":"a"}`), event("e3", "tool", answer("c8", "other words")+","+answer("c9", "stray words")), event("e4", "agent", `{"text":"a"}`)), wire.Repair{}, []string{"other words", "stray words"}, nil},
		{"goose, a stray goes", gooseFile(turn("m1", "user", `{"type":"text","text":"q"}`), turn("m2", "assistant", request("c1")), turn("m3", "user", response("c9", "stray words")+","+response("c1", "of c1")), turn("m4", "assistant", `{"type":"text","text":"a"}`)), wire.Repair{OrphanResult: wire.RemedyDrop}, both[:1], both[1:]},
		{"goose, a stray", gooseFile(turn("m1", "user", `{"type":"text","text":"q"}`), turn("m2", "assistant", request("c1")), turn("m3", "user", response("c9", "stray words")+","+response("c1", "of c1")), turn("m4", "assistant", `{"type":"text","text":"a"}`)), wire.Repair{}, both, nil},
	} {
		l, err := Read("s.json", []byte(c.raw), Options{})
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		fixed, err := l.Fix(Options{Repair: c.repair})
		if err != nil || len(fixed.Remaining) > 0 || len(fixed.Changes) == 0 {
			t.Errorf("%s: %d changes, left %v, %v", c.name, len(fixed.Changes), fixed.Remaining, err)
			continue
		}
		for _, says := range c.keep {
			if strings.Count(string(fixed.Raw), says) != 1 {
				t.Errorf("%s: %q is there %d times in %s", c.name, says, strings.Count(string(fixed.Raw), says), fixed.Raw)
			}
		}
		for _, says := range c.loses {
			if strings.Contains(string(fixed.Raw), says) {
				t.Errorf("%s: %q is still there", c.name, says)
			}
		}
		if strings.Contains(string(fixed.Raw), "unknown") {
			t.Errorf("%s: a call that has its answer got a stub: %s", c.name, fixed.Raw)
		}
		ids := make(map[string]int)
		for _, part := range strings.Split(string(fixed.Raw), `{"id":"pare-`)[1:] {
			ids[part[:strings.IndexByte(part, '"')]]++
		}
		for id, n := range ids {
			if n > 1 {
				t.Errorf("%s: %d events have the id pare-%s", c.name, n, id)
			}
		}
		again, err := Read("s.json", fixed.Raw, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if second, err := again.Fix(Options{Repair: c.repair}); err != nil || len(second.Changes) > 0 {
			t.Errorf("%s: fixed again: %v, %v", c.name, second.Changes, err)
		}
	}
}

// TestUnreadableFiles checks that a file is unreadable if nothing in it can be read, and otherwise
// a session with faults.
func TestUnreadableFiles(t *testing.T) {
	for name, c := range map[string]struct {
		format Format
		raw    string
		none   bool
	}{
		"gemini-cli, torn":             {GeminiCLI, "{\n  \"sessionId\": \"s\",\n  \"messages\": [\n    {\n      \"id\": \"1\",\n", true},
		"gemini-cli, torn in a string": {GeminiCLI, "{\n \"sessionId\": \"s\",\n \"messages\": [{\"id\":\"1\",\"type\":\"user\",\"content\":\"hel", true},
		"gemini-cli, whole":            {GeminiCLI, `{"sessionId":"s","projectHash":"h","messages":[{"id":"1","type":"user","content":"hi"}]}`, false},
		"gemini-cli, lines, torn":      {GeminiCLI, `{"sessionId":"s","projectHash":"h"}` + "\n" + `{"id":"1","type":"user","content":"hi"}` + "\n" + `{"id":"2","ty`, false},
		"adk, torn":                    {ADK, `{"app_name":"a","id":"s","events":[{"id":"e1","invocation_id":"i","author":"user","content":{"par`, true},
		"cline, torn":                  {Cline, `[{"role":"user","content":[{"type":"text","te`, true},
		"cline, whole":                 {Cline, `[{"role":"user","content":[{"type":"text","text":"hi"}]}]`, false},
		"claude-code, torn":            {ClaudeCode, ccWrite("u1", "", 1, said("one")) + `{"parentUuid":"u1","ty`, false},
	} {
		l, err := Read("s.json", []byte(c.raw), Options{Format: c.format})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err := l.unreadableError(); (err != nil) != c.none {
			t.Errorf("%s: unreadable %v, want %v", name, err, c.none)
		}
	}
}
