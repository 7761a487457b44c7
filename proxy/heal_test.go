package proxy_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestRulesAreHealed has refusals that no check could foresee: what is wrong is known to
// the provider alone.
func TestRulesAreHealed(t *testing.T) {
	for _, tt := range []struct {
		name, path, body, said string
		healed                 func(body string) bool
		rule                   string
	}{
		{
			"a signature of another account", "/v1/messages",
			`{"model":"claude-sonnet-4-5","max_tokens":3000,"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"EqQBCkYIARgCIkA="},{"type":"text","text":"ok"}]},{"role":"user","content":"go on"}]}`,
			"messages.1.content.0: Invalid `signature` in `thinking` block",
			func(body string) bool { return !strings.Contains(body, "thinking") && strings.Contains(body, "go on") }, "thinking-signature-missing",
		},
		{
			"reasoning of another key", "/v1/responses",
			`{"model":"gpt-5","store":false,"input":[{"role":"user","content":"hi"},{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAAA"},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"ok"}]},{"role":"user","content":"go on"}]}`,
			"The encrypted content for item rs_1 could not be verified.",
			func(body string) bool { return !strings.Contains(body, "gAAAA") && strings.Contains(body, "go on") }, "reasoning-foreign",
		},
		{
			"reasoning of another key, and items that name it", "/v1/responses",
			`{"model":"gpt-5","store":false,"input":[{"role":"user","content":"hi"},{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAAA"},{"type":"function_call","id":"fc_1","call_id":"call_1","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"call_1","output":"ok"},{"type":"message","id":"msg_1","role":"assistant","content":[{"type":"output_text","text":"ok"}]},{"role":"user","content":"go on"}]}`,
			"The encrypted content gAAAA could not be verified.",
			func(body string) bool {
				return !strings.Contains(body, "gAAAA") && !strings.Contains(body, "fc_1") && !strings.Contains(body, "msg_1") && strings.Count(body, `"call_1"`) == 2 && strings.Contains(body, "go on")
			}, "reasoning-foreign",
		},
		{
			"items whose reasoning is gone", "/v1/responses",
			`{"model":"gpt-5","input":[{"role":"user","content":"hi"},{"type":"function_call","id":"fc_1","call_id":"call_1","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"call_1","output":"ok"},{"type":"reasoning","id":"rs_2","summary":[]},{"type":"message","id":"msg_1","role":"assistant","content":[{"type":"output_text","text":"ok"}]},{"role":"user","content":"go on"}]}`,
			"Item 'fc_1' of type 'function_call' was provided without its required 'reasoning' item: 'rs_1'.",
			func(body string) bool {
				return !strings.Contains(body, "fc_1") && strings.Count(body, `"call_1"`) == 2 && strings.Contains(body, "rs_2") && strings.Contains(body, "go on")
			}, "reasoning-item-missing",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			u := newUpstream(t, func(w http.ResponseWriter, r *http.Request, body []byte, n int) {
				if !tt.healed(string(body)) {
					w.WriteHeader(400)
					io.WriteString(w, `{"error":{"message":"`+tt.said+`"}}`)
					return
				}
				io.WriteString(w, "better")
			})
			s := front(t, u)
			resp, body := post(t, s.URL+tt.path, tt.body)
			if resp.StatusCode != 200 || body != "better" || resp.Header.Get("Pare-Healed") != tt.rule || resp.Header.Get("Pare-Receipt") == "" {
				t.Error(resp.Status, body, resp.Header)
			}
			all := u.all()
			if len(all) != 2 || string(all[0].body) != tt.body {
				t.Errorf("%d requests, the first %s", len(all), all[0].body)
			}
		})
	}
}

// TestHealingCannotHelp: a refusal that another plan cannot avoid costs no second attempt.
func TestHealingCannotHelp(t *testing.T) {
	u := newUpstream(t, func(w http.ResponseWriter, r *http.Request, body []byte, n int) {
		w.WriteHeader(400)
		io.WriteString(w, "messages: text content blocks must be non-empty")
	})
	s := front(t, u)
	if resp, _ := post(t, s.URL+"/v1/messages", clean); resp.StatusCode != 400 || len(u.all()) != 1 || resp.Header.Get("Pare-Healed") != "" {
		t.Error(resp.Status, len(u.all()), resp.Header)
	}
}

