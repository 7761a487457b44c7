package proxy

import (
	"strings"
	"testing"
)

// TestForeignSignaturesAreHealed: signatures of thought that the provider refuses are taken
// off, with the documented value where one is wanted; those that it writes later stay, and
// the conversation is refused once.
func TestForeignSignaturesAreHealed(t *testing.T) {
	for _, tt := range []struct{ name, path, body, more, healed, want string }{
		{
			"generateContent", "/v1beta/models/gemini-3-pro-preview:generateContent",
			`{"contents":[{"role":"user","parts":[{"text":"q"}]},{"role":"model","parts":[{"text":"hm","thought":true,"thoughtSignature":"BadA"},{"functionCall":{"name":"f","args":{}},"thoughtSignature":"BadB"},{"functionCall":{"name":"g","args":{}},"thoughtSignature":"BadC"}]},{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"output":"x"}}},{"functionResponse":{"name":"g","response":{"output":"x"}}}]}`,
			`,{"role":"model","parts":[{"functionCall":{"name":"f","args":{}},"thoughtSignature":"Good"}]},{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"output":"x"}}}]}`,
			`{"contents":[{"role":"user","parts":[{"text":"q"}]},{"role":"model","parts":[{"text":"hm","thought":true},{"functionCall":{"name":"f","args":{}},"thoughtSignature":"skip_thought_signature_validator"},{"functionCall":{"name":"g","args":{}}}]},{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"output":"x"}}},{"functionResponse":{"name":"g","response":{"output":"x"}}}]}`,
			`"thoughtSignature":"Good"`,
		},
		{
			"interactions", "/v1beta/interactions",
			`{"model":"gemini-3-pro-preview","store":false,"input":[{"type":"user_input","content":[{"type":"text","text":"q"}]},{"type":"thought","signature":"BadA","summary":[]},{"type":"function_call","id":"c1","name":"f","arguments":{}},{"type":"function_result","call_id":"c1","name":"f","result":"x"}`,
			`,{"type":"thought","signature":"Good","summary":[]},{"type":"function_call","id":"c2","name":"f","arguments":{}},{"type":"function_result","call_id":"c2","name":"f","result":"x"}`,
			`{"model":"gemini-3-pro-preview","store":false,"input":[{"type":"user_input","content":[{"type":"text","text":"q"}]},{"type":"thought","signature":"skip_thought_signature_validator","summary":[]},{"type":"function_call","id":"c1","name":"f","arguments":{}},{"type":"function_result","call_id":"c1","name":"f","result":"x"}`,
			`"signature":"Good"`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := &provider{refuses: func(body string) string {
				if strings.Contains(body, "Bad") {
					return "Corrupted thought signature."
				}
				return ""
			}}
			tr := &Transport{Base: p, PlanTime: -1, Conversations: NewConversations(ConversationsOptions{})}
			got, resp := p.ask(t, tr, tt.path, tt.body+"]}")
			if len(got) != 2 || got[1] != tt.healed+"]}" || resp.Header.Get("Pare-Healed") != foreignSignature || resp.Header.Get("Pare-Receipt") == "" {
				t.Fatalf("%v\n%s", resp.Header, got[len(got)-1])
			}
			got, resp = p.ask(t, tr, tt.path, tt.body+tt.more+"]}")
			if len(got) != 1 || got[0] != tt.healed+tt.more+"]}" || !strings.Contains(got[0], tt.want) {
				t.Errorf("%d attempts, %v\n%s", len(got), resp.Header, got[0])
			}
		})
	}
}
