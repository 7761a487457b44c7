package refusal

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pare-llm/pare/internal/corpus"
	"github.com/pare-llm/pare/internal/trial"
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
		{"The input token count exceeds the maximum number of tokens allowed 1048576.", 1048576, 0, 0, 0},
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
		// 2025 and 2026
		{"Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300000 tokens. Please reduce the length of the messages.", 272000, 300000, 0, 0},
		{"Input tokens exceed the configured limit of 922,000 tokens", 922000, 0, 0, 0},
		{"Your input exceeds the model's context window.", 0, 0, 0, 0},
		{"Your input exceeds this model's context window. Please adjust your input and try again.", 0, 0, 0, 0},
		{"This model's maximum context length is 4097 tokens, however you requested 4726 tokens (3726 in your prompt; 1000 for the completion). Please reduce your prompt; or completion length.", 4097, 3726, 1000, 0},
		{"This model's maximum context length is 51200 tokens. However, you requested 12054 output tokens and your prompt contains at least 39147 input tokens, for a total of at least 51201 tokens.", 51200, 39147, 12054, 0},
		{"'max_tokens' or 'max_completion_tokens' is too large: 4096. This model's maximum context length is 8192 tokens and your request has 8000 input tokens (4096 > 8192 - 8000).", 8192, 8000, 4096, 0},
		{"You passed 98305 input tokens and requested 32768 output tokens. However, the model's context length is only 131072 tokens, resulting in a maximum input length of 98304 tokens. Please reduce the length of the input prompt. (parameter=input_tokens, value=98305)", 131072, 98305, 32768, 0},
		{"Requested token count exceeds the model's maximum context length of 64000 tokens. You requested a total of 71897 tokens: 7897 tokens from the input messages and 64000 tokens for the completion.", 64000, 7897, 64000, 0},
		{"Requested token count exceeds the model's maximum context length of 131072 tokens.", 131072, 0, 0, 0},
		{"Requested token count exceeds the model's maximum context length.", 0, 0, 0, 0},
		{"Input length (265330) exceeds model's maximum context length (262144).", 262144, 265330, 0, 0},
		{"Input length 70000 exceeds the maximum allowed input length of 65536 tokens.", 65536, 70000, 0, 0},
		{"The model returned the following errors: prompt is too long: 227255 tokens > 200000 maximum", 200000, 227255, 0, 0},
		{"The model returned the following errors: Input is too long for requested model.", 0, 0, 0, 0},
		{"ValidationException: Input exceeds the max input token limit", 0, 0, 0, 0},
		{"Input Tokens Exceeded: Number of input tokens exceeds maximum length. Please update the input to try again.", 0, 0, 0, 0},
		{"total tokens exceeds the model's max of 4096", 4096, 0, 0, 0},
		{"ollama: context length exceeded for llama3", 0, 0, 0, 0},
		{"prompt too long; exceeded max context length by 100918 tokens", 0, 0, 0, 0},
		{"Trying to keep the first 9000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough.", 4096, 0, 0, 0},
		{"prompt has 120,000 tokens, but the configured context size is 100,000 tokens", 100000, 120000, 0, 0},
		{"Prompt tokens (9000) exceeds context size (8192)", 8192, 9000, 0, 0},
		{"litellm.BadRequestError: Context Window exceeded for given call. No models have context window large enough for this call.", 0, 0, 0, 0},
		{"litellm.ContextWindowExceededError: AnthropicError - {\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"prompt is too long: 209353 tokens > 199999 maximum\"}}", 199999, 209353, 0, 0},
		{"Total tokens of image and text exceed max message tokens", 0, 0, 0, 0},
		{"Input validation error: `inputs` must have less than 8191 tokens. Given: 9137", 8191, 9137, 0, 0},
		{"Please reduce the length of the messages or completion. Current length is 9137 while limit is 8192", 8192, 9137, 0, 0},
		{"Request body too large for gpt-4o model. Max size: 8000 tokens.", 8000, 0, 0, 0},
		{"tokens in request more than max tokens allowed", 0, 0, 0, 0},
		// separators of thousands
		{"prompt is too long: 208,461 tokens > 200,000 maximum", 200000, 208461, 0, 0},
		{"prompt is too long: 1.208.461 tokens > 1.000.000 maximum", 1000000, 1208461, 0, 0},
		{"prompt is too long: 208 461 tokens > 200\u202f000 maximum", 200000, 208461, 0, 0},
		{"prompt is too long: 208'461 tokens > 200_000 maximum", 200000, 208461, 0, 0},
		{"prompt is too long: 12,08,461 tokens > 10,00,000 maximum", 1000000, 1208461, 0, 0},
		{"This model's maximum context length is 128k tokens.", 128000, 0, 0, 0},
		{"This model's maximum context length is 1.5M tokens.", 1500000, 0, 0, 0},
		{"This model's maximum context length is 131072.0 tokens.", 131072, 0, 0, 0},
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
		"messages: `tool_use` ids must be unique":                                                                                                                           "duplicate-call-id",
		"API Error: 400 due to tool use concurrency issues. Run /rewind to recover the conversation.":                                                                       "orphan-call", // what Claude Code makes of the first two
		"messages.1.content.1: each tool_use must have a single result. Found multiple `tool_result` blocks with id: x":                                                     "duplicate-result",
		"messages.1.content.0: Invalid `signature` in `thinking` block":                                                                                                     "thinking-signature-missing",
		"messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified.":                                                "thinking-altered",
		"messages: text content blocks must be non-empty":                                                                                                                   "empty-text",
		"This model does not support assistant message prefill. The conversation must end with a user message.":                                                             "last-role",
		"A maximum of 4 blocks with cache_control may be provided. Found 5.":                                                                                                "too-many-cache-breakpoints",
		"An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'.":                                                       "orphan-call",
		"Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.":                                                        "orphan-result",
		"No tool output found for function call call_1.":                                                                                                                    "orphan-call",
		"No tool call found for function call output with call_id call_1.":                                                                                                  "orphan-result",
		"Item 'rs_1' of type 'reasoning' was provided without its required following item.":                                                                                 "reasoning-item-orphan",
		"Item 'fc_1' of type 'function_call' was provided without its required 'reasoning' item: 'rs_1'.":                                                                   "reasoning-item-missing",
		"The encrypted content gAAA...c90= could not be verified.":                                                                                                          "reasoning-foreign",
		"The encrypted content for item rs_1 could not be verified.":                                                                                                        "reasoning-foreign",
		"Please ensure that function call turn comes immediately after a user turn or after a function response turn.":                                                      "first-role",
		"Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.":                                 "orphan-call",
		"Function call is missing a thought_signature in functionCall parts.":                                                                                               "thought-signature-missing",
		"The toolConfig field must be defined when using toolUse and toolResult content blocks.":                                                                            "tools-undefined",
		"Expected toolResult blocks at messages.2.content for the following Ids: x":                                                                                         "orphan-call",
		"Not the same number of function calls and responses":                                                                                                               "orphan-call",
		"Unexpected role 'user' after role 'tool'":                                                                                                                          "role-order",
		"The `reasoning_content` in the thinking mode must be passed back to the API.":                                                                                      "reasoning-content-required",
		"Did not find 1 tool_result block(s) at the beginning of this message. Messages following tool_use blocks must begin with a matching number of tool_result blocks.": "orphan-call",
		"invalid params, tool call result does not follow tool call (2013)":                                                                                                 "displaced-result",
		"invalid params, tool result's tool id(call_1) not found (2013)":                                                                                                    "orphan-result",
		"invalid params, duplicate tool_call id: call_1 (2013)":                                                                                                             "duplicate-call-id",
		"invalid params, something new (2013)":                                                                                                                              "orphan-call",
		"Invalid 'input[3].id': '__fake_id__'. Expected an ID that begins with 'fc'.":                                                                                       "item-id-format",
		"The toolUse blocks at messages.2.content contain duplicate Ids: tooluse_1":                                                                                         "duplicate-call-id",
		"The toolResult blocks at messages.2.content contain duplicate Ids: tooluse_1":                                                                                      "duplicate-result",
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
		if r.Severity == "degrades" || len(placeholder.ReplaceAllString(r.Says, "")) < 40 {
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

// TestClassifyField has answers as they were quoted in public, in the wrapping of whoever passed
// them on, with the status that came with them.
func TestClassifyField(t *testing.T) {
	for _, tt := range []struct {
		status     int
		rule, said string
	}{
		{400, "orphan-call", "The model returned the following errors: messages.54: Did not find 2 `tool_result` block(s) at the beginning of this message. Messages following `tool_use` blocks must begin with a matching number of `tool_result` blocks."},
		{400, "content-type", `'messages.2' : for 'role:tool' the following must be satisfied[('messages.2.content' : value must be a string)]`},
		{400, "id-missing", `'messages.3' : for 'role:tool' the following must be satisfied[('messages.3.tool_call_id' : property 'tool_call_id' is missing)]`},
		{400, "empty-content", `{"code":"Client specified an invalid argument","error":"An empty message was provided. Every message needs at least one non-empty content element."}`},
		{400, "empty-content", "An empty user message was provided. Every user message needs at least one non-empty content element."},
		{400, "args-not-json", `<400> InternalError.Algo.InvalidParameter: The "function.arguments" parameter of the code model must be in JSON format.`},
		{400, "first-role", "<400> InternalError.Algo.InvalidParameter: The input messages do not contain elements with the role of user"},
		{400, "first-role", `{"object":"error","message":"No user query found in messages.","type":"BadRequestError","code":400}`},
		{400, "first-role", `{"error":{"code":"1214","message":"messages 参数非法。请检查文档。"}}`},
		{400, "first-role", `messages: first message must use the "user" role`},
		{400, "role-alternation", `messages: roles must alternate between "user" and "assistant", but found multiple "user" roles in a row`},
		{400, "orphan-call", "antigravity executor: invalid Gemini function call history: request.contents[3]: functionCall appears before 1 pending functionResponse part(s)"},
		{400, "field-missing", "1 validation error detected: Value at 'messages.3.member.content.1.member.reasoningContent.reasoningText.text' failed to satisfy constraint: Member must not be null"},
		{400, "content-type", "Invalid value: 'text'. Supported values are: 'input_text', 'input_image', 'input_audio', 'output_text', 'refusal', 'input_file', 'computer_screenshot', 'summary_text', and 'encrypted_content'."},
		{400, "call-id-format", "Invalid 'input[4].call_id': empty string. Expected a string with minimum length 1, but got an empty string instead."},
		{400, "unknown-field", "Unknown parameter: 'input[3].tool_calls'."},
		{400, "content-type", "messages.12.content.1: Input tag 'image_url' found using 'type' does not match any of the expected tags: 'document', 'image', 'text'"},
		{404, "reasoning-item-unresolvable", "Item with id 'rs_1' not found. Items are not persisted when `store` is set to false. Try again with `store` set to true, or remove this item from your input."},
		{500, "role-order", `{"error":{"code":500,"message":"\n------------\nWhile executing CallExpression at line 85, column 32 in source:\nError: Jinja Exception: System message must be at the beginning.","type":"server_error"}}`},
		{500, "role-alternation", `{"error":{"code":500,"message":"Error: Jinja Exception: After the optional system message, conversation roles must alternate user and assistant roles except for tool calls and results.","type":"server_error"}}`},
		{500, "orphan-call", "{\"error\":{\"message\":\"litellm.InternalServerError: AnthropicException - messages.5: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1.\"}}"},
		{502, "first-role", `All variants failed with errors: Invalid status code: 400 Bad Request: {"error":{"code":"1214","message":"The messages parameter is illegal. Please check the documentation."}}`},
		{400, Unexplained, `{"error":{"code":400,"message":"Request contains an invalid argument.","status":"INVALID_ARGUMENT"}}`},
		{400, Unexplained, `[{"error":{"code":400,"message":"Request contains an invalid argument.","errors":[{"message":"Request contains an invalid argument.","domain":"global","reason":"badRequest"}],"status":"INVALID_ARGUMENT"}}]`},
		{400, Unexplained, "litellm.BadRequestError: VertexAIException - {\n  \"error\": {\n    \"code\": 400,\n    \"message\": \"Request contains an invalid argument.\",\n    \"status\": \"INVALID_ARGUMENT\"\n  }\n}\n"},
		{400, Unexplained, `{"error":{"code":400,"status":"INVALID_ARGUMENT"}}`},
		{400, Unexplained, `400 INVALID_ARGUMENT.`},
		{400, "thought-signature-missing", `{"error":{"code":400,"message":"Request contains an invalid argument.","status":"INVALID_ARGUMENT","details":["Function call is missing a thought_signature in functionCall parts."]}}`},
		{500, Overflow, "litellm.APIError: prompt is too long: 209353 tokens > 199999 maximum"},
	} {
		if got, ok := Classify(tt.status, []byte(tt.said)); !ok || got.Rule != tt.rule {
			t.Errorf("%d %s: %+v %v, not %s", tt.status, tt.said, got, ok, tt.rule)
		}
	}
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
		// servers that fail, and what is not there
		{500, "Internal server error"}, {502, "<html><head><title>502 Bad Gateway</title></head></html>"}, {503, "System message must be at the beginning."}, {529, "Overloaded"},
		{500, "rate limit reached: prompt is too long: 209353 tokens > 199999 maximum tokens per minute"}, {500, "context length exceeded"},
		{404, "404 page not found"}, {404, "The model `gpt-9` does not exist or you do not have access to it."}, {404, "Previous response with id 'resp_1' not found."},
		{429, "messages.5: `tool_use` ids were found without `tool_result` blocks"}, {403, "You exceeded your current quota, please check your plan and billing details."},
		{400, `{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}`},
		{400, `{"error":{"code":400,"message":"Unable to submit request because thinking is not supported by this model.","status":"INVALID_ARGUMENT"}}`},
		{400, "API key expired. Please renew the API key."}, {400, "max_tokens must be greater than thinking.budget_tokens"}, {400, "Unknown parameter: 'reasoning_effort'."},
		{400, "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'."}, {400, "Output blocked by content filtering policy"},
		// rates and quotas
		{400, "ThrottlingException: Too many tokens, please wait before trying again."}, {400, "Too many tokens per day, please wait before trying again."},
		{400, "Tokens per minute limit exceeded - too many tokens processed"}, {400, "This request exceeds the limit of 30000 tokens per minute"},
		{400, "request reached organization TPD rate limit, current: 1506556, limit: 1500000"}, {400, "Token limit exceeded: your monthly quota of 1000000 tokens is used up"},
		{400, "Request too large for gpt-4o in organization org-1 on tokens per min (TPM): Limit 30000, Requested 42000."},
		{429, "Request too large for gpt-4o in organization org-1 on tokens per min (TPM): Limit 30000, Requested 42000."},
		// the room of the reply alone
		{400, "max_tokens is too large: 100000. This model supports at most 16384 completion tokens, whereas you provided 100000."},
		{400, "The maximum tokens you requested exceeds the model limit of 32768. Try again with a maximum tokens value that is lower than 32768."},
		{400, "max_tokens=100000 cannot be greater than max_model_len=8192"}, {400, "Could not finish the message because max_tokens or model output limit was reached."},
		// bytes of a part, and lists that are not the history
		{400, "messages.3.content.0.image.source.base64: image exceeds 5 MB maximum: 6543210 bytes > 5242880 bytes"},
		{400, "The request contains a document that exceeds the maximum size of 32 MB"},
		{400, "Invalid 'tools': array too long. Expected an array with maximum length 128, but got an array with length 131 instead."},
		{400, "Invalid 'messages[3].tool_calls': array too long. Expected an array with maximum length 128, but got an array with length 131 instead."},
		{400, "messages.14.content.0.image.source.base64.data: At least one of the image dimensions exceed max allowed size: 8000 pixels"},
		{400, "Invalid 'input[4].arguments': string too long. Expected a string with maximum length 1048576, but got a string with length 1200000 instead."},
	} {
		if got, ok := Classify(tt.status, []byte(tt.said)); ok {
			t.Errorf("%d %s is taken for %+v", tt.status, tt.said, got)
		}
	}
}

