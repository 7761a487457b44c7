package engine

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/summary"
	"github.com/pare-llm/pare/wire"
)

const (
	definesGrep = `{"type":"tool_addition","tool":{"type":"tool_definition","definition":{"name":"Grep","description":"finds","input_schema":{"type":"object"}}}}`
	readTool    = `{"name":"Read","description":"reads","input_schema":{"type":"object"}}`
)

// inlineTools returns histories of a model that takes system messages, with a member in one of them
// and calls of Grep after it.
func inlineTools(changes, tools, member string) string {
	list := `{"role":"user","content":"find the parser"},{"role":"system","content":[` + changes + `]` + member + `},{"role":"assistant","content":[{"type":"text","text":"I look."}]}`
	for i := range 5 {
		list += fmt.Sprintf(`,{"role":"user","content":"question %d %s"},{"role":"assistant","content":[{"type":"tool_use","id":"t%d","name":"Grep","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t%d","content":"found"}]},{"role":"assistant","content":"answer %d"}`, i, strings.Repeat("long ", 60), i, i, i)
	}
	return `{"model":"claude-opus-5","max_tokens":99,"tools":[` + tools + `],"messages":[` + list + `,{"role":"user","content":"and now?"}]}`
}

// everyWay plans a history in every way.
func everyWay(t *testing.T, r *wire.Request, see func(what string, plan *pare.Plan)) {
	t.Helper()
	extract := summary.Extract(summary.ExtractOptions{})
	for what, p := range map[string]*pare.Policy{
		"fix":               {},
		"strict":            {Check: wire.CheckOptions{Strict: true}},
		"trim to 4":         {Window: &pare.Window{Messages: 6}},
		"trim to exchanges": {Window: &pare.Window{Exchanges: 1}},
		"trim to turns":     {Window: &pare.Window{Turns: 2}},
		"trim to tokens":    {Window: &pare.Window{Tokens: 720}},
		"a stable window":   {Window: &pare.Window{Tokens: 900, Low: 720}},
		"compact":           {Compact: &pare.Compactor{MinKeep: 2, Summarize: extract}},
		"compact, folded":   {Compact: &pare.Compactor{MinKeep: 2, Summarize: extract, Options: pare.CompactOptions{FoldTask: true}}},
		"fit":               {Window: &pare.Window{Tokens: 900}, Compact: &pare.Compactor{Summarize: extract, MaxTokens: 200}},
	} {
		plan, err := p.Plan(context.Background(), r)
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		if left := plan.Remaining(); len(left) > 0 {
			t.Errorf("%s: left %v\n%s", what, left, plan.Result().Raw())
		}
		see(what, plan)
	}
}

// TestInlineToolDefinitions checks that a tool defined in the history is declared: later references
// are valid, and the definition stays as long as its calls.
func TestInlineToolDefinitions(t *testing.T) {
	for name, body := range map[string]string{
		"defined":                   inlineTools(definesGrep, readTool, ""),
		"no tools beside it":        inlineTools(definesGrep, "", ""),
		"with words":                inlineTools(`{"type":"text","text":"Here is a tool."},`+definesGrep, readTool, ""),
		"a tool of the provider's":  inlineTools(`{"type":"tool_addition","tool":{"type":"tool_definition","definition":{"type":"web_search_20250305","name":"web_search"}}},`+definesGrep, readTool, ""),
		"an escaped key":            inlineTools(strings.Replace(definesGrep, `"definition"`, `"d\u0065finition"`, 1), readTool, ""),
		"removed and defined anew":  inlineTools(definesGrep+`,{"type":"tool_removal","tool":{"type":"tool_reference","name":"Grep"}},`+definesGrep, readTool, ""),
		"a set of tools of another": inlineTools(definesGrep+`,{"type":"tool_addition","tool":{"type":"mcp_toolset_reference","mcp_server_name":"docs"}}`, readTool, ""),
	} {
		t.Run(name, func(t *testing.T) {
			r := parsed(t, body)
			if found := r.Check(wire.CheckOptions{}); len(found) > 0 {
				t.Fatalf("found %v", found)
			}
			everyWay(t, r, func(what string, plan *pare.Plan) {
				out := string(plan.Result().Raw())
				if !strings.Contains(out, `"name":"Grep","description":"finds"`) || strings.Contains(out, `tool_addition\"`) {
					t.Errorf("%s: the definition is gone\n%s", what, out)
				}
				if (what == "fix") != plan.Empty() && what == "fix" {
					t.Errorf("fix: %v", plan)
				}
			})
		})
	}
	for name, c := range map[string]struct{ changes, rule string }{
		"a reference to a definition":  {definesGrep + `,{"type":"tool_removal","tool":{"type":"tool_reference","name":"Grep"}}`, ""},
		"a reference before it":        {`{"type":"tool_addition","tool":{"type":"tool_reference","name":"Grep"}},` + definesGrep, "tool-reference-unknown"},
		"a reference to what is not":   {definesGrep + `,{"type":"tool_removal","tool":{"type":"tool_reference","name":"Glob"}}`, "tool-reference-unknown"},
		"a reference to what is given": {`{"type":"tool_addition","tool":{"type":"tool_reference","name":"Read"}}`, ""},
	} {
		found := parsed(t, inlineTools(c.changes, readTool, "")).Check(wire.CheckOptions{})
		if len(found) > 1 || len(found) == 1 != (c.rule != "") || c.rule != "" && found[0].Rule != c.rule {
			t.Errorf("%s: %v", name, found)
		}
	}
}

