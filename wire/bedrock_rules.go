package wire

import (
	"slices"
	"strings"
)

// bedrockRules are the rules of the Converse API.
var bedrockRules = []Rule{
	{ID: "bedrock/toolconfig-missing", Slug: "tools-undefined", on: toolsUndefined,
		Doc:    "any toolUse/toolResult in history and no toolConfig",
		Says:   "The toolConfig field must be defined when using toolUse and toolResult content blocks.",
		Mend:   "inject minimal toolSpecs for the names in history; or flatten tool blocks to text",
		Source: "langgenius/dify#17545; vxcontrol/pentagi#196; aws-samples/bedrock-access-gateway#239; pydantic-ai#5929"},
	{ID: "bedrock/missing-result", Slug: "orphan-call", on: orphanCall,
		Doc:    "next user turn lacks some toolUseId",
		Says:   "Expected toolResult blocks at messages.{i}.content for the following Ids: {ids}",
		Mend:   "stub the result; drop both halves",
		Source: "NousResearch/hermes-agent#108584"},
	{ID: "bedrock/missing-result-last", Slug: "orphan-call", on: openCall,
		Doc:    "the conversation ends with an unanswered toolUse",
		Says:   "Expected toolResult blocks at messages.{i}.content for the following Ids: {ids}",
		Mend:   "stub the result when sending; leave it open in a store",
		Source: "NousResearch/hermes-agent#108584"},
	{ID: "bedrock/excess-result", Slug: "orphan-result", on: orphanResult,
		Doc:    "more/unknown results than calls in the previous turn",
		Says:   "The number of toolResult blocks at messages.{i}.content exceeds the number of toolUse blocks of previous turn.",
		Mend:   "drop the result",
		Source: "strands-agents/harness-sdk#1435; langgenius/dify-official-plugins#765"},
	{ID: "bedrock/result-displaced", Slug: "displaced-result", on: displacedResult,
		Doc:    "call and result both exist, but the result is not in the turn after the call",
		Says:   "Expected toolResult blocks at messages.{i}.content for the following Ids: {ids}",
		Mend:   "move the result to the turn after its call",
		Source: "NousResearch/hermes-agent#108584"},
	{ID: "bedrock/duplicate-result", Slug: "duplicate-result", on: duplicateResult,
		Doc:    "one toolUseId answered twice",
		Says:   "The toolResult blocks at messages.{i}.content contain duplicate Ids: {ids}",
		Mend:   "keep one",
		Source: "BerriAI/litellm#20047, #20048"},
	{ID: "bedrock/duplicate-use", Slug: "duplicate-call-id", on: repeatedCallID,
		Doc:    "one toolUseId on two toolUse blocks",
		Says:   "The toolUse blocks at messages.{i}.content contain duplicate Ids: {ids}",
		Mend:   "rename on both halves / drop",
		Source: "litellm#20049 for rejection"},
	{ID: "bedrock/duplicate-use-across-turns", Slug: "duplicate-call-id", Severity: SeverityPortability, on: reusedCallID,
		Doc:    "a later turn uses the id of an earlier call again",
		Says:   "The toolUse blocks at messages.{i}.content contain duplicate Ids: {ids}",
		Mend:   "rename on both halves / drop",
		Source: "litellm#20049 for rejection"},
	{ID: "bedrock/result-colocation", Slug: "mixed-result-turn", on: mixedResultTurn, only: bedrockFamilyIs("llama", "mistral", "writer"),
		Doc:    "toolResult shares a user turn with other content. Claude: rejects document/video beside it; Llama, Mistral, Writer: reject anything; Nova: accepts",
		Says:   "messages.{i}.content: Conversation blocks and tool result blocks cannot be provided in the same turn.",
		Mend:   "split with a synthetic assistant turn (.) between",
		Source: "langchain-ai/langchain-aws#141; harness-sdk#1223; BerriAI/litellm#6053; src pydantic-ai (recorded live)"},
	{ID: "bedrock/result-beside-media", Slug: "mixed-result-turn", Severity: SeverityPortability, on: mixedMedia, only: bedrockFamilyIs("claude"),
		Doc:    "a document or video stands beside a toolResult",
		Says:   "messages.{i}.content: Conversation blocks and tool result blocks cannot be provided in the same turn.",
		Mend:   "split with a synthetic assistant turn (.) between",
		Source: "langchain-ai/langchain-aws#141; harness-sdk#1223; BerriAI/litellm#6053; src pydantic-ai (recorded live)"},
	{ID: "bedrock/result-not-first", Slug: "result-after-text", on: resultAfterText, only: bedrockFamilyIs("claude"),
		Doc:    "claude behind Bedrock: something stands in front of a toolResult in its message",
		Says:   "The model returned the following errors: messages.{i}: `tool_use` ids were found without `tool_result` blocks immediately after: {ids}. Each `tool_use` block must have a corresponding `tool_result` block in the next message.",
		Mend:   "put the results first",
		Source: "opencode#3077"},
	{ID: "bedrock/result-after-message", Slug: "displaced-result", on: resultAfterMessage, only: bedrockFamilyIs("claude"),
		Doc:    "claude behind Bedrock: another user message stands between the call and its result",
		Says:   "The model returned the following errors: messages.{i}: `tool_use` ids were found without `tool_result` blocks immediately after: {ids}. Each `tool_use` block must have a corresponding `tool_result` block in the next message.",
		Mend:   "move the result in front of the other message",
		Source: "opencode#3077"},
	{ID: "bedrock/call-wrong-role", Slug: "call-wrong-role", on: callWrongRole,
		Doc:    "a toolUse stands in a user message",
		Says:   "The toolUse block at {path} is not allowed in a user message",
		Mend:   "drop the call with its results",
		Source: "NousResearch/hermes-agent#108584"},
	{ID: "bedrock/result-wrong-role", Slug: "result-wrong-role", on: resultWrongRole,
		Doc:    "a toolResult stands in an assistant message",
		Says:   "The toolResult block at {path} is not allowed in an assistant message",
		Mend:   "move it to the user turn that follows",
		Source: "strands-agents/harness-sdk#1435; langgenius/dify-official-plugins#765"},
	{ID: "bedrock/first-role", Slug: "first-role", on: firstRole, only: bedrockFamilyIs("nova", "llama", "mistral", "cohere", "ai21", "writer"),
		Doc:    "starts with assistant; accepted by Anthropic and Qwen models, rejected by Nova, Llama, Mistral, Cohere, AI21, Writer",
		Says:   "A conversation must start with a user message. Try again with a conversation that starts with a user message.",
		Mend:   "add a minimal user turn",
		Source: `src pydantic-ai "verified us-east-1 2026-07-03"; src litellm`},
	{ID: "bedrock/prefill-thinking", Slug: "last-role", on: lastRoleThinking, only: bedrockFamilyIs("claude"),
		Doc:    "Claude behind Bedrock: thinking is on, and the conversation ends with the assistant",
		Says:   "The model returned the following errors: messages: When thinking is enabled, a final assistant message is not supported.",
		Mend:   "add a minimal user turn",
		Source: "as on Anthropic; docs extended-thinking"},
	{ID: "bedrock/alternation", Slug: "role-alternation", on: roleRepeats,
		Doc:    "two messages of one role in a row",
		Says:   "A conversation must alternate between user and assistant roles. Make sure the conversation alternates between user and assistant roles and try again.",
		Mend:   "merge",
		Source: "elastic/kibana#284682; gorilla#881; camel-ai/camel#3956; of 251 recorded requests none has neighbours of one role"},
	{ID: "bedrock/system-role-unsupported", Slug: "role-unsupported", on: systemUnsupported, only: bedrockWithoutSystemRole,
		Doc:    `role:"system" message on a model without the feature: Claude before 4.8, and models of others`,
		Says:   "Value 'system' at '{path}.role' failed to satisfy constraint: Member must satisfy enum value set: [user, assistant]",
		Mend:   "rewrite as user text wrapped in a reminder tag; a change of tools goes",
		Source: "src aws-sdk-go-v2 bedrockruntime ConversationRole; which models, as on Anthropic"},
	{ID: "bedrock/system-first", Slug: "first-role", on: systemFirst,
		Doc:    `role:"system" at index 0`,
		Says:   "A conversation must start with a user message. Try again with a conversation that starts with a user message.",
		Mend:   "rewrite as user text wrapped in a reminder tag; a minimal user turn in front of a change of tools",
		Source: "as on Anthropic"},
	{ID: "bedrock/system-placement", Slug: "role-order", on: systemPlacement,
		Doc:    "a system message stands between the user's messages, or behind the assistant's",
		Says:   "A conversation must alternate between user and assistant roles. Make sure the conversation alternates between user and assistant roles and try again.",
		Mend:   "slide forward past user turns; else add a minimal user turn before it",
		Source: "as on Anthropic"},
	{ID: "bedrock/tool-change-ref", Slug: "tool-reference-unknown", on: toolChangeUnknown,
		Doc:    "toolAddition/toolRemoval names a tool that toolConfig does not declare",
		Says:   "toolAddition/toolRemoval references unknown tool '{arg}'",
		Mend:   "strip the block",
		Source: "src aws-sdk-go-v2 bedrockruntime ToolReference: must match the name of a tool declared in the top-level tool configuration; the sentence is Anthropic's"},
	{ID: "bedrock/empty-content", Slug: "empty-content", on: emptyMessage,
		Doc:    "content: []",
		Says:   "The content field in the Message object at messages.{i} is empty. Add a ContentBlock object to the content field and try again.",
		Mend:   "drop / a placeholder text",
		Source: "aws/aws-sdk-net#4015"},
	{ID: "bedrock/no-messages", Slug: "empty-content", on: emptyHistory,
		Doc:    "the list of messages is empty",
		Says:   "A conversation must start with a user message. Try again with a conversation that starts with a user message.",
		Mend:   "not repaired, reported",
		Source: "inferred"},
	{ID: "bedrock/blank-text", Slug: "empty-text", on: blankTextBlock,
		Doc:    "empty text block",
		Says:   "The text field in the ContentBlock object at {path} is blank. Add text to the text field, and try again.",
		Mend:   "strip / a placeholder text",
		Source: "aws/aws-sdk-net#4015"},
	{ID: "bedrock/error-result-empty", Slug: "empty-error-result", on: emptyErrorResult,
		Doc:    `status:"error" with empty content — poisons the persisted session`,
		Says:   "The content field at {path}.toolResult cannot be empty when status value is error.",
		Mend:   "a placeholder text text",
		Source: "aws-samples/sample-multi-agent-orchestration-chat-on-agentcore#15"},
	{ID: "bedrock/result-object", Slug: "result-not-object", on: resultNotObject,
		Doc:    "the json of a toolResult is not an object",
		Says:   "The format of the value at {path}.toolResult.content.0.json is invalid. Provide a json object for the field and try again.",
		Mend:   "wrap it in an object, or send it as text",
		Source: "the failure zoo, zoo-190"},
	{ID: "bedrock/input-object", Slug: "args-not-object", on: argsNotObject,
		Doc:    "toolUse.input not an object",
		Says:   "The format of the value at {path}.toolUse.input is invalid. Provide a json object for the field and try again.",
		Mend:   "parse / {}",
		Source: "a live probe by a third party"},
	{ID: "bedrock/tool-id", Slug: "call-id-format", on: idAlphabet, only: notBedrockFamily("moonshot"),
		Doc:    "toolUseId holds characters outside [a-zA-Z0-9_-]",
		Says:   "Value '{arg}' at '{path}' failed to satisfy constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9_-]+",
		Mend:   "rename on both halves with hash",
		Source: "src maximhq/bifrost#6300"},
	{ID: "bedrock/tool-id-length", Slug: "call-id-format", on: idTooLong,
		Doc:    "toolUseId is longer than 64 characters",
		Says:   "Value '{arg}' at '{path}' failed to satisfy constraint: Member must have length less than or equal to 64",
		Mend:   "rename on both halves with hash",
		Source: "src maximhq/bifrost#6300"},
	{ID: "bedrock/tool-id-missing", Slug: "field-missing", on: callIDMissing,
		Doc:    "a toolUse has no toolUseId",
		Says:   "Value null at '{path}.toolUse.toolUseId' failed to satisfy constraint: Member must not be null",
		Mend:   "rename on both halves with hash",
		Source: "src maximhq/bifrost#6300"},
	{ID: "bedrock/result-id-missing", Slug: "id-missing", on: idMissing,
		Doc:    "a toolResult has no toolUseId",
		Says:   "Value null at '{path}.toolResult.toolUseId' failed to satisfy constraint: Member must not be null",
		Mend:   "take the id of the call it answers; else drop the result",
		Source: "src maximhq/bifrost#6300"},
	{ID: "bedrock/tool-name", Slug: "call-name-format", on: nameFormat,
		Doc:    "a tool name does not match [a-zA-Z0-9_-]{1,64}",
		Says:   "Value '{arg}' at '{path}.toolUse.name' failed to satisfy constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9_-]+",
		Mend:   "sanitise the name",
		Source: "the failure zoo, zoo-250"},
	{ID: "bedrock/result-status", Slug: "unknown-field", on: statusField, only: bedrockFamilyIs("writer"),
		Doc:    "writer Palmyra rejects status",
		Says:   "This model doesn't support the status field. Remove status and try again.",
		Mend:   "strip",
		Source: "src pydantic-ai"},
	{ID: "bedrock/cachepoint", Slug: "too-many-cache-breakpoints", on: tooManyCacheMarks,
		Doc:    "more than four cache points",
		Says:   "A maximum of 4 cache points may be provided. Found {arg}.",
		Mend:   "move before",
		Source: "src pydantic-ai models/bedrock.py"},
	{ID: "bedrock/cachepoint-after-media", Slug: "cache-breakpoint-misplaced", on: cacheMarkAfterMedia,
		Doc:    "a cache point stands directly behind a document or video",
		Mend:   "move before",
		Source: "src pydantic-ai models/bedrock.py"},
	{ID: "bedrock/prefill-whitespace", Slug: "trailing-whitespace", on: trailingSpace, only: bedrockPrefill,
		Doc:    "claude models: trailing assistant text ends in whitespace",
		Says:   "The model returned the following errors: messages: final assistant content cannot end with trailing whitespace",
		Mend:   "trim",
		Source: "aws/aws-sdk-net#4015; langchain-aws#599"},
	{ID: "bedrock/prefill-unsupported", Slug: "last-role", on: lastRole, only: bedrockNoPrefill,
		Doc:    "claude behind Bedrock: the conversation ends with the assistant on a model without prefill",
		Says:   "The model returned the following errors: This model does not support assistant message prefill. The conversation must end with a user message.",
		Mend:   "drop the trailing assistant turn; else add a minimal user turn",
		Source: "opencode#3077"},
	{ID: "bedrock/thinking-signature", Slug: "thinking-signature-missing", on: signatureMissing, only: bedrockFamilyIs("claude"),
		Doc:    "claude behind Bedrock: a reasoning block has no signature",
		Says:   "The model returned the following errors: {path}.thinking.signature: Field required",
		Mend:   "drop the block",
		Source: "opencode#3077"},
	{ID: "bedrock/thinking-first", Slug: "thinking-required", on: thinkingRequired, only: bedrockFamilyIs("claude"),
		Doc:    "claude behind Bedrock: thinking is on, and the open tool loop does not start with it",
		Says:   "The model returned the following errors: {path}.type: Expected `thinking` or `redacted_thinking`, but found `{arg}`.",
		Mend:   "restore the block; else switch thinking off for this request",
		Source: "opencode#3077"},
	{ID: "bedrock/thinking-not-first", Slug: "thinking-not-first", on: thinkingNotFirst, only: bedrockFamilyIs("claude"),
		Doc:    "claude behind Bedrock: a message holds thinking but does not start with it",
		Says:   "The model returned the following errors: {path}: the first block must be `thinking` or `redacted_thinking`. Found `{arg}`.",
		Mend:   "restore the original order",
		Source: "opencode#3077"},
	{ID: "bedrock/thinking-disabled-final", Slug: "thinking-not-enabled", on: thinkingNotEnabled, only: bedrockFamilyIs("claude"),
		Doc:    "claude behind Bedrock: the final assistant message holds thinking while thinking is off",
		Says:   "The model returned the following errors: {path}: When thinking is disabled, an `assistant` message in the final position cannot contain `thinking`.",
		Mend:   "drop the thinking of that message",
		Source: "opencode#3077"},
}

