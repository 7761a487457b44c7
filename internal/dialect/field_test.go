package dialect_test

import (
	"strings"
	"testing"

	"github.com/pare-llm/pare/internal/dialect"
)

// TestReplyThatBrokeOffInItsThinking: a reply that is stopped while the model still thinks
// leaves a turn that ends with thinking. Providers refuse it as soon as somebody answers, and
// again with every request from then on.
func TestReplyThatBrokeOffInItsThinking(t *testing.T) {
	const head, thought = `{"model":"claude-opus-4-5","max_tokens":9,`, `{"type":"thinking","thinking":"hm","signature":"S1"}`
	for _, d := range []defect{
		{name: "nothing but thinking", body: head + `"thinking":{"type":"enabled","budget_tokens":4},"messages":[{"role":"user","content":"q"},{"role":"assistant","content":[` + thought + `]},{"role":"user","content":"go on"}]}`,
			found: []string{"thinking-last"}, keeps: []string{`"q"`, "go on"}, loses: []string{"hm", "assistant"}},
		{name: "two thoughts behind a text", body: head + `"messages":[{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"text","text":"part"},` + thought + `,{"type":"redacted_thinking","data":"QQ=="}]},{"role":"user","content":"go on"}]}`,
			found: []string{"thinking-last"}, keeps: []string{"part", "go on"}, loses: []string{"hm", "QQ=="}},
		{name: "the text stands in the next message", body: head + `"messages":[{"role":"user","content":"q"},{"role":"assistant","content":[` + thought + `]},{"role":"assistant","content":"a"},{"role":"user","content":"go on"}]}`,
			keeps: []string{"hm"}},
		{name: "a call went before", body: head + `"messages":[{"role":"user","content":"q"},{"role":"assistant","content":[` + thought + `,{"type":"tool_use","id":"t1","name":"f","input":{}},` + thought + `]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"x"}]}]}`,
			keeps: []string{"hm"}},
		{name: "the last word, and somebody must answer it", body: head + `"thinking":{"type":"adaptive"},"messages":[{"role":"user","content":"q"},{"role":"assistant","content":[` + thought + `]}]}`,
			found: []string{"last-role", "thinking-last"}, keeps: []string{`"q"`}, loses: []string{"hm"}},
		{name: "on an imitation", body: `{"model":"deepseek-chat","max_tokens":9,"messages":[{"role":"user","content":"q"},{"role":"assistant","content":[` + thought + `]},{"role":"user","content":"go on"}]}`,
			as: dialect.Anthropic, keeps: []string{"hm"}},
	} {
		d.run(t)
	}
}

// TestThinkingWithoutWords: models that do not show what they think sign it all the same, and
// clients leave the empty member out. The signature is what counts, and stays.
func TestThinkingWithoutWords(t *testing.T) {
	for _, d := range []defect{
		{name: "thinking", body: `{"model":"claude-opus-4-8","max_tokens":9,"messages":[{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"thinking","signature":"S1"},{"type":"text","text":"a"}]},{"role":"user","content":"n"}]}`,
			found: []string{"field-missing"}, keeps: []string{`"S1"`, `"thinking":""`}},
		{name: "redacted", body: `{"model":"claude-opus-4-8","max_tokens":9,"messages":[{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"redacted_thinking"},{"type":"text","text":"a"}]},{"role":"user","content":"n"}]}`,
			found: []string{"field-missing"}, keeps: []string{`"a"`}, loses: []string{"redacted"}},
		{name: "bedrock", body: `{"modelId":"anthropic.claude-opus-4-8","messages":[{"role":"user","content":[{"text":"q"}]},{"role":"assistant","content":[{"reasoningContent":{"reasoningText":{"signature":"S1"}}},{"text":"a"}]},{"role":"user","content":[{"text":"n"}]}]}`,
			found: []string{"field-missing"}, keeps: []string{`"S1"`, `"text":""`}},
	} {
		d.run(t)
	}
}

