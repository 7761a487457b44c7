package dialect_test

import (
	"strings"
	"testing"

	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/internal/wording"
)

// Two messages with one id: the id goes, the text stays. A call id that an earlier call of
// its kind has used: the later pair is renamed. An output answers a call of its own kind.
// A pair that goes by the id of its item is renamed, too.
func TestDefectP22IDsUsedAgain(t *testing.T) {
	body := func(items string) string {
		return `{"model":"gpt-5","input":[{"role":"user","content":"q"},` + items + `,{"role":"user","content":"n"}]}`
	}
	said := func(id, text string) string {
		return `{"type":"message","id":"` + id + `","role":"assistant","content":[{"type":"output_text","text":"` + text + `"}]}`
	}
	call := func(kind, id string) string {
		switch kind {
		case "local_shell":
			return `{"type":"local_shell_call","call_id":"` + id + `","status":"completed","action":{"type":"exec","command":["ls"],"env":{}}}`
		case "custom_tool":
			return `{"type":"custom_tool_call","call_id":"` + id + `","name":"p","input":"x"}`
		}
		return `{"type":"function_call","call_id":"` + id + `","name":"f","arguments":"{}"}`
	}
	out := func(kind, id, text string) string {
		return `{"type":"` + kind + `_call_output","call_id":"` + id + `","output":"` + text + `"}`
	}
	// An approval is asked for under the id of the item itself.
	asked := func(id string) string {
		return `{"type":"mcp_approval_request","id":"` + id + `","name":"drop","server_label":"db","arguments":"{}"}`
	}
	allowed := func(id string) string {
		return `{"type":"mcp_approval_response","approval_request_id":"` + id + `","approve":true}`
	}
	for _, d := range []defect{
		{name: "an approval under the id of a message", body: body(said("msg_1", "one") + "," + asked("msg_1") + "," + allowed("msg_1")), found: []string{"duplicate-item-id"},
			keeps: []string{said("msg_1", "one"), `{"type":"mcp_approval_request","id":"msg_1_`, `{"type":"mcp_approval_response","approval_request_id":"msg_1_`}},
		{name: "an approval behind lost reasoning", body: body(`{"type":"reasoning","id":"x","summary":[]},` + asked("mcpr_1") + "," + allowed("mcpr_1")), found: []string{"item-id-format"},
			keeps: []string{`{"type":"mcp_approval_request","id":"mcpr_1_`, `{"type":"mcp_approval_response","approval_request_id":"mcpr_1_`}},
		{name: "two messages", body: body(said("msg_1", "one") + "," + said("msg_1", "two")), found: []string{"duplicate-item-id"},
			keeps: []string{said("msg_1", "one"), `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"two"}]}`}},
		{name: "the same message", body: body(said("msg_1", "one") + "," + said("msg_1", "one")), found: []string{"duplicate-item-id"},
			keeps: []string{said("msg_1", "one") + `,{"type":"message","role":"assistant","content":[{"type":"output_text","text":"one"}]}`}},
		{name: "three, one of the user", body: body(said("msg_1", "one") + `,{"role":"user","id":"msg_1","content":"two"},` + said("msg_1", "three")), found: []string{"duplicate-item-id", "duplicate-item-id"},
			keeps: []string{`{"role":"user","content":"two"}`, `"three"`}},
		{name: "a message and a call", body: body(said("msg_1", "one") + `,{"type":"shell_call","id":"msg_1","call_id":"a","action":{"commands":["ls"]}},{"type":"shell_call_output","call_id":"a","output":[]}`), found: []string{"duplicate-item-id"},
			keeps: []string{said("msg_1", "one"), `{"type":"shell_call","call_id":"a"`}},
		{name: "two ids", body: body(said("msg_1", "one") + "," + said("msg_2", "two"))},
		{name: "an id that ends in _", body: body(said("msg_", "one")), found: []string{"item-id-format"}, keeps: []string{`"text":"one"`}, loses: []string{`"id":"msg_"`}},
		{name: "used again", body: body(call("", "a") + "," + out("function", "a", "r1") + "," + call("", "a") + "," + out("function", "a", "r2")), found: []string{"duplicate-call-id"},
			keeps: []string{`"call_id":"a","output":"r1"`, `"r2"`}, loses: []string{`"call_id":"a","output":"r2"`}},
		{name: "used again, custom", body: body(call("custom_tool", "a") + "," + out("custom_tool", "a", "r1") + "," + said("msg_1", "one") + "," + call("custom_tool", "a") + "," + out("custom_tool", "a", "r2")), found: []string{"duplicate-call-id"},
			keeps: []string{`"call_id":"a","output":"r1"`, `"r2"`}, loses: []string{`"call_id":"a","output":"r2"`}},
		{name: "by another kind", body: body(call("", "a") + "," + out("function", "a", "r1") + "," + call("custom_tool", "a") + "," + out("custom_tool", "a", "r2"))},
		{name: "a function answers a shell", body: body(call("local_shell", "a") + "," + out("function", "a", "r1"))},
		{name: "a function and a shell", body: body(call("", "a") + "," + call("local_shell", "a") + "," + out("function", "a", "r1") + "," + out("function", "a", "r2"))},
		{name: "a function and a shell in turn", body: body(call("", "a") + "," + out("function", "a", "r1") + "," + call("local_shell", "a") + "," + out("function", "a", "r2"))},
		{name: "a shell answers a function", body: body(call("", "a") + "," + out("local_shell", "a", "r1")), found: []string{"orphan-call", "orphan-result"}, keeps: []string{"r1", `"type":"function_call_output"`}},
		{name: "two answers to a shell", body: body(call("local_shell", "a") + "," + out("function", "a", "r1") + "," + out("function", "a", "r2")), found: []string{"duplicate-result"}, keeps: []string{"r1", "r2"}},
	} {
		d.as = dialect.OpenAIResponses
		d.run(t)
	}
}

