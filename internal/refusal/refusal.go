// Package refusal finds the reason in a provider's error. It knows the sentences of all providers
// for the rules of requests, and it parses the numbers in sentences about the size of a request.
// The first matching sentence counts: exact sentences precede partial ones. An error about rates,
// quotas or the reply is not a refusal of the request.
package refusal

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"net/http"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"sync"

	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/wire"
)

// Overflow is the rule of a refusal for size.
const Overflow = "overflow"

// unknownBytes is a limit of bytes whose value is unknown.
const unknownBytes = -1

// Unexplained is the rule of a refusal without a reason.
const Unexplained = "unexplained"

// A Refusal is the reason for which a provider refused a request.
type Refusal struct {
	Rule   string `json:"rule"`             // slug of a finding, Overflow or Unexplained
	Source string `json:"source,omitempty"` // id of the rule in the table of rules, or ""
	// Limit is the limit in tokens, Sent the size of the request, and Reply the tokens that the
	// limit must leave for the reply. Zero means that the provider does not state it.
	Limit int `json:"limit,omitempty"`
	Sent  int `json:"sent,omitempty"`
	Reply int `json:"reply,omitempty"`
	// Messages is the limit of messages, if that was exceeded.
	Messages int `json:"messages,omitempty"`
	// Bytes is the limit of bytes, if that was exceeded. A negative value means an unknown limit
	// below the size of the request.
	Bytes int `json:"bytes,omitempty"`
}

// Vendor returns the vendor of the rule, or "" if several vendors use the sentence.
func (r Refusal) Vendor() string {
	v, _, _ := strings.Cut(r.Source, "/")
	return v
}

// Classify returns the reason of a refusal that another request may avoid: a rule of any
// provider, or the size of the request.
func Classify(status int, body []byte) (Refusal, bool) {
	text := ""
	switch {
	case status == http.StatusRequestEntityTooLarge: // which needs no words
		return parseTooLarge(decodedText(body)), true
	case Refuses(status):
		text = decodedText(body)
		if r, ok := TooLarge(text); ok {
			return r, true
		}
	case MayRefuse(status):
		// Only a complete sentence is reliable with this status.
		text = decodedText(body)
		if _, ok := parseSize(text, otherLimits()); ok {
			return Refusal{}, false
		}
		if r, ok := parseSize(text, sizeSentences()); ok {
			return r, true
		}
	}
	if aboutServerState().MatchString(text) {
		return Refusal{}, false
	}
	lower := strings.ToLower(text)
	for _, rows := range [][]sentence{knownSentences(), ruleSentences(), partialSentences()} {
		for i := range rows {
			if rows[i].matches(text, lower) {
				return refusalOf(rows[i].id), true
			}
		}
	}
	if withoutReason().MatchString(text) {
		return Refusal{Rule: Unexplained}, true
	}
	return Refusal{}, false
}

// aboutServerState matches error codes about a conversation on the server. The client can send
// the whole history again; another form of the same request does not help.
var aboutServerState = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\b(?:thread_(?:already_continued|continue_in_flight|fingerprint_mismatch|not_found|unsupported_request)|previous_response_not_found|conversation_locked)\b`)
})

// parseTooLarge parses the text of a 413.
func parseTooLarge(text string) Refusal {
	r, said := TooLarge(text)
	if !said {
		r, _ = parseSize(text, rateSentences())
	}
	if r.Rule = Overflow; r == (Refusal{Rule: Overflow}) && !aboutTokens().MatchString(text) {
		r.Bytes = unknownBytes
	}
	return r
}

// invalidArgument is Google's sentence for any error.
const invalidArgument = "Request contains an invalid argument."

// withoutReason matches refusals without a reason: that sentence, or only the name of the status.
var withoutReason = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?is)Request contains an invalid argument|^(?:[\W\d]|error|code|status|message)*INVALID_ARGUMENT[\W\d]*$`)
})

