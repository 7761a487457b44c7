package dialect

import (
	"bytes"
	"slices"
	"strings"
	"unicode"

	"github.com/pare-llm/pare/internal/jsonspan"
)

// A delta is a request that continues a conversation which the server holds. It contains only the
// new messages, so its pairs, roles and turns cannot be judged, and a repair or a cut would change
// the conversation. Pare forwards a delta unchanged.

// A memberClass is whether a top-level member of a request can name a conversation.
type memberClass uint8

const (
	unknownMember memberClass = iota // it may name a conversation: see namesConversation
	plainMember                      // it never names a conversation
	deltaMember                      // it names the conversation, or the reply, that the request continues
	threadMember                     // it starts a conversation on the server, or continues one
)

// classOf returns the class of a top-level member, in any dialect. The list has the members of the
// official libraries (TestRequestMembersHaveClass).
func classOf(name []byte) memberClass {
	switch string(name) {
	case "previous_response_id", "conversation", "previous_interaction_id", "continuation_token":
		return deltaMember
	case "thread":
		return threadMember

	// Several dialects.
	case "model", "messages", "input", "contents", "stream", "tools", "tool_choice", "temperature", "top_p", "top_k",
		"max_tokens", "max_output_tokens", "metadata", "service_tier", "store", "background", "system", "thinking":
		return plainMember
	// Anthropic. The server compares diagnostics.previous_message_id with the prompt cache only, and
	// a container is a machine that runs code.
	case "anthropic_beta", "anthropic_version", "betas", "billing_policy", "cache_control", "compaction", "container",
		"context_management", "diagnostics", "fallback_credit_token", "fallbacks", "inference_geo", "mcp_servers",
		"output_config", "output_format", "speed", "stop_sequences":
		return plainMember
	// OpenAI, Chat Completions.
	case "audio", "frequency_penalty", "function_call", "functions", "logit_bias", "logprobs", "max_completion_tokens",
		"modalities", "moderation", "n", "parallel_tool_calls", "prediction", "presence_penalty", "prompt_cache_key",
		"prompt_cache_options", "prompt_cache_retention", "reasoning_effort", "response_format", "safety_identifier",
		"seed", "stop", "stream_options", "top_logprobs", "user", "verbosity", "web_search_options":
		return plainMember
	// OpenAI, Responses. A prompt is a template that the server holds.
	case "access_programs", "include", "instructions", "max_tool_calls", "multi_agent", "personality", "prompt",
		"reasoning", "text", "truncation":
		return plainMember
	// Gemini. Cached content is a prefix of the prompt, and no conversation.
	case "cachedContent", "cached_content", "generateContentRequest", "generationConfig", "generation_config", "labels",
		"safetySettings", "safety_settings", "systemInstruction", "system_instruction", "toolConfig", "tool_config",
		"agent", "agent_config", "environment", "response_mime_type", "response_modalities", "webhook_config":
		return plainMember
	// Bedrock.
	case "additionalModelRequestFields", "additionalModelResponseFieldPaths", "guardrailConfig", "inferenceConfig",
		"modelId", "outputConfig", "performanceConfig", "promptVariables", "requestMetadata", "serviceTier":
		return plainMember
	// OpenRouter's session_id, and LiteLLM's, group requests for the bill and keep them on one machine;
	// each request still has its whole history.
	case "session_id", "litellm_session_id":
		return plainMember
	}
	return unknownMember
}

// conversationMember reads a top-level member that may name a conversation on the server.
func (p *parser) conversationMember(name []byte) {
	class := classOf(name)
	if class == plainMember {
		p.Skip()
		return
	}
	f := p.value()
	value := p.raw[f.whole().Start:f.whole().End]
	if !namesSomething(value) {
		return
	}
	isDelta := class != threadMember || !isThreadStart(value)
	switch {
	case class == unknownMember && !namesConversation(string(name), value, 0):
		return
	case class == deltaMember && classOf([]byte(p.head.delta)) == deltaMember:
		p.noteHead(stateConflict, "conversation", "")
	}
	p.head.remote = p.head.remote || class == deltaMember && slices.Contains(p.g.remote, string(name))
	p.head.startsThread = p.head.startsThread || !isDelta
	if isDelta && p.head.delta == "" {
		p.head.delta = string(name)
	}
}

// isThreadStart reports whether a thread is one that the server is to begin: the request has the
// whole history.
func isThreadStart(thread []byte) bool {
	m, ok := jsonspan.Find(thread, jsonspan.Span{End: len(thread)}, "type")
	return ok && string(thread[m.Value.Start:m.Value.End]) == `"create"`
}

// namesSomething reports whether a value can be a name: it is no constant and not empty.
func namesSomething(value []byte) bool {
	switch string(value) {
	case "null", "false", "true", `""`, "[]", "{}":
		return false
	}
	return len(value) > 0
}

