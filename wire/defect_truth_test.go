package wire_test

import (
	"testing"

	"github.com/pare-llm/pare/wire"
)

// TestServerToolOfUser: what the provider runs itself stands in no message of the user.
func TestServerToolOfUser(t *testing.T) {
	use := `{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"x"}}`
	result := `{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"type":"web_search_result","url":"https://example.com","title":"t","encrypted_content":"e"}]}`
	body := func(user, assistant string) string {
		return `{"model":"claude-sonnet-4-5","max_tokens":9,"tools":[{"type":"web_search_20250305","name":"web_search"}],"messages":[{"role":"user","content":[{"type":"text","text":"q"}` + user + `]},{"role":"assistant","content":[` + assistant + `{"type":"text","text":"a"}]},{"role":"user","content":"n"}]}`
	}
	defect{name: "both", body: body(","+use+","+result, ""), found: []string{"server-tool-unpaired", "server-tool-unpaired"}, loses: []string{"srvtoolu_1"}, keeps: []string{`"text":"q"`}}.run(t)
	defect{name: "the use", body: body(","+use, result+","), found: []string{"server-tool-unpaired", "server-tool-unpaired"}, loses: []string{"srvtoolu_1"}}.run(t)
	defect{name: "the model's own", body: body("", use+","+result+","), keeps: []string{"srvtoolu_1"}}.run(t)
}

// TestStrippedMember: a member that goes has a receipt of its own, at its own path.
func TestStrippedMember(t *testing.T) {
	body := `{"model":"llama-3.3-70b-versatile","messages":[{"role":"user","content":"q"},{"role":"assistant","content":"a","reasoning_content":"because"},{"role":"user","content":"n"}]}`
	r, err := wire.Parse([]byte(body), wire.Options{Dialect: wire.OpenAIChat, Profile: "groq"})
	if err != nil {
		t.Fatal(err)
	}
	m, err := r.Mend(wire.Repair{}, wire.CheckOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Changes) != 1 || m.Changes[0].Action != "drop" || m.Changes[0].Path != "messages.1.reasoning_content" {
		t.Errorf("%+v", m.Changes)
	}
}
