package dialect_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/internal/histories"
	"github.com/pare-llm/pare/internal/wording"
	"github.com/pare-llm/pare/transcript"
)

// steps puts steps into a stateless request to a model that asks for signatures.
func steps(all ...string) string {
	return `{"model":"gemini-3.8-flash","store":false,"input":[` + strings.Join(all, ",") + `]}`
}

const (
	asks    = `{"type":"user_input","content":[{"type":"text","text":"What is 20 + 22?"}]}`
	thinks  = `{"type":"thought","signature":"EvACCu0C","summary":[{"type":"text","text":"I add them."}]}`
	calls   = `{"type":"function_call","id":"c1","name":"add","arguments":{"a":20,"b":22}}`
	calls2  = `{"type":"function_call","id":"c2","name":"add","arguments":{"a":1,"b":2}}`
	answers = `{"type":"function_result","call_id":"c1","name":"add","result":"42"}`
	answer2 = `{"type":"function_result","call_id":"c2","name":"add","result":"3"}`
	says    = `{"type":"model_output","content":[{"type":"text","text":"The answer is 42."}]}`
	thanks  = `{"type":"user_input","content":[{"type":"text","text":"Thank you. And 1 + 2?"}]}`
	skipped = `{"type":"thought","signature":"skip_thought_signature_validator"}`
)

