package proxy

import (
	"fmt"
	"strings"
	"testing"
)

// bindingHistory is a conversation with a model that binds thinking: so many turns in front
// of a call that nobody answers, and so many turns with thinking behind it.
func bindingHistory(ahead, behind int, head string) string {
	var b strings.Builder
	b.WriteString(`{"model":"claude-opus-5-5","max_tokens":3000,` + head + `"messages":[{"role":"user","content":"hi"}`)
	for i := range ahead {
		fmt.Fprintf(&b, `,{"role":"assistant","content":[{"type":"text","text":"%s"}]},{"role":"user","content":"go on"}`, strings.Repeat(fmt.Sprint("word ", i), 20))
	}
	b.WriteString(`,{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"ls","input":{}}]},{"role":"user","content":"and?"}`)
	for i := range behind {
		fmt.Fprintf(&b, `,{"role":"assistant","content":[{"type":"thinking","thinking":"%s","signature":"Sig%d="},{"type":"text","text":"ok %d"}]},{"role":"user","content":"go on"}`, strings.Repeat("hm ", 50), i, i)
	}
	return b.String() + `]}`
}

const dropOption = `"block_binding":{"prefix_mismatch_behavior":"drop_block"}`

// TestBoundThinking: thinking that a change makes invalid is left out, or the provider is told
// to drop it, whichever costs less or the policy says.
func TestBoundThinking(t *testing.T) {
	always := true
	for _, tt := range []struct {
		name, host, body string
		choice           *bool
		drop             bool // otherwise it is left out
	}{
		{"little in front of the change", "api.anthropic.com", bindingHistory(0, 5, ""), nil, true},
		{"much in front of it", "api.anthropic.com", bindingHistory(40, 2, ""), nil, false},
		{"always", "api.anthropic.com", bindingHistory(40, 2, ""), &always, true},
		{"never", "api.anthropic.com", bindingHistory(0, 5, ""), new(bool), false},
		{"another upstream", "gateway.example", bindingHistory(0, 5, ""), &always, false},
		{"adaptive", "api.anthropic.com", bindingHistory(0, 5, `"thinking":{"type":"adaptive"},`), nil, true},
		{"a budget", "api.anthropic.com", bindingHistory(0, 5, `"thinking":{"type":"enabled","budget_tokens":2000},`), &always, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			policy := Default()
			policy.ProviderEdits.DropThinking = tt.choice
			p := &provider{refuses: func(string) string { return "" }}
			tr := &Transport{Base: p, PlanTime: -1, Policy: policy, Conversations: NewConversations(ConversationsOptions{})}
			got, resp := p.ask(t, tr, "//"+tt.host+"/v1/messages", tt.body, "Anthropic-Beta", "files-api-2025-04-14")
			betas := p.header[0].Get("Anthropic-Beta")
			if dropped := strings.Contains(got[0], dropOption); dropped != tt.drop || strings.Contains(got[0], "Sig0=") != tt.drop || strings.Contains(betas, bindBeta) != tt.drop || !strings.Contains(betas, "files-api") {
				t.Errorf("%v %s\n%s", resp.Header, betas, got[0])
			}
			if !strings.Contains(resp.Header.Get("Pare-Rules"), boundThinkingRule) {
				t.Error("the receipt does not say it:", resp.Header)
			}
		})
	}
}