// A refusal is content, whatever stands in the place of the other content, also where what
// is valid everywhere is asked for.
func TestDefectP9Refusals(t *testing.T) {
	for _, content := range []string{`"content":null,`, `"content":"",`, `"content":[],`, ``, `"content":[ ],`, `"c\u006fntent":[],`} {
		for _, refusal := range []string{`"refusal":"I will not"`, `"refu\u0073al":"I will not"`} {
			for _, prof := range []string{"", "xai", "deepseek", "mistral", "moonshot", "groq"} {
				body := `{"model":"gpt-5","messages":[{"role":"user","content":"q"},{"role":"assistant",` + content + refusal + `},{"role":"user","content":"on"}]}`
				r, err := dialect.Parse([]byte(body), dialect.Options{Dialect: dialect.OpenAIChat, Profile: prof})
				if err != nil {
					t.Fatal(err)
				}
				for _, strict := range []bool{false, true} {
					m, err := dialect.RepairRequest(r, dialect.Repair{}, dialect.CheckOptions{Strict: strict})
					if err != nil || !strings.Contains(string(m.Request.Raw()), "I will not") {
						t.Errorf("%s %s, strict %v: %s, %v", prof, body, strict, m.Request.Raw(), err)
					}
				}
			}
		}
	}
}

// Results of one call that are joined have failed if one of them has.
func TestDefectP6JoinedFailure(t *testing.T) {
	anthropic := func(results string) string {
		return `{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]},{"role":"user","content":[` + results + `]}]}`
	}
	one := func(content, mark string) string {
		return `{"type":"tool_result","tool_use_id":"a"` + content + mark + `}`
	}
	failed, fine := `,"is_error":true`, `,"is_error":false`
	for name, c := range map[string]struct {
		body  string
		marks string
		none  bool
	}{
		"the second":             {body: anthropic(one(`,"content":"r1"`, "") + "," + one(`,"content":"r2"`, failed)), marks: `"is_error":true`},
		"the second, and a mark": {body: anthropic(one(`,"content":"r1"`, fine) + "," + one(`,"content":"r2"`, failed)), marks: `"is_error":true`},
		"the first":              {body: anthropic(one(`,"content":"r1"`, failed) + "," + one(`,"content":"r2"`, "")), marks: `"is_error":true`},
		"the third":              {body: anthropic(one(`,"content":"r1"`, "") + "," + one(`,"content":"r2"`, fine) + "," + one(`,"content":[{"type":"text","text":"r3"}]`, failed)), marks: `"is_error":true`},
		"the first is empty":     {body: anthropic(one(``, "") + "," + one(`,"content":"r1"`, "") + "," + one(`,"content":"r2"`, failed)), marks: `"is_error":true`},
		"none":                   {body: anthropic(one(`,"content":"r1"`, fine) + "," + one(`,"content":"r2"`, "")), marks: `"is_error":true`, none: true},
		"bedrock": {body: `{"toolConfig":{"tools":[{"toolSpec":{"name":"f","inputSchema":{"json":{}}}}]},"messages":[{"role":"user","content":[{"text":"q"}]},{"role":"assistant","content":[{"toolUse":{"toolUseId":"a","name":"f","input":{}}}]},{"role":"user","content":[{"toolResult":{"toolUseId":"a","content":[{"text":"r1"}]}},{"toolResult":{"toolUseId":"a","content":[{"text":"r2"}],"status":"error"}}]}]}`,
			marks: `"status":"error"`},
	} {
		m := repaired(t, c.body, dialect.Options{})
		out := string(m.Request.Raw())
		if strings.Contains(out, c.marks) == c.none || len(m.Left) > 0 || !strings.Contains(out, "r2") || !strings.Contains(out, "r1") {
			t.Errorf("%s: %s, left %v", name, out, m.Left)
		}
	}
}

