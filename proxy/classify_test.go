package proxy

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pare-llm/pare/wire"
)

// TestClassifySizes has a sentence of every vendor, with the figures to be read in it.
func TestClassifySizes(t *testing.T) {
	for _, tt := range []struct {
		said                         string
		limit, sent, reply, messages int
	}{
		{"prompt is too long: 208461 tokens > 200000 maximum", 200000, 208461, 0, 0},
		{"input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length or `max_tokens` and try again", 200000, 188240, 21333, 0},
		{"This model's maximum context length is 128000 tokens. However, your messages resulted in 130123 tokens. Please reduce the length of the messages.", 128000, 130123, 0, 0},
		{"This model's maximum context length is 8192 tokens. However, you requested 9000 tokens (8000 in the messages, 1000 in the completion). Please reduce the length of the messages or completion.", 8192, 8000, 1000, 0},
		{"This endpoint's maximum context length is 163840 tokens. However, you requested about 200000 tokens (190000 of text input, 10000 in the output). Please reduce the length of either one", 163840, 190000, 10000, 0},
		{"This endpoint's maximum context length is 163840 tokens. However, you requested about 200000 tokens (180000 of text input, 5000 of tool input, 15000 in the output).", 163840, 180000, 15000, 0},
		{"This model's maximum context length is 131072 tokens. Please reduce the length of the prompt", 131072, 0, 0, 0},
		{"Your input exceeds the context window of this model. Please adjust your input and try again.", 0, 0, 0, 0},
		{"The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).", 1048575, 1196265, 0, 0},
		{"The input token count exceeds the maximum number of tokens allowed 1048576.", 0, 0, 0, 0},
		{"This model's maximum prompt length is 131072 but the request contains 537812 tokens.", 131072, 537812, 0, 0},
		{"prompt token count of 140123 exceeds the limit of 128000", 128000, 140123, 0, 0},
		{"Invalid request: Your request exceeded model token limit: 262144 (requested: 270001)", 262144, 270001, 0, 0},
		{"Invalid request: Your request exceeded model token limit: 131072", 131072, 0, 0, 0},
		{"Prompt contains 65673 tokens and 0 draft tokens, too large for model with 32768 maximum context length", 32768, 65673, 0, 0},
		{"The prompt is too long: 142341, model maximum context length: 131071", 131071, 142341, 0, 0},
		{"InternalError.Algo.InvalidParameter: Range of input length should be [1, 129024]", 129024, 0, 0, 0},
		{"Too many input tokens. Max input tokens: 200000, request input token count: 201234", 200000, 201234, 0, 0},
		{"Input is too long for requested model.", 0, 0, 0, 0},
		{"request (70000 tokens) exceeds the available context size (65536 tokens), try increasing it", 65536, 70000, 0, 0},
		{"the request exceeds the available context size. try increasing the context size or enable context shift", 0, 0, 0, 0},
		{"The input (12345 tokens) is longer than the model's context length (8192 tokens).", 8192, 12345, 0, 0},
		{"The decoder prompt (length 9000) is longer than the maximum model length of 8192.", 8192, 9000, 0, 0},
		{"Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens and 20 `max_new_tokens`", 4096, 5000, 20, 0},
		{"prompt too long; exceeded max context length by 24 tokens", 0, 0, 0, 0},
		{"tokens to keep from the initial prompt is greater than the context length", 0, 0, 0, 0},
		{"invalid params, context window exceeds limit (2013)", 0, 0, 0, 0},
		{"Prompt exceeds max length", 0, 0, 0, 0},
		{"Please reduce the length of the messages or completion.", 0, 0, 0, 0},
		{"litellm.ContextWindowExceededError: VertexAIException", 0, 0, 0, 0},
		{"Invalid 'messages': array too long. Expected an array with maximum length 2048, but got an array with length 2050 instead.", 0, 0, 0, 2048},
	} {
		quoted := fmt.Sprintf(`{"error":{"message":%q,"code":"x"}}`, tt.said)
		for _, body := range []string{tt.said, quoted, fmt.Sprintf(`{"error":{"message":"Provider returned error","metadata":{"raw":%q}}}`, quoted)} {
			got, ok := Classify(400, []byte(body))
			want := Refusal{Rule: Overflow, Limit: tt.limit, Sent: tt.sent, Reply: tt.reply, Messages: tt.messages}
			if !ok || got != want {
				t.Errorf("%s:\n got %+v %v\nwant %+v", body, got, ok, want)
			}
		}
	}
}

