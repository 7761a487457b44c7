package refusal

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// figure is a number as people write it: with or without separators of thousands, or in
// thousands (k) or millions (M). Groups behind a space have three digits.
const figure = `\d+(?:[,._'’]\d+|[ \x{A0}\x{2009}\x{202F}]\d{3}\b)*(?:[km]\b)?`

func group(name string) string { return "(?P<" + name + ">" + figure + ")" }

// exact are the sentences of vendors for requests that are too large, with what they say in
// figures: the groups limit, sent, reply, messages. A figure that includes the reply is none
// of what was sent.
var exact = sync.OnceValue(func() []*regexp.Regexp {
	return compile(
		// Anthropic, and Bedrock and Vertex with its models
		`prompt is too long: `+group("sent")+` tokens > `+group("limit")+` maximum`,
		`exceed context limit: `+group("sent")+` \+ `+group("reply")+` > `+group("limit"),
		// OpenAI, and those who copied its sentence (DeepSeek, vLLM, OpenRouter, Together, Azure)
		`maximum context length is `+group("limit")+` tokens.{0,40}requested (?:about )?`+figure+` tokens \(`+group("sent")+` (?:in|of|from)[^,;]*[,;] (?:`+figure+` of [^,;]*[,;] )?`+group("reply")+` (?:in|of|for)`,
		`maximum context length is `+group("limit")+` tokens.{0,40}requested `+group("reply")+` output tokens.{0,60}contains (?:at least )?`+group("sent")+` input tokens`,
		`is too large: `+group("reply")+`\. This model's maximum context length is `+group("limit")+` tokens and your (?:request|prompt) has `+group("sent")+` `,
		`maximum context length is `+group("limit")+` tokens.{0,40}(?:resulted in|requested|has|contains)(?: about| at least)? `+group("sent")+` (?:input )?tokens`,
		`maximum context length is `+group("limit"),
		`input tokens exceed the configured limit of `+group("limit")+` tokens(?:.{0,40}resulted in `+group("sent")+` tokens)?`,
		`passed `+group("sent")+` input tokens and requested `+group("reply")+` output tokens.{0,60}context length is only `+group("limit")+` tokens`,
		// Gemini
		`input token count (?:of |is )?\(?`+group("sent")+`\)? exceeds the maximum number of (?:input )?tokens allowed (?:of )?\(?`+group("limit"),
		`input token count exceeds the maximum number of (?:input )?tokens allowed \(?`+group("limit"),
		`input token count (?:is |\()`+group("sent")+`.{0,40}only supports up to `+group("limit"),
		// xAI, Copilot, Moonshot, Mistral, Fireworks, Qwen, Poolside
		`maximum prompt length is `+group("limit")+` but the request contains `+group("sent"),
		`prompt token count of `+group("sent")+` exceeds the limit of `+group("limit"),
		`exceeded model token limit: `+group("limit")+`(?: \(requested: `+group("sent")+`)?`,
		`Prompt contains `+group("sent")+` tokens.{0,60}too large for model with `+group("limit")+` maximum context length`,
		`prompt is too long: `+group("sent")+`, model maximum context length: `+group("limit"),
		`Range of input length should be \[\d+, ?`+group("limit")+`\]`,
		`input length (?:of )?\(?`+group("sent")+`\)?(?: tokens)? exceeds (?:the )?(?:model's )?maximum (?:context |allowed )?(?:input )?length (?:of )?\(?`+group("limit"),
		// Bedrock, Cohere
		`Max input tokens: `+group("limit")+`, request input token count: `+group("sent"),
		`number of tokens in the prompt cannot exceed `+group("limit")+`.{0,60}received `+group("sent"),
		`total tokens exceeds? the model's max of `+group("limit"),
		// servers of one's own: llama.cpp, SGLang, vLLM, TGI, Ollama, LM Studio, ds4
		`request \(`+group("sent")+` tokens\) exceeds the available context size \(`+group("limit"),
		`n_prompt_tokens\s+`+group("sent")+`\s+n_ctx\s+`+group("limit"),
		`maximum context length of `+group("limit")+` tokens\. You requested a total of `+figure+` tokens: `+group("sent")+` tokens from the input messages and `+group("reply")+` tokens for the completion`,
		`maximum context length of `+group("limit")+` tokens`,
		`input \(`+group("sent")+` tokens\) is longer than the model's context length \(`+group("limit"),
		`prompt \(length `+group("sent")+`\) is longer than the maximum model length of `+group("limit"),
		"tokens \\+ `max_new_tokens` must be <= "+group("limit")+".{0,20}Given: "+group("sent")+" .inputs. tokens and "+group("reply"),
		"tokens \\+ `max_new_tokens` must be <= "+group("limit"),
		`prompt has `+group("sent")+` tokens?, but the configured context size is `+group("limit")+` tokens`,
		`prompt tokens \(`+group("sent")+`\) exceeds? (?:the )?context size \(`+group("limit"),
		`loaded with context length of only `+group("limit")+` tokens`,
		"`inputs` must have less than "+group("limit")+` tokens\. Given: `+group("sent"),
		// Cerebras, GitHub Models
		`Current length is `+group("sent")+` while limit is `+group("limit"),
		`Request body too large for .{1,80} model\. Max size: `+group("limit")+` tokens`,
		`'(?:messages|input)': array too long\. Expected an array with maximum length `+group("messages"),
		`messages: List should have at most `+group("messages")+` items`,
	)
})

