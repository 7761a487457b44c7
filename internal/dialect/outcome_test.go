package dialect

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/pare-llm/pare/internal/wording"
	"github.com/pare-llm/pare/transcript"
)

func TestLooksFailed(t *testing.T) {
	for text, want := range map[string]bool{
		"Error: no such file": true, "error executing tool": true, "Traceback (most recent call last):\n": true, "fatal: not a git repository": true,
		`{"error":"x"}`: true, `{"error":null,"output":"x"}`: false, `{"error": null}`: false, `{"error": false, "n": 1}`: false, `{"error": ""}`: false, `{"error":{}}`: false,
		`{"error":{"code":1}}`: true, "Error: null pointer": true, "Error: none\n": false, "Failed: 0, passed: 12": false, "Failed: 3, passed: 9": true,
		"Exit code: 1\nWall time": true, "Exit code: 0\nok": false, "Error: 0 bytes read": true,
		"Command: ls\nExit Code: 2\n": true, "exit status 1": true, "exit status 0": false, "errors are fine": false, "The exit code: 1 means no": false,
		"0 errors": false, "": false, "failed to open": true, "ok": false, "Process exited with code 127": true,
	} {
		if got := looksFailed([]byte(strings.ToLower(text))); got != want {
			t.Errorf("%q: %t", text, got)
		}
	}
}