// bedrockFamilyIs: NAME models.
func bedrockFamilyIs(names ...string) func(*Profile) bool {
	return func(p *Profile) bool { return slices.Contains(names, p.Family) }
}

// notBedrockFamily: all but NAME models.
func notBedrockFamily(name string) func(*Profile) bool {
	return func(p *Profile) bool { return p.Family != name }
}

// bedrockWithoutSystemRole: Claude before 4.8, and the models of others; unknown ones are
// given the benefit of the doubt.
func bedrockWithoutSystemRole(p *Profile) bool {
	return p.Family != "" && (p.Family != "claude" || p.before(4, 8))
}

// bedrockNoPrefill: Claude 4.6 and later, Mythos.
func bedrockNoPrefill(p *Profile) bool { return p.Family == "claude" && claudeWithoutPrefill(p) }

// bedrockPrefill: Claude before 4.6.
func bedrockPrefill(p *Profile) bool { return p.Family == "claude" && !claudeWithoutPrefill(p) }

// bedrockFamily returns the maker part of a Bedrock model id:
// us.anthropic.claude-…, meta.llama4-…, arn:aws:…/amazon.nova-….
func bedrockFamily(model string) string {
	for _, f := range [...][2]string{
		{"claude", "claude"}, {"nova", "nova"}, {"titan", "titan"}, {"llama", "llama"}, {"mistral", "mistral"}, {"pixtral", "mistral"},
		{"cohere", "cohere"}, {"ai21", "ai21"}, {"writer", "writer"}, {"palmyra", "writer"}, {"moonshot", "moonshot"}, {"kimi", "moonshot"},
		{"qwen", "qwen"}, {"deepseek", "deepseek"}, {"openai", "openai"}, {"minimax", "minimax"}, {"gemma", "gemma"},
	} {
		if strings.Contains(model, f[0]) {
			return f[1]
		}
	}
	return ""
}

func (bedrock) version(p *Profile, model string) {
	p.Family = bedrockFamily(model)
	if p.Family == "claude" {
		_, p.Major, p.Minor = claude(model)
	}
}