// maxNesting is how deep namesConversation looks into unknown objects.
const maxNesting = 3

// maxReference is how long a reference to a conversation can be.
const maxReference = 512

// namesConversation reports whether an unknown member may name a conversation, by
// its name, the beginning of its value, or a member of its value.
func namesConversation(name string, value []byte, depth int) bool {
	words := nameWords(name)
	if !namesSomething(value) || haveAny(words, descriptiveWords) {
		return false
	}
	switch value[0] {
	case '{':
		return depth < maxNesting && objectNamesConversation(words, value, depth)
	case '[':
		return false // texts or settings
	case '"':
		return textNamesConversation(words, value[1:len(value)-1])
	}
	return haveAny(words, conversationWords) && haveAny(words, idWords)
}

// objectNamesConversation is namesConversation for an object, whose name is given in words.
func objectNamesConversation(words []string, value []byte, depth int) bool {
	for _, m := range jsonspan.Members(value, jsonspan.Span{End: len(value)}) {
		name := string(jsonspan.Decode(nil, value[m.Key.Start:m.Key.End]))
		inner := value[m.Value.Start:m.Value.End]
		isID := haveAny(nameWords(name), idWords) && namesSomething(inner)
		if isID && haveAny(words, conversationWords) || namesConversation(name, inner, depth+1) {
			return true
		}
	}
	return false
}

// textNamesConversation is namesConversation for a string, without its quotes.
func textNamesConversation(words []string, text []byte) bool {
	isOneWord := !bytes.ContainsAny(text, " \t\\") && len(text) <= maxReference
	switch {
	case len(text) > maxReference:
		return false
	case referenceID().Match(text), haveAny(words, conversationWords):
		return true
	case haveAny(words, earlierWords):
		return isOneWord && (haveAny(words, partWords) || haveAny(words, idWords) && len(words) == 2)
	case haveAny(words, continueWords):
		return isOneWord
	}
	return haveAny(words, storeWords) && haveAny(words, idWords)
}

// haveAny reports whether one of the words is in a list.
func haveAny(words, list []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return slices.Contains(list, w) })
}

// Words of names, in lower case.
var (
	conversationWords = []string{"conversation", "conversations", "convo", "conv", "thread", "session", "dialog", "dialogue", "interaction"}
	earlierWords      = []string{"previous", "prev", "prior", "parent", "last", "after", "reply"}
	partWords         = []string{"response", "message", "msg", "turn", "interaction", "step", "event", "item", "run", "completion", "generation"}
	continueWords     = []string{"continue", "continues", "continuation", "resume"}
	storeWords        = []string{"chat", "history", "context", "state", "memory", "checkpoint", "snapshot"}
	idWords           = []string{"id", "ids", "ref", "reference", "uuid", "guid", "key", "handle", "token", "pointer", "uri", "url"}
	// descriptiveWords are those of members that describe a conversation and do not name it.
	descriptiveWords = []string{
		"affinity", "count", "format", "labels", "language", "length", "limit", "metadata", "meta", "mode", "size", "style",
		"summary", "tags", "template", "timeout", "title", "trace", "ttl", "type",
	}
)

// referenceID matches ids that providers give to conversations, messages and replies.
var referenceID = lazily(`^(?:conv|conversation|resp|response|thread|msg|sess|session|chat|chatcmpl|interaction)[_-][A-Za-z0-9_-]*[0-9][A-Za-z0-9_-]*$`)

// nameWords splits a name at underscores, dashes, dots and capitals.
func nameWords(name string) []string {
	var parted strings.Builder
	lower := false
	for _, r := range name {
		if unicode.IsUpper(r) && lower {
			parted.WriteByte(' ')
		}
		lower = unicode.IsLower(r)
		if !unicode.IsLetter(r) {
			r = ' '
		}
		parted.WriteRune(unicode.ToLower(r))
	}
	return strings.Fields(parted.String())
}

// knownInDelta are the faults that show in a delta without the conversation that it continues.
var knownInDelta = [faults]bool{
	wrongType: true, typeMissing: true, fieldMissing: true, loneSurrogate: true, duplicateKey: true, unknownRole: true,
	roleMissing: true, bodyTooLarge: true, stateConflict: true, threadGiven: true, samplingGiven: true,
	citationsOfUser: true, documentOfAssistant: true,
}

// pinnedInThread are the faults whose repair changes thinking, betas, cache_control or
// context_management. The server compares these with the requests that will continue a thread, and
// the client sends them as they were.
var pinnedInThread = [faults]bool{
	thinkingRequired: true, reasoningRequired: true, betaHeaderMissing: true, bindingHeaderMissing: true,
	cacheAutoConflict: true, contextEditConflict: true, contextEditOrder: true,
}
