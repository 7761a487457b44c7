package dialect

import (
	"slices"
	"strings"
	"testing"
)

// TestDetectByTheMessages: what stands beside the messages may be somebody's own. What they
// show themselves decides, in whatever order the members come.
func TestDetectByTheMessages(t *testing.T) {
	const (
		chat      = `"messages":[{"role":"user","content":"a"},{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"r","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":"x"}]`
		led       = `"messages":[{"role":"system","content":"s"},{"role":"user","content":"a"},{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"r","arguments":"{}"}}]}]`
		blocks    = `"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"r","input":{}}]}]`
		columns   = `"messages":[{"role":"user","content":"a","tool_calls":null},{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"r","input":{}}],"tool_calls":null}]`
		plain     = `"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"}]`
		hollow    = `"messages":[{"role":"user","content":"a","tool_calls":[]},{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"r","input":{}}],"tool_calls":[],"reasoning_content":"t","refusal":""}]`
		nulls     = `"messages":[{"role":"assistant","content":"b","refusal":null}]`
		own       = `"messages":[{"role":"user","content":"a","summary":"s","call_id":7,"encrypted_content":"e"}]`
		items     = `"input":[{"type":"message","role":"user","content":"a"},{"type":"function_call","call_id":"c","name":"r","arguments":"{}"}]`
		contents  = `"contents":[{"role":"user","parts":[{"text":"a"}]}]`
		first     = `"messages":[{"role":"system","content":"s"},{"role":"user","content":"a"}]`
		later     = `"messages":[{"role":"user","content":"a"},{"role":"system","content":"s"}]`
		mixed     = `"messages":[{"role":"system","content":"s"},{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"r","input":{}}]}]`
		system    = `"system":"s"`
		bedrocks  = `"system":[{"text":"s"}]`
		functions = `"tools":[{"type":"function","function":{"name":"r"}}]`
		schemas   = `"tools":[{"name":"r","input_schema":{}}]`
	)
	for _, c := range []struct {
		want    Dialect
		members []string
	}{
		{OpenAIChat, []string{system, chat}},
		{OpenAIChat, []string{system, led}},
		{OpenAIChat, []string{bedrocks, chat}},
		{OpenAIChat, []string{schemas, led}},
		{OpenAIChat, []string{`"stop_sequences":["x"]`, system, chat, `"id":1`}},
		{OpenAIChat, []string{`"modelId":"m"`, `"inferenceConfig":{}`, led}},
		{OpenAIChat, []string{`"generationConfig":{}`, plain}},
		{OpenAIChat, []string{`"system":null`, `"stop_sequences":null`, plain}},
		{OpenAIChat, []string{own, `"id":1`}},
		{OpenAIChat, []string{nulls, `"model":"claude-opus-4-6"`}},
		{Anthropic, []string{functions, blocks}},
		{Anthropic, []string{`"id":1`, columns}},
		{Anthropic, []string{`"id":1`, hollow}},
		{Anthropic, []string{system, plain}},
		{Anthropic, []string{schemas, plain}},
		{Bedrock, []string{bedrocks, plain}},
		{Anthropic, []string{system, first}},
		{Anthropic, []string{system, later}},
		{Anthropic, []string{`"stop_sequences":["x"]`, first, `"id":1`}},
		{Anthropic, []string{schemas, later, `"model":"m"`}},
		{Anthropic, []string{system, mixed}},
		{Anthropic, []string{functions, mixed}},
		{Bedrock, []string{bedrocks, first}},
		{Bedrock, []string{`"modelId":"m"`, later}},
		{OpenAIChat, []string{functions, first}},
		{OpenAIChat, []string{functions, later}},
		{OpenAIChat, []string{first, `"model":"claude-opus-5"`}},
		{OpenAIChat, []string{later, `"model":"claude-opus-5"`}},
		{OpenAIChat, []string{mixed, `"id":1`}},
		{OpenAIChat, []string{`"generationConfig":{}`, first}},
		{OpenAIChat, []string{`"system":null`, later}},
		{Gemini, []string{first, contents}},
		{OpenAIResponses, []string{later, items}},
		{OpenAIResponses, []string{system, items}},
		{OpenAIResponses, []string{`"previous_response_id":{"id":"x"}`, items}},
		{OpenAIResponses, []string{system, `"input":"a"`, `"output":"b"`}},
		{Gemini, []string{system, contents}},
		{GeminiInteractions, []string{`"previous_interaction_id":"i"`, `"input":"a"`}},
	} {
		for members := range orders(c.members) {
			body := "{" + strings.Join(members, ",") + "}"
			long := strings.Replace(body, `"content":"a"`, `"content":"`+strings.Repeat(`\"a`, 2000)+`"`, 1)
			for _, body := range []string{body, long} { // which are read in two ways
				if d, err := Detect([]byte(body)); err != nil || d.Dialect != c.want {
					t.Errorf("%.300s: %v, %v; want %v", body, d, err, c.want)
				} else if r, err := Parse([]byte(body), Options{}); err != nil {
					t.Errorf("%.300s: %v", body, err)
				} else if r.Dialect != c.want {
					t.Errorf("%.300s is read as %v, want %v", body, r.Dialect, c.want)
				}
			}
		}
	}
}

// orders goes through all orders of a few words.
func orders(words []string) func(func([]string) bool) {
	return func(yield func([]string) bool) {
		var walk func(head, rest []string) bool
		walk = func(head, rest []string) bool {
			if len(rest) == 0 {
				return yield(head)
			}
			for i := range rest {
				if !walk(append(slices.Clone(head), rest[i]), append(slices.Clone(rest[:i]), rest[i+1:]...)) {
					return false
				}
			}
			return true
		}
		walk(nil, words)
	}
}

