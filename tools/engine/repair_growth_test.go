package engine

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/trial"
)

// r4Shapes are histories with very many faults in one id, turn, message or object. The text between
// two X is repeated n times, with its number for #.
var r4Shapes = map[string]string{
	"anthropic: calls of one id in one turn":          `{A"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[X{"type":"tool_use","id":"t1","name":"R","input":{"k":#}}X]},{"role":"user","content":"go"}]}`,
	"anthropic: calls and results of one id":          `{A"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[X{"type":"tool_use","id":"t1","name":"R","input":{"k":#}}X]},{"role":"user","content":[X{"type":"tool_result","tool_use_id":"t1","content":"#"}X]}]}`,
	"anthropic: copies of one call":                   `{A"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[X{"type":"tool_use","id":"t1","name":"R","input":{}}X]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"x"}]}]}`,
	"anthropic: results of one call":                  `{A"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"R","input":{}}]},{"role":"user","content":[X{"type":"tool_result","tool_use_id":"t1","content":"#"}X]}]}`,
	"anthropic: one result many times":                `{A"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"R","input":{}}]},{"role":"user","content":[X{"type":"tool_result","tool_use_id":"t1","content":"x"}X]}]}`,
	"anthropic: strays":                               `{A"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"x"},{"role":"user","content":[X{"type":"tool_result","tool_use_id":"t#","content":"x"}X]}]}`,
	"anthropic: strays where the assistant speaks":    `{A"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[X{"type":"tool_use","id":"t#","name":"R","input":{}},{"type":"tool_result","tool_use_id":"t#","content":"x"}X]}]}`,
	"anthropic: strays of one id where it speaks":     `{A"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"R","input":{}},X{"type":"tool_result","tool_use_id":"t","content":"#"}X]}]}`,
	"anthropic: calls of one id, results far away":    `{A"messages":[{"role":"user","content":"hi"},X{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"R","input":{"k":#}}]}X,{"role":"user","content":[X{"type":"tool_result","tool_use_id":"t1","content":"#"}X]}]}`,
	"anthropic: results in front":                     `{A"messages":[{"role":"user","content":"hi"},X{"role":"user","content":[{"type":"tool_result","tool_use_id":"t#","content":"#"}]}X,X{"role":"assistant","content":[{"type":"tool_use","id":"t#","name":"R","input":{}}]}X,{"role":"user","content":"x"}]}`,
	"anthropic: ids that are refused":                 `{A"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[X{"type":"tool_use","id":"t #","name":"R","input":{}}X]},{"role":"user","content":[X{"type":"tool_result","tool_use_id":"t #","content":"x"}X]}]}`,
	"anthropic: unknown members of one message":       `{A"messages":[{"role":"user","content":"hi",X"k#":1X}]}`,
	"anthropic: half surrogates":                      `{A"messages":[{"role":"user","content":"X\ud83d#X"}]}`,
	"anthropic: empty texts":                          `{A"messages":[{"role":"user","content":[X{"type":"text","text":""}X]},{"role":"assistant","content":"x"},{"role":"user","content":"y"}]}`,
	"anthropic: cache marks":                          `{A"messages":[{"role":"user","content":[X{"type":"text","text":"x","cache_control":{"type":"ephemeral"}}X]}]}`,
	"anthropic: references to tools that are unknown": `{A"tools":[{"type":"tool_search_tool_regex_20251119","name":"tool_search_tool_regex"}],"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"R","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":[X{"type":"tool_reference","tool_name":"n#"}X]}]}]}`,
	"anthropic: server calls":                         `{A"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[X{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}X]},{"role":"user","content":"x"}]}`,
	"anthropic: blocks that need a header":            `{A"betas":["x"],"messages":[{"role":"user","content":"hi"},X{"role":"assistant","content":[{"type":"compaction","content":"s#"}]},{"role":"user","content":"u"}X]}`,
	"anthropic: tools defined on the way":             `{"model":"claude-sonnet-4-5","max_tokens":10,"messages":[{"role":"user","content":"hi"},X{"role":"system","content":[{"type":"tool_addition","tool":{"type":"tool_definition","definition":{"name":"f#","input_schema":{"type":"object"}}}}]},{"role":"assistant","content":"x"},{"role":"user","content":"u"}X]}`,
	"anthropic: tools defined at once":                `{"model":"claude-sonnet-4-5","max_tokens":10,"messages":[{"role":"user","content":"hi"},{"role":"system","content":[X{"type":"tool_addition","tool":{"type":"tool_definition","definition":{"name":"f#","input_schema":{"type":"object"}}}}X]},{"role":"assistant","content":"x"},{"role":"user","content":"u"}]}`,
	"deepseek: reasoning that is lost":                `{"model":"deepseek-reasoner","thinking":{"type":"enabled"},"messages":[{"role":"user","content":"hi"},X{"role":"assistant","content":null,"tool_calls":[{"id":"c#","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c#","content":"ok"}X]}`,
	"deepseek: runs of calls without reasoning":       `{"model":"deepseek-v4","reasoning":{"effort":"high"},"input":[{"role":"user","content":"hi"},X{"type":"function_call","call_id":"c#","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c#","output":"ok"},{"role":"user","content":"u"}X]}`,
	"chat: calls of one id":                           `{"model":"gpt-5","messages":[{"role":"user","content":"hi"},{"role":"assistant","content":null,"tool_calls":[X{"id":"c","type":"function","function":{"name":"f","arguments":"{\"k\":#}"}}X]},{"role":"user","content":"go"}]}`,
	"chat: calls and results of one id":               `{"model":"gpt-5","messages":[{"role":"user","content":"hi"},{"role":"assistant","content":null,"tool_calls":[X{"id":"c","type":"function","function":{"name":"f","arguments":"{\"k\":#}"}}X]},X{"role":"tool","tool_call_id":"c","content":"#"}X]}`,
	"chat: results of one call":                       `{"model":"gpt-5","messages":[{"role":"user","content":"hi"},{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},X{"role":"tool","tool_call_id":"c","content":"#"}X]}`,
	"chat: strays":                                    `{"model":"gpt-5","messages":[{"role":"user","content":"hi"},X{"role":"tool","tool_call_id":"c#","content":"#"}X]}`,
	"chat: results in front":                          `{"model":"gpt-5","messages":[{"role":"user","content":"hi"},X{"role":"tool","tool_call_id":"c#","content":"#"}X,X{"role":"assistant","content":null,"tool_calls":[{"id":"c#","type":"function","function":{"name":"f","arguments":"{}"}}]}X]}`,
	"chat: legacy calls":                              `{"model":"gpt-5","messages":[{"role":"user","content":"hi"},X{"role":"assistant","content":null,"function_call":{"name":"f","arguments":"{}"}}X,X{"role":"function","name":"f","content":"#"}X]}`,
	"mistral: ids":                                    `{"model":"mistral-large-latest","messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"","tool_calls":[X{"id":"call-#","type":"function","function":{"name":"f","arguments":"{}"}}X]},X{"role":"tool","tool_call_id":"call-#","content":"#"}X]}`,
	"responses: calls of one id":                      `{"model":"gpt-5","input":[{"role":"user","content":"hi"},X{"type":"function_call","call_id":"c","name":"f","arguments":"{\"k\":#}"}X]}`,
	"responses: calls and outputs of one id":          `{"model":"gpt-5","input":[{"role":"user","content":"hi"},X{"type":"function_call","call_id":"c","name":"f","arguments":"{\"k\":#}"}X,X{"type":"function_call_output","call_id":"c","output":"#"}X]}`,
	"responses: outputs of one call":                  `{"model":"gpt-5","input":[{"role":"user","content":"hi"},{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},X{"type":"function_call_output","call_id":"c","output":"#"}X]}`,
	"responses: outputs in front":                     `{"model":"gpt-5","input":[{"role":"user","content":"hi"},X{"type":"function_call_output","call_id":"c#","output":"#"}X,X{"type":"function_call","call_id":"c#","name":"f","arguments":"{}"}X]}`,
	"responses: one item id":                          `{"model":"gpt-5","input":[{"role":"user","content":"hi"},X{"type":"message","id":"msg_1","role":"assistant","content":[{"type":"output_text","text":"#","annotations":[]}]}X,{"role":"user","content":"x"}]}`,
	"gemini: calls and responses of one id":           `{"model":"gemini-3-pro","contents":[{"role":"user","parts":[{"text":"hi"}]},{"role":"model","parts":[X{"functionCall":{"id":"c","name":"f","args":{"k":#}}}X]},{"role":"user","parts":[X{"functionResponse":{"id":"c","name":"f","response":{"o":"#"}}}X]}]}`,
	"gemini: too many responses without ids":          `{"model":"gemini-3-pro","contents":[{"role":"user","parts":[{"text":"hi"}]},{"role":"model","parts":[{"functionCall":{"name":"f","args":{}}}]},{"role":"user","parts":[X{"functionResponse":{"name":"f","response":{"o":"#"}}}X]}]}`,
	"gemini: open calls, then their responses":        `{"model":"gemini-3-pro","contents":[{"role":"user","parts":[{"text":"hi"}]},X{"role":"model","parts":[{"functionCall":{"name":"f","args":{"k":#}}}]},{"role":"user","parts":[{"text":"x"}]}X,{"role":"user","parts":[X{"functionResponse":{"name":"f","response":{"o":"#"}}}X]}]}`,
	"gemini: one id, many names":                      `{"model":"gemini-3-pro","contents":[{"role":"user","parts":[{"text":"hi"}]},{"role":"model","parts":[X{"functionCall":{"id":"c","name":"f#","args":{}}}X]},{"role":"user","parts":[X{"functionResponse":{"id":"c","name":"f#","response":{"o":"x"}}}X]}]}`,
	"bedrock: calls and results of one id":            `{"modelId":"us.anthropic.claude-opus-4-6-v1:0","messages":[{"role":"user","content":[{"text":"hi"}]},{"role":"assistant","content":[X{"toolUse":{"toolUseId":"c","name":"f","input":{"k":#}}}X]},{"role":"user","content":[X{"toolResult":{"toolUseId":"c","content":[{"text":"#"}]}}X]}]}`,
	"bedrock: strays":                                 `{"modelId":"us.anthropic.claude-opus-4-6-v1:0","messages":[{"role":"user","content":[{"text":"hi"}]},{"role":"assistant","content":[{"text":"x"}]},{"role":"user","content":[X{"toolResult":{"toolUseId":"c#","content":[{"text":"#"}]}}X]}]}`,
	"llama: results beside text":                      `{"modelId":"meta.llama3-3-70b-instruct-v1:0","messages":[{"role":"user","content":[{"text":"hi"}]},X{"role":"assistant","content":[{"toolUse":{"toolUseId":"c","name":"f","input":{"k":#}}}]},{"role":"user","content":[{"toolResult":{"toolUseId":"c","content":[{"text":"#"}]}},{"text":"x"}]}X]}`,
}

