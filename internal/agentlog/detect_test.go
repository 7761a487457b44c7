package agentlog

import (
	"errors"
	"strings"
	"testing"
)

// Lines of agents, for the tests of detection.
const (
	claudeSample  = `{"parentUuid":"c3","isSidechain":false,"sessionId":"s1","type":"user","message":{"role":"user","content":"go"},"uuid":"c4","timestamp":"2026-03-01T10:00:02.000Z"}` + "\n"
	qwenSample    = `{"uuid":"q1","parentUuid":null,"sessionId":"s1","timestamp":"2026-03-01T10:00:02.000Z","type":"user","cwd":"/app","version":"0.24.4","message":{"role":"user","parts":[{"text":"go"}]}}` + "\n"
	qwenCall      = `{"uuid":"q2","parentUuid":"q1","sessionId":"s1","timestamp":"2026-03-01T10:00:03.000Z","type":"assistant","cwd":"/app","model":"qwen3-coder","message":{"role":"model","parts":[{"functionCall":{"id":"c1","name":"ls","args":{}}}]}}` + "\n"
	codexSample   = `{"timestamp":"2026-03-01T10:00:01Z","type":"response_item","payload":{"type":"message","role":"user","content":[]}}` + "\n"
	piSample      = `{"type":"message","id":"a","parentId":null,"timestamp":"2026-03-01T10:00:01Z","message":{"role":"user","content":"go"}}` + "\n"
	copilotSample = `{"type":"user.message","data":{"content":"go"},"id":"e1","timestamp":"2026-03-01T10:00:01Z","parentId":null}` + "\n"
)

// TestDetectionUsesAllLines checks that foreign lines before or between the lines of a session do
// not hide its format.
func TestDetectionUsesAllLines(t *testing.T) {
	for name, c := range map[string]struct {
		raw  string
		want Format
	}{
		"a spoilt first line":     {`tent":"lost"}}` + "\n" + claudeSample, ClaudeCode},
		"a huge spoilt line":      {`{"content":"` + strings.Repeat("x", 1<<20) + "\n" + codexSample, Codex},
		"two comments, two lines": {"// by hand\n# mine\n" + piSample + piSample, Pi},
		"a hundred foreign lines": {strings.Repeat(`{"silly":"this"}`+"\n", 100) + claudeSample, ClaudeCode},
		"a foreign line between":  {piSample + claudeSample + claudeSample, ClaudeCode},
		"the other way round":     {claudeSample + piSample + piSample, Pi},
		"a bare item in front":    {`{"type":"function_call","call_id":"c1","name":"ls","arguments":"{}"}` + "\n" + piSample, Pi},
		"nothing that tells":      {`{"a":1}` + "\n" + `{"b":2}` + "\n", Auto},
		"a batch of requests":     {`{"messages":[]}` + "\n" + `{"messages":[]}` + "\n", Auto},
	} {
		if got, ok := Detect("x", []byte(c.raw)); got != c.want || ok != (c.want != Auto) {
			t.Errorf("%s: %v, %v, not %v", name, got, ok, c.want)
		}
	}
}

