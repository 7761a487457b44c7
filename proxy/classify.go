package proxy

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/pare-llm/pare/wire"
)

// Overflow is the rule of a refusal for size.
const Overflow = "overflow"

// A Refusal is what a provider objects to, as its answer says. It is a value that many
// goroutines may use.
type Refusal struct {
	Rule   string `json:"rule"`             // slug of a finding, or Overflow
	Source string `json:"source,omitempty"` // id of the row in the table of rules; "" for an overflow
	// What an overflow tells, in tokens; zero: it does not say. Reply is what the limit
	// must have room for beside the request.
	Limit int `json:"limit,omitempty"`
	Sent  int `json:"sent,omitempty"`
	Reply int `json:"reply,omitempty"`
	// Messages is how many there may be, if that is what is exceeded.
	Messages int `json:"messages,omitempty"`
}

// vendor is whose rule it is, "" if that is not told apart.
func (r Refusal) vendor() string {
	v, _, _ := strings.Cut(r.Source, "/")
	return v
}

// Classify tells what the answer of a provider objects to, if it is one that another
// request may avoid: the rules of all providers, and every known way to say that a request
// is too large.
func Classify(status int, body []byte) (Refusal, bool) {
	switch status {
	case http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusRequestEntityTooLarge:
	default:
		return Refusal{}, false
	}
	text := words(body)
	if r, ok := overflow(text); ok {
		return r, true
	}
	if status == http.StatusRequestEntityTooLarge {
		return Refusal{Rule: Overflow}, true
	}
	for _, row := range refusals() {
		if row.pattern.MatchString(text) {
			return refusal(row.id), true
		}
	}
	for _, row := range sentences() {
		if row.pattern.MatchString(text) {
			return refusal(row.id), true
		}
	}
	return Refusal{}, false
}

// refusal is the one for a row of the table of rules.
func refusal(id string) Refusal {
	r := Refusal{Rule: id, Source: id}
	if rows := wire.Find(id); len(rows) > 0 {
		r.Rule = rows[0].Slug
	}
	return r
}

// words are all texts in a body, decoded, also those of JSON that is quoted in JSON, as
// gateways do. What is no JSON is taken as it is.
func words(body []byte) string {
	var b strings.Builder
	if !appendWords(&b, body, 0) {
		b.Write(body)
	}
	return b.String()
}

func appendWords(b *strings.Builder, raw []byte, depth int) bool {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	for {
		t, err := d.Token()
		if err != nil {
			return err == io.EOF && b.Len() > 0
		}
		switch t := t.(type) {
		case string:
			if strings.HasPrefix(strings.TrimSpace(t), "{") && depth < 3 && appendWords(b, []byte(t), depth+1) {
				continue
			}
			b.WriteString(t)
			b.WriteByte('\n')
		case json.Number:
			b.WriteString(t.String())
			b.WriteByte('\n')
		}
	}
}

// A size is a way to say that a request is too large. The groups limit, sent and reply are
// figures, where there are any.
type size struct{ pattern *regexp.Regexp }

// n is a number with or without separators.
const n = `([\d][\d,_.]*\d|\d)`

func group(name string) string { return "(?P<" + name + ">" + n[1:] }

