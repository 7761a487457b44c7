package oracle

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// pairRules are the rules of the catalogue that are about pairs: the oracle refuses their
// bad fixtures. It takes all good ones.
var pairRules = []string{
	"anthropic/tool-use-without-result", "anthropic/tool-result-without-use", "anthropic/tool-result-not-first", "anthropic/duplicate-tool-result", "anthropic/tool-result-wrong-role",
	"anthropic/tool-use-wrong-role", "anthropic/trailing-open-call", "anthropic/server-use-without-result", "anthropic/server-result-without-use",
	"openai-chat/unanswered-call", "openai-chat/tool-without-call", "openai-chat/id-not-in-call", "openai-chat/duplicate-result", "openai-chat/custom-tool-pair",
	"openai-responses/call-without-output", "openai-responses/output-without-call", "openai-responses/kind-mismatch",
	"gemini/call-turn-position", "gemini/response-turn-position", "gemini/response-count",
	"bedrock/missing-result", "bedrock/excess-result", "bedrock/duplicate-result", "bedrock/duplicate-use", "bedrock/alternation",
}

// TestJudgeAgreesWithFixtures tries the oracle on the fixtures of the catalogue of rules.
func TestJudgeAgreesWithFixtures(t *testing.T) {
	f, err := os.Open("../../testdata/fixtures.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	refused, taken := map[string]int{}, 0
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var row struct {
			Rule              string
			Bad, Good, Accept json.RawMessage
		}
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		dialect, _, _ := strings.Cut(row.Rule, "/")
		for _, whole := range []json.RawMessage{row.Good, row.Accept} {
			faults, err := Judge(dialect, whole)
			if whole == nil || err != nil {
				continue // of another vendor
			}
			taken++
			if len(faults) > 0 {
				t.Errorf("%s: %v in what the provider takes\n%s", row.Rule, faults, whole)
			}
		}
		for _, rule := range pairRules {
			if row.Rule != rule || row.Bad == nil {
				continue
			}
			faults, err := Judge(dialect, row.Bad)
			if err != nil || len(faults) == 0 {
				t.Errorf("%s: nothing found (%v)\n%s", row.Rule, err, row.Bad)
			}
			refused[rule]++
		}
	}
	for _, rule := range pairRules {
		if refused[rule] == 0 {
			t.Logf("%s has no fixture", rule)
		}
	}
	if taken < 80 || len(refused) < 15 {
		t.Errorf("%d taken, %d rules refused: the fixtures are not what they were", taken, len(refused))
	}
}

