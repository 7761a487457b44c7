package wire_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pare-llm/pare/internal/trial"
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

// TestServerIDAgain: of two calls of the provider's own tools with one id, a result answers
// the one of its own turn; the one that was broken off before has none.
func TestServerIDAgain(t *testing.T) {
	use := func(kind, id, q string) string {
		return `{"type":"` + kind + `_tool_use","id":"` + id + `","name":"lookup","input":{"q":"` + q + `"}}`
	}
	result := func(kind, id string) string {
		return `{"type":"` + kind + `_tool_result","tool_use_id":"` + id + `","content":[]}`
	}
	body := func(first, between, last string) string {
		return `{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[{"role":"user","content":"q"},{"role":"assistant","content":[` + first + `,{"type":"tool_use","id":"t1","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"ok"}` + between + `]},{"role":"assistant","content":[` + last + `]},{"role":"user","content":"n"}]}`
	}
	for _, x := range []struct{ kind, result, id string }{{"mcp", "mcp", "m1"}, {"server", "web_search", "srvtoolu_1"}} {
		pair := use(x.kind, x.id, "new") + "," + result(x.result, x.id)
		one := defect{found: []string{"server-tool-unpaired"}, keeps: []string{pair}, loses: []string{`"q":"old"`}}
		one.name, one.body = x.kind, body(use(x.kind, x.id, "old"), "", pair)
		one.run(t)
		one.name, one.body = x.kind+", somebody speaks between", body(use(x.kind, x.id, "old"), `,{"type":"text","text":"go on"}`, pair)
		one.run(t)
		defect{name: x.kind + ", both answered", body: body(use(x.kind, x.id, "old")+","+result(x.result, x.id), "", pair), keeps: []string{pair, `"q":"old"`}}.run(t)
		paused := use(x.kind, x.id, "old")
		defect{name: x.kind + ", one call, answered behind results", body: body(paused, "", result(x.result, x.id)), keeps: []string{paused, result(x.result, x.id)}}.run(t)
	}
	mixed := use("mcp", "srvtoolu_1", "mcp") + "," + use("server", "srvtoolu_1", "server")
	defect{name: "two kinds with one id", body: body(mixed, "", result("web_search", "srvtoolu_1")), found: []string{"server-tool-unpaired"}, keeps: []string{`"q":"server"`, result("web_search", "srvtoolu_1")}, loses: []string{`"q":"mcp"`}}.run(t)
	// Google does not refuse it: found where it is asked for, and at the right call.
	for _, x := range []struct{ body, path string }{
		{`{"contents":[{"role":"user","parts":[{"text":"q"}]},{"role":"model","parts":[{"executableCode":{"language":"PYTHON","code":"old"}}]},{"role":"user","parts":[{"text":"go on"}]},{"role":"model","parts":[{"executableCode":{"language":"PYTHON","code":"new"}},{"codeExecutionResult":{"outcome":"OUTCOME_OK","output":"1"}}]},{"role":"user","parts":[{"text":"n"}]}]}`, "contents.1.parts.0"},
		{`{"model":"gemini-3.8-flash","input":[{"type":"user_input","content":[{"type":"text","text":"q"}]},{"type":"google_search_call","id":"s1","arguments":{"queries":["old"]}},{"type":"user_input","content":[{"type":"text","text":"go on"}]},{"type":"google_search_call","id":"s1","arguments":{"queries":["new"]}},{"type":"google_search_result","call_id":"s1","result":[]},{"type":"user_input","content":[{"type":"text","text":"n"}]}]}`, "input.1"},
	} {
		r, err := wire.Parse([]byte(x.body), wire.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var at []string
		for _, f := range r.Check(wire.CheckOptions{Strict: true}) {
			if f.Rule == "server-tool-unpaired" {
				at = append(at, f.Path)
			}
		}
		if !slices.Equal(at, []string{x.path}) {
			t.Errorf("%s: unpaired at %q, want %q", r.Dialect, at, x.path)
		}
	}
}

// TestReferencesAreNamed: the receipt of each reference that goes names its place in the input,
// also of the last one in a list, and where results are joined.
func TestReferencesAreNamed(t *testing.T) {
	result := func(content string) string {
		return `{"type":"tool_result","tool_use_id":"t1","content":[` + content + `]}`
	}
	const a, b, text = `{"type":"tool_reference","tool_name":"A"}`, `{"type":"tool_reference","tool_name":"B"}`, `{"type":"text","text":"found"}`
	for _, x := range []struct {
		results string
		drops   []string
	}{
		{result(a + "," + b), []string{"0.content.0", "0.content.1"}},
		{result(a + "," + text + "," + b), []string{"0.content.0", "0.content.2"}},
		{result(text) + "," + result(a), []string{"1.content.0"}},
		{result(text) + "," + result(text+","+a+","+b) + "," + result(b), []string{"1.content.1", "1.content.2", "2.content.0"}},
	} {
		body := `{"model":"claude-sonnet-4-5","max_tokens":9,"tools":[{"name":"f","input_schema":{"type":"object"}}],"messages":[{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"f","input":{}}]},{"role":"user","content":[` + x.results + `]}]}`
		r, err := wire.Parse([]byte(body), wire.Options{})
		if err != nil {
			t.Fatal(err)
		}
		out, err := r.Mend(wire.Repair{}, wire.CheckOptions{})
		if err != nil || len(out.Left) > 0 {
			t.Fatal(err, out.Left)
		}
		var drops []string
		for _, c := range out.Changes {
			if c.Rule == "tool-reference-unknown" {
				drops = append(drops, strings.TrimPrefix(c.Path, "messages.2.content."))
			}
		}
		if !slices.Equal(drops, x.drops) {
			t.Errorf("%s: dropped %q, want %q", x.results, drops, x.drops)
		}
	}
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

// TestRoleFirst: what a message may hold follows from who says it. A role in another
// spelling is repaired alone, so that no call is dropped for it and no result quoted.
func TestRoleFirst(t *testing.T) {
	chat := func(role string) string {
		return `{"messages":[{"role":"user","content":"hi"},{"role":"` + role + `","content":null,"tool_calls":[{"id":"s1","type":"function","function":{"name":"P","arguments":"{}"}}]},{"role":"tool","tool_call_id":"s1","content":"done"}]}`
	}
	whole := []string{`"role":"assistant","content":null,"tool_calls"`, `{"role":"tool","tool_call_id":"s1","content":"done"}`}
	defect{name: "capital", body: chat("Assistant"), found: []string{"unknown-role", "null-content"}, keeps: whole}.run(t)
	defect{name: "half a pair", body: chat(`assistant\ud83d`), found: []string{"unknown-role", "null-content", "lone-surrogate"}, keeps: whole}.run(t)
	defect{name: "nobody", body: chat("robot"), found: []string{"unknown-role", "null-content"}, keeps: whole}.run(t)
	gemini := func(role, answers string) string {
		return `{"contents":[{"role":"user","parts":[{"text":"x"}]},{"role":"` + role + `","parts":[{"functionCall":{"name":"G","args":{}}}]},{"role":"` + answers + `","parts":[{"functionResponse":{"name":"G","response":{"output":"why"}}}]}]}`
	}
	defect{name: "gemini", body: gemini("model", "USER"), found: []string{"unknown-role"}, keeps: []string{`"role":"user","parts":[{"functionResponse"`}}.run(t)
	defect{name: "gemini, both", body: gemini("Assistant", "Human"), found: []string{"unknown-role", "unknown-role"}, keeps: []string{`"role":"model","parts":[{"functionCall"`, `"role":"user","parts":[{"functionResponse"`}}.run(t)
}

// TestWrongMouth: a call that somebody else says, or a result, is refused although the other
// half is where it would be looked for.
func TestWrongMouth(t *testing.T) {
	both := []string{"call-wrong-role", "result-wrong-role"}
	defect{name: "anthropic", found: both,
		body:  `{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"x"},{"role":"user","content":[{"type":"tool_use","id":"t1","name":"f","input":{}}]},{"role":"assistant","content":[{"type":"tool_result","tool_use_id":"t1","content":"x"}]},{"role":"user","content":"go"}]}`,
		keeps: []string{`"role":"assistant","content":[{"type":"tool_use"`, `"role":"user","content":[{"type":"tool_result"`}}.run(t)
	defect{name: "gemini", found: both,
		body:  `{"contents":[{"role":"user","parts":[{"text":"hi"}]},{"role":"model","parts":[{"text":"a"}]},{"role":"user","parts":[{"functionCall":{"name":"f","args":{}}}]},{"role":"model","parts":[{"functionResponse":{"name":"f","response":{"a":1}}}]},{"role":"user","parts":[{"text":"go"}]}]}`,
		keeps: []string{`"role":"model","parts":[{"functionCall"`, `"role":"user","parts":[{"functionResponse"`}}.run(t)
	defect{name: "bedrock", found: []string{"call-wrong-role", "tools-undefined", "result-wrong-role"},
		body:  `{"modelId":"anthropic.claude-3-5","messages":[{"role":"user","content":[{"text":"hi"}]},{"role":"assistant","content":[{"text":"x"}]},{"role":"user","content":[{"toolUse":{"toolUseId":"t1","name":"f","input":{}}}]},{"role":"assistant","content":[{"toolResult":{"toolUseId":"t1","content":[{"text":"y"}]}}]},{"role":"user","content":[{"text":"go"}]}]}`,
		keeps: []string{`{"text":"x"},{"toolUse"`, `"role":"user","content":[{"toolResult"`}}.run(t)
	defect{name: "chat", found: both[:1],
		body:  `{"messages":[{"role":"user","content":"hi","tool_calls":[{"id":"s1","type":"function","function":{"name":"P","arguments":"{}"}}]},{"role":"tool","tool_call_id":"s1","content":"done"}]}`,
		keeps: []string{`{"role":"user","content":"hi"}`, `{"role":"assistant","content":null,"tool_calls":[{"id":"s1"`, `{"role":"tool","tool_call_id":"s1","content":"done"}`}}.run(t)
	defect{name: "chat, the old family", found: both[:1],
		body:  `{"messages":[{"role":"user","content":"hi","function_call":{"name":"f","arguments":"{}"}},{"role":"function","name":"f","content":"done"}]}`,
		keeps: []string{`{"role":"user","content":"hi"}`, `{"role":"assistant","content":null,"function_call":{"name":"f"`, `{"role":"function","name":"f","content":"done"}`}}.run(t)
}

// TestPausedBeforeNothing: what the provider executes may go on behind a message without
// content, which is not sent.
func TestPausedBeforeNothing(t *testing.T) {
	call := `{"type":"server_tool_use","id":"srvtoolu_1","name":"web_fetch","input":{"url":"https://example.com"}}`
	begin := `{"max_tokens":9,"model":"claude-sonnet-4-5","messages":[{"role":"user","content":"q"},{"role":"assistant","content":[` + call + `]},`
	defect{name: "nothing", body: begin + `{"role":"user","content":[]}]}`, found: []string{"empty-content"}, keeps: []string{call}}.run(t)
	defect{name: "twice nothing", body: begin + `{"role":"user","content":[]},{"role":"user","content":[]}]}`, found: []string{"empty-content", "empty-content"}, keeps: []string{call}}.run(t)
	defect{name: "somebody", body: begin + `{"role":"user","content":"and?"}]}`, found: []string{"server-tool-unpaired"}}.run(t)
}

// TestSplitResultsOfTwins: calls that share an id are answered in one turn, too.
func TestSplitResultsOfTwins(t *testing.T) {
	calls := `{"contents":[{"role":"user","parts":[{"text":"q"}]},{"role":"model","parts":[{"functionCall":{"id":"a","name":"Grep","args":{}}},{"functionCall":{"id":"a","name":"Bash","args":{}}}]},`
	answer := func(name string) string {
		return `{"functionResponse":{"id":"a","name":"` + name + `","response":{"output":"of ` + name + `"}}}`
	}
	defect{name: "two turns", body: calls + `{"role":"user","parts":[` + answer("Grep") + `]},{"role":"user","parts":[` + answer("Bash") + `]}]}`, found: []string{"split-results"}, keeps: []string{answer("Grep") + "," + answer("Bash")}}.run(t)
	defect{name: "one turn", body: calls + `{"role":"user","parts":[` + answer("Grep") + `,` + answer("Bash") + `]}]}`}.run(t)
	defect{name: "one too many", body: calls + `{"role":"user","parts":[` + answer("Bash") + `,` + answer("Grep") + `,` + answer("Bash") + `]}]}`, found: []string{"duplicate-result"}, keeps: []string{answer("Grep")}}.run(t)
	defect{name: "one too many of one name", body: calls + `{"role":"user","parts":[` + answer("Bash") + `,` + answer("Bash") + `,` + answer("Bash") + `]}]}`, found: []string{"orphan-call", "duplicate-result", "duplicate-result"}, keeps: []string{answer("Bash")}}.run(t)
	defect{name: "behind an empty one", body: calls + `{"role":"user","parts":[]},{"role":"user","parts":[` + answer("Bash") + `]}]}`, found: []string{"orphan-call", "empty-content", "displaced-result"}, keeps: []string{`"parts":[` + answer("Bash") + `,{"functionResponse"`}}.run(t)
}

// TestHoistedBeside: what stands beside a definition that goes to the head has a receipt.
func TestHoistedBeside(t *testing.T) {
	definition := func(says string) string {
		return `{"type":"tool_definition","definition":{"name":"Inline","description":"` + says + `","input_schema":{"type":"object"}}}`
	}
	body := `{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[{"role":"user","content":"q"},{"role":"system","content":[{"type":"tool_addition","note":"beside","tool":` + definition("first") + `,"tool":` + definition("last") + `}]},{"role":"user","content":"n"}]}`
	r, err := wire.Parse([]byte(body), wire.Options{})
	if err != nil {
		t.Fatal(err)
	}
	m, err := r.Mend(wire.Repair{}, wire.CheckOptions{Strict: true})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range m.Changes {
		got = append(got, c.Action+" "+c.Path)
	}
	all, out := strings.Join(got, "\n"), string(m.Request.Raw())
	for _, want := range []string{"drop messages.1.content.0.tool\n", "drop messages.1.content.0.note"} {
		if !strings.Contains(all+"\n", want) {
			t.Errorf("no %q in\n%s\n%s", want, all, out)
		}
	}
	if !strings.Contains(out, `"tools":[{"name":"Inline","description":"last"`) {
		t.Errorf("the tool is not declared: %s", out)
	}
}

// TestHiddenCopy: no path leads into a value that another one of its name hides.
func TestHiddenCopy(t *testing.T) {
	body := `{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[{"role":"user","content":[{"type":"text","text":"a","text":"a"}],"content":"b"}]}`
	defect{name: "hidden", body: body, found: []string{"duplicate-key", "duplicate-key"}, left: []string{"duplicate-key", "duplicate-key"}, keeps: []string{`"text":"a","text":"a"`}}.run(t)
	defect{name: "seen", body: strings.Replace(body, `,"content":"b"`, "", 1), found: []string{"duplicate-key"}, keeps: []string{`[{"type":"text","text":"a"}]`}}.run(t)
}

// TestMendManyCopies: very many keys that stand twice take time by their number.
func TestMendManyCopies(t *testing.T) {
	trial.Linear(t, "copies", 4000, func(n int) func() {
		body := `{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[` + strings.Repeat(`{"role":"user","content":[{"type":"text","text":"x","text":"x"}]},{"role":"assistant","content":"y"},`, n/2) + `{"role":"user","content":"z"}]}`
		r, err := wire.Parse([]byte(body), wire.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return func() {
			if m, err := r.Mend(wire.Repair{}, wire.CheckOptions{}); err != nil || len(m.Left) > 0 {
				t.Fatal(err, len(m.Left))
			}
		}
	})
}

// TestCopyOfAnEarlierValue: of a key with two values the last one counts, and stays the last.
func TestCopyOfAnEarlierValue(t *testing.T) {
	body := `{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[{"role":"user","content":[{"type":"text","text":"a","text":"b","text":"a"}]}]}`
	defect{name: "between", body: body, found: []string{"duplicate-key"}, left: []string{"duplicate-key"}, keeps: []string{`"text":"a","text":"b","text":"a"`}}.run(t)
}

// TestMendCopiesOfOneMessage: however many keys of one message stand twice, and wherever, one
// repair finds them all, at their places.
func TestMendCopiesOfOneMessage(t *testing.T) {
	repeat := func(n int, format string) string {
		all := make([]string, n)
		for i := range all {
			all[i] = strings.ReplaceAll(format, "#", strconv.Itoa(i))
		}
		return strings.Join(all, ",")
	}
	for name, input := range map[string]string{
		"one key":      `{"a":1,` + repeat(2000, `"a":1`) + `}`,
		"objects":      `{"l":[` + repeat(2000, `{"a":#,"a":#}`) + `]}`,
		"members":      `{` + repeat(2000, `"k#":{"a":"#","a":"#"}`) + `}`,
		"copies later": `{` + repeat(2000, `"k#":"#"`) + `,` + repeat(2000, `"k#":"#"`) + `}`,
	} {
		t.Run(name, func(t *testing.T) {
			body := `{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"f","input":` + input + `}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"x"}]}]}`
			r, err := wire.Parse([]byte(body), wire.Options{})
			if err != nil {
				t.Fatal(err)
			}
			m, err := r.Mend(wire.Repair{}, wire.CheckOptions{})
			if err != nil || len(m.Left) > 0 || len(m.Changes) != 2000 {
				t.Fatal(err, len(m.Left), len(m.Changes))
			}
			var before, after any
			if json.Unmarshal([]byte(body), &before) != nil || json.Unmarshal(m.Request.Raw(), &after) != nil || !reflect.DeepEqual(before, after) {
				t.Error("it does not say the same")
			}
		})
	}
}

// TestMembersInFront: members of a message are found in front of its content, too, where
// dumps of a reply have them, and also if the content stands twice.
func TestMembersInFront(t *testing.T) {
	const first, last = `{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[{"role":"user","content":"q"},{`, `},{"role":"user","content":"n"}]}`
	for name, c := range map[string]struct {
		members string
		found   int
	}{
		"in front":    {`"id":"msg_1","type":"message","model":"c","role":"assistant","content":[{"type":"text","text":"a"}]`, 3},
		"behind":      {`"role":"assistant","content":[{"type":"text","text":"a"}],"stop_reason":"end_turn","usage":{}`, 2},
		"on both":     {`"refusal":null,"role":"assistant","content":"a","container":null`, 2},
		"none":        {`"role":"assistant","content":[{"type":"text","text":"a"}]`, 0},
		"role behind": {`"tool_calls":[],"content":"a","role":"assistant"`, 1},
	} {
		defect{name: name, as: wire.Anthropic, body: first + c.members + last, found: slices.Repeat([]string{"unknown-field"}, c.found), keeps: []string{`"role":"assistant"`, `"a"`}, loses: []string{"msg_1", "end_turn", "container", "tool_calls"}}.run(t)
	}
}