// Where results may not share a turn with words, a stub gets a turn of its own: the user's
// message keeps its bytes, and no receipt names a fault that the input does not have.
func TestDefectP27StubApart(t *testing.T) {
	gemini := func(user string) string {
		return `{"contents":[{"role":"user","parts":[{"text":"q"}]},{"role":"model","parts":[{"functionCall":{"id":"a","name":"f","args":{}},"thoughtSignature":"c2ln"}]},` + user + `]}`
	}
	bedrock := func(user string) string {
		return `{"toolConfig":{"tools":[{"toolSpec":{"name":"f","inputSchema":{"json":{}}}}]},"messages":[{"role":"user","content":[{"text":"q"}]},{"role":"assistant","content":[{"toolUse":{"toolUseId":"a1234567x","name":"f","input":{}}},{"toolUse":{"toolUseId":"b1234567x","name":"f","input":{}}}]},` + user + `]}`
	}
	for _, c := range []struct {
		name, model string
		as          dialect.Dialect
		body        func(string) string
		user        string
		beside      bool // the stub may stand in the user's message
	}{
		{"gemini 3", "gemini-3-pro", dialect.Gemini, gemini, `{"role":"user","parts":[{"text":"stop, use port 9090"}]}`, false},
		{"gemini 3, spaces", "gemini-3-flash", dialect.Gemini, gemini, `{ "role": "user", "parts": [ {"text":"stop"}, {"inlineData":{"mimeType":"image/png","data":"aGk="}} ] }`, false},
		{"gemini 2.5", "gemini-2.5-pro", dialect.Gemini, gemini, `{"role":"user","parts":[{"text":"stop"}]}`, true},
		{"llama", "meta.llama3-70b", dialect.Bedrock, bedrock, `{"role":"user","content":[{"text":"stop, use port 9090"}]}`, false},
		{"mistral", "mistral.mistral-large", dialect.Bedrock, bedrock, `{"role":"user","content":[{"text":"stop"},{"text":"now"}]}`, false},
		{"writer", "writer.palmyra-x5", dialect.Bedrock, bedrock, `{"role":"user", "content":[{"text":"stop"}]}`, false},
		{"nova", "amazon.nova-pro-v1:0", dialect.Bedrock, bedrock, `{"role":"user","content":[{"text":"stop"}]}`, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := repaired(t, c.body(c.user), dialect.Options{Dialect: c.as, Model: c.model})
			out := string(m.Request.Raw())
			if len(m.Left) > 0 || !strings.Contains(out, wording.Stub) || strings.Contains(out, c.user) == c.beside {
				t.Errorf("left %v: %s", m.Left, out)
			}
			for _, change := range m.Changes {
				if change.Rule != "orphan-call" || change.Action != "insert" {
					t.Errorf("%+v", change)
				}
			}
			again, err := dialect.RepairRequest(m.Request, dialect.Repair{}, dialect.CheckOptions{})
			if err != nil || len(again.Changes) > 0 {
				t.Errorf("a second repair changes again: %v, %v", again.Changes, err)
			}
		})
	}
}

