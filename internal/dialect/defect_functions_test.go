package dialect_test

import (
	"testing"

	"github.com/pare-llm/pare/internal/dialect"
)

// TestFunctionAmongTools: a message that calls a function in the old way and tools in the new
// one has the results of the tools first, whichever it names first.
func TestFunctionAmongTools(t *testing.T) {
	const (
		asks     = `{"role":"user","content":"q"}`
		function = `"function_call":{"name":"f","arguments":"{}"}`
		tools    = `"tool_calls":[{"id":"a","type":"function","function":{"name":"g","arguments":"{}"}},{"id":"b","type":"function","function":{"name":"h","arguments":"{}"}}]`
		one      = `{"role":"tool","tool_call_id":"a","content":"1"}`
		two      = `{"role":"tool","tool_call_id":"b","content":"2"}`
		other    = `{"role":"function","name":"f","content":"3"}`
	)
	body := func(call, results string) string {
		return `{"model":"gpt-4o","messages":[` + asks + `,{"role":"assistant","content":null,` + call + `},` + results + `]}`
	}
	for _, call := range []string{function + "," + tools, tools + "," + function} {
		defect{name: "in place", body: body(call, one+","+two+","+other)}.run(t)
		for _, results := range []string{one + "," + other + "," + two, other + "," + one + "," + two} {
			defect{name: "among them", body: body(call, results), found: []string{"displaced-result"}, keeps: []string{one + "," + two + "," + other}}.run(t)
		}
		const stub = `"content":"The outcome of this call is unknown: no result was recorded."}`
		defect{name: "none", body: `{"model":"gpt-4o","messages":[` + asks + `,{"role":"assistant","content":null,` + call + `}]}`, found: []string{"orphan-call", "orphan-call", "orphan-call"},
			keeps: []string{`{"role":"tool","tool_call_id":"a",` + stub + `,{"role":"tool","tool_call_id":"b",` + stub + `,{"role":"function","name":"f",` + stub}}.run(t)
	}
	defect{name: "alone", body: body(function, other), as: dialect.OpenAIChat}.run(t)
}

// TestBlankIDsTwice: an empty id is one, so several in a message cannot be told apart.
func TestBlankIDsTwice(t *testing.T) {
	const (
		call   = `{"id":"","type":"function","function":{"name":"f","arguments":"{}"}}`
		answer = `{"role":"tool","tool_call_id":"","content":"1"}`
	)
	body := func(model, calls, answers string) string {
		return `{"model":"` + model + `","messages":[{"role":"user","content":"q"},{"role":"assistant","content":null,"tool_calls":[` + calls + `]},` + answers + `]}`
	}
	two := body("gpt-4o", call+","+call, answer+`,{"role":"tool","tool_call_id":"","content":"2"}`)
	defect{name: "once", as: dialect.OpenAIChat, body: body("gpt-4o", call, answer)}.run(t)
	defect{name: "once in each message", as: dialect.OpenAIChat, body: body("gpt-4o", call, answer+`,{"role":"assistant","content":null,"tool_calls":[`+call+`]},`+answer)}.run(t)
	defect{name: "twice", as: dialect.OpenAIChat, body: two, found: []string{"duplicate-call-id"}, keeps: []string{call, answer, `"content":"2"`}, loses: []string{call + "," + call}}.run(t)
	defect{name: "at a gateway", as: dialect.OpenAIChat, prof: "other", body: two}.run(t)
}

// TestFunctionsHaveNames: a call in the old form and its result have a name each, and the call has
// arguments. Who has no name takes that of the other half.
func TestFunctionsHaveNames(t *testing.T) {
	body := func(call, result string) string {
		return `{"model":"gpt-5","messages":[{"role":"user","content":"q"},{"role":"assistant","content":null,"function_call":` + call + `},{"role":"function",` + result + `"content":"r"}]}`
	}
	named, noName, noArgs := []string{"call-name-format"}, []string{"name-missing"}, []string{"args-not-json"}
	for _, d := range []defect{
		{name: "both", body: body(`{"name":"f","arguments":"{}"}`, `"name":"f",`)},
		{name: "call", body: body(`{"arguments":"{}"}`, `"name":"f",`), found: named, keeps: []string{`{"arguments":"{}","name":"f"}`}},
		{name: "call, empty", body: body(`{"name":"","arguments":"{}"}`, `"name":"f",`), found: named, keeps: []string{`{"name":"f","arguments":"{}"}`}},
		{name: "result", body: body(`{"name":"f","arguments":"{}"}`, ``), found: noName, keeps: []string{`"content":"r","name":"f"}`}},
		{name: "neither", body: body(`{"arguments":"{}"}`, ``), found: []string{"call-name-format", "name-missing"}, keeps: []string{`{"arguments":"{}","name":"unknown_tool"}`, `"content":"r","name":"unknown_tool"}`}},
		{name: "of another alphabet", body: body(`{"name":"a b","arguments":"{}"}`, `"name":"a b",`), found: named, keeps: []string{`{"name":"a_b","arguments":"{}"}`, `"name":"a_b","content":"r"`}, loses: []string{"a b"}},
		{name: "no arguments", body: body(`{"name":"f"}`, `"name":"f",`), found: noArgs, keeps: []string{`{"name":"f","arguments":"{}"}`}},
		{name: "an object", body: body(`{"name":"f","arguments":{"a":1}}`, `"name":"f",`), found: noArgs, keeps: []string{`{"name":"f","arguments":"{\"a\":1}"}`}},
		{name: "no JSON, for who wants it", prof: "other", body: body(`{"name":"f","arguments":"{no"}`, `"name":"f",`), found: noArgs, keeps: []string{`{"name":"f","arguments":"{\"raw_arguments\":\"{no\"}"}`}},
		{name: "elsewhere", prof: "xai", body: body(`{"arguments":"{}"}`, ``)},
	} {
		d.as = dialect.OpenAIChat
		d.run(t)
	}
}
