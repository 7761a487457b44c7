package agentlog

import (
	"strings"
	"testing"

	"github.com/pare-llm/pare/wire"
)

// TestTornLineIsOneLine checks that a line torn directly after an inner object is a single broken
// line. The agent does not read the inner object, so Pare does not either.
func TestTornLineIsOneLine(t *testing.T) {
	codex := func(payload string) string {
		return `{"timestamp":"2026-01-01T00:00:00.000Z","type":"response_item","payload":` + payload + "}\n"
	}
	head := map[string]string{
		"codex":  `{"timestamp":"2026-01-01T00:00:00.000Z","type":"session_meta","payload":{"id":"x"}}` + "\n" + codex(`{"type":"message","role":"user","content":[{"type":"input_text","text":"one"}]}`) + codex(`{"type":"function_call","name":"f","arguments":"{}","call_id":"c1"}`),
		"goose":  `{"working_dir":"/p","description":"","message_count":2}` + "\n" + `{"id":"m1","role":"user","created":1,"content":[{"type":"text","text":"one"}],"metadata":{"agentVisible":true}}` + "\n",
		"pi":     `{"type":"session","version":3,"id":"s","timestamp":"t","cwd":"/p"}` + "\n" + `{"type":"message","id":"1","parentId":null,"timestamp":"t","message":{"role":"user","content":"one"}}` + "\n",
		"gemini": `{"sessionId":"s","projectHash":"h","startTime":"t"}` + "\n" + `{"id":"1","timestamp":"t","type":"user","content":"one"}` + "\n" + `{"id":"2","timestamp":"t","type":"gemini","content":"two"}` + "\n",
		"claude": ccWrite("u1", "", 1, said("one")) + ccWrite("a1", "u1", 2, replied("m1", textReply)),
	}
	for name, torn := range map[string]string{
		"codex":  `{"timestamp":"2026-01-01T00:00:00.000Z","type":"response_item","payload":{"type":"function_call_output","call_id":"c1","output":"said"}`,
		"goose":  `{"id":"m2","role":"user","created":2,"content":[{"id":"c1","type":"toolResponse","toolResult":{"status":"success","value":[]}}`,
		"pi":     `{"type":"message","id":"2","parentId":"1","timestamp":"t","message":{"role":"assistant","content":[{"type":"toolCall","id":"c1","name":"f","arguments":{}}`,
		"gemini": `{"$set":{"messages":[{"id":"1","timestamp":"t","type":"user","content":"one"},{"id":"2","timestamp":"t","type":"gemini","content":"said"}`,
		"claude": `{"parentUuid":"a1","sessionId":"s1","type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":[{"type":"text","text":"x"}`,
	} {
		for _, end := range []string{"", "\n"} {
			raw := head[name] + torn + end
			l := mustRead(t, name+".jsonl", []byte(raw))
			found := l.Check(wire.CheckOptions{})
			if count(found, "joined-lines") > 0 || count(found, "broken-line")+count(found, "truncated-line") != 1 {
				t.Errorf("%s: %+v", name, found)
			}
			fixed, err := l.Fix(Options{})
			if err != nil || !strings.HasPrefix(string(fixed.Raw)+"\n", head[name]) || !strings.Contains(string(fixed.Raw), "\n"+torn) {
				t.Errorf("%s: %v\n%s", name, err, fixed.Raw)
			}
			if name == "codex" && !strings.Contains(string(fixed.Raw), `"call_id":"c1","output":"The outcome`) {
				t.Errorf("the call has no answer that Codex reads:\n%s", fixed.Raw)
			}
		}
	}
	// A line in the place of a missing value is still a line.
	raw := head["pi"] + `{"type":"message","id":"2","parentId":"1","timestamp":"t","message":` + `{"type":"message","id":"3","parentId":"2","timestamp":"t","message":{"role":"user","content":"two"}}` + "\n"
	if found := mustRead(t, "pi.jsonl", []byte(raw)).Check(wire.CheckOptions{}); count(found, "joined-lines") != 1 {
		t.Errorf("%+v", found)
	}
}
