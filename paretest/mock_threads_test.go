package paretest_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/pare-llm/pare/paretest"
	"github.com/pare-llm/pare/wire"
)

const threadsBeta = "message-threads-2026-08-12"

// threadBody is a request of a thread with other members, about a message of the user.
func threadBody(thread, members, messages string) string {
	return fmt.Sprintf(`{"model":"claude-opus-5-5","max_tokens":99,"thread":%s,%s"messages":[%s]}`, thread, members, messages)
}

// TestThreadsAreHeldAndTheirRulesEnforced: a thread is continued by new messages alone, and whatever a
// later request may not do is refused with the provider's code.
func TestThreadsAreHeldAndTheirRulesEnforced(t *testing.T) {
	m := &paretest.Mock{Reply: func(r *wire.Request) paretest.Reply {
		if n := len(r.Transcript().Messages()); n > 1 {
			return paretest.Reply{Text: fmt.Sprintf("%d messages", n)}
		}
		return paretest.Reply{Calls: []paretest.ToolCall{{ID: "toolu_a", Tool: "read"}}}
	}}
	send := func(body string, header ...string) (status int, said, id string) {
		if len(header) == 0 {
			header = []string{"Anthropic-Beta", threadsBeta}
		}
		w := post(m, "/v1/messages", body, header...)
		var reply struct{ ID string }
		json.Unmarshal(w.Body.Bytes(), &reply)
		return w.Code, w.Body.String(), reply.ID
	}
	const tools, hello = `"tools":[{"name":"read","input_schema":{"type":"object"}}],`, `{"role":"user","content":"hello"}`
	const result = `{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_a","content":"42"}]}`
	status, said, first := send(threadBody(`{"type":"create"}`, tools, hello))
	if status != 200 {
		t.Fatal(said)
	}
	after := func(id string) string { return `{"type":"continue","previous_message_id":"` + id + `"}` }
	for _, c := range []struct {
		name, body, want string
		header           []string
		status           int
	}{
		{"no beta", threadBody(after(first), "", result), "Extra inputs", []string{"Anthropic-Beta", "other-2026-01-01"}, 400},
		{"unknown reply", threadBody(after("msg_none"), "", result), "thread_not_found", nil, 404},
		{"another model", strings.Replace(threadBody(after(first), "", result), "opus-5-5", "opus-5", 1), "thread_fingerprint_mismatch", nil, 400},
		{"other betas", threadBody(after(first), "", result), "thread_fingerprint_mismatch", []string{"Anthropic-Beta", threadsBeta + ", compact-2026-01-12"}, 400},
		{"tools again", threadBody(after(first), tools, result), "tools: not accepted", nil, 400},
		{"open call", threadBody(after(first), "", hello), "ids were found without", nil, 400},
		{"quoted result", threadBody(after(first), "", strings.Replace(result, "toolu_a", "toolu_b", 1)), "ids were found without", nil, 400},
		{"result", threadBody(after(first), "", result), "3 messages", nil, 200},
		{"again", threadBody(after(first), "", result), "thread_already_continued", nil, 400},
	} {
		if status, said, _ := send(c.body, c.header...); status != c.status || !strings.Contains(said, c.want) {
			t.Errorf("%s: %d %s", c.name, status, said)
		}
	}
}