// TestCallsOfOthersStay: a call or a result in the shape of another API is dropped only if it
// is a copy of one that is read; otherwise it is reported, and stays.
func TestCallsOfOthersStay(t *testing.T) {
	const (
		call   = `{"id":"c","type":"function","function":{"name":"r","arguments":"{\"p\":\"ARGS\"}"}}`
		use    = `{"type":"tool_use","id":"c","name":"r","input":{"p":"ARGS"}}`
		answer = `{"type":"tool_result","tool_use_id":"c","content":"SAID"}`
	)
	for _, c := range []struct {
		as    Dialect
		body  string
		stays []string
		left  bool
	}{
		{Anthropic, `[{"role":"user","content":"a"},{"role":"assistant","content":null,"tool_calls":[` + call + `]},{"role":"tool","tool_call_id":"c","content":"SAID"}]`,
			[]string{call, `"tool_call_id":"c"`, "SAID"}, true},
		{Anthropic, `[{"role":"user","content":"a"},{"role":"assistant","content":"b","function_call":{"name":"r","arguments":"ARGS"}},{"role":"user","content":"d"}]`,
			[]string{"ARGS"}, true},
		{Anthropic, `[{"role":"user","content":"a"},{"role":"assistant","content":[` + use + `],"tool_calls":[` + call + `]},{"role":"user","content":[` + answer + `]}]`,
			[]string{use, answer}, false},
		{Bedrock, `[{"role":"user","content":[{"text":"a"}]},{"role":"assistant","content":[],"tool_calls":[` + call + `]},{"role":"user","content":[{"text":"b"}]}]`,
			[]string{call}, true},
		{OpenAIChat, `[{"role":"user","content":"a"},{"role":"assistant","content":[` + use + `]},{"role":"user","content":[` + answer + `]}]`,
			[]string{use, answer}, true},
		{OpenAIChat, `[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"text","text":"b"},` + use + `],"tool_calls":[` + call + `]},{"role":"tool","tool_call_id":"c","content":"SAID"}]`,
			[]string{call, "SAID"}, false},
	} {
		r, err := Parse([]byte(c.body), Options{Dialect: c.as})
		if err != nil {
			t.Fatal(err)
		}
		m, err := r.repair(Repair{}, CheckOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range c.stays {
			if !strings.Contains(string(m.Request.Raw()), s) {
				t.Errorf("%v: %s is gone from\n%s\nto\n%s", c.as, s, c.body, m.Request.Raw())
			}
		}
		if left := len(m.Left) > 0; left != c.left {
			t.Errorf("%v: %s\n%s\nleft: %v", c.as, c.body, m.Request.Raw(), m.Left)
		}
	}
}

// TestDetectMessagesCalledSo: messages have a type in the items of Responses and in the replies
// of Anthropic's API. What they hold tells, in whatever order their members come.
func TestDetectMessagesCalledSo(t *testing.T) {
	const (
		user    = `{"role":"user","content":"q"}`
		call    = `{"type":"function_call","call_id":"c","name":"r","arguments":"{}"}`
		refusal = `"content":[{"type":"refusal","refusal":"no"}]`
		use     = `"content":[{"type":"tool_use","id":"t","name":"r","input":{}}]`
		text    = `"content":[{"type":"text","text":"a"}]`
		output  = `"content":[{"type":"output_text","text":"a"}]`
		bare    = `"content":[{"text":"a"}]`
		typed   = `"type":"message"`
		role    = `"role":"assistant"`
		stops   = `"stop_reason":"end_turn"`
	)
	for _, c := range []struct {
		want    Dialect
		members []string // of the second element
		third   string
	}{
		{OpenAIResponses, []string{typed, role, refusal}, user},
		{OpenAIResponses, []string{typed, role, output}, user},
		{OpenAIResponses, []string{typed, role, text}, user},
		{OpenAIResponses, []string{typed, role, bare}, user},
		{OpenAIResponses, []string{typed, role, `"content":"a"`}, user},
		{OpenAIResponses, []string{role, refusal}, call},
		{OpenAIChat, []string{role, refusal}, user},
		{Bedrock, []string{role, bare}, user},
		{Anthropic, []string{typed, role, use}, user},
		{Anthropic, []string{typed, role, text}, `{"role":"assistant",` + use + `}`},
		{Anthropic, []string{typed, role, text, stops}, user},
	} {
		for members := range orders(c.members) {
			body := `[` + user + `,{` + strings.Join(members, ",") + `},` + c.third + `]`
			if got, err := Detect([]byte(body)); err != nil || got.Dialect != c.want {
				t.Errorf("%v, %v for %s", got, err, body)
			}
			if c.want.List() != "input" {
				continue
			}
			body = `{"model":"m","input":` + body + `}`
			if got, err := Detect([]byte(body)); err != nil || got.Dialect != c.want {
				t.Errorf("%v, %v for %s", got, err, body)
			}
		}
	}
	// Nobody but Bedrock has blocks without a type, and Bedrock has no input.
	if got, err := Detect([]byte(`{"input":[{"role":"user",` + bare + `},` + call + `]}`)); err != nil || got.Dialect != OpenAIResponses || !got.Sure {
		t.Errorf("%v, %v", got, err)
	}
	for model, want := range map[string]Dialect{"gpt-5": OpenAIResponses, "gemini-3-pro": GeminiInteractions} {
		if got, err := Detect([]byte(`{"input":[{"role":"user",` + bare + `},{"role":"user","content":"q"}],"model":"` + model + `"}`)); err != nil || got.Dialect != want {
			t.Errorf("%s: %v, %v", model, got, err)
		}
	}
}