// TestDefectP3Interactions: histories as the documents describe them, whole and broken; what
// is found, and what a repair makes of it. Where nothing found, not a byte changes.
func TestDefectP3Interactions(t *testing.T) {
	for _, c := range []struct {
		name, body string
		found      []string // rule and path
		fixed      string   // "": as it was
	}{
		{"a string", `{"model":"gemini-3.8-flash","input":"What is 20 + 22?"}`, nil, ""},
		{"a part", `{"model":"gemini-3.8-flash","input":{"type":"text","text":"What is 20 + 22?"}}`, nil, ""},
		{"parts", `{"model":"gemini-3.8-flash","input":[{"type":"text","text":"What is this?"},{"type":"image","mime_type":"image/png","uri":"https://example.com/a.png"}]}`, nil, ""},
		{"one step", steps(asks), nil, ""},
		{"a tool is used", steps(asks, thinks, calls, answers), nil, ""},
		{"a tool was used", steps(asks, thinks, calls, answers, says, thanks), nil, ""},
		{"two calls at once", steps(asks, thinks, calls, calls2, answer2, answers), nil, ""},
		{"one after the other", steps(asks, thinks, calls, answers, thinks, calls2, answer2), nil, ""},
		{"words before a call", steps(asks, thinks, says, calls, answers), nil, ""},
		{"a result as an object", steps(asks, thinks, calls, `{"type":"function_result","call_id":"c1","name":"add","result":{"sum":42}}`), nil, ""},
		{"a result as parts", steps(asks, thinks, calls, `{"type":"function_result","call_id":"c1","name":"add","result":[{"type":"text","text":"42"},{"type":"image","uri":"https://example.com/a.png"}]}`), nil, ""},
		{"calls of earlier turns need no signature", steps(asks, calls, answers, says, thanks), nil, ""},
		{"an older model needs none", strings.Replace(steps(asks, calls, answers), "3.8", "2.5", 1), nil, ""},
		{"ids repeat in later turns", steps(asks, thinks, calls, answers, says, thanks, thinks, calls, answers), nil, ""},
		{"tools of Google's own", steps(asks, thinks, `{"type":"google_search_call","id":"s1","arguments":{"queries":["sum"]},"signature":"a"}`,
			`{"type":"google_search_result","call_id":"s1","result":[{"search_suggestions":"x"}],"signature":"b"}`, says, thanks), nil, ""},
		{"a delta", `{"model":"gemini-3.8-flash","previous_interaction_id":"v1_x","input":[` + answers + `]}`, nil, ""},
		{"a delta of words", `{"model":"gemini-3.8-flash","previous_interaction_id":"v1_x","input":"And 1 + 2?"}`, nil, ""},
		{"a delta that ends with the model", `{"previous_interaction_id":"v1_x","input":[` + says + `]}`, nil, ""},
		{"an agent", `{"agent":"deep-research-pro-preview","input":[` + asks + `],"background":true}`, nil, ""},

		{"no result", steps(asks, thinks, calls, thanks), []string{"orphan-call input.2"},
			steps(asks, thinks, calls, stubbed("c1"), thanks)},
		{"one of two results", steps(asks, thinks, calls, calls2, answers, says, thanks), []string{"orphan-call input.3"},
			steps(asks, thinks, calls, calls2, answers, stubbed("c2"), says, thanks)},
		{"an open call", steps(asks, thinks, calls), []string{"orphan-call input.2"}, steps(asks, thinks, calls, stubbed("c1"))},
		{"a result of another call", steps(asks, answers, thanks), []string{"orphan-result input.1"},
			steps(asks, `{"type":"user_input","content":[{"type":"text","text":"[A result of add without its call; quoted, not written by the user]\n42"}]}`, thanks)},
		{"somebody in between", steps(asks, thinks, calls, thanks, answers), []string{"displaced-result input.4"}, steps(asks, thinks, calls, answers, thanks)},
		{"two results", steps(asks, thinks, calls, answers, strings.Replace(answers, "42", "43", 1)), []string{"duplicate-result input.4"},
			steps(asks, thinks, calls, strings.Replace(answers, "42", `42\n\n43`, 1))},
		{"two results that are objects", steps(asks, thinks, calls, `{"type":"function_result","call_id":"c1","name":"add","result":{"sum":42}}`, `{"type":"function_result","call_id":"c1","name":"add","result":{"sum":43}}`),
			[]string{"duplicate-result input.4"}, steps(asks, thinks, calls, `{"type":"function_result","call_id":"c1","name":"add","result":{"output":[{"sum":42},{"sum":43}]}}`)},
		{"a call first", steps(thinks, calls, answers), []string{"first-role input.0"},
			steps(`{"type":"user_input","content":[{"type":"text","text":"(The beginning of this conversation is not included.)"}]}`, thinks, calls, answers)},
		{"the model last", steps(asks, says), []string{"last-role input.1"}, steps(asks, says, `{"type":"user_input","content":[{"type":"text","text":"Continue."}]}`)},
		{"no thought", steps(asks, calls, answers), []string{"thought-signature-missing input.1"}, steps(asks, skipped, calls, answers)},
		{"no thought behind words", steps(asks, says, calls, answers), []string{"thought-signature-missing input.2"}, steps(asks, skipped, says, calls, answers)},
		{"an unsigned thought", steps(asks, `{"type":"thought","summary":[]}`, calls, answers), []string{"thought-signature-missing input.1"},
			steps(asks, `{"type":"thought","summary":[],"signature":"skip_thought_signature_validator"}`, calls, answers)},
		{"no name", steps(asks, thinks, calls, `{"type":"function_result","call_id":"c1","result":"42"}`), []string{"name-missing input.3"},
			steps(asks, thinks, calls, `{"type":"function_result","call_id":"c1","result":"42","name":"add"}`)},
		{"ids as on other APIs", steps(asks, thinks, `{"type":"function_call","call_id":"c1","name":"add","arguments":{"a":20,"b":22}}`, `{"type":"function_result","id":"c1","name":"add","result":"42"}`),
			[]string{"id-missing input.2", "id-missing input.3"},
			steps(asks, thinks, `{"type":"function_call","name":"add","arguments":{"a":20,"b":22},"id":"c1"}`, `{"type":"function_result","name":"add","result":"42","call_id":"c1"}`)},
		{"ids of both kinds", steps(asks, thinks, `{"type":"function_call","id":"c1","call_id":"c1","name":"add","arguments":{"a":20,"b":22}}`, answers), []string{"unknown-field input.2.call_id"},
			steps(asks, thinks, calls, answers)},
		{"ids on what has none", steps(strings.Replace(asks, `{"type":"text"`, `{"id":"x","type":"text"`, 1), thinks, calls, answers, strings.Replace(says, `"content"`, `"id":"y","content"`, 1), thanks),
			[]string{"unknown-field input.0.content.0.id", "unknown-field input.4.id"}, steps(asks, thinks, calls, answers, says, thanks)},
		{"no ids", steps(asks, thinks, `{"type":"function_call","name":"add","arguments":{"a":20,"b":22}}`, `{"type":"function_result","name":"add","result":"42"}`),
			[]string{"field-missing input.2", "id-missing input.3"},
			steps(asks, thinks, `{"type":"function_call","name":"add","arguments":{"a":20,"b":22},"id":"call_a7339bea"}`, `{"type":"function_result","name":"add","result":"42","call_id":"call_a7339bea"}`)},
		{"arguments in a string", steps(asks, thinks, `{"type":"function_call","id":"c1","name":"add","arguments":"{\"a\":20,\"b\":22}"}`, answers), []string{"args-not-object input.2"},
			steps(asks, thinks, calls, answers)},
		{"a number", steps(asks, thinks, calls, strings.Replace(answers, `"42"`, `42`, 1)), []string{"result-not-object input.3"}, steps(asks, thinks, calls, answers)},
		{"a list that holds no parts", steps(asks, thinks, calls, strings.Replace(answers, `"42"`, `[42,43]`, 1)), []string{"result-not-object input.3"},
			steps(asks, thinks, calls, strings.Replace(answers, `"42"`, `{"output":[42,43]}`, 1))},
		{"an empty text", steps(strings.Replace(asks, "[", `[{"type":"text","text":""},`, 1)), []string{"empty-text input.0.content.0"}, steps(asks)},
		{"one id for two calls", steps(asks, thinks, calls, strings.Replace(calls2, "c2", "c1", 1), answers), []string{"duplicate-call-id input.3"},
			steps(asks, thinks, calls, strings.Replace(calls2, "c2", "c1_d38a271a", 1), answers, stubbed("c1_d38a271a"))},
		{"turns", `{"model":"gemini-3.8-flash","input":[{"role":"user","content":"What is 20 + 22?"},{"role":"model","content":[` + strings.Join([]string{thinks, `{"type":"text","text":"I add."}`, `{"type":"text","text":"Now."}`, calls}, ",") +
			`]},{"role":"user","content":[` + answers + `]}]}`, []string{"turn-list input.0", "turn-list input.1", "turn-list input.2"},
			`{"model":"gemini-3.8-flash","input":[` + strings.Join([]string{asks, thinks, `{"type":"model_output","content":[{"type":"text","text":"I add."},{"type":"text","text":"Now."}]}`, calls, answers}, ",") + `]}`},
		{"a turn of one part, by another name", `{"model":"gemini-3.8-flash","input":[` + asks + `,{"role":"assistant","content":{"type":"text","text":"Yes."}},` + thanks + `]}`, []string{"turn-list input.1", "unknown-role input.1"},
			steps2(asks, `{"type":"model_output","content":[{"type":"text","text":"Yes."}]}`, thanks)},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := histories.CheckReading(t, []byte(c.body), dialect.Options{})
			if r == nil || r.Dialect != dialect.GeminiInteractions {
				t.Fatalf("read as %v", r)
			}
			var found []string
			for _, f := range r.Check(dialect.CheckOptions{}) {
				found = append(found, f.Rule+" "+f.Path)
			}
			slices.Sort(found)
			if !slices.Equal(found, c.found) {
				t.Errorf("found %q, want %q", found, c.found)
			}
			m, err := dialect.RepairRequest(r, dialect.Repair{}, dialect.CheckOptions{})
			if err != nil || len(m.Left) > 0 {
				t.Fatalf("%v, left %v", err, m.Left)
			}
			want := c.fixed
			if want == "" {
				want = c.body
			}
			if got := string(m.Request.Raw()); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
			if lost := histories.Unresolved([]byte(c.body), m.Changes); len(lost) > 0 {
				t.Errorf("receipts that lead nowhere: %v", lost)
			}
		})
	}
}

