package dialect_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pare-llm/pare/internal/dialect"
)

// TestDefectManyOfOneKind: a repair of a round is one of all that is wrong in the same way. What
// needs a round for each is left over when there are more of them than rounds.
func TestDefectManyOfOneKind(t *testing.T) {
	const n = 60
	many := func(format string) string {
		var all []string
		for i := range n {
			all = append(all, strings.ReplaceAll(format, "#", fmt.Sprint(i)))
		}
		return strings.Join(all, ",")
	}
	define := func(name string) string {
		return `{"role":"system","content":[{"type":"tool_addition","tool":{"type":"tool_definition","definition":{"name":"` + name + `","input_schema":{"type":"object"}}}}]}`
	}
	claude := `{"model":"claude-sonnet-4-5","max_tokens":10,"messages":[{"role":"user","content":"hi"},`
	gemini := `{"model":"gemini-3-pro","contents":[{"role":"user","parts":[{"text":"hi"}]},`
	for name, c := range map[string]struct{ body, keeps string }{
		"P4: definitions in neighbours": {claude + many(define("f#")) + `,{"role":"user","content":"x"}]}`, `{"name":"f#","input_schema"`},
		"P4: definitions apart": {claude + many(define("f#")+`,{"role":"assistant","content":"a#"},{"role":"user","content":"u#"}`) + `]}`,
			`{"name":"f#","input_schema"`},
		"P4: definitions beside tools": {strings.Replace(claude, `"messages"`, `"tools":[{"name":"g","input_schema":{"type":"object"}}],"messages"`, 1) +
			many(define("f#")+`,{"role":"assistant","content":"a#"},{"role":"user","content":"u#"}`) + `]}`, `{"name":"f#","input_schema"`},
		"P4: definitions beside no tools": {strings.Replace(claude, `"messages"`, `"tools":null,"messages"`, 1) +
			many(define("f#")+`,{"role":"assistant","content":"a#"},{"role":"user","content":"u#"}`) + `]}`, `{"name":"f#","input_schema"`},
		"P18: neighbours of the system": {`{"modelId":"us.anthropic.claude-opus-4-6-v1:0","messages":[{"role":"user","content":[{"text":"hi"}]},` +
			many(`{"role":"system","content":[{"text":"word #."}]}`) + `]}`, "word #."},
		"P6: a series in messages of its own": {gemini + `{"role":"model","parts":[{"functionCall":{"name":"f","args":{},"id":"i"},"thoughtSignature":"c2ln"}]},` +
			many(`{"role":"user","parts":[{"functionResponse":{"name":"f","id":"i","willContinue":true,"response":{"o":"said #."}}}]}`) + `]}`, "said #."},
		"P6: responses in the second message": {gemini + `{"role":"model","parts":[{"functionCall":{"name":"f","args":{},"id":"i"},"thoughtSignature":"c2ln"},` +
			many(`{"functionCall":{"name":"f","args":{},"id":"i#"}}`) + `]},{"role":"user","parts":[{"functionResponse":{"name":"f","id":"i","response":{"o":1}}}]},{"role":"user","parts":[` +
			many(`{"functionResponse":{"name":"f","id":"i#","response":{"o":"said #."}}}`) + `]}]}`, "said #."},
		"P6: an object among texts": {`{"model":"gemini-3-pro","input":[{"type":"user_input","content":[{"type":"text","text":"hi"}]},{"type":"thought","signature":"s"},{"type":"function_call","id":"t","name":"f","arguments":{}},` +
			many(`{"type":"function_result","call_id":"t","name":"f","result":"text #."},{"type":"function_result","call_id":"t","name":"f","result":{"k":"said #."}},{"type":"function_result","call_id":"t","name":"f","result":[{"type":"text","text":"list #."}]}`) + `]}`, "said #."},
		"copies of a context edit": {`{"model":"claude-sonnet-4-5","max_tokens":10,"context_management":{"edits":[{"type":"clear_tool_uses_20250919"},` +
			many(`{"type":"clear_thinking_20251015"}`) + `]},"messages":[{"role":"user","content":"hi"}]}`, "clear_tool_uses"},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := dialect.Parse([]byte(c.body), dialect.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if len(r.Check(dialect.CheckOptions{})) == 0 {
				t.Fatal("nothing is wrong with the input")
			}
			fixed, err := dialect.RepairRequest(r, dialect.Repair{}, dialect.CheckOptions{})
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range fixed.Left {
				t.Errorf("left: %s %s", f.Rule, f.Path)
			}
			out := string(fixed.Request.Raw())
			for i := range n {
				if want := strings.ReplaceAll(c.keeps, "#", fmt.Sprint(i)); strings.Count(out, want) != 1 {
					t.Errorf("%s is there %d times", want, strings.Count(out, want))
				}
			}
		})
	}
}

// TestDefectP4Redefined: of two definitions of one tool in different messages the first is
// declared, and the other one is named as dropped.
func TestDefectP4Redefined(t *testing.T) {
	define := func(name, doc string) string {
		return `{"role":"system","content":[{"type":"tool_addition","tool":{"type":"tool_definition","definition":{"name":"` + name + `","description":"` + doc + `","input_schema":{"type":"object"}}}}]},{"role":"assistant","content":"a"},{"role":"user","content":"u"}`
	}
	body := `{"model":"claude-sonnet-4-5","max_tokens":10,"messages":[{"role":"user","content":"hi"},` + define("f", "one") + `,` + define("f", "two") + `,` + define("g", "three") + `]}`
	r, err := dialect.Parse([]byte(body), dialect.Options{})
	if err != nil {
		t.Fatal(err)
	}
	fixed, err := dialect.RepairRequest(r, dialect.Repair{}, dialect.CheckOptions{})
	if err != nil {
		t.Fatal(err)
	}
	out := string(fixed.Request.Raw())
	want := `"tools":[{"name":"f","description":"one","input_schema":{"type":"object"}},{"name":"g","description":"three","input_schema":{"type":"object"}}]}`
	if !strings.HasSuffix(out, want) || strings.Contains(out, "two") || strings.Contains(out, "system-reminder") {
		t.Errorf("got %s", out)
	}
	dropped := false
	for _, c := range fixed.Changes {
		dropped = dropped || c.Action == "drop" && c.Path == "messages.4.content.0"
	}
	if !dropped {
		t.Errorf("no receipt for the second definition: %+v", fixed.Changes)
	}
}
