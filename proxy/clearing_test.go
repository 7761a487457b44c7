package proxy

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pare-llm/pare"
)

// big is a history of exchanges with a model that binds thinking, each with thinking.
func big(exchanges int) string {
	var b strings.Builder
	b.WriteString(`{"model":"claude-opus-5-5","max_tokens":100,"messages":[{"role":"user","content":"Begin."}`)
	for i := range exchanges {
		fmt.Fprintf(&b, `,{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"Sig%d="},{"type":"tool_use","id":"toolu_%d","name":"read","input":{"path":"f%d"}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_%d","content":"%s"}]}`,
			i, i, i, i, strings.Repeat(fmt.Sprintf("line %d of the file. ", i), 40))
	}
	return b.String() + `]}`
}

// TestProviderClears: where the policy allows it, a model that binds thinking is asked to
// clear results itself; its thinking stays, and it is asked at every later request.
func TestProviderClears(t *testing.T) {
	const address = "//api.anthropic.com/v1/messages"
	policy := &pare.Policy{Window: &pare.Window{Tokens: 10_000, LowPercent: 70}, ProviderEdits: pare.ProviderEdits{ClearResults: true}}
	p := &provider{refuses: func(string) string { return "" }}
	tr := &Transport{Base: p, PlanTime: -1, Policy: policy, Conversations: NewConversations(ConversationsOptions{})}
	small := big(10)
	if got, _ := p.ask(t, tr, address, small); got[0] != small {
		t.Fatal("what fits was changed")
	}
	for n := 60; n < 63; n++ {
		got, resp := p.ask(t, tr, address, big(n))
		want := strings.TrimSuffix(big(n), "}") + `,"context_management":{"edits":[{"type":"clear_tool_uses_20250919","trigger":{"type":"input_tokens","value":10000},"keep":{"type":"tool_uses","value":8}}]}}`
		if len(got) != 1 || got[0] != want || p.header[0].Get("Anthropic-Beta") != clearBeta {
			t.Fatalf("%v\n%s", p.header, got[0][len(got[0])-300:])
		}
		if resp.Header.Get("Pare-Rules") != "clear-results" || resp.Header.Get("Pare-Receipt") == "" || resp.Header.Get("Pare-Saved-Tokens") == "" {
			t.Error(resp.Header)
		}
	}
	if got, _ := p.ask(t, tr, address, small); !strings.Contains(got[0], "context_management") {
		t.Error("it is not asked any more")
	}
}

// TestProviderIsNotAsked: elsewhere, and by default, the window is met here.
func TestProviderIsNotAsked(t *testing.T) {
	allowed := pare.ProviderEdits{ClearResults: true}
	for _, tt := range []struct {
		name, address, body string
		means               pare.ProviderEdits
	}{
		{"by default", "//api.anthropic.com/v1/messages", big(60), pare.ProviderEdits{}},
		{"another upstream", "//gateway.example/v1/messages", big(60), allowed},
		{"a model that binds nothing", "//api.anthropic.com/v1/messages", strings.Replace(big(60), "claude-opus-5-5", "claude-opus-4-5", 1), allowed},
		{"the client sees to it", "//api.anthropic.com/v1/messages", strings.Replace(big(60), `"max_tokens":100`, `"max_tokens":100,"context_management":{"edits":[]}`, 1), allowed},
		{"it is not enough", "//api.anthropic.com/v1/messages", big(400), allowed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := &provider{refuses: func(string) string { return "" }}
			tr := &Transport{Base: p, PlanTime: -1, Policy: &pare.Policy{Window: &pare.Window{Tokens: 10_000}, ProviderEdits: tt.means}, Conversations: NewConversations(ConversationsOptions{})}
			got, _ := p.ask(t, tr, tt.address, tt.body)
			if strings.Contains(got[0], "clear_tool_uses") || strings.Contains(p.header[0].Get("Anthropic-Beta"), clearBeta) || len(got[0]) >= len(tt.body) {
				t.Errorf("%v %d of %d bytes", p.header, len(got[0]), len(tt.body))
			}
		})
	}
}

// TestProviderClearsTooLittle: a request that is too long although the provider clears is
// healed here, and so are later ones from the start; one that refuses to clear likewise.
func TestProviderClearsTooLittle(t *testing.T) {
	for name, said := range map[string]string{"too long": "prompt is too long", "refused": "context_management: Extra inputs are not permitted"} {
		t.Run(name, func(t *testing.T) {
			p := &provider{refuses: func(body string) string {
				if strings.Contains(body, "context_management") {
					return said
				}
				return ""
			}}
			policy := &pare.Policy{Window: &pare.Window{Tokens: 10_000, LowPercent: 70}, ProviderEdits: pare.ProviderEdits{ClearResults: true}}
			tr := &Transport{Base: p, PlanTime: -1, Policy: policy, Conversations: NewConversations(ConversationsOptions{})}
			const address = "//api.anthropic.com/v1/messages"
			if got, resp := p.ask(t, tr, address, big(60)); len(got) != 2 || resp.StatusCode != 200 {
				t.Fatal(len(got), resp.Header)
			}
			if got, resp := p.ask(t, tr, address, big(61)); len(got) != 1 || resp.StatusCode != 200 || len(got[0]) >= len(big(61)) {
				t.Error(len(got), resp.Header)
			}
		})
	}
}
