package refusal

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// numberPattern matches a number with or without separators of thousands, or with a suffix k or
// m. Groups after a space have three digits.
const numberPattern = `\d+(?:[,._'’]\d+|[ \x{A0}\x{2009}\x{202F}]\d{3}\b)*(?:[km]\b)?`

func numberGroup(name string) string { return "(?P<" + name + ">" + numberPattern + ")" }

// sizeSentences are vendors' sentences for requests that are too large, with the groups limit,
// sent, reply and messages. A number that includes the reply is not the size of the request.
var sizeSentences = sync.OnceValue(func() []*regexp.Regexp {
	return compile(
		// Anthropic, and Bedrock and Vertex with its models
		`prompt is too long: `+numberGroup("sent")+` tokens > `+numberGroup("limit")+` maximum`,
		`exceed context limit: `+numberGroup("sent")+` \+ `+numberGroup("reply")+` > `+numberGroup("limit"),
		// OpenAI, and those who copied its sentence (DeepSeek, vLLM, OpenRouter, Together, Azure)
		`maximum context length is `+numberGroup("limit")+` tokens.{0,40}requested (?:about )?`+numberPattern+` tokens \(`+numberGroup("sent")+` (?:in|of|from)[^,;]*[,;] (?:`+numberPattern+` of [^,;]*[,;] )?`+numberGroup("reply")+` (?:in|of|for)`,
		`maximum context length is `+numberGroup("limit")+` tokens.{0,40}requested `+numberGroup("reply")+` output tokens.{0,60}contains (?:at least )?`+numberGroup("sent")+` input tokens`,
		`is too large: `+numberGroup("reply")+`\. This model's maximum context length is `+numberGroup("limit")+` tokens and your (?:request|prompt) has `+numberGroup("sent")+` `,
		`maximum context length is `+numberGroup("limit")+` tokens.{0,40}(?:resulted in|requested|has|contains)(?: about| at least)? `+numberGroup("sent")+` (?:input )?tokens`,
		`maximum context length is `+numberGroup("limit"),
		`input tokens exceed the configured limit of `+numberGroup("limit")+` tokens(?:.{0,40}resulted in `+numberGroup("sent")+` tokens)?`,
		`passed `+numberGroup("sent")+` input tokens and requested `+numberGroup("reply")+` output tokens.{0,60}context length is only `+numberGroup("limit")+` tokens`,
		// Gemini
		`input token count (?:of |is )?\(?`+numberGroup("sent")+`\)? exceeds the maximum number of (?:input )?tokens allowed (?:of )?\(?`+numberGroup("limit"),
		`input token count exceeds the maximum number of (?:input )?tokens allowed \(?`+numberGroup("limit"),
		`input token count (?:is |\()`+numberGroup("sent")+`.{0,40}only supports up to `+numberGroup("limit"),
		// xAI, Copilot, Moonshot, Mistral, Fireworks, Qwen, Poolside
		`maximum prompt length is `+numberGroup("limit")+` but the request contains `+numberGroup("sent"),
		`prompt token count of `+numberGroup("sent")+` exceeds the limit of `+numberGroup("limit"),
		`exceeded model token limit: `+numberGroup("limit")+`(?: \(requested: `+numberGroup("sent")+`)?`,
		`Prompt contains `+numberGroup("sent")+` tokens.{0,60}too large for model with `+numberGroup("limit")+` maximum context length`,
		`prompt is too long: `+numberGroup("sent")+`, model maximum context length: `+numberGroup("limit"),
		`Range of input length should be \[\d+, ?`+numberGroup("limit")+`\]`,
		`input length (?:of )?\(?`+numberGroup("sent")+`\)?(?: tokens)? exceeds (?:the )?(?:model's )?maximum (?:context |allowed )?(?:input )?length (?:of )?\(?`+numberGroup("limit"),
		// Bedrock, Cohere
		`Max input tokens: `+numberGroup("limit")+`, request input token count: `+numberGroup("sent"),
		`number of tokens in the prompt cannot exceed `+numberGroup("limit")+`.{0,60}received `+numberGroup("sent"),
		`total tokens exceeds? the model's max of `+numberGroup("limit"),
		// servers of one's own: llama.cpp, SGLang, vLLM, TGI, Ollama, LM Studio, ds4
		`request \(`+numberGroup("sent")+` tokens\) exceeds the available context size \(`+numberGroup("limit"),
		`n_prompt_tokens\s+`+numberGroup("sent")+`\s+n_ctx\s+`+numberGroup("limit"),
		`maximum context length of `+numberGroup("limit")+` tokens\. You requested a total of `+numberPattern+` tokens: `+numberGroup("sent")+` tokens from the input messages and `+numberGroup("reply")+` tokens for the completion`,
		`maximum context length of `+numberGroup("limit")+` tokens`,
		`input \(`+numberGroup("sent")+` tokens\) is longer than the model's context length \(`+numberGroup("limit"),
		`prompt \(length `+numberGroup("sent")+`\) is longer than the maximum model length of `+numberGroup("limit"),
		"tokens \\+ `max_new_tokens` must be <= "+numberGroup("limit")+".{0,20}Given: "+numberGroup("sent")+" .inputs. tokens and "+numberGroup("reply"),
		"tokens \\+ `max_new_tokens` must be <= "+numberGroup("limit"),
		`prompt has `+numberGroup("sent")+` tokens?, but the configured context size is `+numberGroup("limit")+` tokens`,
		`prompt tokens \(`+numberGroup("sent")+`\) exceeds? (?:the )?context size \(`+numberGroup("limit"),
		`loaded with context length of only `+numberGroup("limit")+` tokens`,
		"`inputs` must have less than "+numberGroup("limit")+` tokens\. Given: `+numberGroup("sent"),
		// Cerebras, GitHub Models
		`Current length is `+numberGroup("sent")+` while limit is `+numberGroup("limit"),
		`Request body too large for .{1,80} model\. Max size: `+numberGroup("limit")+` tokens`,
		`'(?:messages|input)': array too long\. Expected an array with maximum length `+numberGroup("messages"),
		`messages: List should have at most `+numberGroup("messages")+` items`,
	)
})