// TestClassifyTooLarge: a 413 needs no words, and is about bytes if it does not say otherwise.
// One for what may be sent in a minute is about this request alone, whose figures it has.
func TestClassifyTooLarge(t *testing.T) {
	for said, want := range map[string]Refusal{
		"": {Rule: Overflow, Bytes: unknownBytes},
		"The prompt is too large for this model.":                                                            {Rule: Overflow},
		"413 request_too_large: the request exceeds the maximum size of 32 MB (41943040 bytes)":              {Rule: Overflow, Bytes: 32_000_000},
		"The request body is too large: 33554433 bytes, at most 33554432 bytes are allowed":                  {Rule: Overflow, Bytes: 33554432},
		"Request body exceeds the limit of 20 MiB":                                                           {Rule: Overflow, Bytes: 20 << 20},
		"<html><head><title>413 Request Entity Too Large</title></head></html>":                              {Rule: Overflow, Bytes: unknownBytes},
		`{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}`: {Rule: Overflow, Bytes: unknownBytes},
		"Request payload size exceeds the limit: 20971520 bytes.":                                            {Rule: Overflow, Bytes: 20971520},
		"prompt is too long: 208461 tokens > 200000 maximum":                                                 {Rule: Overflow, Limit: 200000, Sent: 208461},
		"Request too large for model `llama-3.3-70b-versatile` in organization `org_1` service tier `on_demand` on tokens per minute (TPM): Limit 12,000, Requested 15,170, please reduce your message size and try again.": {Rule: Overflow, Limit: 12000, Sent: 15170},
	} {
		if got, ok := Classify(413, []byte(said)); !ok || got != want {
			t.Errorf("%s: %+v %v", said, got, ok)
		}
	}
	if got, ok := Classify(400, []byte(`{"error":{"code":400,"message":"Request payload size exceeds the limit: 20971520 bytes.","status":"INVALID_ARGUMENT"}}`)); !ok || got.Bytes != 20971520 {
		t.Error("Gemini", got, ok)
	}
	llama := `{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error","n_prompt_tokens":9137,"n_ctx":8192}}`
	if got, ok := Classify(400, []byte(llama)); !ok || got.Limit != 8192 || got.Sent != 9137 {
		t.Error("llama.cpp", got, ok)
	}
}