// TestClassifyRules has the sentences of the table, as the providers write them.
func TestClassifyRules(t *testing.T) {
	for said, want := range map[string]string{
		"messages.2: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1. Each `tool_use` block must have a corresponding `tool_result` block in the next message.": "orphan-call",
		"messages.0.content.0: unexpected `tool_use_id` found in `tool_result` blocks: toolu_1.":                                                                                                  "orphan-result",
		"unexpected `tool_use_id` found in `web_search_tool_result` blocks: srvtoolu_1":                                                                                                           "server-tool-unpaired",
		"`web_search` tool use with id `srvtoolu_1` was found without a corresponding `web_search_tool_result` block":                                                                             "server-tool-unpaired",
		"messages: `tool_use` ids must be unique": "duplicate-call-id",
		"messages.1.content.1: each tool_use must have a single result. Found multiple `tool_result` blocks with id: x":                     "duplicate-result",
		"messages.1.content.0: Invalid `signature` in `thinking` block":                                                                     "thinking-signature-missing",
		"messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified.":                "thinking-altered",
		"messages: text content blocks must be non-empty":                                                                                   "empty-text",
		"This model does not support assistant message prefill. The conversation must end with a user message.":                             "last-role",
		"A maximum of 4 blocks with cache_control may be provided. Found 5.":                                                                "too-many-cache-breakpoints",
		"An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'.":                       "orphan-call",
		"Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.":                        "orphan-result",
		"No tool output found for function call call_1.":                                                                                    "orphan-call",
		"No tool call found for function call output with call_id call_1.":                                                                  "orphan-result",
		"Item 'rs_1' of type 'reasoning' was provided without its required following item.":                                                 "reasoning-item-orphan",
		"Item 'fc_1' of type 'function_call' was provided without its required 'reasoning' item: 'rs_1'.":                                   "reasoning-item-missing",
		"The encrypted content gAAA...c90= could not be verified.":                                                                          "reasoning-foreign",
		"The encrypted content for item rs_1 could not be verified.":                                                                        "reasoning-foreign",
		"Please ensure that function call turn comes immediately after a user turn or after a function response turn.":                      "first-role",
		"Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.": "orphan-call",
		"Function call is missing a thought_signature in functionCall parts.":                                                               "thought-signature-missing",
		"The toolConfig field must be defined when using toolUse and toolResult content blocks.":                                            "tools-undefined",
		"Expected toolResult blocks at messages.2.content for the following Ids: x":                                                         "orphan-call",
		"Not the same number of function calls and responses":                                                                               "orphan-call",
		"Unexpected role 'user' after role 'tool'":                                                                                          "role-order",
		"The `reasoning_content` in the thinking mode must be passed back to the API.":                                                      "reasoning-content-required",
	} {
		got, ok := Classify(400, fmt.Appendf(nil, `{"error":{"message":%q}}`, said))
		if !ok || got.Rule != want {
			t.Errorf("%s: %+v %v, not %s", said, got, ok, want)
		}
	}
}

// TestClassifyKnowsEveryRow wants each sentence that the table of rules has to lead back to
// a rule of the same slug.
func TestClassifyKnowsEveryRow(t *testing.T) {
	known := 0
	for _, r := range wire.Rules() {
		if r.Severity == wire.SeverityDegrades || len(placeholder.ReplaceAllString(r.Says, "")) < 40 {
			continue
		}
		said := strings.NewReplacer("{ids}", "call_1", "{path}", "messages.1", "{i}", "1", "{arg}", "x").Replace(r.Says)
		got, ok := Classify(400, []byte(said))
		if !ok {
			t.Errorf("%s is not known: %s", r.ID, said)
		}
		if got.Rule == r.Slug {
			known++
		}
	}
	t.Logf("%d sentences lead back to their own slug", known)
}

func TestClassifyLeavesOthersAlone(t *testing.T) {
	for _, tt := range []struct {
		status int
		said   string
	}{
		{429, "prompt is too long"}, {500, "prompt is too long"}, {401, "x"},
		{400, `{"error":{"message":"max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens"}}`},
		{400, `{"error":{"message":"Your credit balance is too low to access the Anthropic API."}}`},
		{400, `{"error":{"message":"model: claude-9 does not exist"}}`}, {400, ""}, {422, "{}"},
	} {
		if got, ok := Classify(tt.status, []byte(tt.said)); ok {
			t.Errorf("%d %s is taken for %+v", tt.status, tt.said, got)
		}
	}
	if got, ok := Classify(413, nil); !ok || got.Rule != Overflow {
		t.Error("413", got, ok)
	}
}