// byteSentences are sentences about the size of a request in bytes, with the groups bytes and
// unit.
var byteSentences = sync.OnceValue(func() []*regexp.Regexp {
	return compile(`\b(?:request|payload|body|entity)\b[^.]{0,80}?\b(?:at most|max(?:imum)?|limit|allowed|exceeds|exceeded|larger than|up to)\b\W{0,3}(?:(?:at most|maximum|allowed|request|body|payload|size|limit|is|of|the)\b\W{1,3}){0,5}` +
		numberGroup("bytes") + ` ?(?P<unit>bytes|[kmg]i?b)\b`)
})

// partSentences match sentences about a part of a request, which a shorter history does not make
// smaller.
var partSentences = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(?:image|picture|document|pdf|file|audio|video|attachment)s?\b`)
})

// aboutTokens matches words about tokens: a 413 without them concerns bytes.
var aboutTokens = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)token|context|prompt`) })

// parseByteLimit parses a limit in bytes.
func parseByteLimit(text string) (Refusal, bool) {
	r, ok := parseSize(text, byteSentences())
	return r, ok && !partSentences().MatchString(byteSentences()[0].FindString(text))
}

// errorCodes are vendors' codes for requests that are too large.
var errorCodes = sync.OnceValue(func() []*regexp.Regexp {
	return compile(`context_length_exceeded`, `model_context_window_exceeded`, `model_max_prompt_tokens_exceeded`, `exceed_context_size_error`, `ContextWindowExceeded`, `request_too_large`)
})

