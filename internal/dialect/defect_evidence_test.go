package dialect_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/pare-llm/pare/internal/dialect"
)

// TestDefectT1Frameworks: histories as frameworks keep them are not understood, and called by name.
func TestDefectT1Frameworks(t *testing.T) {
	for body, looks := range map[string]string{
		`[{"role":"user","blocks":[{"block_type":"text","text":"hi"}]},{"role":"assistant","blocks":[]}]`:                                      "LlamaIndex",
		`{"model":"gpt-5","messages":[{"role":"user","items":[{"$type":"TextContent","text":"hi"}]}]}`:                                         "Semantic Kernel",
		`[{"role":"user","contents":[{"$type":"text","text":"hi"}]}]`:                                                                          "Microsoft.Extensions.AI",
		`[{"id":"1","role":"user","parts":[{"type":"text","text":"hi"}]},{"id":"2","role":"assistant","parts":[{"type":"text","text":"yo"}]}]`: "Vercel",
		`[{"kind":"message","messageId":"m","role":"user","parts":[{"kind":"text","text":"hi"}]}]`:                                             "A2A",
		`[{"source":"user","type":"TextMessage","content":"hi","metadata":{}},{"source":"a","type":"TextMessage","content":"yo"}]`:             "AutoGen",
		`{"messages":[{"_role":"user","_content":[{"text":"hi"}]}]}`:                                                                           "Haystack",
		`[{"type":"human","data":{"content":"hi"}},{"type":"ai","data":{"content":"yo"}}]`:                                                     "LangChain",
		`[{"id":"m","threadId":"t","resourceId":"r","role":"user","content":{"format":2,"parts":[{"type":"text","text":"hi"}]}}]`:              "Mastra",
		`{"conversations":[{"from":"human","value":"hi"},{"from":"gpt","value":"yo"}]}`:                                                        "ShareGPT",
		`{"schema_version":"ATIF-v1.4","steps":[{"step_id":1,"source":"user","message":"hi"}]}`:                                                "ATIF",
		`[{"id":"m","message_type":"user_message","content":"hi"}]`:                                                                            "Letta",
		`[{"step_number":1,"model_output":"x","observations":"y"}]`:                                                                            "smolagents",
		`[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"text","text":"a"},{"type":"toolCall","id":"x","name":"f"}]}]`: "pi",
		`{"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"ok"},{"tool_call":{"name":"f","arguments":{}}}]}`:          "agents-api",
		`{"messages":[{"question":"a","answer":"b"},{"question":"a","answer":"b"},{"role":"user","content":"q"}]}`:                             "not known",
		`{"contents":[{"role":"user","content":"a"},{"role":"model","content":"b"}]}`:                                                          "not known",
		`{"model":"claude-sonnet-5","max_tokens":9,"messages":[{"role":"user","text":"a"},{"role":"assistant","text":"b"}]}`:                   "not known",
	} {
		_, err := dialect.Parse([]byte(body), dialect.Options{})
		var foreign *dialect.ForeignError
		if !errors.As(err, &foreign) || !strings.Contains(foreign.Looks, looks) || !errors.Is(err, dialect.ErrNotRequest) {
			t.Errorf("%s: %v, want %s", body, err, looks)
		}
	}
	// Bedrock's shape, as Strands keeps it, and lines for fine-tuning are understood.
	for _, body := range []string{
		`[{"role":"user","content":[{"text":"q"}]},{"role":"assistant","content":[{"toolUse":{"toolUseId":"a","name":"f","input":{}}}]},{"role":"user","content":[{"toolResult":{"toolUseId":"a","content":[{"text":"x"}],"status":"success"}}]}]`,
		`{"messages":[{"role":"system","content":"s"},{"role":"user","content":"q"},{"role":"assistant","content":"a","weight":1}]}`,
	} {
		if _, err := dialect.Parse([]byte(body), dialect.Options{}); err != nil {
			t.Errorf("%s: %v", body, err)
		}
	}
}