// Refuses reports whether a reply with this status concerns the request.
func Refuses(status int) bool {
	return status == http.StatusBadRequest || status == http.StatusUnprocessableEntity || status == http.StatusRequestEntityTooLarge
}

// MayRefuse reports whether a reply with this status may concern the request: OpenAI does not
// find items that a request names, self-hosted servers fail when a chat template raises an error,
// and gateways report refusals of their upstream.
func MayRefuse(status int) bool {
	return status == http.StatusNotFound || status == http.StatusInternalServerError || status == http.StatusBadGateway
}

// refusalOf returns the refusal for a rule.
func refusalOf(id string) Refusal {
	r := Refusal{Rule: id, Source: id}
	if rows := dialect.Find(id); len(rows) > 0 {
		r.Rule = rows[0].Slug
	}
	return r
}

// decodedText returns all strings of a JSON body, including JSON in strings, as gateways send it.
// It returns any other body unchanged.
func decodedText(body []byte) string {
	var b strings.Builder
	if !appendText(&b, body, 0) {
		b.Write(body)
	}
	return b.String()
}

func appendText(b *strings.Builder, raw []byte, depth int) bool {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	for {
		t, err := d.Token()
		if err != nil {
			return err == io.EOF && b.Len() > 0
		}
		switch t := t.(type) {
		case string:
			if strings.HasPrefix(strings.TrimSpace(t), "{") && depth < 3 && appendText(b, []byte(t), depth+1) {
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

// A sentence is a pattern of a provider's error and the rule that it concerns.
type sentence struct {
	pattern *regexp.Regexp
	// one of them occurs in every match, in lower case; empty: unknown
	literals []string
	id       string
}

func newSentence(pattern, id string) sentence {
	pattern = `(?is)` + pattern
	parsed, _ := syntax.Parse(pattern, syntax.Perl) // MustCompile panics for both
	return sentence{regexp.MustCompile(pattern), requiredLiterals(parsed), id}
}

// matches searches the literals first, which takes a fiftieth of the time.
func (r *sentence) matches(text, lower string) bool {
	found := func(words string) bool { return strings.Contains(lower, words) }
	return (len(r.literals) == 0 || slices.ContainsFunc(r.literals, found)) && r.pattern.MatchString(text)
}

// requiredLiterals returns literals of which one occurs in every match of a pattern: its longest
// literal, or one of each alternative.
func requiredLiterals(p *syntax.Regexp) (words []string) {
	switch p.Op {
	case syntax.OpLiteral:
		return []string{strings.ToLower(string(p.Rune))}
	case syntax.OpCapture, syntax.OpPlus:
		return requiredLiterals(p.Sub[0])
	case syntax.OpAlternate:
		for _, sub := range p.Sub {
			of := requiredLiterals(sub)
			if len(of) == 0 {
				return nil
			}
			words = append(words, of...)
		}
	case syntax.OpConcat:
		shortest := func(words []string) int {
			n := math.MaxInt
			for _, w := range words {
				n = min(n, len(w))
			}
			return n
		}
		for _, sub := range p.Sub {
			if of := requiredLiterals(sub); len(of) > 0 && (len(words) == 0 || shortest(of) > shortest(words)) {
				words = of
			}
		}
	}
	return words
}

// knownSentences are exact sentences; the first match counts.
var knownSentences = sync.OnceValue(func() []sentence {
	return []sentence{
		newSentence(`tool_use.{0,3} ids were found without .{0,3}tool_result`, "anthropic/tool-use-without-result"),
		newSentence(`unexpected .{0,3}tool_use_id.{0,3} found in .{0,3}tool_result`, "anthropic/tool-result-without-use"),
		newSentence(`unexpected .{0,3}tool_use_id.{0,3} found in .{0,3}\w+_tool_result`, "anthropic/server-result-without-use"),
		newSentence(`was found without a corresponding .{0,3}\w+_tool_result.*but no .* tool was provided`, "anthropic/pending-server-tool-undefined"),
		newSentence(`was found without a corresponding .{0,3}\w+_tool_result`, "anthropic/server-use-without-result"),
		newSentence(`tool_use.{0,3} ids must be unique`, "anthropic/duplicate-tool-use-id"),
		newSentence(`must have a single result`, "anthropic/duplicate-tool-result"),
		newSentence(`bound to a different conversation`, "anthropic/thinking-prefix-binding"),
		newSentence("Invalid .signature. in .(redacted_)?thinking. block", "anthropic/thinking-signature"),
		newSentence(`latest assistant message cannot be modified`, "anthropic/thinking-modified-latest"),
		newSentence(`must start with a thinking block`, "anthropic/thinking-first"),
		newSentence(`\bsystem: text content blocks must be non-empty`, "anthropic/system-empty-text"),
		newSentence(`\bsystem: text content blocks must contain non-whitespace`, "anthropic/system-whitespace-text"),
		newSentence(`text content blocks must be non-empty`, "anthropic/empty-text"),
		newSentence(`text content blocks must contain non-whitespace`, "anthropic/whitespace-text"),
		newSentence(`does not support assistant message prefill`, "anthropic/prefill-unsupported"),
		newSentence(`maximum of 4 blocks with cache_control`, "anthropic/cache-control-max"),
		newSentence(`must be followed by tool messages`, "openai-chat/unanswered-call"),
		newSentence(`role ['"]tool['"] must be a response to a prece+ding message`, "openai-chat/tool-without-call"),
		newSentence(`Duplicate value for 'tool_call_id'`, "openai-chat/duplicate-result"),
		newSentence(`tool_calls\[\d+\]\.id': string too long`, "openai-chat/id-length"),
		newSentence(`No tool output found for [\w ]*call`, "openai-responses/call-without-output"),
		newSentence(`No tool call found for [\w ]*output`, "openai-responses/output-without-call"),
		newSentence(`without its required following item`, "openai-responses/reasoning-without-follower"),
		newSentence(`without its required 'reasoning' item`, "openai-responses/item-without-reasoning"),
		newSentence(`encrypted content .{0,200}could not be (verified|decrypted)|invalid_encrypted_content`, "openai-responses/encrypted-content"),
		newSentence(`function call turn comes immediately after`, "gemini/call-turn-position"),
		newSentence(`function response turn comes immediately after`, "gemini/response-turn-position"),
		newSentence(`number of function response parts`, "gemini/response-count"),
		newSentence(`missing a .?thought_signature`, "gemini/thought-signature-missing"),
		newSentence(`thought signature`, "gemini/thought-signature-corrupt"),
		newSentence(`toolConfig field must be defined`, "bedrock/toolconfig-missing"),
		newSentence(`Expected toolResult blocks`, "bedrock/missing-result"),
		newSentence(`exceeds the number of toolUse`, "bedrock/excess-result"),
		newSentence(`toolUse blocks .{0,60}contain duplicate Ids`, "bedrock/duplicate-use"),
		newSentence(`duplicate Ids`, "bedrock/duplicate-result"),
		newSentence(`Not the same number of function calls and responses`, "mistral/call-count"),
		newSentence(`Unexpected role '\w+' after role '\w+'`, "mistral/role-order"),
		newSentence(`must be passed back to the API`, "deepseek/reasoning-content-required"),
		newSentence(`reasoning_content is missing`, "moonshot/reasoning-content-required"),
	}
})

// partialSentences are sentences that are only partly known, or that several vendors use. They
// come last.
var partialSentences = sync.OnceValue(func() []sentence {
	return []sentence{
		newSentence("Messages following .?tool_use.? blocks must begin with", "anthropic/tool-use-without-result"),
		newSentence(`due to tool use concurrency issues`, "anthropic/tool-use-without-result"), // as Claude Code puts it
		newSentence(`must have non-empty content except for the optional final assistant`, "anthropic/empty-message"),
		newSentence(`all content must be type .text. if .is_error. is true`, "anthropic/error-result-nontext"),
		newSentence(`tool_use\.input: Input should be`, "anthropic/tool-input-object"),
		newSentence(`not valid JSON: no low surrogate`, "anthropic/lone-surrogate"),
		newSentence(`tool_calls that do not have a corresponding ToolMessage`, "openai-chat/unanswered-call"),
		newSentence(`tool_call_id.{0,80} (?:does not exist|not found)`, "openai-chat/tool-without-call"),
		newSentence(`duplicate tool_call_?id`, "openai-chat/duplicate-call-id"),
		newSentence(`call output is missing for call id`, "openai-responses/call-without-output"),
		newSentence(`Duplicate 'call_id'`, "openai-responses/duplicate-call-id"),
		newSentence(`'input\[\w+\]\.id': (?:.{0,200}Expected an ID that|string too long)`, "openai-responses/item-id-prefix"),
		newSentence(`'input\[\w+\]\.content': array too long`, "openai-responses/reasoning-plaintext"),
		newSentence(`'(?:input\[\d+\]|messages\.\d+)\.call_id': empty string`, "openai-responses/call-id-length"),
		newSentence(`Missing required parameter: 'input\[\d+\]\.call_id'`, "openai-responses/call-id-missing"),
		newSentence(`Invalid value: '\w+'\. Supported values are: 'input_text'`, "openai-responses/chat-part"),
		newSentence(`Unknown parameter: '(?:input|messages)\[\d+\]`, "openai-responses/chat-calls"),
		newSentence(`property 'tool_call_id' is missing|tool_call_id: Field required`, "openai-chat/tool-call-id-missing"),
		newSentence(`content' : value must be a string`, "groq/content-string"),
		newSentence(`empty (?:\w+ )?message was provided\. Every (?:\w+ )?message needs at least one`, "xai/empty-content"),
		newSentence(`function\.arguments.{0,40}must be (?:in )?(?:valid )?JSON`, "qwen/arguments-json"),
		newSentence(`No user query found in messages`, "qwen/no-user"),
		newSentence(`messages ?参数非法`, "openai-chat/no-user"),
		newSentence(`invalid Gemini function call history`, "gemini/response-count"),
		newSentence(`first message must use the .?user.? role`, "anthropic/first-role"),
		newSentence(`roles must alternate between .?user.? and .?assistant`, "anthropic/alternation"),
		newSentence(`reasoningText\.text' failed to satisfy constraint`, "bedrock/thinking-text"),
		newSentence(`Input tag '\w+' found using 'type' does not match`, "anthropic/chat-block"),
		newSentence(`parts must not be empty`, "gemini/empty-parts"),
		newSentence(`has an empty text parameter`, "gemini/empty-part"),
		newSentence(`ending with a model turn are not supported`, "gemini/last-role"),
		newSentence(`contents is not specified`, "gemini/no-contents"),
		newSentence(`conversation must start with a user message`, "bedrock/first-role"),
		newSentence(`conversation must alternate between user and assistant`, "bedrock/alternation"),
		newSentence(`toolUse\.name' failed to satisfy constraint`, "bedrock/tool-name"),
		newSentence(`Member must have length less than or equal to 64`, "bedrock/tool-id-length"),
		newSentence(`Unexpected role`, "mistral/role-order"),
		newSentence(`Expected last role`, "mistral/last-role"),
		newSentence(`must have either content or tool_calls, but not none`, "mistral/empty-assistant"),
		newSentence(`Duplicate tool call id`, "mistral/duplicate-id"),
		newSentence(`does not support successive user or assistant messages`, "deepseek/successive-roles-legacy"),
		newSentence(`\(2013\)`, "minimax/call-result-mismatch"),
	}
})

// ruleSentences are the providers' sentences in the table of rules.
var ruleSentences = sync.OnceValue(func() (all []sentence) {
	for _, r := range wire.Rules() {
		if r.Severity == "degrades" || r.Says == invalidArgument {
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
			all = append(all, newSentence(pattern, r.ID))
		}
	}
	return all
})

var placeholder = regexp.MustCompile(`\{\w+\}`)
