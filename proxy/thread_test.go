package proxy_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/paretest"
	"github.com/pare-llm/pare/proxy"
	"github.com/pare-llm/pare/wire"
)

// A threadClient holds a conversation with a message thread, as the official library does: it sends
// the first request whole, and the new messages after that.
type threadClient struct {
	t       *testing.T
	address string
}

// run asks and answers calls until the model makes none, and returns the bodies of all replies.
func (c *threadClient) run(head, question string) (replies []string) {
	thread, messages := `{"type":"create"}`, fmt.Sprintf(`{"role":"user","content":%q}`, question)
	members := `"tools":[{"name":"read","input_schema":{"type":"object"}}],"system":"Be brief.",`
	for range 20 {
		body := fmt.Sprintf(`{%s"max_tokens":2000,"thread":%s,%s"messages":[%s]}`, head, thread, members, messages)
		resp, said := post(c.t, c.address+"/v1/messages", body, "Anthropic-Beta", "message-threads-2026-08-12", "Anthropic-Version", "2026-10-21", "X-Api-Key", "k")
		var reply struct {
			ID      string
			Content []struct{ Type, ID string }
		}
		if err := json.Unmarshal([]byte(said), &reply); err != nil || resp.StatusCode != 200 {
			c.t.Fatalf("%s: %s", resp.Status, said)
		}
		replies = append(replies, said)
		var results []string
		for _, b := range reply.Content {
			if b.Type == "tool_use" {
				results = append(results, fmt.Sprintf(`{"type":"tool_result","tool_use_id":%q,"content":"a\u002ego: %s"}`, b.ID, strings.Repeat("line ", 400)))
			}
		}
		if len(results) == 0 {
			return replies
		}
		thread, members = fmt.Sprintf(`{"type":"continue","previous_message_id":%q}`, reply.ID), ""
		messages = `{"role":"user","content":[` + strings.Join(results, ",") + `]}`
	}
	c.t.Fatal("the model goes on calling")
	return nil
}

// TestMessageThreadPassesUnchanged: a stand-in that enforces the rules of threads gets the same
// requests with and without Pare, also where Pare could fit, heal and let the model fetch.
func TestMessageThreadPassesUnchanged(t *testing.T) {
	model := func(r *wire.Request) paretest.Reply {
		if n := len(r.Transcript().Messages()); n < 12 {
			return paretest.Reply{Text: "I look.", Calls: []paretest.ToolCall{{Tool: "read", Arguments: `{"path":"a.go"}`}, {Tool: "read", Arguments: `{"path":"b.go"}`}}}
		}
		return paretest.Reply{Text: "Done."}
	}
	for name, head := range map[string]string{
		"plain":    `"model":"claude-opus-4-6",`,
		"thinking": `"model":"claude-opus-5-5","thinking":{"type":"adaptive"},`,
	} {
		t.Run(name, func(t *testing.T) {
			var sent [2][]paretest.Recorded
			var replies [2][]string
			for way := range 2 {
				var record bytes.Buffer
				u := httptest.NewServer(&paretest.Mock{Reply: model, RequireKey: true, Record: &record})
				defer u.Close()
				address := u.URL
				if way == 1 {
					up, err := proxy.ParseUpstream("anthropic=" + u.URL)
					if err != nil {
						t.Fatal(err)
					}
					h := proxy.New(proxy.Config{
						Upstreams: map[string]proxy.Upstream{"anthropic": up}, PlanTime: -1,
						Policy: &pare.Policy{Window: &pare.Window{Tokens: 1000}},
					})
					p := httptest.NewServer(h)
					defer func() { p.Close(); h.CloseIdle() }()
					address = p.URL
				}
				replies[way] = (&threadClient{t, address}).run(head, "Read both.")
				for d := json.NewDecoder(&record); d.More(); {
					var one paretest.Recorded
					if err := d.Decode(&one); err != nil {
						t.Fatal(err)
					}
					sent[way] = append(sent[way], one)
				}
			}
			if len(sent[0]) < 5 || len(sent[0]) != len(sent[1]) || !reflect.DeepEqual(replies[0], replies[1]) {
				t.Fatalf("%d requests without Pare, %d with it", len(sent[0]), len(sent[1]))
			}
			for i := range sent[0] {
				if a, b := sent[0][i], sent[1][i]; !bytes.Equal(a.Body, b.Body) || a.Path != b.Path || a.Header.Get("Anthropic-Beta") != b.Header.Get("Anthropic-Beta") {
					t.Errorf("request %d:\n%s\n%s", i, a.Body, b.Body)
				}
			}
		})
	}
}

// TestThreadStartIsRepairedInItsMessagesOnly: no tool, option or beta is added to the request that
// starts a thread.
func TestThreadStartIsRepairedInItsMessagesOnly(t *testing.T) {
	u := newUpstream(t, nil)
	s := front(t, u, func(c *proxy.Config) {
		c.Policy = &pare.Policy{Window: &pare.Window{Tokens: 3000}}
	})
	for name, thread := range map[string]string{"whole": "", "thread": `"thread":{"type":"create"},`} {
		body := strings.Replace(long(40), "{", "{"+thread, 1)
		resp, _ := post(t, s.URL+"/v1/messages", body, "Anthropic-Beta", "message-threads-2026-08-12")
		got := u.last(t)
		if len(got.body) > len(body)/2 || resp.Header.Get("Pare-Changes") == "0" || got.header.Get("Anthropic-Beta") != "message-threads-2026-08-12" {
			t.Errorf("%s: %v, %d of %d bytes are sent", name, resp.Header, len(got.body), len(body))
		}
		var before, after map[string]json.RawMessage
		if err := errors.Join(json.Unmarshal([]byte(body), &before), json.Unmarshal(got.body, &after)); err != nil {
			t.Fatal(err)
		}
		delete(before, "messages")
		delete(after, "messages")
		if !reflect.DeepEqual(before, after) {
			t.Errorf("%s: the members around the messages are %s, want %s", name, after, before)
		}
	}
}

// TestRulesOfAPIVersionFollowHeader: the version that the client names decides whether a parameter is
// removed.
func TestRulesOfAPIVersionFollowHeader(t *testing.T) {
	u := newUpstream(t, nil)
	s := front(t, u)
	const body = `{"model":"claude-sonnet-4-6","max_tokens":100,"temperature":0.2,"messages":[{"role":"user","content":"hi"}]}`
	for version, removed := range map[string]bool{"2023-06-01": false, "2026-10-21": true} {
		resp, _ := post(t, s.URL+"/v1/messages", body, "Anthropic-Version", version)
		if got := u.last(t); strings.Contains(string(got.body), "temperature") == removed || (resp.Header.Get("Pare-Changes") == "1") != removed {
			t.Errorf("version %s: %v %s", version, resp.Header, got.body)
		}
	}
	// A beta that the header does not name may be added by a gateway.
	const summary = `{"model":"claude-opus-5-5","max_tokens":9,"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"compaction","content":"so far"}]},{"role":"user","content":"go on"}]}`
	resp, _ := post(t, s.URL+"/v1/messages", summary, "Anthropic-Version", "2026-10-21", "Anthropic-Beta", "a-1")
	if got := u.last(t); string(got.body) != summary || resp.Header.Get("Pare-Skipped") != "" {
		t.Errorf("%v %s", resp.Header, got.body)
	}
}