// r4Body is a shape with n of each.
func r4Body(shape string, n int) []byte {
	parts := strings.Split(strings.Replace(shape, "{A", `{"model":"claude-opus-4-6","max_tokens":10,`, 1), "X")
	var b strings.Builder
	for i, part := range parts {
		if i%2 == 0 {
			b.WriteString(part)
			continue
		}
		for k := range n {
			if k > 0 && !strings.HasPrefix(part, `\u`) {
				b.WriteByte(',')
			}
			b.WriteString(strings.ReplaceAll(part, "#", fmt.Sprint(k)))
		}
	}
	return []byte(b.String())
}

// TestRepairIsLinear checks that the time of a repair grows with the history, whatever is equal in
// it.
func TestRepairIsLinear(t *testing.T) {
	n := 1600
	if trial.Soak() {
		n = 80_000
	}
	for name, shape := range r4Shapes {
		trial.Linear(t, name, n, func(n int) func() {
			body := r4Body(shape, n)
			return func() {
				if _, _, err := pare.Fix(body); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
			}
		})
	}
}

// TestRepairGrowthShapes checks that the histories of TestRepairIsLinear have the findings that
// they are named after.
func TestRepairGrowthShapes(t *testing.T) {
	for name, shape := range r4Shapes {
		_, plan, err := pare.Fix(r4Body(shape, 40))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if len(plan.Changes()) == 0 {
			t.Errorf("%s: nothing is at fault", name)
		}
	}
}