// steps2 is steps without store.
func steps2(all ...string) string {
	return `{"model":"gemini-3.8-flash","input":[` + strings.Join(all, ",") + `]}`
}

func stubbed(id string) string {
	return fmt.Sprintf(`{"type":"function_result","call_id":%q,"name":"add","result":%q,"is_error":true}`, id, wording.Stub)
}

// TestInteractionsDetected: the shape tells, wherever the members stand.
func TestInteractionsDetected(t *testing.T) {
	for body, want := range map[string]dialect.Dialect{
		`{"input":"q","model":"gemini-3.8-flash"}`:                                                         dialect.GeminiInteractions,
		`{"input":"q","model":"gpt-5"}`:                                                                    dialect.OpenAIResponses,
		`{"input":"q","previous_interaction_id":"x"}`:                                                      dialect.GeminiInteractions,
		`{"input":"q","previous_response_id":"x"}`:                                                         dialect.OpenAIResponses,
		`{"system_instruction":"s","input":"q"}`:                                                           dialect.GeminiInteractions,
		`{"input":"q","generation_config":{}}`:                                                             dialect.GeminiInteractions,
		`{"system_instruction":{"parts":[]},"contents":[]}`:                                                dialect.Gemini,
		`{"input":[{"type":"function_call","id":"c","name":"f","arguments":{}}]}`:                          dialect.GeminiInteractions,
		`{"input":[{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}]}`:                   dialect.OpenAIResponses,
		`{"input":[{"type":"text","text":"q"}]}`:                                                           dialect.GeminiInteractions,
		`{"input":[{"role":"user","content":"q"},{"role":"model","content":"a"}]}`:                         dialect.GeminiInteractions,
		`{"input":[{"role":"user","content":"q"}]}`:                                                        dialect.OpenAIResponses,
		`{"input":[{"role":"user","content":"q"}],"model":"models/gemini-3-pro"}`:                          dialect.GeminiInteractions,
		`[{"type":"user_input","content":[{"type":"text","text":"q"}]}]`:                                   dialect.GeminiInteractions,
		`[{"type":"code_execution_call","id":"c","arguments":{"code":"1"}}]`:                               dialect.GeminiInteractions,
		`{"input":[{"type":"file_search_call","id":"fs_1","status":"completed","queries":["q"]}]}`:         dialect.OpenAIResponses,
		`{"input":[{"type":"mcp_call","id":"mcp_1","name":"f","server_label":"s","arguments":"{}"}]}`:      dialect.OpenAIResponses,
		`{"input":[{"type":"mcp_server_tool_call","id":"m","name":"f","server_name":"s","arguments":{}}]}`: dialect.GeminiInteractions,
	} {
		if got, err := dialect.Detect([]byte(body)); got.Dialect != want {
			t.Errorf("%s: %s, %v, want %s", body, got.Dialect, err, want)
		}
	}
	for address, want := range map[string]dialect.Dialect{
		"https://generativelanguage.googleapis.com/v1beta/interactions":                        dialect.GeminiInteractions,
		"https://generativelanguage.googleapis.com/v1beta/interactions?alt=sse":                dialect.GeminiInteractions,
		"https://aiplatform.googleapis.com/v1beta1/projects/p/locations/global/interactions":   dialect.GeminiInteractions,
		"https://generativelanguage.googleapis.com/v1beta/models/gemini-3-pro:generateContent": dialect.Gemini,
	} {
		if got, _ := dialect.ParseURL(address); got != want {
			t.Errorf("%s: %s, want %s", address, got, want)
		}
	}
	in := dialect.Unwrap([]byte(`{"url":"https://generativelanguage.googleapis.com/v1beta/interactions","body":{"model":"gemini-3-pro","input":{"type":"text","text":"q"}}}`))
	if in.Dialect != dialect.GeminiInteractions || in.Pointer != "/body" {
		t.Errorf("unwrapped %+v", in)
	}
}