// inBytes are sentences about the size of a request in bytes, with the group bytes and its
// unit.
var inBytes = sync.OnceValue(func() []*regexp.Regexp {
	return compile(`\b(?:request|payload|body|entity)\b[^.]{0,80}?\b(?:at most|max(?:imum)?|limit|allowed|exceeds|exceeded|larger than|up to)\b\W{0,3}(?:(?:at most|maximum|allowed|request|body|payload|size|limit|is|of|the)\b\W{1,3}){0,5}` +
		group("bytes") + ` ?(?P<unit>bytes|[kmg]i?b)\b`)
})

// inPart finds sentences about a part of a request, which a shorter history does not make
// smaller.
var inPart = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(?:image|picture|document|pdf|file|audio|video|attachment)s?\b`)
})

// aboutTokens finds words about what a model reads: a 413 without them is about bytes.
var aboutTokens = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)token|context|prompt`) })

// bytesSaid reads an answer that says how many bytes a request may have.
func bytesSaid(text string) (Refusal, bool) {
	r, ok := sized(text, inBytes())
	return r, ok && !inPart().MatchString(inBytes()[0].FindString(text))
}

// codes are what vendors call it.
var codes = sync.OnceValue(func() []*regexp.Regexp {
	return compile(`context_length_exceeded`, `model_context_window_exceeded`, `model_max_prompt_tokens_exceeded`, `exceed_context_size_error`, `ContextWindowExceeded`, `request_too_large`)
})

// vague are sentences without figures. Words like theirs are also said of rates.
var vague = sync.OnceValue(func() []*regexp.Regexp {
	return compile(
		`prompt is too long`, `input is too long`, `(?:exceeds?|exceeded) (?:the |this )?(?:model'?s? )?context window`, `exceed(?:s|ed)? (?:the )?context (?:limit|length|window)`,
		`context window (?:is )?exceed(?:s|ed)`, `context length (?:is )?exceeded`, `exceeds the available context size`, `exceeded (?:max )?context length`, `greater than the context length`,
		`exceeds (?:the )?model's maximum context length`, `input token count exceeds`, `exceeds the max(?:imum)? input token limit`, `number of input tokens exceeds`, `maximum number of input tokens`,
		`Prompt exceeds max length`, `too many (?:input )?tokens`, `reduce the length of the (?:messages|prompt|input)`, `exceed max message tokens`,
		`longer than the model's context length`, `request (?:body |entity )?(?:is )?too large`, `exceeds the maximum (?:allowed )?(?:request|input|prompt) (?:size|length)`,
		`token limit exceeded`, `maximum allowed input (?:length|tokens)`, `tokens in request more than max tokens allowed`,
	)
})

// otherwise finds limits that a smaller request does not lift: of what may be sent in a time,
// of what is paid for, of the reply alone.
var otherwise = sync.OnceValue(func() []*regexp.Regexp {
	return compile(
		`rate.?limit`, `\b(?:per|a|each) (?:second|min(?:ute)?|hour|day|week|month)\b`, `\b[TR]P[MDHS]\b`, `throttl`, `too many requests`, `\bquota`, `(?:credit|account) balance`, `usage limit`,
		`please wait`, `tokens processed`, `\bbytes\b`,
	)
})

// rates reads the figures of Groq, which answers with 413 when a request alone is larger than
// what may be sent in a minute: to wait does not help.
var rates = sync.OnceValue(func() []*regexp.Regexp {
	return compile(`request too large for model .{1,300}: Limit ` + group("limit") + `, Requested ` + group("sent"))
})

func compile(all ...string) []*regexp.Regexp {
	list := make([]*regexp.Regexp, len(all))
	for i, p := range all {
		list[i] = regexp.MustCompile(`(?is)` + p)
	}
	return list
}

// TooLarge reads an answer that says that a request is too large.
func TooLarge(text string) (Refusal, bool) {
	if r, ok := sized(text, exact()); ok {
		return r, true
	}
	if r, ok := bytesSaid(text); ok {
		return r, true
	}
	if r, ok := sized(text, codes()); ok {
		return r, true
	}
	if _, ok := sized(text, otherwise()); ok {
		return Refusal{}, false
	}
	return sized(text, vague())
}

// sized reads the figures of the first sentence that fits.
func sized(text string, sentences []*regexp.Regexp) (Refusal, bool) {
	for _, s := range sentences {
		m := s.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		r := Refusal{Rule: Overflow}
		for i, name := range s.SubexpNames() {
			switch name {
			case "limit":
				r.Limit = number(m[i])
			case "sent":
				r.Sent = number(m[i])
			case "reply":
				r.Reply = number(m[i])
			case "messages":
				r.Messages = number(m[i])
			case "bytes":
				r.Bytes = number(m[i])
			case "unit":
				r.Bytes *= units[strings.ToLower(m[i])]
			}
		}
		return r, true
	}
	return Refusal{}, false
}

// units of bytes. What is called MB may be either: the smaller one is safe.
var units = map[string]int{"bytes": 1, "kb": 1e3, "mb": 1e6, "gb": 1e9, "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30}

// number reads a [figure]; zero if it is none that fits.
func number(text string) int {
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