// TestClassifyIncidents has the answers to every recorded incident. Those without a rule of the
// table are about pictures, sizes that no rule holds, or are told in the words of a reporter.
func TestClassifyIncidents(t *testing.T) {
	files, err := filepath.Glob("../../testdata/zoo/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal("the incidents are not there", err)
	}
	unknown := []string{"zoo-139", "zoo-140", "zoo-225", "zoo-237", "zoo-238"}
	for _, name := range files {
		b, err := os.ReadFile(name)
		var z struct {
			Error  string
			Expect struct{ Violations []struct{ Rule string } }
		}
		if err == nil {
			err = json.Unmarshal(b, &z)
		}
		if err != nil || z.Error == "" {
			continue
		}
		id := filepath.Base(name)[:len("zoo-000")]
		got, ok := Classify(400, fmt.Appendf(nil, `{"error":{"message":%q}}`, z.Error))
		if ok == slices.Contains(unknown, id) || got.Rule == Overflow {
			t.Errorf("%s: %+v %v: %s", id, got, ok, z.Error)
		}
	}
}

// TestWordsOfPatterns: each pattern has words that are looked for first, and where these are missing
// the pattern does not match either.
func TestWordsOfPatterns(t *testing.T) {
	var texts []string
	for _, r := range wire.Rules() {
		texts = append(texts, r.Says, strings.ToUpper(r.Says), placeholder.ReplaceAllString(r.Says, "x7"))
	}
	for _, z := range corpus.Zoo(t) {
		texts = append(texts, z.Error)
	}
	step := trial.SparseStride(3)
	for n, row := range slices.Concat(knownSentences(), ruleSentences(), partialSentences()) {
		if len(row.literals) == 0 || slices.ContainsFunc(row.literals, func(w string) bool { return len(w) < 5 }) {
			t.Errorf("%s: %v has no words to look for, or short ones: %q", row.id, row.pattern, row.literals)
		}
		for i := n % step; i < len(texts); i += step {
			text := texts[i]
			if row.pattern.MatchString(text) != row.matches(text, strings.ToLower(text)) {
				t.Errorf("%s: %v matches %.200q, which has none of %q", row.id, row.pattern, text, row.literals)
			}
		}
	}
}

// TestErrorsAboutServerStateAreNotHealed: whatever their words are, no other form of the request helps.
func TestErrorsAboutServerStateAreNotHealed(t *testing.T) {
	for _, code := range []string{
		"thread_already_continued", "thread_continue_in_flight", "thread_fingerprint_mismatch", "thread_not_found", "thread_unsupported_request",
		"previous_response_not_found", "conversation_locked",
	} {
		for _, body := range []string{
			`{"type":"error","error":{"type":"invalid_request_error","message":"unexpected tool_use_id found in tool_result blocks","details":{"error_code":"` + code + `"}}}`,
			`{"error":{"message":"INVALID_ARGUMENT","code":"` + code + `"}}`,
			`{"error":{"message":"{\"error\":{\"details\":{\"error_code\":\"` + code + `\"},\"message\":\"text content blocks must be non-empty\"}}"}}`,
		} {
			for _, status := range []int{400, 404, 422, 502} {
				if r, ok := Classify(status, []byte(body)); ok {
					t.Errorf("%d %s: %+v", status, body, r)
				}
			}
		}
	}
}