// TestInteractionsThoughtsStay: a call needs the thought that was signed for it, and parts
// that stand by themselves are one turn of the user's.
func TestInteractionsThoughtsStay(t *testing.T) {
	r, err := dialect.Parse([]byte(steps(`{"type":"text","text":"q"}`, `{"type":"image","uri":"https://example.com/a.png"}`, thinks, calls, calls2, answers, answer2)), dialect.Options{})
	if err != nil {
		t.Fatal(err)
	}
	tr := r.Transcript()
	if tr.Turns() != 3 || !tr.Messages()[0].Begins || tr.Messages()[1].Begins {
		t.Errorf("%d turns, %+v", tr.Turns(), tr.Messages())
	}
	needs := 0
	for _, tie := range tr.Ties() {
		if !tie.Mutual && tr.Block(tie.To).Kind == transcript.Thinking && tr.Block(tie.From).Kind == transcript.Call {
			needs++
		}
	}
	if needs != 2 {
		t.Errorf("%d calls need the thought", needs)
	}
	if r.Outcome(5) != transcript.OutcomeSucceeded {
		t.Errorf("outcome %v", r.Outcome(5))
	}
}

// TestThoughtOfTheTurn: a call needs the thought of its own turn, and none of an earlier one.
func TestThoughtOfTheTurn(t *testing.T) {
	const thought, answer, asked = `{"type":"thought","signature":"c2ln"}`, `{"type":"model_output","content":[{"type":"text","text":"so"}]}`, `{"type":"user_input","content":[{"type":"text","text":"go on"}]}`
	const call = `{"type":"function_call","id":"a","name":"Read","arguments":{}},{"type":"function_result","call_id":"a","name":"Read","result":"ok"}`
	for run, needs := range map[string]int{
		thought + "," + call:                                              1,
		thought + "," + answer + "," + call:                               1,
		thought + "," + answer + "," + asked + "," + answer + "," + call:  0,
		thought + "," + answer + "," + asked + "," + call:                 0,
		answer + "," + asked + "," + thought + "," + answer + "," + call:  1,
		thought + "," + answer + "," + asked + "," + thought + "," + call: 1,
	} {
		r, err := dialect.Parse([]byte(`{"model":"gemini-3-pro","input":[`+asked+","+run+`]}`), dialect.Options{Dialect: dialect.GeminiInteractions})
		if err != nil {
			t.Fatal(err)
		}
		got := 0
		for _, a := range r.Transcript().Atoms() {
			got += len(a.Needs)
		}
		if got != needs {
			t.Errorf("%d needs, want %d: %s", got, needs, run)
		}
	}
}
