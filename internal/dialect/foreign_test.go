package dialect_test

import (
	"errors"
	"testing"

	"github.com/pare-llm/pare/internal/dialect"
)

// What only looks like a dialect is refused by name, and read when a dialect is named.
func TestDefectP2ForeignShapes(t *testing.T) {
	for name, body := range map[string]string{
		"vercel":                `{"messages":[{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"tool-call","toolCallId":"a","toolName":"f","args":{}}]},{"role":"tool","content":[{"type":"tool-result","toolCallId":"a","toolName":"f","result":"r"}]}]}`,
		"vercel list":           `[{"role":"user","content":[{"type":"text","text":"q"}]},{"role":"assistant","content":[{"type":"text","text":"a"},{"type":"tool-call","toolCallId":"a","toolName":"f","input":{}}]}]`,
		"opencode":              `[{"info":{"role":"user"},"parts":[{"type":"text","text":"q"}]},{"info":{"role":"assistant"},"parts":[{"type":"text","text":"a"},{"type":"tool","callID":"x","tool":"f","state":{"status":"completed"}}]}]`,
		"steps among items":     `{"input":[{"type":"message","role":"user","content":"q"},{"type":"function_call","call_id":"c1","name":"f","arguments":"{}"},{"type":"function_result","call_id":"c1","result":"ok"}]}`,
		"items among steps":     `{"model":"gemini-3.8-flash","input":[{"type":"user_input","content":[{"type":"text","text":"q"}]},{"type":"function_call","id":"c1","name":"f","arguments":{}},{"type":"function_call_output","call_id":"c1","output":"ok"}]}`,
		"a message, then steps": `{"input":[{"type":"message","role":"user","content":"q"},{"type":"thought","signature":"abc"},{"type":"model_output","content":[]}]}`,
		"nobody's":              `{"messages":[{"role":"user","content":[{"type":"zork","x":"q"}]},{"role":"assistant","content":[{"type":"zork","x":"a"},{"type":"frob","y":1}]}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			_, err := dialect.Parse([]byte(body), dialect.Options{})
			var foreign *dialect.ForeignError
			if !errors.As(err, &foreign) || !errors.Is(err, dialect.ErrNotRequest) {
				t.Fatalf("got %v", err)
			}
			for _, d := range dialect.Dialects() {
				if _, err := dialect.Parse([]byte(body), dialect.Options{Dialect: d}); errors.As(err, &foreign) {
					t.Errorf("as %s: %v", d, err)
				}
			}
		})
	}
	// One unknown block among known ones is tomorrow's, and passes.
	for _, body := range []string{
		`{"model":"claude-sonnet-5","max_tokens":9,"messages":[{"role":"user","content":[{"type":"text","text":"q"},{"type":"zork","x":1}]}]}`,
		`{"model":"claude-sonnet-5","max_tokens":9,"messages":[{"role":"user","content":[{"type":"zork","x":1}]}]}`,
		`{"model":"gpt-5","input":[{"role":"user","content":"q"},{"type":"zork_item","x":1}]}`,
	} {
		if _, err := dialect.Parse([]byte(body), dialect.Options{}); err != nil {
			t.Errorf("%s: %v", body, err)
		}
	}
}

// A message of Anthropic's as its API returns it says that it is a message; in a list
// called messages that tells no other dialect.
func TestDetectTypedMessages(t *testing.T) {
	said := `{"id":"msg_1","type":"message","role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}],"stop_reason":"tool_use"}`
	for body, want := range map[string]dialect.Dialect{
		`{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[{"role":"user","content":"q"},` + said + `]}`:                                    dialect.Anthropic,
		`{"messages":[{"type":"message","role":"user","content":"q"},` + said + `],"max_tokens":9,"model":"claude-sonnet-4-5"}`:                   dialect.Anthropic,
		`{"model":"claude-opus-5","max_tokens":9,"messages":[{"role":"user","content":"q"},{"type":"message","role":"assistant","content":"a"}]}`: dialect.Anthropic,
		`{"model":"gpt-5","messages":[{"type":"message","role":"user","content":"q"}]}`:                                                           dialect.OpenAIChat,
		`{"model":"gpt-5","input":[{"type":"message","role":"user","content":"q"}]}`:                                                              dialect.OpenAIResponses,
		`[{"type":"message","role":"user","content":"q"}]`:                                                                                        dialect.OpenAIResponses,
	} {
		if got, err := dialect.Detect([]byte(body)); got.Dialect != want {
			t.Errorf("%s: %s, %v", body, got.Dialect, err)
		}
	}
}

// TestDetectionSaysWhy: a detection tells what it goes by, and whether that is a guess.
func TestDetectionSaysWhy(t *testing.T) {
	for body, want := range map[string]dialect.Detection{
		`{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}`:                                         {Dialect: dialect.Gemini, Sure: true, Why: `the member "contents"`},
		`{"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"a"}]}]}`:            {Dialect: dialect.Anthropic, Sure: true, Why: `a block of type "tool_result"`},
		`{"messages":[{"role":"user","content":"hi"},{"role":"tool","tool_call_id":"a","content":"x"}]}`: {Dialect: dialect.OpenAIChat, Sure: true, Why: `the member "tool_call_id"`},
		`{"messages":[{"role":"user","content":"hi"}],"system":"s"}`:                                     {Dialect: dialect.Anthropic, Sure: true, Why: `the member "system"`},
		`{"messages":[{"role":"user","content":"hi"}],"tools":[{"name":"f","input_schema":{}}]}`:         {Dialect: dialect.Anthropic, Sure: true, Why: `a tool with the member "input_schema"`},
		`{"messages":[{"role":"user","content":[{"text":"hi"}]}]}`:                                       {Dialect: dialect.Bedrock, Sure: true, Why: "blocks without a type"},
		`{"input":[{"type":"function_call_output","call_id":"a","output":"x"}]}`:                         {Dialect: dialect.OpenAIResponses, Sure: true, Why: `the member "call_id"`},
		`{"model":"claude-sonnet-4-5","messages":[{"role":"user","content":"hi"}]}`:                      {Dialect: dialect.Anthropic, Why: "the name of the model: what is said fits several dialects"},
		`{"model":"gemini-3-pro","input":"hi"}`:                                                          {Dialect: dialect.GeminiInteractions, Why: "the name of the model: what is said fits several dialects"},
		`{"messages":[{"role":"user","content":"hi"}]}`:                                                  {Dialect: dialect.OpenAIChat, Why: "nothing but plain text, which fits several dialects: this is the commonest"},
		`[{"role":"user","content":"hi"}]`:                                                               {Dialect: dialect.OpenAIChat, Why: "nothing but plain text, which fits several dialects: this is the commonest"},
		`{"messages":[{"role":"user","content":"hi"},{"role":"system","content":"s"}]}`:                  {Dialect: dialect.OpenAIChat, Why: "what the system says among the messages, as the chat APIs have it"},
	} {
		if got, err := dialect.Detect([]byte(body)); err != nil || got != want {
			t.Errorf("%s: %+v, %v, want %+v", body, got, err, want)
		}
	}
}