// vagueSentences are sentences without numbers. Similar sentences concern rate limits.
var vagueSentences = sync.OnceValue(func() []*regexp.Regexp {
	return compile(
		`prompt is too long`, `input is too long`, `(?:exceeds?|exceeded) (?:the |this )?(?:model'?s? )?context window`, `exceed(?:s|ed)? (?:the )?context (?:limit|length|window)`,
		`context window (?:is )?exceed(?:s|ed)`, `context length (?:is )?exceeded`, `exceeds the available context size`, `exceeded (?:max )?context length`, `greater than the context length`,
		`exceeds (?:the )?model's maximum context length`, `input token count exceeds`, `exceeds the max(?:imum)? input token limit`, `number of input tokens exceeds`, `maximum number of input tokens`,
		`Prompt exceeds max length`, `too many (?:input )?tokens`, `reduce the length of the (?:messages|prompt|input)`, `exceed max message tokens`,
		`longer than the model's context length`, `request (?:body |entity )?(?:is )?too large`, `exceeds the maximum (?:allowed )?(?:request|input|prompt) (?:size|length)`,
		`token limit exceeded`, `maximum allowed input (?:length|tokens)`, `tokens in request more than max tokens allowed`,
	)
})

// otherLimits match limits that a smaller request does not avoid: rates, quotas, and limits of
// the reply.
var otherLimits = sync.OnceValue(func() []*regexp.Regexp {
	return compile(
		`rate.?limit`, `\b(?:per|a|each) (?:second|min(?:ute)?|hour|day|week|month)\b`, `\b[TR]P[MDHS]\b`, `throttl`, `too many requests`, `\bquota`, `(?:credit|account) balance`, `usage limit`,
		`please wait`, `tokens processed`, `\bbytes\b`,
	)
})

// rateSentences match Groq's 413 for a request that alone exceeds the rate per minute, so that
// waiting does not help.
var rateSentences = sync.OnceValue(func() []*regexp.Regexp {
	return compile(`request too large for model .{1,300}: Limit ` + numberGroup("limit") + `, Requested ` + numberGroup("sent"))
})

func compile(all ...string) []*regexp.Regexp {
	list := make([]*regexp.Regexp, len(all))
	for i, p := range all {
		list[i] = regexp.MustCompile(`(?is)` + p)
	}
	return list
}

// TooLarge parses a text which says that a request is too large.
func TooLarge(text string) (Refusal, bool) {
	if r, ok := parseSize(text, sizeSentences()); ok {
		return r, true
	}
	if r, ok := parseByteLimit(text); ok {
		return r, true
	}
	if r, ok := parseSize(text, errorCodes()); ok {
		return r, true
	}
	if _, ok := parseSize(text, otherLimits()); ok {
		return Refusal{}, false
	}
	return parseSize(text, vagueSentences())
}

// parseSize returns the numbers of the first matching sentence.
func parseSize(text string, sentences []*regexp.Regexp) (Refusal, bool) {
	for _, s := range sentences {
		m := s.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		r := Refusal{Rule: Overflow}
		for i, name := range s.SubexpNames() {
			switch name {
			case "limit":
				r.Limit = parseNumber(m[i])
			case "sent":
				r.Sent = parseNumber(m[i])
			case "reply":
				r.Reply = parseNumber(m[i])
			case "messages":
				r.Messages = parseNumber(m[i])
			case "bytes":
				r.Bytes = parseNumber(m[i])
			case "unit":
				r.Bytes *= units[strings.ToLower(m[i])]
			}
		}
		return r, true
	}
	return Refusal{}, false
}

// units are units of bytes. MB may mean either unit; the smaller one is safe.
var units = map[string]int{"bytes": 1, "kb": 1e3, "mb": 1e6, "gb": 1e9, "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30}

// parseNumber parses a number as [numberPattern] matches it; zero if it is invalid.
func parseNumber(text string) int {
	text, unit := strings.ToLower(text), 1
	if t, ok := strings.CutSuffix(text, "k"); ok {
		text, unit = t, 1000
	} else if t, ok := strings.CutSuffix(text, "m"); ok {
		text, unit = t, 1_000_000
	}
	last := strings.LastIndexFunc(text, func(r rune) bool { return r < '0' || r > '9' })
	if last >= 0 && text[last] == '.' && len(text)-last-1 != 3 || unit > 1 && last >= 0 { // no thousands follow
		whole, err := strconv.ParseFloat(strings.ReplaceAll(text, ",", "."), 64)
		if err != nil {
			return 0
		}
		return int(whole * float64(unit))
	}
	v, err := strconv.Atoi(strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, text))
	if err != nil {
		return 0
	}
	return v * unit
}