func TestOutcome(t *testing.T) {
	const unknown, succeeded, failed = transcript.OutcomeUnknown, transcript.OutcomeSucceeded, transcript.OutcomeFailed
	chat := func(content string) string {
		return `{"model":"gpt-5","messages":[{"role":"user","content":"go"},{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"shell","arguments":"{}"}}]},{"role":"tool","tool_call_id":"call_1","content":` + content + `}]}`
	}
	responses := func(output string) string {
		return `{"model":"gpt-5","input":[{"role":"user","content":"go"},{"type":"function_call","call_id":"call_1","name":"shell","arguments":"{}"},{"type":"function_call_output","call_id":"call_1","output":` + output + `}]}`
	}
	anthropic := func(result string) string {
		return `{"model":"claude-opus-4-6","max_tokens":9,"messages":[{"role":"user","content":"go"},{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"Bash","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1"` + result + `}]}]}`
	}
	bedrock := func(result string) string {
		return `{"modelId":"x","messages":[{"role":"user","content":[{"text":"go"}]},{"role":"assistant","content":[{"toolUse":{"toolUseId":"t1","name":"x","input":{}}}]},{"role":"user","content":[{"toolResult":{"toolUseId":"t1"` + result + `}}]}]}`
	}
	gemini := func(response string) string {
		return `{"contents":[{"role":"user","parts":[{"text":"go"}]},{"role":"model","parts":[{"functionCall":{"name":"x","args":{}}}]},{"role":"user","parts":[{"functionResponse":{"name":"x","response":` + response + `}}]}]}`
	}
	long := strings.Repeat(" and more", 100)
	for _, c := range []struct {
		body string
		want transcript.Outcome
	}{
		// No error is no failure, wherever and however it is written.
		{chat(`"{\"error\": null}"`), succeeded}, {chat(`"{\"error\":null,\"output\":\"x\"}"`), succeeded}, {responses(`"{\"error\": null}"`), succeeded},
		{anthropic(`,"content":"{\"error\": null}"`), succeeded}, {bedrock(`,"content":[{"json":{"error":null}}]`), succeeded}, {bedrock(`,"content":[{"text":"{\"error\": null}"}]`), succeeded},
		{gemini(`{"error":null}`), succeeded}, {gemini(`{"error":null,"output":"x"}`), succeeded}, {gemini(`{"error":"","output":"x"}`), succeeded}, {gemini(`{"error":false}`), succeeded},
		{gemini(`{"output":"{\"error\": null}"}`), succeeded},

		{chat(`"ok"`), succeeded}, {chat(`"Error: no"`), failed}, {chat(`"\u0045rror: no"`), failed}, {chat(`[{"type":"text","text":"Error: no"}]`), failed},
		{chat(`"{\"output\":\"x\",\"metadata\":{\"exit_code\":1,\"duration_seconds\":0.1}}"`), failed},
		{chat(`"{\"output\":\"x\",\"metadata\":{\"exit_code\":0,\"duration_seconds\":0.1}}"`), succeeded},
		{chat(`null`), succeeded}, {chat(`[]`), succeeded}, {chat(`[{"type":"image_url","image_url":{"url":"u"}}]`), succeeded}, {responses(`"Error: no"`), failed},
		{anthropic(`,"content":"Error: no"`), unknown}, {anthropic(`,"content":"no","is_error":true`), failed}, {anthropic(`,"content":[{"type":"text","text":"fine"}]`), succeeded}, {anthropic(``), succeeded},
		{bedrock(`,"content":[{"text":"no"}],"status":"error"`), failed}, {bedrock(`,"content":[{"text":"Error: no"}]`), unknown}, {bedrock(`,"content":[{"text":"fine"}]`), succeeded},
		{gemini(`{"output":"fine"}`), succeeded}, {gemini(`{"error":"no"}`), failed}, {gemini(`{"output":"Error: no"}`), failed}, {gemini(`{}`), succeeded}, {gemini(`{"stdout":"x"}`), succeeded},

		// What was made up or taken away proves nothing, marked or not.
		{chat(`"` + wording.Stub + `"`), unknown}, {chat(`"[pare: result of Read]"`), unknown}, {chat(`"[Old tool result content cleared]"`), unknown}, {chat(`"aborted"`), unknown},
		{anthropic(`,"content":"` + wording.Stub + `","is_error":true`), unknown}, {anthropic(`,"content":"[Request interrupted by user for tool use]","is_error":true`), unknown},
		{chat(`"Aborted (core dumped)"`), succeeded},
		{chat(`"` + wording.Stub + long + `"`), unknown}, {anthropic(`,"content":"` + wording.Stub + long + `"`), unknown}, // however much was joined to it
		{anthropic(`,"content":"` + wording.Stub + long + `","is_error":true`), unknown}, {gemini(`{"output":"` + wording.Stub + long + `"}`), unknown},
		{chat(`"aborted` + long + `"`), succeeded},
	} {
		r, err := Parse([]byte(c.body), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Outcome(r.t.Exchanges()[0].Results[0]); got != c.want {
			t.Errorf("%s: got %s, want %s", c.body, got, c.want)
		}
	}
}

// What is not looked at would have been found to be fine: heads are put together at random
// from what failures, placeholders and harmless texts begin with.
func TestHarmless(t *testing.T) {
	pieces := []string{
		" ", "  ", `\n`, `\t`, `\r`, `\f`, `\"`, `\\`, `\u0065`, `\u0020`, "{", "[", "<", "(", "}", ":", "a", "e", "o", "1", "\u00a0", "é", "the ", "note", "exit code: 1", "Exit status 2", "eXit code 3",
		"error", "Error: ", "output", "metadata", "[pare: ", "[Old tool result content cleared]", "[[NOTE] ", "in ", "reads a file", "TypeError: x", `error\n`, `"`, wording.Stub,
	}
	pieces = append(append(pieces, failedHeads...), exitLines...)
	rng := rand.New(rand.NewPCG(1, 2))
	spared := 0
	for range 50_000 {
		raw := ""
		for range rng.IntN(6) {
			raw += pieces[rng.IntN(len(pieces))]
		}
		raw += strings.Repeat("a line of text. ", 30)
		if !innocent([]byte(raw)) {
			continue
		}
		spared++
		if got := judge([]byte(raw), false, false); got != transcript.OutcomeSucceeded {
			t.Fatalf("%.80q is not looked at, but it is %v", raw, got)
		}
	}
	if spared < 1000 {
		t.Errorf("only %d were spared", spared)
	}
	for _, head := range []string{`  {\"name\": 1`, `\t\tif err`, `{\"id\": 1, `, `[\n  {\"a\": 1}`, "the request reads a file and returns its first lines, ", "returns its lines; all of them are there, and more"} {
		if !harmless([]byte(head + strings.Repeat("a line of text. ", 30))) {
			t.Errorf("%q is looked at", head)
		}
	}
}

func TestPersonSpeaks(t *testing.T) {
	long := strings.Repeat("x", 5000)
	for text, want := range map[string]bool{
		"The user said: stop": true, "<feedback>no</feedback>": true, "USER REJECTED this": true, "users table": false, "": false,
		long + "the user said no": true, long + "the user said no" + long: false,
	} {
		if got := PersonSpeaks([]byte(text)); got != want {
			t.Errorf("%.40q: %t", text, got)
		}
	}
}

// FuzzOutcome: whatever a tool wrote, nobody panics.
func FuzzOutcome(f *testing.F) {
	for _, s := range []string{`{"error":null}`, `[{"text":"\u0045rror`, `{`, `\`, `\u00`, "", `[[[`, `{"error"`, `{"err\u006fr":"x"}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		raw := []byte(text)
		firstText(raw)
		looksFailed(appendHead(nil, raw))
		harmless(raw)
		exitCode(raw)
		PersonSpeaks(raw)
	})
}

func TestSaysUser(t *testing.T) {
	for text, want := range map[string]bool{"": false, "us": false, "use": false, "user": true, "because User": true, "the USER": true, "usus r": false, "ususer": true, "usex": false} {
		if saysUser([]byte(text)) != want {
			t.Errorf("%q says user: %v", text, !want)
		}
	}
}