// TestDropStaysSet: once the provider was told to drop thinking, it is at every later request
// of the conversation, by every replica; at no other.
func TestDropStaysSet(t *testing.T) {
	p := &provider{refuses: func(string) string { return "" }}
	tr := &Transport{Base: p, PlanTime: -1, Conversations: NewConversations(ConversationsOptions{})}
	const address = "//api.anthropic.com/v1/messages"
	first, _ := p.ask(t, tr, address, bindingHistory(0, 5, ""))
	for behind := 6; behind < 9; behind++ {
		got, _ := p.ask(t, tr, address, bindingHistory(0, behind, ""))
		if len(got) != 1 || !strings.Contains(got[0], dropOption) || !strings.Contains(got[0], fmt.Sprintf("Sig%d=", behind-1)) || p.header[0].Get("Anthropic-Beta") != bindBeta {
			t.Fatal(got, p.header)
		}
		if at := strings.Index(first[0], `"thinking":{"type":"adaptive"`); common(first[0], got[0]) < at-2 {
			t.Error("it does not go on from the request before")
		}
	}
	// Nothing is to be repaired here, and the option is set all the same.
	clean := strings.Replace(bindingHistory(0, 3, ""), `{"role":"user","content":"and?"}`, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"a"}]}`, 1)
	if got, _ := p.ask(t, tr, address, clean); !strings.Contains(got[0], dropOption) {
		t.Error("it is not set any more:", got)
	}
	other := strings.Replace(clean, "toolu_1", "toolu_2", 2)
	if got, _ := p.ask(t, tr, address, other); got[0] != other {
		t.Error("another conversation was changed:", got)
	}
}

// TestDropIsRefused: a provider that does not know the option gets the request without.
func TestDropIsRefused(t *testing.T) {
	p := &provider{refuses: func(body string) string {
		if strings.Contains(body, "block_binding") {
			return "thinking.block_binding: Extra inputs are not permitted"
		}
		return ""
	}}
	tr := &Transport{Base: p, PlanTime: -1, Conversations: NewConversations(ConversationsOptions{})}
	const address = "//api.anthropic.com/v1/messages"
	got, resp := p.ask(t, tr, address, bindingHistory(0, 5, ""))
	if len(got) != 2 || resp.StatusCode != 200 || strings.Contains(got[1], "Sig") || p.header[1].Get("Anthropic-Beta") != "" {
		t.Error(len(got), resp.Header, got)
	}
	if got, _ := p.ask(t, tr, address, bindingHistory(0, 6, "")); len(got) != 1 || strings.Contains(got[0], "block_binding") {
		t.Error("it is asked again:", got)
	}
}

// TestClientToldToDrop: a client that has set the option keeps its thinking.
func TestClientToldToDrop(t *testing.T) {
	p := &provider{refuses: func(string) string { return "" }}
	tr := &Transport{Base: p, PlanTime: -1}
	body := bindingHistory(0, 3, `"thinking":{"type":"adaptive",`+dropOption+`},`)
	if got, _ := p.ask(t, tr, "//api.anthropic.com/v1/messages", body, "Anthropic-Beta", bindBeta); strings.Count(got[0], dropOption) != 1 || !strings.Contains(got[0], "Sig0=") || p.header[0].Get("Anthropic-Beta") != bindBeta {
		t.Error(got, p.header)
	}
}

// TestBoundTwice: a client that changes what stands in front of thinking, and was healed by
// leaving it out, is healed for good when it does so again.
func TestBoundTwice(t *testing.T) {
	p := &provider{refuses: func(body string) string {
		if strings.Contains(body, "Sig") && !strings.Contains(body, dropOption) {
			return "messages.3.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation."
		}
		return ""
	}}
	tr := &Transport{Base: p, PlanTime: -1, Conversations: NewConversations(ConversationsOptions{})}
	const address = "//api.anthropic.com/v1/messages"
	history := func(n int) string {
		return strings.Replace(bindingHistory(0, n, ""), `{"role":"user","content":"and?"}`, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"a"}]}`, 1)
	}
	for n, attempts := range []int{2, 2, 1, 1} {
		got, resp := p.ask(t, tr, address, history(n+1))
		if len(got) != attempts || resp.StatusCode != 200 || strings.Contains(got[len(got)-1], dropOption) != (n > 0) {
			t.Errorf("%d: %d attempts, %v\n%s", n, len(got), resp.Header, got[len(got)-1])
		}
	}
}