// repaired is a body that was repaired as it is by default.
func repaired(t *testing.T, body string, o dialect.Options) *dialect.RepairedRequest {
	t.Helper()
	r, err := dialect.Parse([]byte(body), o)
	if err != nil {
		t.Fatal(err)
	}
	m, err := dialect.RepairRequest(r, dialect.Repair{}, dialect.CheckOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestMessageWithoutContent: the Responses API wants content of every message. A message without it
// goes, unless it says something elsewhere, or need not be one.
func TestMessageWithoutContent(t *testing.T) {
	body := func(item string) string {
		return `{"model":"gpt-5","input":[{"role":"user","content":"q"},` + item + `,{"role":"user","content":"n"}]}`
	}
	for _, d := range []defect{
		{name: "none", body: body(`{"role":"assistant"}`), found: []string{"null-content"}, loses: []string{"assistant"}},
		{name: "null", body: body(`{"type":"message","id":"msg_1","role":"user","content":null}`), found: []string{"null-content"}, loses: []string{"msg_1"}},
		{name: "with its reasoning", body: body(`{"type":"reasoning","id":"rs_1","summary":[]},{"type":"message","role":"assistant"}`), found: []string{"null-content"}, loses: []string{"rs_1"}},
		{name: "empty", body: body(`{"role":"user","content":""},{"role":"assistant","content":[]}`)},
		{name: "calls", body: body(`{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]}`),
			found: []string{"unknown-field", "null-content"}, left: []string{"unknown-field", "null-content"}, keeps: []string{`"id":"c"`}},
		{name: "a call of no type", body: body(`{"type":[],"call_id":"c","name":"f","arguments":"{}"}`), found: []string{"wrong-type", "field-missing"}, left: []string{"wrong-type", "field-missing"}, keeps: []string{`"call_id":"c"`}},
		{name: "a result of two types", body: body(`{"type":"function_call_output","call_id":"c","output":"o","type":"null"}`), found: []string{"duplicate-key"}, left: []string{"duplicate-key"}, keeps: []string{`"output":"o"`}},
		{name: "words elsewhere", body: body(`{"role":"user","text":"words"}`), found: []string{"null-content"}, left: []string{"null-content"}, keeps: []string{"words"}},
		{name: "no message", body: body(`{"call_id":"c","output":"o"}`), found: []string{"field-missing"}, left: []string{"field-missing"}, keeps: []string{`"output":"o"`}},
		{name: "elsewhere", body: strings.Replace(body(`{"role":"assistant"}`), "gpt-5", "deepseek-chat", 1)},
	} {
		d.as = dialect.OpenAIResponses
		d.run(t)
	}
}

// TestPartsOfTheModel: only the assistant speaks in output_text and refusals; who else does so has
// said it in input_text, and a tool has put it out so.
func TestPartsOfTheModel(t *testing.T) {
	const output, refusal, input = `{"type":"output_text","text":"a\u0062c","annotations":[]}`, `{"refusal":"a\u0062c","type":"refusal"}`, `{"type":"input_text","text":"a\u0062c"}`
	escaped := strings.NewReplacer(`"type":"output_text"`, `"type":"output\u005ftext"`, `"type":"refusal"`, `"type":"refus\u0061l"`)
	for _, part := range []string{output, refusal} {
		said := func(by string) string {
			return `{"model":"gpt-5","input":[{"role":` + by + `,"content":[{"type":"input_image","image_url":"u"},` + part + `]},{"role":"user","content":"n"}]}`
		}
		found := []string{"content-type"}
		for _, d := range []defect{
			{name: "user", body: said(`"user"`), found: found, keeps: []string{input}, loses: []string{part}},
			{name: "developer", body: said(`"developer"`), found: found, keeps: []string{input}, loses: []string{part}},
			{name: "elsewhere", prof: "other", body: said(`"user"`)},
			{name: "an escaped type", body: escaped.Replace(said(`"user"`)), found: found, keeps: []string{input}},
			{name: "output", body: `{"model":"gpt-5","input":[{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":[{"type":"input_text","text":"x"},` + part + `]}]}`,
				found: found, keeps: []string{`{"type":"input_text","text":"x"},` + input}, loses: []string{part}},
			{name: "assistant", body: `{"model":"gpt-5","input":[{"role":"assistant","content":[` + part + `]},{"role":"user","content":"n"}]}`},
		} {
			d.as = dialect.OpenAIResponses
			d.run(t)
		}
	}
}