// TestUnreadableFormatsAreNamed checks that formats which resemble others are refused by name.
func TestUnreadableFormatsAreNamed(t *testing.T) {
	system := `{"uuid":"q0","parentUuid":null,"sessionId":"s1","timestamp":"2026-03-01T10:00:02.000Z","type":"system","subtype":"chat_compression"}` + "\n"
	cline := `{"version":1,"updated_at":"2026-03-01T10:00:00Z","agent":"lead","sessionId":"s1","origin":"cli","messages":[{"role":"user","content":[{"type":"text","text":"go"}]},{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"ls","input":{}}],"metrics":{}}]}`
	for name, c := range map[string]struct {
		raw  string
		want Format
	}{
		"qwen-code":             {qwenSample + qwenCall, QwenCode},
		"qwen-code, system":     {system + system + qwenCall, QwenCode},
		"qwen-code, only that":  {`"parts":[]}}` + "\n" + system, QwenCode},
		"qwen-code, one line":   {qwenCall, QwenCode},
		"qwen-code, a result":   {strings.Replace(qwenSample, `"type":"user"`, `"type":"tool_result"`, 1), QwenCode},
		"qwen-code, spoilt":     {`"parts":[]}}` + "\n" + qwenSample + `{"uuid":"q3","par`, QwenCode},
		"Cline 3":               {cline, Cline3},
		"Cline 3, on lines":     {strings.ReplaceAll(cline, ",", ",\n  "), Cline3},
		"GitHub Copilot CLI":    {copilotSample + copilotSample, Copilot},
		"Continue":              {`{"sessionId":"s1","title":"x","workspaceDirectory":"/app","history":[{"message":{"role":"user","content":"go"},"contextItems":[]}]}`, Continue},
		"Claude Code all along": {claudeSample + strings.ReplaceAll(claudeSample, `"user"`, `"assistant"`), ClaudeCode},
	} {
		got, ok := Detect("x", []byte(c.raw))
		if got != c.want || !ok {
			t.Errorf("%s: %v, %v, not %v", name, got, ok, c.want)
		}
		_, err := Read("x", []byte(c.raw), Options{})
		var unread *UnreadError
		switch {
		case got.Readable():
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		case !errors.As(err, &unread) || !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), got.Maker()):
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestSimilarFormatsAreDistinguished checks that unreadable formats are named and never read as
// requests, and that requests are never read as sessions.
func TestSimilarFormatsAreDistinguished(t *testing.T) {
	for name, c := range map[string]struct {
		raw  string
		want Format
	}{
		"Cline 3, no agent":        {`{"version":1,"updated_at":"2026-01-01T00:00:00Z","sessionId":"s","messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}]}`, Cline3},
		"Cline 3, nothing said":    {`{"version":1,"updated_at":"2026-01-01T00:00:00Z","sessionId":"s","agent":"lead","messages":[]}`, Cline3},
		"Continue, no context":     {`{"sessionId":"s","title":"t","history":[{"message":{"role":"user","content":"hi"}}]}`, Continue},
		"Continue, nothing said":   {`{"sessionId":"s","title":"t","workspaceDirectory":"/p","history":[]}`, Continue},
		"Copilot, other events":    {`{"type":"session.info","data":{},"id":"1","timestamp":"t"}` + "\n" + `{"type":"session.model_change","data":{},"id":"2","timestamp":"t"}` + "\n", Copilot},
		"a request":                {`{"model":"m","messages":[{"role":"user","content":"hi"}],"metadata":{"sessionId":"s","updated_at":"t"}}`, Auto},
		"a request with a session": {`{"model":"m","sessionId":"s","messages":[{"role":"user","content":"hi"}]}`, Auto},
	} {
		if got, _ := Detect("x", []byte(c.raw)); got != c.want {
			t.Errorf("%s: %v, not %v", name, got, c.want)
		}
	}
	for file, want := range map[string]string{
		"/home/ann/.local/share/opencode/opencode.db": "opencode", `C:\Users\ann\.crush\crush.db`: "Crush", "goose/sessions/sessions.db": "goose",
		".cline/data/sessions.db": "Cline", ".codex/state_5.sqlite": "Codex", "session-store.db": "Copilot",
	} {
		if is := Database(file); !strings.Contains(is, want) {
			t.Errorf("%s: %q", file, is)
		}
	}
	if is := Database("shop/sessions.db"); is != "" {
		t.Errorf("a database of somebody: %q", is)
	}
}

// TestFormatTable checks that each format has one entry that detects it.
func TestFormatTable(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range formatTable {
		if r.format.String() != r.name || r.maker == "" || seen[r.name] || r.format.Dialect() != r.dialect {
			t.Errorf("%s: %v, %q", r.name, r.format, r.maker)
		}
		seen[r.name] = true
	}
}