// TestJudgeFindsEachClass checks one case for each class of the rule catalog.
func TestJudgeFindsEachClass(t *testing.T) {
	for _, c := range []struct{ name, dialect, body, want string }{
		{"families", "openai-chat", `[{"role":"user","content":"q"},{"role":"assistant","content":null,"function_call":{"name":"f","arguments":"{}"}},{"role":"tool","tool_call_id":"f","content":"x"}]`, "orphan at messages.2 (f)|unanswered at messages.1.function_call ()"},
		{"families, the other way", "openai-chat", `[{"role":"user","content":"q"},{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"function","name":"f","content":"x"}]`, "unanswered at messages.1 (c)|orphan at messages.2 ()"},
		{"old family", "openai-chat", `[{"role":"user","content":"q"},{"role":"assistant","content":null,"function_call":{"name":"f","arguments":"{}"}},{"role":"function","name":"f","content":"x"}]`, ""},
		{"equal ids", "gemini", `[{"role":"user","parts":[{"text":"q"}]},{"role":"model","parts":[{"functionCall":{"id":"a","name":"Task","args":{}}},{"functionCall":{"id":"a","name":"Read","args":{}}}]},{"role":"user","parts":[{"functionResponse":{"id":"a","name":"Read","response":{}}},{"functionResponse":{"id":"a","name":"Task","response":{}}}]}]`, ""},
		{"equal ids, one name twice", "gemini", `[{"role":"user","parts":[{"text":"q"}]},{"role":"model","parts":[{"functionCall":{"id":"a","name":"Task","args":{}}},{"functionCall":{"id":"a","name":"Read","args":{}}}]},{"role":"user","parts":[{"functionResponse":{"id":"a","name":"Read","response":{}}},{"functionResponse":{"id":"a","name":"Read","response":{}}}]}]`, "twice at contents.2.parts.1 (a)|unanswered at contents.1.parts.0 (a)"},
		{"a surplus", "gemini", `[{"role":"user","parts":[{"text":"q"}]},{"role":"model","parts":[{"functionCall":{"name":"f","args":{}}}]},{"role":"user","parts":[{"functionResponse":{"name":"f","response":{}}},{"functionResponse":{"name":"f","response":{}}}]}]`, "twice at contents.2.parts.1 ()"},
		{"continued", "gemini", `[{"role":"user","parts":[{"text":"q"}]},{"role":"model","parts":[{"functionCall":{"name":"f","args":{}}}]},{"role":"user","parts":[{"functionResponse":{"name":"f","response":{},"willContinue":true}},{"functionResponse":{"name":"f","response":{}}}]}]`, ""},
		{"neighbours", "bedrock", `[{"role":"user","content":[{"text":"a"}]},{"role":"user","content":[{"text":"b"}]}]`, "roles at messages.1 ()"},
		{"kinds", "openai-responses", `[{"type":"custom_tool_call","call_id":"c","name":"f","input":""},{"type":"function_call_output","call_id":"c","output":""}]`, "orphan at input.1 (c)|unanswered at input.0 (c)"},
		{"an id again", "openai-responses", `[{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":""},{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":""}]`, "reused at input.2 (c)"},
		{"chained", "openai-responses", `{"previous_response_id":"r","input":[{"type":"function_call_output","call_id":"c","output":""}]}`, ""},
		{"a server tool at work", "anthropic", `[{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}]}]`, ""},
		{"a server tool left", "anthropic", `[{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}]},{"role":"user","content":"n"}]`, "unanswered at messages.1.content.0 (srvtoolu_1)"},
		{"a server tool that is answered late", "anthropic", `[{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"server_tool_use","id":"srvtoolu_1","name":"web_fetch","input":{}},{"type":"tool_use","id":"t","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t"}]},{"role":"assistant","content":[{"type":"tool_use","id":"u","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"u"}]},{"role":"assistant","content":[{"type":"web_fetch_tool_result","tool_use_id":"srvtoolu_1","content":{}}]}]`, ""},
		{"a server tool that the model forgot", "anthropic", `[{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"server_tool_use","id":"srvtoolu_1","name":"web_fetch","input":{}},{"type":"tool_use","id":"t","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t"}]},{"role":"assistant","content":[{"type":"text","text":"a"}]}]`, "unanswered at messages.1.content.0 (srvtoolu_1)"},
		{"the user calls", "openai-chat", `[{"role":"user","content":"q","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":"x"}]`, "misplaced at messages.0 ()|orphan at messages.1 (c)"},
		{"nobody answers", "gemini", `[{"role":"user","parts":[{"text":"q"}]},{"role":"model","parts":[{"functionCall":{"name":"f","args":{}}}]},{"role":"nobody","parts":[{"functionResponse":{"name":"f","response":{}}}]}]`, "orphan at contents.2.parts.0 ()"},
		{"a text in front", "anthropic", `[{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":{}}]},{"role":"user","content":[{"type":"text","text":"n"},{"type":"tool_result","tool_use_id":"t"}]}]`, "unanswered at messages.1.content.0 (t)"},
	} {
		faults, err := Judge(c.dialect, []byte(c.body))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range faults {
			got = append(got, f.String())
		}
		if s := strings.Join(got, "|"); s != c.want {
			t.Errorf("%s: %q, want %q", c.name, s, c.want)
		}
	}
}
