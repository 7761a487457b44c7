package wire_test

import (
	"testing"

	"github.com/pare-llm/pare/wire"
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
			as: wire.Anthropic, keeps: []string{"hm"}},
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