// sizes are the overflow errors of the vendors, those with figures first.
var sizes = sync.OnceValue(func() []size {
	return compile(
		// Anthropic, and Bedrock and Vertex with its models
		`prompt is too long: `+group("sent")+` tokens > `+group("limit")+` maximum`,
		`exceed context limit: `+group("sent")+` \+ `+group("reply")+` > `+group("limit"),
		// OpenAI, and those who copied its sentence (DeepSeek, vLLM, OpenRouter, Together, Azure)
		`maximum context length is `+group("limit")+` tokens.{0,40}requested (?:about )?[\d,]+ tokens \(`+group("sent")+` (?:in|of)[^,]*, (?:[\d,]+ of [^,]*, )?`+group("reply")+` (?:in|of)`,
		`maximum context length is `+group("limit")+` tokens.{0,40}(?:resulted in|requested|has|contains)(?: about)? `+group("sent")+` `,
		`maximum context length is `+group("limit"),
		// Gemini
		`input token count \(?`+group("sent")+`\)? exceeds the maximum number of tokens allowed \(?`+group("limit"),
		`input token count (?:is |\()`+group("sent")+`.{0,40}only supports up to `+group("limit"),
		// xAI, Copilot, Moonshot, Mistral, Fireworks, Qwen
		`maximum prompt length is `+group("limit")+` but the request contains `+group("sent"),
		`prompt token count of `+group("sent")+` exceeds the limit of `+group("limit"),
		`exceeded model token limit: `+group("limit")+`(?: \(requested: `+group("sent")+`)?`,
		`Prompt contains `+group("sent")+` tokens.{0,60}too large for model with `+group("limit")+` maximum context length`,
		`prompt is too long: `+group("sent")+`, model maximum context length: `+group("limit"),
		`Range of input length should be \[\d+, ?`+group("limit")+`\]`,
		// Bedrock, Cohere
		`Max input tokens: `+group("limit")+`, request input token count: `+group("sent"),
		`number of tokens in the prompt cannot exceed `+group("limit")+`.{0,60}received `+group("sent"),
		// servers of one's own: llama.cpp, SGLang, vLLM, TGI, Ollama
		`request \(`+group("sent")+` tokens\) exceeds the available context size \(`+group("limit"),
		`input \(`+group("sent")+` tokens\) is longer than the model's context length \(`+group("limit"),
		`prompt \(length `+group("sent")+`\) is longer than the maximum model length of `+group("limit"),
		"tokens \\+ `max_new_tokens` must be <= "+group("limit")+".{0,20}Given: "+group("sent")+" .inputs. tokens and "+group("reply"),
		"tokens \\+ `max_new_tokens` must be <= "+group("limit"),
		`array too long\. Expected an array with maximum length `+group("messages"),
		// without figures
		`context_length_exceeded`, `model_context_window_exceeded`, `model_max_prompt_tokens_exceeded`, `ContextWindowExceeded`, `request_too_large`,
		`prompt is too long`, `input is too long`, `exceeds? the (?:model'?s? )?context window`, `exceed(?:s|ed)? (?:the )?context (?:limit|length|window)`,
		`context window exceeds limit`, `exceeds the available context size`, `exceeded max context length`, `greater than the context length`,
		`input token count exceeds`, `Prompt exceeds max length`, `too many (?:input )?tokens`, `reduce the length of the (?:messages|prompt|input)`,
		`longer than the model's context length`, `request (?:body |entity )?(?:is )?too large`, `exceeds the maximum (?:allowed )?(?:request|input|prompt) (?:size|length)`,
		`token limit exceeded`, `maximum allowed input (?:length|tokens)`,
	)
})

func compile(all ...string) []size {
	list := make([]size, len(all))
	for i, p := range all {
		list[i] = size{regexp.MustCompile(`(?is)` + p)}
	}
	return list
}

// overflow reads the figures of an overflow error.
func overflow(text string) (Refusal, bool) {
	for _, s := range sizes() {
		m := s.pattern.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		r := Refusal{Rule: Overflow}
		for i, name := range s.pattern.SubexpNames() {
			v := number(m[i])
			switch name {
			case "limit":
				r.Limit = v
			case "sent":
				r.Sent = v
			case "reply":
				r.Reply = v
			case "messages":
				r.Messages = v
			}
		}
		return r, true
	}
	return Refusal{}, false
}

// number reads a number with or without separators; zero if it is none that fits.
func number(text string) int {
	v, err := strconv.Atoi(strings.NewReplacer(",", "", "_", "", ".", "").Replace(text))
	if err != nil {
		return 0
	}
	return v
}

// A row is a sentence of a provider, and the rule that it is about.
type row struct {
	pattern *regexp.Regexp
	id      string
}

func is(pattern, id string) row { return row{regexp.MustCompile(`(?is)` + pattern), id} }