// TestHealingNamesRules: a refusal in the words of one vendor is answered by its rules, and so
// is the next request of the conversation; the rules of all vendors, which would rename every
// id, are for what those do not find.
func TestHealingNamesRules(t *testing.T) {
	const pair = `,{"role":"assistant","content":null,"tool_calls":[{"id":"call_long_1","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"call_long_1","content":"ok"}`
	body := func(more string) string {
		return `{"model":"mine-1","messages":[{"role":"user","content":"hi"}` + pair + `,{"role":"assistant","content":"done"},{"role":"user","content":"more"}` + more + `]}`
	}
	for _, tt := range []struct {
		name, more, said string
		narrow           bool
	}{
		{"of the vendor", pair, "invalid params, duplicate tool_call id: call_long_1 (2013)", true},
		{"of nobody", "", "invalid params, something is wrong (2013)", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := body(tt.more)
			u := newUpstream(t, func(w http.ResponseWriter, r *http.Request, body []byte, n int) {
				if string(body) == in {
					w.WriteHeader(400)
					io.WriteString(w, `{"error":{"message":"`+tt.said+`"}}`)
				}
			})
			s := front(t, u)
			for range 2 {
				if resp, _ := post(t, s.URL+"/u/mine/v1/chat/completions", in); resp.StatusCode != 200 {
					t.Error(resp.Status, resp.Header)
				}
			}
			all := u.all()
			if len(all) != 3 {
				t.Fatal(len(all), "requests")
			}
			for _, sent := range all[1:] {
				if got := strings.Count(string(sent.body), `"call_long_1"`) == 2; got != tt.narrow || string(sent.body) != string(all[1].body) {
					t.Errorf("sent %s", sent.body)
				}
			}
		})
	}
}

// TestHealedWhateverTheStatus: some providers refuse a request with a status that others have
// for trouble of their own.
func TestHealedWhateverTheStatus(t *testing.T) {
	for _, tt := range []struct {
		name       string
		status     int
		path, body string
		said       string
		healed     func(body string) bool
		rule       string
	}{
		{
			"an item that nobody has stored", 404, "/v1/responses",
			`{"model":"gpt-5","input":[{"role":"user","content":"hi"},{"type":"reasoning","id":"rs_1","summary":[]},{"type":"message","id":"msg_1","role":"assistant","content":[{"type":"output_text","text":"ok"}]},{"role":"user","content":"go on"}]}`,
			"Item with id 'rs_1' not found. Items are not persisted when `store` is set to false. Try again with `store` set to true, or remove this item from your input.",
			func(body string) bool { return !strings.Contains(body, "rs_1") && strings.Contains(body, "go on") }, "reasoning-item-unresolvable",
		},
		{
			"a chat template that refuses", 500, "/v1/chat/completions",
			`{"model":"my-model","messages":[{"role":"system","content":"s"},{"role":"user","content":"q"},{"role":"assistant","content":"a"},{"role":"system","content":"reminder"},{"role":"user","content":"go on"}]}`,
			"While executing CallExpression at line 85, column 32 in source: Error: Jinja Exception: System message must be at the beginning.",
			func(body string) bool {
				return strings.Count(body, `"system"`) == 1 && strings.Contains(body, "reminder")
			}, "role-order",
		},
		{
			"lists where a string is wanted", 400, "/v1/chat/completions",
			`{"model":"llama-3.3-70b-versatile","messages":[{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"text","text":"a"}]},{"role":"user","content":"go on"}]}`,
			"'messages.1' : for 'role:assistant' the following must be satisfied[('messages.1.content' : value must be a string)]",
			func(body string) bool { return strings.Contains(body, `"content":"a"`) }, "content-type",
		},
		{
			"no reason", 400, "/v1/chat/completions",
			`{"model":"mine-1","messages":[{"role":"user","content":"q"},{"role":"assistant","content":null,"tool_calls":[{"id":"call_long_1","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"call_long_1","content":"ok"},{"role":"assistant","content":"done"},{"role":"user","content":"go on"}]}`,
			"Request contains an invalid argument.",
			func(body string) bool { return !strings.Contains(body, "call_long_1") }, "unexplained",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			u := newUpstream(t, func(w http.ResponseWriter, r *http.Request, body []byte, n int) {
				if !tt.healed(string(body)) {
					w.WriteHeader(tt.status)
					io.WriteString(w, `{"error":{"message":"`+tt.said+`"}}`)
					return
				}
				io.WriteString(w, "better")
			})
			resp, body := post(t, front(t, u).URL+tt.path, tt.body)
			if resp.StatusCode != 200 || body != "better" || resp.Header.Get("Pare-Healed") != tt.rule {
				t.Error(resp.Status, body, resp.Header)
			}
		})
	}
}