// TestDefectT2OtherJSON: JSON of other programs is no request, or not enough of one to
// overwrite it.
func TestDefectT2OtherJSON(t *testing.T) {
	for _, body := range []string{
		`[1,2,3]`, `[["a"]]`, `["a"]`, `[]`, `{"messages":[]}`, `{"messages":[{"id":"greeting","text":"Hello"}]}`, `{"messages":{"greeting":"Hello"}}`, `{"messages":"saved"}`,
		`[{"role":"admin","name":"x"}]`, `[{"role":"admin","content":"x"}]`, `{"input":["a.js"]}`, `{"contents":["a"]}`, `{"name":"x","version":"1.0.0","dependencies":{}}`,
		`{"messages":[{"user":"bob","text":"hi"},{"user":"ann","text":"yo"}]}`, `{"messages":[{"role":"owner","content":"x"},{"role":"editor","content":"y"}]}`,
	} {
		r, err := dialect.Parse([]byte(body), dialect.Options{})
		if err == nil {
			err = r.Understood(true)
		}
		if !errors.Is(err, dialect.ErrNotRequest) {
			t.Errorf("%s may be overwritten: %v", body, err)
		}
	}
	for _, body := range []string{
		`{"messages":[{"role":"user","content":"hi"}]}`, `[{"role":"user","content":"hi"},{"role":"admin","content":"x"}]`,
		`{"input":[{"role":"user","content":"q"},{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}]}`, `{"contents":[{"parts":[{"text":"a"}]}]}`,
	} {
		if r, err := dialect.Parse([]byte(body), dialect.Options{}); err != nil || r.Understood(true) != nil {
			t.Errorf("%s: %v", body, err)
		}
	}
}

// TestDefectT3Calls: what looks like a call or a result and is not understood makes the whole
// not understood, wherever it stands and however it is spelled.
func TestDefectT3Calls(t *testing.T) {
	names := []string{"tool_call", "toolCall", "ToolCalls", "tool-call", "toolUse", "TOOL_USE", "tool-invocation", "tool_response", "toolResponse", "functionCall", "function-result", "tool_output", "toolReturn"}
	for _, name := range names {
		for _, body := range []string{
			`{"model":"gpt-5","messages":[{"role":"user","content":"q"},{"role":"assistant","content":"a","%s":{"name":"f"}},{"role":"user","content":"n"}]}`,
			`{"model":"gpt-5","messages":[{"role":"user","content":"q"},{"role":"assistant","content":"a"},{"%s":{"name":"f"}},{"role":"user","content":"n"}]}`,
			`{"model":"claude-sonnet-5","max_tokens":9,"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"a","%s":{"name":"f"}},{"role":"user","content":"n"}]}`,
			`{"contents":[{"role":"user","parts":[{"text":"q"}]},{"role":"model","parts":[{"text":"a"}],"%s":{"name":"f"}},{"role":"user","parts":[{"text":"n"}]}]}`,
			`{"modelId":"m","messages":[{"role":"user","content":[{"text":"q"}]},{"role":"assistant","content":[{"text":"a"}],"%s":{"name":"f"}},{"role":"user","content":[{"text":"n"}]}]}`,
			`{"model":"gpt-5","input":[{"role":"user","content":"q"},{"role":"assistant","content":"a","%s":{"name":"f"}},{"role":"user","content":"n"}]}`,
		} {
			body = fmt.Sprintf(body, name)
			r, err := dialect.Parse([]byte(body), dialect.Options{})
			if err == nil && len(r.Check(dialect.CheckOptions{})) == 0 {
				t.Errorf("clean: %s", body)
				continue
			}
			if err != nil {
				continue
			}
			if m, err := dialect.RepairRequest(r, dialect.Repair{}, dialect.CheckOptions{}); err != nil || len(m.Left) == 0 {
				t.Errorf("repaired: %s: %v", body, err)
			}
		}
	}
}

// TestDefectT4Weighed: what speaks for a dialect is weighed; a block without anything speaks
// for none.
func TestDefectT4Weighed(t *testing.T) {
	for body, want := range map[string]dialect.Dialect{
		`{"model":"claude-sonnet-5","max_tokens":9,"messages":[{"role":"user","content":[{"type":"text","text":"a"},{}]},{"role":"user","content":"c"}]}`: dialect.Anthropic,
		`{"messages":[{"role":"user","content":[{},{"type":"text","text":"a"}]}],"max_tokens":9,"model":"claude-sonnet-5"}`:                               dialect.Anthropic,
		`{"messages":[{"role":"user","content":[{"text":"b"},{"type":"text","text":"a"}]}],"model":"claude-sonnet-5"}`:                                    dialect.Anthropic,
		`{"messages":[{"role":"user","content":[{"text":"a"}]}],"max_tokens":9,"model":"claude-sonnet-5"}`:                                                dialect.Anthropic,
		`{"messages":[{"role":"user","content":[{}]}],"model":"gpt-5"}`:                                                                                   dialect.OpenAIChat,
		`{"messages":[{"role":"user","content":[{"text":"a"}]}]}`:                                                                                         dialect.Bedrock,
		`{"messages":[{"role":"user","content":[{"text":"a"},{}]}],"inferenceConfig":{"maxTokens":9}}`:                                                    dialect.Bedrock,
	} {
		if d, err := dialect.Detect([]byte(body)); err != nil || d.Dialect != want {
			t.Errorf("%s: %s, %v; want %s", body, d.Dialect, err, want)
		}
	}
}