// TestCachePointWithNothingToCache: Bedrock refuses cache points behind reasoning, and in a
// message that has nothing else.
func TestCachePointWithNothingToCache(t *testing.T) {
	const point, thought = `{"cachePoint":{"type":"default"}}`, `{"reasoningContent":{"reasoningText":{"text":"hm","signature":"S1"}}}`
	body := func(blocks string) string {
		return `{"modelId":"anthropic.claude-sonnet-4-6","messages":[{"role":"user","content":[{"text":"q"}]},{"role":"assistant","content":[` + blocks + `]},{"role":"user","content":[{"text":"go on"}]}]}`
	}
	for _, d := range []defect{
		{name: "behind reasoning", body: body(`{"text":"a"},` + thought + `,` + point), found: []string{"cache-breakpoint-misplaced"}, keeps: []string{"hm", "go on"}, loses: []string{"cachePoint"}},
		{name: "between reasoning and text", body: body(thought + `,` + point + `,{"text":"a"}`), found: []string{"cache-breakpoint-misplaced"}, keeps: []string{"hm"}, loses: []string{"cachePoint"}},
		{name: "alone", body: body(point), found: []string{"cache-breakpoint-misplaced"}, keeps: []string{`"q"`, "go on"}, loses: []string{"cachePoint", "assistant"}},
		{name: "behind a text", body: body(thought + `,{"text":"a"},` + point), keeps: []string{"cachePoint"}},
	} {
		d.run(t)
	}
}

// TestChatPartsInResponses: clients that move from the chat API to the Responses API leave
// parts as they were, in messages and in what tools returned.
func TestChatPartsInResponses(t *testing.T) {
	const call = `{"type":"function_call","call_id":"c1","name":"f","arguments":"{}"},`
	body := func(items string) string {
		return `{"model":"gpt-5","input":[{"role":"user","content":"q"},` + items + `]}`
	}
	for _, d := range []defect{
		{name: "what the user says and shows", body: body(`{"role":"user","content":[{"type":"text","text":"see"},{"type":"image_url","image_url":{"url":"https://e.test/a.png"}}]}`),
			found: []string{"content-type", "content-type"}, keeps: []string{`{"type":"input_text","text":"see"}`, `{"type":"input_image","image_url":"https://e.test/a.png"}`}},
		{name: "what the assistant says", body: body(`{"role":"assistant","content":[{"type":"text","text":"a"}]}`),
			found: []string{"content-type"}, keeps: []string{`{"type":"output_text","text":"a"}`}},
		{name: "what a tool returned", body: body(call + `{"type":"function_call_output","call_id":"c1","output":[{"type":"input_text","text":"x"},{"type":"text","text":"y"}]}`),
			found: []string{"content-type"}, keeps: []string{`{"type":"input_text","text":"x"}`, `{"type":"input_text","text":"y"}`}},
		{name: "nothing returned", body: body(call + `{"type":"function_call_output","call_id":"c1"}`), found: []string{"field-missing"}, keeps: []string{`"output":""`}},
		{name: "a call without a name", body: body(`{"type":"function_call","call_id":"c1","arguments":"{}"},{"type":"function_call_output","call_id":"c1","output":"x"}`),
			found: []string{"call-name-format"}, keeps: []string{`"name":"unknown_tool"`}},
		{name: "arguments that are no string", body: body(`{"type":"function_call","call_id":"c1","name":"f","arguments":{"a":1}},{"type":"function_call_output","call_id":"c1","output":"x"}`),
			as: dialect.OpenAIResponses, found: []string{"args-not-json"}, keeps: []string{`"arguments":"{\"a\":1}"`}},
		{name: "calls as the chat API has them", body: body(`{"role":"assistant","content":"a","tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"user","content":"n"}`),
			found: []string{"unknown-field"}, left: []string{"unknown-field"}, keeps: []string{"tool_calls"}},
		{name: "on an imitation", body: `{"model":"llama-5","input":[{"role":"user","content":[{"type":"text","text":"see"}]}]}`, as: dialect.OpenAIResponses, keeps: []string{`"type":"text"`}},
	} {
		d.run(t)
	}
}

// TestHistoryInWhichNobodySpeaks: Qwen's and GLM's endpoints refuse a history without a word of
// the user's, which windows and hand-offs between agents make.
func TestHistoryInWhichNobodySpeaks(t *testing.T) {
	const talk = `"messages":[{"role":"system","content":"s"},{"role":"assistant","content":"","tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c1","content":"x"}]}`
	for _, d := range []defect{
		{name: "qwen", body: `{"model":"qwen3-max",` + talk, found: []string{"first-role"}, keeps: []string{`{"role":"system","content":"s"},{"role":"user",`, `"x"`}},
		{name: "glm", body: `{"model":"z-ai/glm-5.2",` + talk, found: []string{"first-role"}, keeps: []string{`{"role":"system","content":"s"},{"role":"user",`, `"x"`}},
		{name: "openai", body: `{"model":"gpt-5",` + talk, keeps: []string{`"x"`}},
	} {
		d.run(t)
	}
}

