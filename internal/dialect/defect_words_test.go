package dialect

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/pare-llm/pare/internal/corpus"
	"github.com/pare-llm/pare/internal/trial"
	"github.com/pare-llm/pare/transcript"
)

// TestDefectT1NoWordsLost: words that stand in a member of any name, in any object of a
// history, broken or not, in any dialect, are there after a repair, or they go with a call, a
// result or a thought that a receipt names.
func TestDefectT1NoWordsLost(t *testing.T) {
	type history struct {
		body string
		o    Options
	}
	var all []history
	for _, z := range zoo(t) {
		all = append(all, history{string(z.body()), Options{}})
	}
	for _, f := range corpus.Fixtures(t) {
		for _, body := range [][]byte{f.Bad, f.Good, f.Accept} {
			if body != nil {
				all = append(all, history{string(body), optionsOf(t, f, body)})
			}
		}
	}
	for _, list := range []string{
		`{"type":"user_input","content":[{"type":"text","text":""},{"type":"text","text":"q"}]},{"type":"function_call","id":"c","name":"f","arguments":{}},{"type":"user_input","content":[]}`,
		`{"type":"user_input","content":[{"text":"q"}]},{"type":"model_output","content":[{"type":"image"}]},{"type":"function_result","call_id":"c","result":"r"}`,
		`{"role":"user","content":[{"type":"text","text":"q"}]},{"role":"model","content":[]},{"type":"text","text":"q"}`,
	} {
		for range 20 {
			all = append(all, history{`{"model":"gemini-3-pro","input":[` + list + `]}`, Options{Dialect: GeminiInteractions}})
		}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	seen := make(map[Dialect]int)
	n := max(trial.Size(4_000), 1_200) // fewer do not come to each dialect
	for k := range n {
		body := all[k%len(all)].body
		r, err := Parse([]byte(body), all[k%len(all)].o)
		if err != nil || r.list.Len() == 0 {
			continue
		}
		at := objectIn(body, r.list, rng)
		if at < 0 {
			continue
		}
		member := memberOf(rng)
		if body[at] != '}' {
			member += ","
		}
		seen[r.Dialect]++
		keepsWords(t, body[:at]+member+body[at:], at, r.o)
	}
	for _, d := range Dialects() {
		if seen[d] < n/200 {
			t.Errorf("only %d histories of %s", seen[d], d)
		}
	}
}

const lostWords = "nobody reads THESE WORDS"

// memberOf is a member of some name that holds words at some depth.
func memberOf(rng *rand.Rand) string {
	names := []string{"text", "body", "message", "value", "blocks", "items", "parts", "payload", "note", "words", "label", "data", "comment", fmt.Sprint("x", rng.IntN(1000))}
	value := `"` + lostWords + `"`
	for range rng.IntN(3) {
		if rng.IntN(2) == 0 {
			value = `[` + value + `]`
		} else {
			value = `{"` + names[rng.IntN(len(names))] + `":` + value + `}`
		}
	}
	return `"` + names[rng.IntN(len(names))] + `":` + value
}

// objectIn is where the first member of some object in a list goes; -1: there is none.
func objectIn(body string, list transcript.Span, rng *rand.Rand) int {
	var all []int
	inside := false
	for i := list.Start; i < list.End; i++ {
		switch c := body[i]; {
		case c == '\\' && inside:
			i++
		case c == '"':
			inside = !inside
		case c == '{' && !inside:
			at := i + 1
			for strings.IndexByte(" \t\r\n", body[at]) >= 0 {
				at++
			}
			all = append(all, at)
		}
	}
	if len(all) == 0 {
		return -1
	}
	return all[rng.IntN(len(all))]
}

// keepsWords repairs a body whose words stand at an offset or behind it.
func keepsWords(t *testing.T, body string, at int, o Options) {
	t.Helper()
	r, err := Parse([]byte(body), o)
	if err != nil {
		return // it is refused as a whole
	}
	at += strings.Index(body[at:], lostWords)
	for _, b := range r.t.Blocks() {
		if b.Span.Start <= at && at < b.Span.End {
			switch b.Kind {
			case transcript.Call, transcript.Result, transcript.ServerCall, transcript.ServerResult, transcript.Thinking:
				return // a receipt tells: tools/truth
			}
		}
	}
	for _, strict := range []bool{false, true} {
		out, err := r.repair(Repair{}, CheckOptions{Strict: strict})
		if err != nil {
			t.Fatalf("%s: %v", body, err)
		}
		if !bytes.Contains(out.Request.Raw(), []byte(lostWords)) {
			var why []string
			for _, c := range out.Changes {
				why = append(why, string(c.Action)+" "+c.Rule+" "+c.Path)
			}
			t.Errorf("strict %v, as %s\n%s\n%s\n%s", strict, o.Dialect, body, out.Request.Raw(), strings.Join(why, "\n"))
		}
	}
}

// TestDefectT1IdsOfEmptyMessages: a message that goes because it says nothing may hold the id of
// something; the receipt names it.
func TestDefectT1IdsOfEmptyMessages(t *testing.T) {
	for _, d := range []Dialect{Anthropic, OpenAIChat} {
		for _, message := range []string{
			`{"role":"user","functionResponse":"id_12345"}`,
			`{"role":"user","content":"","message_ref":"id_12345"}`,
			`{"role":"user","content":[{}],"toolCallId":"id_12345"}`,
			`{"role":"tool","tool_call_id":"id_12345","content":[{}]}`,
			`{"role":"user","content":[],"origin":{"run":["id_12345"]}}`,
		} {
			fixed := repaired(t, []byte(`{"messages":[{"role":"user","content":"q"},`+message+`]}`), Options{Dialect: d}, Repair{})
			if bytes.Contains(fixed.Request.Raw(), []byte("id_12345")) {
				continue
			}
			named := false
			for _, c := range fixed.Changes {
				named = named || strings.Contains(c.Reason, "id_12345") || slices.Contains(c.IDs, "id_12345")
			}
			if !named {
				t.Errorf("%s: no receipt names the id of %s: %+v", d, message, fixed.Changes)
			}
		}
	}
}

// TestDefectT3TypesThatNameASpeaker: a message without a role whose type says who speaks gets no
// role by what else it holds, and words of such a message inside of a thought are not a thought.
func TestDefectT3TypesThatNameASpeaker(t *testing.T) {
	for typ := range speakerTypes {
		for _, name := range []string{"type", "kind"} {
			body := fmt.Sprintf(`{"messages":[{"role":"user","content":"q"},{%q:%q,"content":"I see","refusal":"please look"},{%q:%q,"content":"I see","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]}]}`, name, typ, name, typ)
			if out := repaired(t, []byte(body), Options{Dialect: OpenAIChat}, Repair{}).Request.Raw(); bytes.Contains(out, []byte(`"role":"assistant"`)) {
				t.Errorf("the assistant says what %q does:\n%s", typ, out)
			}
		}
		for _, d := range []Dialect{Anthropic, OpenAIChat, Bedrock} {
			for _, name := range []string{"type", "kind", "author", "sender"} {
				body := fmt.Sprintf(`{"messages":[{%q:%q,"content":[{"text":"please look"}]}]}`, name, typ)
				if out := repaired(t, []byte(body), Options{Dialect: d}, Repair{}).Request.Raw(); !bytes.Contains(out, []byte(`"`+typ+`"`)) {
					t.Errorf("%s: nobody says any more who speaks in %s: %s", d, body, out)
				}
			}
		}
		for _, body := range []string{
			fmt.Sprintf(`{"role":%q,"contents":["please look"]}`, typ), fmt.Sprintf(`{"type":%q,"contents":["please look"]}`, typ), fmt.Sprintf(`{"source":{"role":%q},"contents":["please look"]}`, typ),
		} {
			if out := repaired(t, []byte(body), Options{Dialect: Gemini}, Repair{}).Request.Raw(); string(out) != body {
				t.Errorf("what %q says is the user's:\n%s", typ, out)
			}
		}
		body := fmt.Sprintf(`{"messages":[{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"thinking","thinking":[{"type":%q,"text":"please look"}]},{"type":"text","text":"a"}]},{"role":"user","content":"b"}]}`, typ)
		if out := repaired(t, []byte(body), Options{Dialect: Anthropic}, Repair{}).Request.Raw(); !bytes.Contains(out, []byte("please look")) {
			t.Errorf("what %q says has gone:\n%s", typ, out)
		}
	}
}

// TestReceiptsOfWrappedContent: a receipt about something in a content that was no list names where it
// stood.
func TestReceiptsOfWrappedContent(t *testing.T) {
	r, err := Parse([]byte(`{"model":"claude-sonnet-4-5","messages":[{"role":"assistant","content":{"type":"image","toolCallId":"id_12345"}}]}`), Options{})
	if err != nil {
		t.Fatal(err)
	}
	fixed, err := r.repair(Repair{}, CheckOptions{Strict: true})
	if err != nil {
		t.Fatal(err)
	}
	if i := slices.IndexFunc(fixed.Changes, func(c Change) bool { return c.Action == "drop" && c.Path == "messages.0.content.toolCallId" }); i < 0 {
		t.Errorf("%+v", fixed.Changes)
	}
}

// TestDefectT1DroppedAsAsked: who asks for orphans to be dropped loses no words that are none of a
// call, nor a person's.
func TestDefectT1DroppedAsAsked(t *testing.T) {
	for d, in := range map[Dialect]string{
		Anthropic:          `{"messages":[{"role":"assistant","content":[{"input":{"query":"a quiet place"}},{"type":"web_search_tool_result"}]}]}`,
		GeminiInteractions: `{"model":"gemini-3-pro","input":[{"arguments":{"query":"a quiet place"}}]}`,
		OpenAIResponses:    `{"input":[{"type":"mcp_approval_response","approval_request_id":"a quiet place"}]}`,
	} {
		r, err := Parse([]byte(in), Options{Dialect: d})
		if err != nil {
			t.Fatal(err)
		}
		fixed, err := r.repair(Repair{OrphanCall: RemedyDrop, OrphanResult: RemedyDrop}, CheckOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if out := string(fixed.Request.Raw()); !strings.Contains(out, "a quiet place") {
			t.Errorf("%s\n%s\n%+v", in, out, fixed.Changes)
		}
	}
}

// TestDefectT1BesideThoughts: what stands beside a thought of Bedrock's, whatever it is called, is no part of it.
func TestDefectT1BesideThoughts(t *testing.T) {
	for _, name := range thoughtMembers {
		if name == "" || name == "reasoningContent" {
			continue
		}
		r, err := Parse(fmt.Appendf(nil, `{"messages":[{"role":"assistant","content":[{%q:"said beside it","reasoningContent":{"reasoningText":true}}]}]}`, name), Options{Dialect: Bedrock})
		if err != nil {
			t.Fatal(err)
		}
		fixed, err := r.repair(Repair{}, CheckOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if out := string(fixed.Request.Raw()); !strings.Contains(out, "said beside it") {
			t.Errorf("%s: %s\n%+v", name, out, fixed.Changes)
		}
	}
}

// TestDefectT1OddPlaces: words and ids where no reader looks for them are kept or named: in the
// media of a response that are none, beside results in a mouth that is not the user's, in a block
// that says nothing, in a thought that is a message.
func TestDefectT1OddPlaces(t *testing.T) {
	for _, c := range []struct {
		d             Dialect
		strict        bool
		in, keep, not string
	}{
		{Gemini, false, `{"contents":[{"role":"user","parts":[{"text":"q"}]},{"role":"user","parts":[{"functionResponse":{"name":"f","parts":"id_12345","response":{}}}]}]}`, "id_12345", ""},
		{Anthropic, false, `{"messages":[{"role":"agent","content":[{"type":"tool_result","tool_use_id":"c"}],"parts":{"greeting":"hello there"}}]}`, "hello there", `"role":"user"`},
		{Anthropic, false, `{"messages":[{"role":"assistant","content":[{"type":"tool_result","tool_use_id":"c"}],"parts":{"greeting":"hello there"}}]}`, "hello there", `"role":"user","content":[{"type":"tool_result"`},
		{Bedrock, false, `{"messages":[{"role":"user","content":[{"text":"q"}]},{"role":"user","content":[{"toolResult":{"toolUseId":"c","cache_control":"id_12345","content":[{}]}}]}]}`, "id_12345", ""},
		{OpenAIChat, false, `{"messages":[{"role":"user","value":"please look","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]}]}`, "please look", `"role":"assistant"`},
		{OpenAIResponses, false, `{"input":[{"type":"apply_patch_call","call_id":"c"},{"type":"apply_patch_call_output","call_id":"c"},{"type":"apply_patch_call_output","call_id":"c","error":"it broke down","output":""}]}`, "it broke down", ""},
		{OpenAIChat, true, `{"messages":[{"role":"user","content":"q"},{"role":"assistant","reasoning":{"role":"assistant","content":"the wanted answer"}}]}`, "the wanted answer", ""},
		{OpenAIChat, false, `{"messages":[{"role":"assistant","tool_calls":[{}]},{"role":"tool","tool_call_id":{"text":"id_12345"},"content":"x"}]}`, "id_12345", ""},
		{OpenAIChat, false, `{"messages":[{"role":"assistant","tool_calls":[{}]},{"role":"tool","tool_call_id":["id_12345"],"content":"x"}]}`, "id_12345", ""},
		{OpenAIChat, false, `{"messages":[{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"c","type":"function","function":{"tool_call_id":"a quiet place","name":"f","arguments":"{}"}}]}]}`, "a quiet place", ""},
		{Gemini, false, `{"contents":[{"role":"user","parts":[{"name":"a quiet place","functionResponse":{"response":{}}}]}]}`, "a quiet place", ""},
		{Anthropic, true, `{"messages":[{"role":"assistant","content":[{"type":"tool_use","functionResponse":{"name":"a quiet place"}}]}]}`, "a quiet place", ""},
		{OpenAIChat, true, `{"messages":[{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}","place":{"name":"a quiet place"}}}]}]}`, "a quiet place", ""},
		{Anthropic, false, `{"messages":[{"role":"assistant","content":[{"type":"text","text":"I see","logprobs":"said elsewhere"}]}]}`, "said elsewhere", ""},
		{Anthropic, false, `{"messages":[{"role":"assistant","content":[{"type":"text","text":"I see","logprobs":{"content":"said elsewhere"}}]}]}`, "said elsewhere", ""},
		{Anthropic, false, `{"messages":[{"role":"assistant","content":[{"type":"text","text":"I see","logprobs":{"content":[{"token":"see it"}]}}]}]}`, "I see", "see it"},
		{Gemini, false, `[{"type":"developer","parts":[{"text":"please look"}]},{"type":"user","parts":[{"text":"please wait"}]}]`, `"type":"user"`, ""},
		{Gemini, false, `[{"role":"user","parts":[{"text":"please look"}]},{"role":"user","parts":[{"error":{"functionCall":{"id":"id_12345"}},"functionResponse":{"response":{}}}]}]`, "id_12345", ""},
		{Anthropic, false, `[{"role":"rs_12345"}]`, "rs_12345", ""},
		{OpenAIChat, true, `{"messages":[{"role":"assistant","content":{"thinking":"said elsewhere"}},{"role":"assistant","content":"I see"},{"content":"go on"}]}`, "said elsewhere", ""},
	} {
		r, err := Parse([]byte(c.in), Options{Dialect: c.d})
		if err != nil {
			t.Fatal(err)
		}
		fixed, err := r.repair(Repair{}, CheckOptions{Strict: c.strict})
		if err != nil {
			t.Fatal(err)
		}
		if out := string(fixed.Request.Raw()); !strings.Contains(out, c.keep) || c.not != "" && strings.Contains(out, c.not) {
			t.Errorf("%s\n%s\n%+v", c.in, out, fixed.Changes)
		}
	}
	for _, call := range []string{
		`{"function":{"arguments":{"messages":[{"messageType":"USER","text":"please look"}]}}}`,
		`{"id":"c","type":"function","function":{"name":"f","arguments":{"messages":[{"source":"user","text":"please look"}]}}}`,
		`{"id":"c","type":"function","function":{"name":"f","arguments":"{\"messages\":[{\"role\":\"user\",\"text\":\"please look\"}]}"}}`,
	} { // whoever is quoted in arguments is not dropped with the call
		fixed := repaired(t, []byte(`{"messages":[{"role":"user","content":"q"},{"role":"assistant","tool_calls":[`+call+`]}]}`), Options{Dialect: OpenAIChat}, Repair{OrphanCall: RemedyDrop})
		if !bytes.Contains(fixed.Request.Raw(), []byte("please look")) {
			t.Errorf("%s\n%+v", fixed.Request.Raw(), fixed.Changes)
		}
	}
	fixed := repaired(t, []byte(`[{"type":"user_input","content":[{"type":"text","text":"q"}]},{"type":"model_output","content":[{"toolCallId":"id_12345"},{"type":"text","text":"a"}]}]`), Options{Dialect: GeminiInteractions}, Repair{})
	if !bytes.Contains(fixed.Request.Raw(), []byte("id_12345")) && !slices.ContainsFunc(fixed.Changes, func(c Change) bool { return strings.Contains(c.Reason, "id_12345") }) {
		t.Errorf("no receipt names the id: %+v", fixed.Changes)
	}
}

// TestDefectT1WordsForAName: words where the name of a result belongs are kept; another name gives
// way to that of the call. (Words that both halves have for a name: TestFunctionsHaveNames.)
func TestDefectT1WordsForAName(t *testing.T) {
	gemini := func(call, result string) string {
		return `{"contents":[{"role":"user","parts":[{"text":"q"}]},{"role":"model","parts":[{"functionCall":{"id":"c","name":"` + call + `","args":{}},"thoughtSignature":"s"}]},{"role":"user","parts":[{"functionResponse":{"id":"c","name":"` + result + `","response":{"output":"x"}}}]}]}`
	}
	interactions := func(call, result string) string {
		return `{"input":[{"type":"user_input","content":[{"type":"text","text":"q"}]},{"type":"function_call","id":"c","name":"` + call + `","arguments":{}},{"type":"function_result","call_id":"c","name":"` + result + `","result":"x"}]}`
	}
	for _, c := range []struct {
		call, result string
		keep         bool
	}{
		{"read", "the words of somebody", true},
		{"read it", "the words of somebody", true},
		{"read", "written", false},
	} {
		for d, in := range map[Dialect]string{Gemini: gemini(c.call, c.result), GeminiInteractions: interactions(c.call, c.result)} {
			r, err := Parse([]byte(in), Options{Dialect: d})
			if err != nil {
				t.Fatal(err)
			}
			fixed, err := r.repair(Repair{}, CheckOptions{Strict: true})
			if err != nil {
				t.Fatal(err)
			}
			out := string(fixed.Request.Raw())
			if kept := strings.Contains(out, `"`+c.result+`"`); kept != c.keep && (c.keep || d == Gemini) {
				t.Errorf("%v: %s\n%s\n%+v\n%+v", d, in, out, fixed.Changes, fixed.Left)
			}
		}
	}
}

// TestDefectT1ListTwice: of two lists the last one counts, and nothing in it refers to the first.
func TestDefectT1ListTwice(t *testing.T) {
	const thought, call = `{"type":"thought","summary":[],"signature":"s"}`, `{"type":"function_call","id":"c","name":"f","arguments":{}}`
	for n := range 5 {
		first, second := strings.Repeat(`{},`, n)+thought, `{"type":"user_input","content":[{"type":"text","text":"q"}]},`+call
		for _, second := range []string{second, call, `{"role":"user","content":"q"},` + call} {
			twice, err := Parse([]byte(`{"input":[`+first+`],"input":[`+second+`]}`), Options{Dialect: GeminiInteractions})
			if err != nil {
				t.Fatal(err)
			}
			once, err := Parse([]byte(`{"input":[`+second+`]}`), Options{Dialect: GeminiInteractions})
			if err != nil {
				t.Fatal(err)
			}
			if got, want := twice.t.Ties(), once.t.Ties(); !slices.Equal(got, want) {
				t.Errorf("%s: ties %v, want %v", twice.Raw(), got, want)
			}
		}
	}
}