// TestSystemMessagesKeepMembers checks that members of system messages in mid-conversation are
// kept.
func TestSystemMessagesKeepMembers(t *testing.T) {
	for _, member := range []string{`,"clear_at":"next_user_message"`, `,"cl\u0065ar_at":"never"`, `,"output_config":{"effort":"low"}`} {
		r := parsed(t, inlineTools(`{"type":"text","text":"be brief"}`, readTool+`,{"name":"Grep","input_schema":{"type":"object"}}`, member))
		everyWay(t, r, func(what string, plan *pare.Plan) {
			if !strings.Contains(string(plan.Result().Raw()), member) && what != "strict" {
				t.Errorf("%s: %s is gone\n%s", what, member, plan.Result().Raw())
			}
		})
	}
	effort := `{"model":"claude-opus-5","max_tokens":9,"messages":[{"role":"user","content":"a"},{"role":"system","content":[],"output_config":{"effort":"low"}},{"role":"assistant","content":"b"},{"role":"user","content":"c"}]}`
	if plan, err := (&pare.Policy{}).Plan(context.Background(), parsed(t, effort)); err != nil || !plan.Empty() {
		t.Errorf("%v, %v", plan, err)
	}
}

// TestToolDefinitionsWithoutSystemMessages checks that a definition is declared in another way
// where the model takes no system messages, or none there.
func TestToolDefinitionsWithoutSystemMessages(t *testing.T) {
	for name, body := range map[string]string{
		"no tools given": strings.Replace(strings.Replace(inlineTools(definesGrep, "", ""), "claude-opus-5", "claude-sonnet-4-5", 1), `"tools":[],`, "", 1),
		"with words":     strings.Replace(inlineTools(`{"type":"text","text":"Here is a tool."},`+definesGrep, readTool, ""), "claude-opus-5", "claude-sonnet-4-5", 1),
		"an older model": strings.Replace(inlineTools(definesGrep, readTool, ""), "claude-opus-5", "claude-sonnet-4-5", 1),
		"first":          `{"model":"claude-opus-5","max_tokens":9,"tools":[` + readTool + `],"messages":[{"role":"system","content":[` + definesGrep + `]},{"role":"assistant","content":"a"},{"role":"user","content":"c"}]}`,
		"behind a reply": `{"model":"claude-opus-5","max_tokens":9,"tools":[` + readTool + `],"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"a"},{"role":"system","content":[` + definesGrep + `]},{"role":"assistant","content":"b"},{"role":"user","content":"c"}]}`,
		"before a user":  `{"model":"claude-opus-5","max_tokens":9,"tools":[` + readTool + `],"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"a"},{"role":"system","content":[` + definesGrep + `]},{"role":"user","content":"c"}]}`,
	} {
		plan, err := (&pare.Policy{}).Plan(context.Background(), parsed(t, body))
		if err != nil {
			t.Fatal(err)
		}
		out := string(plan.Result().Raw())
		if !strings.Contains(out, `"name":"Grep","description":"finds"`) || strings.Contains(out, "tool_addition\\\"") || len(plan.Remaining()) > 0 {
			t.Errorf("%s: %v\n%s", name, plan, out)
		}
	}
}

