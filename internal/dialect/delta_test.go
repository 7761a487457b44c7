package dialect

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// brokenDeltas are requests that would be repaired if they had their whole history: each begins with
// the result of a call that it does not contain. HEAD is where other members go.
var brokenDeltas = map[Dialect]string{
	Anthropic:          `{HEAD"model":"claude-opus-5-5","max_tokens":9,"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"42"}]}]}`,
	OpenAIChat:         `{HEAD"model":"gpt-5","messages":[{"role":"tool","tool_call_id":"c1","content":"42"}]}`,
	OpenAIResponses:    `{HEAD"model":"gpt-5","input":[{"type":"function_call_output","call_id":"c1","output":"42"}]}`,
	Gemini:             `{HEAD"contents":[{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"a":42}}}]}]}`,
	Bedrock:            `{HEAD"messages":[{"role":"user","content":[{"toolResult":{"toolUseId":"t1","content":[{"text":"42"}]}}]}]}`,
	GeminiInteractions: `{HEAD"model":"gemini-3.8-flash","input":[{"type":"function_result","call_id":"c1","name":"f","result":"42"}]}`,
}

// deltaIn parses the broken request of a dialect with another member.
func deltaIn(t *testing.T, d Dialect, member string) *Request {
	t.Helper()
	if member != "" {
		member += ","
	}
	r, err := Parse([]byte(strings.Replace(brokenDeltas[d], "HEAD", member, 1)), Options{Dialect: d})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestDeltaIsNotRepaired(t *testing.T) {
	for _, d := range Dialects() {
		if deltaIn(t, d, "").Check(CheckOptions{}) == nil {
			t.Errorf("%s: the request has to be broken without its conversation", d)
		}
		for _, member := range []string{
			`"thread":{"type":"continue","previous_message_id":"msg_1"}`, `"thread":{"type":"resume_at"}`, `"thread":"t1"`,
			`"previous_response_id":"resp_1"`, `"conversation":"conv_1"`, `"conversation":{"id":"conv_1"}`,
			`"previous_interaction_id":"v1_x"`, `"continuation_token":"t"`,
			`"conversation_ref":"x"`, `"conversation_id":42`, `"conversationId":"c"`, `"threadId":"t"`, `"session":{"handle":"x"}`,
			`"session_params":{"id":"s","rid":"r"}`, `"parent_message_id":"m"`, `"previousResponseId":"r"`, `"resume_from":"step-4"`,
			`"extra_body":{"conversation_id":"c"}`, `"ref":"resp_68a1"`, `"chat_id":"c"`, `"context_id":"c"`, `"\u0063onversation_ref":"x"`,
		} {
			r := deltaIn(t, d, member)
			if r.head.delta == "" {
				t.Errorf("%s: %s does not name a conversation", d, member)
			}
			for _, o := range []CheckOptions{{}, {Strict: true, Advice: true}} {
				if found := r.Check(o); len(found) > 0 {
					t.Errorf("%s: %s: found %s", d, member, found[0].Rule)
				}
				m, err := r.repair(Repair{OrphanCall: RemedyDrop, OrphanResult: RemedyDrop}, o)
				if err != nil || m.Request != r || len(m.Changes)+len(m.Left) > 0 {
					t.Errorf("%s: %s: changed: %v %v", d, member, m, err)
				}
			}
		}
	}
}

func TestHarmlessMemberIsNoDelta(t *testing.T) {
	for _, d := range Dialects() {
		for _, member := range []string{
			`"thread":{"type":"create"}`, `"thread":null`, `"previous_response_id":null`, `"conversation":""`, `"conversation":[]`,
			`"diagnostics":{"previous_message_id":"msg_01"}`, `"container":"container_01"`, `"cachedContent":"cachedContents/1"`,
			`"metadata":{"user_id":"u","session_id":"s","conversation_id":"c"}`, `"user":"conv_123"`, `"prompt_cache_key":"thread_17"`,
			`"safety_identifier":"session_17"`, `"session_id":"s"`, `"litellm_session_id":"s"`, `"session_affinity":"s"`,
			`"requestMetadata":{"conversation_id":"c"}`, `"labels":{"session":"s"}`, `"litellm_metadata":{"session_id":"s"}`,
			`"continue_final_message":true`, `"chat_template":"{{ messages }}"`, `"chat_template_kwargs":{"enable_thinking":false}`,
			`"options":{"num_thread":8}`, `"n_threads":8`, `"keep_alive":"5m"`, `"request_id":"r"`, `"trace_id":"t"`,
			`"provider":{"order":["anthropic"]}`, `"usage":{"include":true}`, `"thread_title":"The login test"`, `"last_message":"go on, please"`,
			`"memory":true`, `"state":{"a":1}`, `"context":[1,2,3]`, `"history":[{"role":"user"}]`,
		} {
			if r := deltaIn(t, d, member); r.head.delta != "" {
				t.Errorf("%s: %s is taken for the name of a conversation", d, member)
			}
		}
	}
}

// TestDeltaShowsFaultsOfItsOwn: faults that need no history are reported all the same.
func TestDeltaShowsFaultsOfItsOwn(t *testing.T) {
	r, err := Parse([]byte(`{"previous_response_id":"resp_1","input":[7,{"type":"function_call_output","call_id":"c","call_id":"d","output":"x"}]}`), Options{})
	if err != nil {
		t.Fatal(err)
	}
	var rules []string
	for _, f := range r.Check(CheckOptions{}) {
		rules = append(rules, f.Rule)
	}
	if got := strings.Join(rules, " "); got != "wrong-type duplicate-key" {
		t.Errorf("found %q", got)
	}
	if m, err := r.repair(Repair{}, CheckOptions{}); err != nil || m.Request != r || len(m.Left) != 2 {
		t.Errorf("changed: %+v %v", m, err)
	}
}

// TestRequestMembersHaveClass: the table of members has every member of the official libraries'
// requests, and none of them keeps Pare from its work but those that name a conversation.
func TestRequestMembersHaveClass(t *testing.T) {
	data, err := os.ReadFile("testdata/unions.json")
	if err != nil {
		t.Fatal(err)
	}
	var list struct {
		Unions []struct {
			Place, From string
			Types       []string
		}
	}
	if err := json.Unmarshal(data, &list); err != nil {
		t.Fatal(err)
	}
	naming := map[string]memberClass{
		"thread": threadMember, "previous_response_id": deltaMember, "conversation": deltaMember,
		"previous_interaction_id": deltaMember, "continuation_token": deltaMember,
	}
	seen := 0
	for _, u := range list.Unions {
		if u.Place != "request" {
			continue
		}
		for _, name := range u.Types {
			seen++
			want := plainMember
			if class, ok := naming[name]; ok {
				want = class
			}
			if got := classOf([]byte(name)); got != want {
				t.Errorf("%s of %s has the class %d, not %d: see classOf", name, u.From, got, want)
			}
		}
	}
	if seen < 200 {
		t.Errorf("only %d members", seen)
	}
}

// TestThreadStartKeepsPinnedMembers: a request that starts a thread has its whole history and is
// repaired, but for members that later requests of the thread have to repeat.
func TestThreadStartKeepsPinnedMembers(t *testing.T) {
	open := `{"role":"user","content":"go"},{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"f","input":{}}]},{"role":"user","content":"on"}`
	loop := `{"role":"user","content":"go"},{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"x"}]}`
	for _, c := range []struct {
		name, head, messages string
		repaired             bool
	}{
		{"open call", ``, open, true},
		{"thinking that is required", `"thinking":{"type":"enabled","budget_tokens":2000},`, loop, false},
		{"betas", `"betas":["message-threads-2026-08-12"],`, `{"role":"user","content":"go"},{"role":"assistant","content":[{"type":"compaction","content":"so far"}]},{"role":"user","content":"on"}`, false},
	} {
		for _, thread := range []string{"", `"thread":{"type":"create"},`} {
			body := `{"model":"claude-sonnet-4-5","max_tokens":4000,` + c.head + thread + `"messages":[` + c.messages + `]}`
			r, err := Parse([]byte(body), Options{})
			if err != nil {
				t.Fatal(err)
			}
			m, err := r.repair(Repair{}, CheckOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if changed := m.Request != r; changed != (c.repaired || thread == "") {
				t.Errorf("%s, %q: changed %t: %v, left %v", c.name, thread, changed, m.Changes, m.Left)
			}
			if thread != "" && !strings.Contains(string(m.Request.Raw()), c.head+thread) {
				t.Errorf("%s: a pinned member was changed: %s", c.name, m.Request.Raw())
			}
		}
	}
}