// TestListsWhereAStringIsWanted: Groq has refused lists of parts in what others than the user
// say. They are joined when it says so.
func TestListsWhereAStringIsWanted(t *testing.T) {
	body := `{"model":"llama-3.3-70b-versatile","messages":[{"role":"user","content":[{"type":"text","text":"q"}]},{"role":"assistant","content":[{"type":"text","text":"a"},{"type":"text","text":"b\n"}]},{"role":"user","content":"n"}]}`
	r, err := dialect.Parse([]byte(body), dialect.Options{})
	if err != nil || len(r.Check(dialect.CheckOptions{})) > 0 {
		t.Fatal(err, r.Check(dialect.CheckOptions{}))
	}
	m, err := dialect.RepairRequest(r, dialect.Repair{}, dialect.CheckOptions{Strict: true})
	if err != nil {
		t.Fatal(err)
	}
	if got := string(m.Request.Raw()); !strings.Contains(got, `{"role":"user","content":[{"type":"text","text":"q"}]},{"role":"assistant","content":"a\nb\n"}`) {
		t.Error(got)
	}
}

// TestMediaWithoutData: a screenshot that failed, stored as an empty image, is refused with
// every request from then on.
func TestMediaWithoutData(t *testing.T) {
	const empty = `{"type":"image","source":{"type":"base64","media_type":"image/png","data":""}}`
	result := func(items string) string {
		return `{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":[` + items + `]}]}]}`
	}
	for _, d := range []defect{
		{name: "in a result", body: result(empty), found: []string{"empty-content"}, keeps: []string{"without any data"}, loses: []string{"image/png"}},
		{name: "two in a result, with words", body: result(empty + `,{"type":"text","text":"seen"},` + empty), found: []string{"empty-content", "empty-content"}, keeps: []string{"seen", "without any data"}, loses: []string{"image/png"}},
		{name: "in a message", body: `{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[{"role":"user","content":[{"type":"text","text":"q"},` + empty + `]}]}`, found: []string{"empty-content"}, keeps: []string{`"q"`, "without any data"}},
		{name: "with data, and elsewhere", body: result(`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"QQ=="}},{"type":"image","source":{"type":"url","url":"https://e.test/a.png"}}`), keeps: []string{"QQ=="}},
		{name: "bedrock", body: `{"modelId":"amazon.nova-pro-v1:0","messages":[{"role":"user","content":[{"text":"q"},{"document":{"format":"pdf","name":"d","source":{"bytes":""}}}]}]}`, found: []string{"empty-content"}, keeps: []string{"without any data"}, loses: []string{"pdf"}},
	} {
		d.run(t)
	}
}

// TestChatBlocksInMessages: clients that keep histories in OpenAI's shape leave pictures in it
// when they ask Claude.
func TestChatBlocksInMessages(t *testing.T) {
	const head = `{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[{"role":"user","content":`
	for _, d := range []defect{
		{name: "a data URL", as: dialect.Anthropic, body: head + `[{"type":"text","text":"see"},{"type":"image_url","image_url":{"url":"data:image\/png;base64,QU\/JD"}}]}]}`,
			found: []string{"content-type"}, keeps: []string{"see", `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"QU/JD"}}`}},
		{name: "an address, with a cache mark", as: dialect.Anthropic, body: head + `[{"type":"input_image","image_url":"https://e.test/a.png","cache_control":{"type":"ephemeral"}}]}]}`,
			found: []string{"content-type"}, keeps: []string{`{"type":"image","source":{"type":"url","url":"https://e.test/a.png"},"cache_control":{"type":"ephemeral"}}`}},
		{name: "words", as: dialect.Anthropic, body: head + `[{"type":"input_text","text":"see"}]}]}`, found: []string{"content-type"}, keeps: []string{`{"type":"text","text":"see"}`}},
		{name: "in a result", body: head + `"q"},{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,QUJD"}}]}]}]}`,
			found: []string{"content-type"}, keeps: []string{`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"QUJD"}}`}},
		{name: "a file that lies elsewhere", as: dialect.Anthropic, body: head + `[{"type":"text","text":"see"},{"type":"input_image","file_id":"file_1"}]}]}`,
			found: []string{"content-type"}, left: []string{"content-type"}, keeps: []string{"see", "file_1"}},
	} {
		d.run(t)
	}
}
