package engine

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/planner"
)

// searched returns histories in which a declaration of a tool precedes its calls, by the author of
// the declaration.
func searched(calls int) map[string]string {
	said := strings.Repeat("found it there ", 40)
	const later = `{"name":"Grep","input_schema":{"type":"object"},"defer_loading":true}`
	anthropic := func(tools, found string) string {
		list := `{"role":"user","content":"find the parser"},` + found
		for i := range calls {
			list += fmt.Sprintf(`,{"role":"assistant","content":[{"type":"tool_use","id":"t%d","name":"Grep","input":{"n":%d}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t%d","content":"%s"}]}`, i, i, i, said)
		}
		return `{"model":"claude-opus-5","max_tokens":99,"tools":[` + tools + `],"messages":[` + list + `]}`
	}
	responses := func(execution string) string {
		list := `{"role":"user","content":"find the parser"},{"type":"tool_search_call","call_id":"s1","execution":"` + execution + `","status":"completed","arguments":{"query":"grep"}},{"type":"tool_search_output","call_id":"s1","execution":"` + execution + `","status":"completed","tools":[{"type":"function","name":"Grep","defer_loading":true,"parameters":{"type":"object"}}]}`
		for i := range calls {
			list += fmt.Sprintf(`,{"type":"function_call","call_id":"c%d","name":"Grep","arguments":"{}"},{"type":"function_call_output","call_id":"c%d","output":"%s"}`, i, i, said)
		}
		return `{"model":"gpt-5.4","tools":[{"type":"tool_search","execution":"` + execution + `"}],"input":[` + list + `]}`
	}
	const search = `{"type":"tool_search_tool_regex_20251119","name":"tool_search_tool_regex"}`
	return map[string]string{
		"a client of anthropic": anthropic(`{"name":"find","input_schema":{"type":"object"}},`+later, `{"role":"assistant","content":[{"type":"tool_use","id":"s1","name":"find","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"s1","content":[{"type":"tool_reference","tool_name":"Grep"}]}]}`),
		"anthropic":             anthropic(search+","+later, `{"role":"assistant","content":[{"type":"server_tool_use","id":"srvtoolu_1","name":"tool_search_tool_regex","input":{"query":"grep"}},{"type":"tool_search_tool_result","tool_use_id":"srvtoolu_1","content":{"type":"tool_search_tool_search_result","tool_references":[{"type":"tool_reference","tool_name":"Grep"}]}},{"type":"text","text":"It is there."}]},{"role":"user","content":"use it"}`),
		"openai":                responses("server"),
		"a client of openai":    responses("client"),
		"a developer of openai": strings.Replace(responses("client"), `{"type":"tool_search_call","call_id":"s1","execution":"client","status":"completed","arguments":{"query":"grep"}},{"type":"tool_search_output","call_id":"s1","execution":"client","status":"completed","tools":`, `{"type":"additional_tools","role":"developer","tools":`, 1),
	}
}

// TestWindowKeepsNeededDeclarations checks that the declaration of a tool stays as long as a call
// of the tool, and that calls are dropped one by one, the oldest first.
func TestWindowKeepsNeededDeclarations(t *testing.T) {
	const calls = 14
	for name, body := range searched(calls) {
		r := parsed(t, body)
		size := r.Tokens(quarters{})
		kept := func(w pare.Window) int {
			t.Helper()
			plan, err := planner.Trim(context.Background(), r, w, pare.Options{Counter: quarters{}})
			if err != nil {
				t.Fatalf("%s, %+v: %v", name, w, err)
			}
			out := plan.Result()
			n, last := 0, ""
			for _, x := range out.Transcript().Exchanges() {
				if x.Tool == "Grep" {
					n, last = n+1, x.CallID
				}
			}
			if n > 0 && (!strings.Contains(string(out.Raw()), "tool_search") && !strings.Contains(string(out.Raw()), "additional_tools") && !strings.Contains(string(out.Raw()), "tool_reference")) {
				t.Errorf("%s, %+v: %d calls of a tool that nothing declares", name, w, n)
			}
			if n > 0 && !strings.HasSuffix(last, "13") {
				t.Errorf("%s, %+v: the newest call is %s", name, w, last)
			}
			return n
		}
		for most := 2; most <= calls; most++ {
			if n := kept(pare.Window{Exchanges: most}); n < most-1 {
				t.Errorf("%s: of %d exchanges %d are calls", name, most, n)
			}
		}
		for most := 10; most < 2*calls; most++ {
			if n := kept(pare.Window{Messages: most}); n < (most-6)/2 {
				t.Errorf("%s: in %d messages there are %d calls", name, most, n)
			}
		}
		for _, low := range []int{0, 60} {
			before := calls
			for limit := size - 1; limit > size/4; limit -= size / 50 {
				n := kept(pare.Window{Tokens: limit, Low: limit * low / 100, Recent: calls})
				if low == 0 && (n > before || before-n > 2) || n == 0 {
					t.Errorf("%s: with %d of %d tokens %d calls are left, with a little more %d", name, limit, size, n, before)
				}
				before = n
			}
		}
	}
}