// refusals are known sentences; where two fit, the first one counts.
var refusals = sync.OnceValue(func() []row {
	return []row{
		is(`tool_use.{0,3} ids were found without .{0,3}tool_result`, "anthropic/tool-use-without-result"),
		is(`unexpected .{0,3}tool_use_id.{0,3} found in .{0,3}tool_result`, "anthropic/tool-result-without-use"),
		is(`unexpected .{0,3}tool_use_id.{0,3} found in .{0,3}\w+_tool_result`, "anthropic/server-result-without-use"),
		is(`was found without a corresponding .{0,3}\w+_tool_result.*but no .* tool was provided`, "anthropic/pending-server-tool-undefined"),
		is(`was found without a corresponding .{0,3}\w+_tool_result`, "anthropic/server-use-without-result"),
		is(`tool_use.{0,3} ids must be unique`, "anthropic/duplicate-tool-use-id"),
		is(`must have a single result`, "anthropic/duplicate-tool-result"),
		is(`bound to a different conversation`, "anthropic/thinking-prefix-binding"),
		is("Invalid .signature. in .(redacted_)?thinking. block", "anthropic/thinking-signature"),
		is(`latest assistant message cannot be modified`, "anthropic/thinking-modified-latest"),
		is(`must start with a thinking block`, "anthropic/thinking-first"),
		is(`text content blocks must be non-empty`, "anthropic/empty-text"),
		is(`text content blocks must contain non-whitespace`, "anthropic/whitespace-text"),
		is(`does not support assistant message prefill`, "anthropic/prefill-unsupported"),
		is(`maximum of 4 blocks with cache_control`, "anthropic/cache-control-max"),
		is(`must be followed by tool messages`, "openai-chat/unanswered-call"),
		is(`role ['"]tool['"] must be a response to a prece+ding message`, "openai-chat/tool-without-call"),
		is(`Duplicate value for 'tool_call_id'`, "openai-chat/duplicate-result"),
		is(`tool_calls\[\d+\]\.id': string too long`, "openai-chat/id-length"),
		is(`No tool output found for [\w ]*call`, "openai-responses/call-without-output"),
		is(`No tool call found for [\w ]*output`, "openai-responses/output-without-call"),
		is(`without its required following item`, "openai-responses/reasoning-without-follower"),
		is(`without its required 'reasoning' item`, "openai-responses/item-without-reasoning"),
		is(`encrypted content .{0,200}could not be (verified|decrypted)|invalid_encrypted_content`, "openai-responses/encrypted-content"),
		is(`function call turn comes immediately after`, "gemini/call-turn-position"),
		is(`function response turn comes immediately after`, "gemini/response-turn-position"),
		is(`number of function response parts`, "gemini/response-count"),
		is(`missing a .?thought_signature`, "gemini/thought-signature-missing"),
		is(`thought signature`, "gemini/thought-signature-corrupt"),
		is(`toolConfig field must be defined`, "bedrock/toolconfig-missing"),
		is(`Expected toolResult blocks`, "bedrock/missing-result"),
		is(`exceeds the number of toolUse`, "bedrock/excess-result"),
		is(`contain duplicate Ids`, "bedrock/duplicate-result"),
		is(`Not the same number of function calls and responses`, "mistral/call-count"),
		is(`Unexpected role '\w+' after role '\w+'`, "mistral/role-order"),
		is(`must be passed back to the API`, "deepseek/reasoning-content-required"),
		is(`reasoning_content is missing`, "moonshot/reasoning-content-required"),
		is(`\(2013\)`, "minimax/call-result-mismatch"),
	}
})

// sentences are those of the table of rules, in which the provider speaks for itself.
var sentences = sync.OnceValue(func() (all []row) {
	for _, r := range wire.Rules() {
		if r.Severity == wire.SeverityDegrades {
			continue
		}
		pattern, literal := "", 0
		for i, part := range placeholder.Split(r.Says, -1) {
			if i > 0 {
				pattern += ".{1,200}?"
			}
			pattern += regexp.QuoteMeta(part)
			literal += len(strings.TrimSpace(part))
		}
		if literal >= 24 { // less could be said about anything
			all = append(all, is(pattern, r.ID))
		}
	}
	return all
})

var placeholder = regexp.MustCompile(`\{\w+\}`)
