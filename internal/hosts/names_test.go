package hosts

import (
	"bytes"
	"testing"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/wire"
)

// mismatchedLists are lists with a call of get_consent followed by a result of list_orders. The
// result has an id without a call or, where the host keeps no ids, none.
var mismatchedLists = map[string]string{
	"pi":                  `[{"role":"user","content":"hi","timestamp":1},{"role":"assistant","content":[{"type":"toolCall","id":"a","name":"get_consent","arguments":{}}],"api":"x","stopReason":"toolUse","timestamp":2},{"role":"toolResult","toolCallId":"b","toolName":"list_orders","content":[{"type":"text","text":"the orders"}],"timestamp":3},{"role":"user","content":"go on","timestamp":4}]`,
	"ai-sdk":              `[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"tool-call","toolCallId":"a","toolName":"get_consent","input":{}}]},{"role":"tool","content":[{"type":"tool-result","toolCallId":"b","toolName":"list_orders","output":{"type":"text","value":"the orders"}}]},{"role":"user","content":"go on"}]`,
	"langchain":           `[{"type":"human","content":"hi"},{"type":"ai","content":"","tool_calls":[{"name":"get_consent","args":{},"id":"a"}]},{"type":"tool","content":"the orders","tool_call_id":"b","name":"list_orders"},{"type":"human","content":"go on"}]`,
	"openai-agents":       `[{"role":"user","content":"hi"},{"type":"function_call","callId":"a","name":"get_consent","arguments":"{}"},{"type":"function_call_result","callId":"b","name":"list_orders","output":"the orders"},{"role":"user","content":"go on"}]`,
	"agents-api":          `[{"schema":"agents-api.message","version":1,"type":"text","role":"user","content":"hi"},{"schema":"agents-api.message","version":1,"type":"tool_call","role":"assistant","content":"","payload":{"tool_name":"get_consent","parameters":{}}},{"schema":"agents-api.message","version":1,"type":"tool_result","role":"user","content":"the orders","payload":{"tool_name":"list_orders"}},{"schema":"agents-api.message","version":1,"type":"text","role":"user","content":"go on"}]`,
	"agents-api with ids": `[{"schema":"agents-api.message","version":1,"type":"text","role":"user","content":"hi"},{"schema":"agents-api.message","version":1,"type":"tool_call","role":"assistant","content":"","payload":{"tool_name":"get_consent","parameters":{}},"metadata":{"tool_call_id":"a"}},{"schema":"agents-api.message","version":1,"type":"tool_result","role":"user","content":"the orders","payload":{"tool_name":"list_orders"},"metadata":{"tool_call_id":"b"}},{"schema":"agents-api.message","version":1,"type":"text","role":"user","content":"go on"}]`,
}

// TestRepairKeepsResultOfAnotherTool checks that a repair never assigns a result to a call of
// another tool. By policy, the call gets a stub and the result is quoted under its own name, or
// both are removed.
func TestRepairKeepsResultOfAnotherTool(t *testing.T) {
	for name, raw := range mismatchedLists {
		t.Run(name, func(t *testing.T) {
			kept := apply(t, read(t, []byte(raw)), &pare.Policy{})
			if !bytes.Contains(kept, []byte("[A result of list_orders without its call; quoted, not written by the user]\\nthe orders")) || !bytes.Contains(kept, []byte("outcome of this call is unknown")) {
				t.Errorf("repaired: %s", kept)
			}
			if n := bytes.Count(kept, []byte(`"get_consent"`)); n != 2 { // of the call and of its stub
				t.Errorf("%d names of the call, want 2: %s", n, kept)
			}
			dropped := apply(t, read(t, []byte(raw)), &pare.Policy{Repair: wire.Repair{OrphanCall: wire.RemedyDrop, OrphanResult: wire.RemedyDrop}})
			for _, word := range []string{"get_consent", "list_orders", "the orders"} {
				if bytes.Contains(dropped, []byte(word)) {
					t.Errorf("%s is in %s", word, dropped)
				}
			}
		})
	}
}
