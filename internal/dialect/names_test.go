package dialect

import (
	"strings"
	"testing"
)

// TestRepairKeepsResultOfAnotherTool: in no dialect does a result move to a call of another tool: neither the only
// result after the only call, nor a late one with the id of a call, nor one in the turn of the assistant.
func TestRepairKeepsResultOfAnotherTool(t *testing.T) {
	for name, body := range map[string]string{
		"anthropic, only result":        `{"max_tokens":9,"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"get_consent","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"b","name":"list_orders","content":"the orders"}]}]}`,
		"anthropic, late":               `{"max_tokens":9,"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"get_consent","input":{}}]},{"role":"user","content":"well"},{"role":"assistant","content":"hm"},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","name":"list_orders","content":"the orders"}]}]}`,
		"anthropic, in the call's turn": `{"max_tokens":9,"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"get_consent","input":{}},{"type":"tool_result","tool_use_id":"a","name":"list_orders","content":"the orders"}]},{"role":"user","content":"go on"}]}`,
		"openai-chat, only result":      `{"messages":[{"role":"user","content":"hi"},{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"get_consent","arguments":"{}"}}]},{"role":"tool","tool_call_id":"b","name":"list_orders","content":"the orders"},{"role":"user","content":"go on"}]}`,
		"openai-chat, late":             `{"messages":[{"role":"user","content":"hi"},{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"get_consent","arguments":"{}"}}]},{"role":"user","content":"well"},{"role":"tool","tool_call_id":"a","name":"list_orders","content":"the orders"},{"role":"user","content":"go on"}]}`,
		"gemini, with ids":              `{"contents":[{"role":"user","parts":[{"text":"hi"}]},{"role":"model","parts":[{"functionCall":{"id":"a","name":"get_consent","args":{}}}]},{"role":"user","parts":[{"functionResponse":{"id":"b","name":"list_orders","response":{"output":"the orders"}}}]}]}`,
		"gemini, by name":               `{"contents":[{"role":"user","parts":[{"text":"hi"}]},{"role":"model","parts":[{"functionCall":{"name":"get_consent","args":{}}}]},{"role":"user","parts":[{"functionResponse":{"name":"list_orders","response":{"output":"the orders"}}}]}]}`,
		"gemini, late":                  `{"contents":[{"role":"user","parts":[{"text":"hi"}]},{"role":"model","parts":[{"functionCall":{"id":"a","name":"get_consent","args":{}}}]},{"role":"user","parts":[{"text":"well"}]},{"role":"model","parts":[{"text":"hm"}]},{"role":"user","parts":[{"functionResponse":{"id":"a","name":"list_orders","response":{"output":"the orders"}}}]}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			dialect := Anthropic
			for _, d := range Dialects() {
				if strings.HasPrefix(name, d.String()) {
					dialect = d
				}
			}
			r, err := Parse([]byte(body), Options{Dialect: dialect})
			if err != nil {
				t.Fatal(err)
			}
			repaired, err := r.repair(Repair{}, CheckOptions{})
			if err != nil {
				t.Fatal(err)
			}
			out := string(repaired.Request.Raw())
			if len(repaired.Left) > 0 || !strings.Contains(out, "A result of list_orders without its call") || !strings.Contains(out, "outcome of this call is unknown") {
				t.Errorf("left %v in %s", repaired.Left, out)
			}
			for _, x := range repaired.Request.t.Exchanges() {
				for _, b := range x.Results {
					if strings.Contains(repaired.Request.Text(b), "the orders") {
						t.Errorf("the result belongs to a call of %s in %s", x.Tool, out)
					}
				}
			}
		})
	}
}