// TestDeferredToolsNeedTheirSearch checks that a call of a deferred tool needs the search that
// found it.
func TestDeferredToolsNeedTheirSearch(t *testing.T) {
	later := `{"name":"Grep","description":"finds","input_schema":{"type":"object"},"defer_loading":true}`
	search := `{"type":"tool_search_tool_regex_20251119","name":"tool_search_tool_regex"}`
	turn := func(i int, name string) string {
		return fmt.Sprintf(`{"role":"user","content":"question %d %s"},{"role":"assistant","content":[{"type":"tool_use","id":"t%d","name":"%s","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t%d","content":"found"}]},{"role":"assistant","content":"answer %d"}`, i, strings.Repeat("long ", 60), i, name, i, i)
	}
	body := func(tools, found string, calls ...string) string {
		list := []string{`{"role":"user","content":"find the parser"}`, found}
		for i, name := range calls {
			list = append(list, turn(i, name))
		}
		return `{"model":"claude-opus-5","max_tokens":99,"tools":[` + tools + `],"messages":[` + strings.Join(list, ",") + `,{"role":"user","content":"and now?"}]}`
	}
	byProvider := `{"role":"assistant","content":[{"type":"server_tool_use","id":"srvtoolu_1","name":"tool_search_tool_regex","input":{"query":"grep"}},{"type":"tool_search_tool_result","tool_use_id":"srvtoolu_1","content":{"type":"tool_search_tool_search_result","tool_references":[{"type":"tool_reference","tool_name":"Grep"}]}},{"type":"text","text":"It is there."}]}`
	byClient := `{"role":"assistant","content":[{"type":"tool_use","id":"s1","name":"Read","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"s1","content":[{"type":"tool_reference","tool_name":"Grep"}]}]},{"role":"assistant","content":"It is there."}`
	byAddition := `{"role":"system","content":[{"type":"tool_addition","tool":{"type":"tool_reference","name":"Grep"}}]},{"role":"assistant","content":"It is there."}`
	openai := func(execution string) string {
		list := `{"role":"user","content":"find the parser"},{"type":"tool_search_call","call_id":"s1","execution":"` + execution + `","status":"completed","arguments":{"query":"grep"}},{"type":"tool_search_output","call_id":"s1","execution":"` + execution + `","status":"completed","tools":[{"type":"namespace","name":"files","tools":[{"type":"function","name":"Grep","defer_loading":true,"parameters":{"type":"object"}}]}]}`
		for i := range 5 {
			list += fmt.Sprintf(`,{"role":"user","content":"question %d %s"},{"type":"function_call","call_id":"c%d","name":"Grep","arguments":"{}"},{"type":"function_call_output","call_id":"c%d","output":"found"},{"role":"assistant","content":"answer %d"}`, i, strings.Repeat("long ", 60), i, i, i)
		}
		return `{"model":"gpt-5.4","tools":[{"type":"tool_search","execution":"` + execution + `"},{"type":"function","name":"Grep","defer_loading":true,"parameters":{"type":"object"}}],"input":[` + list + `,{"role":"user","content":"and now?"}]}`
	}
	for name, c := range map[string]struct{ body, declares string }{
		"the provider searches":        {body(readTool+","+later+","+search, byProvider, "Grep", "Grep", "Grep", "Grep"), `"tool_name":"Grep"`},
		"the client searches":          {body(readTool+","+later, byClient, "Grep", "Grep", "Grep", "Grep"), `"tool_name":"Grep"`},
		"a message adds it":            {body(readTool+","+later, byAddition, "Grep", "Grep", "Grep", "Grep"), `{"type":"tool_reference","name":"Grep"}`},
		"declared behind the messages": {strings.Replace(body(readTool+","+later+","+search, byProvider, "Grep", "Grep", "Grep"), `"tools":[`+readTool+","+later+","+search+`],"messages"`, `"messages"`, 1), `"tool_name":"Grep"`},
		"openai searches":              {openai("server"), `"tools":[{"type":"namespace"`},
		"a client of openai searches":  {openai("client"), `"tools":[{"type":"namespace"`},
	} {
		t.Run(name, func(t *testing.T) {
			r := parsed(t, c.body)
			if found := r.Check(wire.CheckOptions{}); len(found) > 0 {
				t.Fatalf("found %v", found)
			}
			everyWay(t, r, func(what string, plan *pare.Plan) {
				out := plan.Result()
				calls := 0
				for _, x := range out.Transcript().Exchanges() {
					if x.Tool == "Grep" {
						calls++
					}
				}
				if calls > 0 && what != "strict" && !strings.Contains(string(out.Raw()), c.declares) {
					t.Errorf("%s: %d calls of a tool that nothing declares\n%s", what, calls, out.Raw())
				}
			})
		})
	}
	// A search that found nothing which is called goes like anything else.
	r := parsed(t, body(readTool+","+later+","+search, byProvider, "Read", "Read", "Read", "Read"))
	plan, err := (&pare.Policy{Window: &pare.Window{Exchanges: 1}}).Plan(context.Background(), r)
	if err != nil || strings.Contains(string(plan.Result().Raw()), "tool_references") {
		t.Errorf("%v, %v", plan, err)
	}
}

// addsBash returns a history of Bedrock with a system message that adds a tool of toolConfig, and
// calls of that tool.
func addsBash(model, changes string) string {
	list := `{"role":"user","content":[{"text":"find the parser"}]},{"role":"system","content":[` + changes + `]},{"role":"assistant","content":[{"text":"I look."}]}`
	for i := range 5 {
		list += fmt.Sprintf(`,{"role":"user","content":[{"text":"question %d %s"}]},{"role":"assistant","content":[{"toolUse":{"toolUseId":"t%d","name":"Bash","input":{}}}]},{"role":"user","content":[{"toolResult":{"toolUseId":"t%d","content":[{"text":"found"}]}}]},{"role":"assistant","content":[{"text":"answer %d"}]}`, i, strings.Repeat("long ", 60), i, i, i)
	}
	spec := func(name string) string {
		return `{"toolSpec":{"name":"` + name + `","inputSchema":{"json":{"type":"object"}}}}`
	}
	return `{"modelId":"` + model + `","toolConfig":{"tools":[` + spec("Read") + `,` + spec("Bash") + `]},"messages":[` + list + `,{"role":"user","content":[{"text":"and now?"}]}]}`
}

// TestBedrockToolChanges checks system messages of Bedrock that add and remove tools of toolConfig:
// their references are checked, and they stay as long as calls follow them.
func TestBedrockToolChanges(t *testing.T) {
	const newer, older = "us.anthropic.claude-opus-5-v1:0", "us.anthropic.claude-sonnet-4-5-v1:0"
	adds := `{"toolAddition":{"tool":{"type":"tool_reference","name":"Bash"}}}`
	for name, changes := range map[string]string{
		"added": adds, "with words": `{"text":"Here is a tool."},` + adds,
		"removed, added again": `{"toolRemoval":{"tool":{"name":"Bash"}}},` + adds,
		"an escaped key":       strings.Replace(adds, `"name"`, `"n\u0061me"`, 1),
		"of a server":          adds + `,{"toolAddition":{"tool":{"serverName":"docs"}}}`,
	} {
		r := parsed(t, addsBash(newer, changes))
		if found := r.Check(wire.CheckOptions{}); r.Dialect != wire.Bedrock || len(found) > 0 {
			t.Errorf("%s: %v, found %v", name, r.Dialect, found)
		}
		everyWay(t, r, func(what string, plan *pare.Plan) {
			out := string(plan.Result().Raw())
			if strings.Contains(out, `"toolUse"`) && !strings.Contains(out, "toolAddition") && what != "strict" { // other models take none
				t.Errorf("%s, %s: the tool is called and not added\n%s", name, what, out)
			}
			if what == "fix" && !plan.Empty() {
				t.Errorf("%s, %s: %v", name, what, plan)
			}
		})
	}
	for name, c := range map[string]struct{ body, rule string }{
		"an unknown tool":    {addsBash(newer, strings.Replace(adds, "Bash", "Glob", 1)), "tool-reference-unknown"},
		"removed, unknown":   {addsBash(newer, `{"toolRemoval":{"tool":{"name":"Glob"}}}`), "tool-reference-unknown"},
		"an older model":     {addsBash(older, adds), "role-unsupported"},
		"words, older":       {addsBash(older, `{"text":"be brief"}`), "role-unsupported"},
		"a model of others":  {addsBash("amazon.nova-pro-v1:0", adds), "role-unsupported"},
		"first":              {`{"modelId":"` + newer + `","messages":[{"role":"system","content":[{"text":"be brief"}]},{"role":"user","content":[{"text":"hi"}]}]}`, "first-role"},
		"between the user's": {`{"modelId":"` + newer + `","messages":[{"role":"user","content":[{"text":"a"}]},{"role":"system","content":[{"text":"be brief"}]},{"role":"user","content":[{"text":"b"}]}]}`, "role-order"},
	} {
		r := parsed(t, c.body)
		if found := r.Check(wire.CheckOptions{}); len(found) == 0 || found[0].Rule != c.rule {
			t.Errorf("%s: %v", name, found)
		}
		plan, err := (&pare.Policy{}).Plan(context.Background(), r)
		if err != nil || len(plan.Remaining()) > 0 {
			t.Errorf("%s: %v, left %v", name, err, plan.Remaining())
		}
		if strings.Contains(c.body, "be brief") && !strings.Contains(string(plan.Result().Raw()), "be brief") {
			t.Errorf("%s: words are gone\n%s", name, plan.Result().Raw())
		}
	}
}
