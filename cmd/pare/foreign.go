package main

import (
	"bytes"
	"errors"
	"regexp"
	"strings"
	"sync"

	"github.com/pare-llm/pare/cmd/internal/screen"
	"github.com/pare-llm/pare/cmd/internal/source"
	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/internal/plain"
	"github.com/pare-llm/pare/wire"
)

const shareGPTHint = "check, count, fix, prune, trim and compact read conversations with from and value; this command does not"

// A foreignInput is a kind of input that is not a request, with advice for the user.
type foreignInput struct {
	matches     func(*inputSample) bool
	description string                                 // completes the sentence "this is …"
	advice      string                                 // FILE stands for the name of the input
	explain     func(*inputSample) (what, next string) // returns description and advice that depend on the input; may be nil
}

// An inputSample is an input that is not a request.
type inputSample struct {
	text        []byte // without surrounding white space
	syntax      *wire.SyntaxError
	unparsed    []byte // the bytes after the last valid JSON
	isBatchLine bool   // one line of several
	isList      bool   // members are those of the first element
	members     map[string][]byte
}

// recognizeForeignInput returns a description of the input and advice. The first matching row
// decides.
func recognizeForeignInput(err error, from origin, raw []byte) (description, advice string, ok bool) {
	sample := inputSample{text: bytes.TrimSpace(raw), isBatchLine: from.line > 0, members: map[string][]byte{}}
	table := foreignJSON
	var foreign *wire.ForeignError
	switch {
	case errors.As(err, &sample.syntax):
		sample.unparsed = raw[min(sample.syntax.Offset, len(raw)):]
		table = foreignText()
	case errors.As(err, &foreign):
		return "", conversionHint(foreign.Looks), false
	default:
		sample.readMembers()
	}
	for _, row := range table {
		if !row.matches(&sample) {
			continue
		}
		if description, advice = row.description, row.advice; row.explain != nil {
			description, advice = row.explain(&sample)
		}
		if from.source != source.Stdin {
			advice = screen.FillFileName(advice, from.source)
		}
		return "this is " + description, advice, true
	}
	return "", "", false
}

// readMembers reads the members of an object, or of the first element of a list.
func (s *inputSample) readMembers() {
	span := jsonspan.Span{End: len(s.text)}
	if span.Len() > 0 && s.text[0] == '[' {
		s.isList = true
		all := jsonspan.Elements(s.text, span)
		if len(all) == 0 {
			return
		}
		span = all[0]
	}
	if span.Len() == 0 || s.text[span.Start] != '{' {
		return
	}
	for _, m := range jsonspan.Members(s.text, span) {
		s.members[string(s.text[m.Key.Start:m.Key.End])] = s.text[m.Value.Start:m.Value.End]
	}
}

// hasMembers reports whether all members exist. A name such as type=message also requires that
// string value.
func (s *inputSample) hasMembers(names ...string) bool {
	for _, name := range names {
		key, want, valued := strings.Cut(name, "=")
		value, ok := s.members[key]
		if !ok || valued && string(value) != `"`+want+`"` {
			return false
		}
	}
	return true
}

// matchMembers returns a condition that requires all members.
func matchMembers(names ...string) func(*inputSample) bool {
	return func(sample *inputSample) bool { return sample.hasMembers(names...) }
}

// matchAnyMembers returns a condition that requires all members of one of the sets.
func matchAnyMembers(sets ...string) func(*inputSample) bool {
	return func(sample *inputSample) bool {
		for _, set := range sets {
			if sample.hasMembers(strings.Fields(set)...) {
				return true
			}
		}
		return false
	}
}

// memberHas reports whether a member is an object with one of the names.
func (s *inputSample) memberHas(member string, names ...string) bool {
	value := s.members[member]
	if len(value) == 0 || value[0] != '{' {
		return false
	}
	for _, name := range names {
		if _, ok := jsonspan.Find(value, jsonspan.Span{End: len(value)}, name); ok {
			return true
		}
	}
	return false
}

const (
	conversationHint = "Pare reads conversations: request bodies, lists of messages, JSON lines of either, and the session files of agents"
	exportHint       = "an export keeps what was shown, not what was sent; Pare reads request bodies and the session files of agents"
	requestBodyHint  = "Pare checks what was sent: give it the body of the request"
	doubleEncoded    = "JSON that was encoded twice: the whole is one string"
)

// replyInput returns the row for a reply of a provider.
func replyInput(is func(*inputSample) bool, of, where string) foreignInput {
	return foreignInput{matches: is, description: "a reply" + of + ", not a request", advice: "append " + where + " that you sent, and check that"}
}

// foreignJSON lists JSON that contains no request.
var foreignJSON = []foreignInput{
	{matches: isDoubleEncoded, description: doubleEncoded, advice: "decode it once: jq -r . FILE | pare check"},

	{matches: matchAnyMembers("custom_id result", "custom_id response"), description: "the results of a batch: replies, not requests", advice: "check the file of requests that the batch was made from"},
	{matches: isProviderError, explain: explainProviderError},
	replyInput(matchMembers("object=chat.completion.chunk"), " in pieces, as it is streamed", "the whole message to the messages"),
	replyInput(matchAnyMembers("choices"), " of a Chat Completions API", "choices[0].message to the messages"),
	replyInput(matchAnyMembers("object=response", "output status id"), " of OpenAI's Responses API", "its output to the input"),
	replyInput(matchAnyMembers("candidates", "promptFeedback", "usageMetadata modelVersion"), " of Gemini", "candidates[0].content to the contents"),
	replyInput(func(g *inputSample) bool { return g.hasMembers("stopReason") || g.memberHas("output", "message") }, " of Bedrock's Converse", "output.message to the messages"),
	replyInput(matchAnyMembers("type=message role content stop_reason", "type=message role content usage"), " of Anthropic's Messages API", "its role and content to the messages"),
	replyInput(matchMembers("outputs", "status"), " of Gemini's Interactions API", "its outputs to the input"),
	{matches: matchAnyMembers("type=message_start", "type=content_block_delta", "type=response.created", "type=response.output_text.delta"), description: "events of a streamed reply, not a request", advice: "append the whole message to the messages that you sent, and check that"},
	{matches: func(g *inputSample) bool {
		return len(g.members) <= 2 && g.hasMembers("input_tokens") || g.hasMembers("totalTokens")
	}, description: "the answer to a count of tokens, not a request", advice: requestBodyHint},

	{matches: func(g *inputSample) bool { return g.memberHas("log", "entries") }, description: "a HAR file: requests and replies as a browser or proxy recorded them",
		advice: "extract the bodies: jq -c '.log.entries[].request.postData.text | fromjson?' FILE | pare check"},

	{matches: isChatGPTExport, description: "an export of ChatGPT, which Pare does not read", advice: exportHint},
	{matches: matchMembers("chat_messages"), description: "an export of claude.ai, which Pare does not read", advice: exportHint},
	{matches: matchAnyMembers("chunkedPrompt", "runSettings"), description: "a prompt of Google AI Studio, which Pare does not read", advice: exportHint},
	{matches: matchMembers("conversations"), description: "training data: conversations, not requests", advice: shareGPTHint},

	{matches: isSingleMessage, explain: explainMessage},
	{matches: matchAnyMembers("type=tool_use id", "type=tool_result tool_use_id", "type=text text", "type=function_call call_id", "type=function_call_output call_id"),
		description: "a single block of a message", advice: "give the whole list of messages that it belongs to"},

	{matches: matchAnyMembers("name version scripts", "name version dependencies", "name devDependencies", "name version main", "name private"), description: "a package.json, not a conversation", advice: conversationHint},
	{matches: matchMembers("lockfileVersion"), description: "a lock file of npm, not a conversation", advice: conversationHint},
	{matches: matchMembers("compilerOptions"), description: "a tsconfig.json, not a conversation", advice: conversationHint},
	{matches: matchMembers("mappings", "sources"), description: "a source map, not a conversation", advice: conversationHint},
	{matches: matchMembers("nbformat", "cells"), description: "a Jupyter notebook, not a conversation", advice: conversationHint},
	{matches: matchAnyMembers("openapi paths", "swagger paths"), description: "an OpenAPI description, not a conversation", advice: conversationHint},
	{matches: matchMembers("$schema", "properties"), description: "a JSON Schema, not a conversation", advice: conversationHint},
}

func isChatGPTExport(sample *inputSample) bool {
	return sample.hasMembers("mapping", "current_node") || sample.hasMembers("mapping", "title") || sample.hasMembers("mapping", "create_time")
}

func isSingleMessage(sample *inputSample) bool {
	return !sample.isList && sample.hasMembers("role") && (sample.hasMembers("content") || sample.hasMembers("parts") || sample.hasMembers("tool_calls"))
}

func explainMessage(sample *inputSample) (what, next string) {
	if sample.isBatchLine {
		return "a single message, not a request", "where each line is a message, make one list of them: jq -s . FILE | pare check"
	}
	return "a single message, not a request", "put it in a list with the others: jq -s . FILE | pare check"
}

func isDoubleEncoded(sample *inputSample) bool { return doubleEncodedPattern().Match(sample.text) }

var doubleEncodedPattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^"(?:\\[nrt]|\s)*[\[{]`) })

// isProviderError reports whether the input is an error of a provider or a gateway.
func isProviderError(sample *inputSample) bool {
	switch {
	case !sample.isList && findRequestPath(sample.text, jsonspan.Span{End: len(sample.text)}, 3) != "": // a log that contains an error and a request
		return false
	case sample.hasMembers("type=error"), sample.hasMembers("error") && !sample.hasMembers("choices"), sample.hasMembers("__type"):
		return true
	case sample.hasMembers("detail") && len(sample.members) <= 3, sample.hasMembers("message") && len(sample.members) <= 3 && sample.members["message"][0] == '"', sample.hasMembers("Message") && len(sample.members) <= 2:
		_, ok := parseProviderError(sample.text)
		return ok
	}
	return false
}

func explainProviderError(sample *inputSample) (what, next string) {
	providerErr, ok := parseProviderError(sample.text)
	if !ok {
		return "a provider's error, not a request", "check the request that was refused: pare check REQUEST; a session of an agent: pare doctor"
	}
	return "a provider's error, not a request: " + providerErr.formatTitle(), providerErr.formatAdvice()
}

// foreignText lists text that is not JSON.
var foreignText = sync.OnceValue(func() []foreignInput {
	begins := func(pattern string) func(*inputSample) bool {
		is := regexp.MustCompile(`(?i)^(?:` + pattern + `)`)
		return func(g *inputSample) bool { return is.Match(g.text) }
	}
	stops := func(pattern string) func(*inputSample) bool {
		is := regexp.MustCompile(`^(?:` + pattern + `)`)
		return func(g *inputSample) bool { return is.Match(g.unparsed) }
	}
	bareKey, heading := stops(`[\w$]`), begins(`#{1,6} `)
	object := regexp.MustCompile(`(?m)^\s*[\[{]`)
	laterObject := func(g *inputSample) bool { return object.Match(g.text) }
	return []foreignInput{
		{matches: isDoubleEncoded, description: doubleEncoded, advice: "decode it once: jq -r . FILE | pare check"},
		{matches: begins(`HTTP/\d`), explain: explainResponse},
		{matches: begins(`(?:POST|PUT|GET) \S+ HTTP/\d`), description: "an HTTP request with its headers", advice: `give the body alone: sed '1,/^\r*$/d' FILE | pare check`},
		{matches: begins(`\* +(?:Trying|Host|Connected|Uses|Rebuilt)|[<>] (?:POST|HTTP/)|Note: Unnecessary use of -X`), description: "what curl -v prints, not JSON", advice: "without -v curl prints the reply alone; " + requestBodyHint},
		{matches: begins(`(?:\$ *)?curl\s`), description: "a curl command, not a request body", advice: "put what follows -d or --data in a file, and check that"},
		{matches: begins(`<!doctype html|<html|<head|<body`), explain: explainPage},
		{matches: begins(`<\?xml|<[a-z]+[ >]`), description: "XML, not JSON", advice: requestBodyHint},
		{matches: begins(`(?::[^\n]*\n+)*(?:event|data|id|retry):`), description: "an event stream: a reply as it is streamed, not a request", advice: "append the whole message to the messages that you sent, and check that"},
		{matches: begins(`PK\x03\x04`), description: "a ZIP archive", advice: "unpack it first: unzip FILE"},
		{matches: begins(`version https://git-lfs`), description: "a pointer of Git LFS, not the file itself", advice: "fetch the file: git lfs pull"},
		{matches: begins(`\w*(?:Message|Completion|Response|Param|Item)\(|\[\s*\w+\(`), description: "the repr of Python objects, not JSON", advice: "write JSON in Python: json.dumps([m.model_dump() for m in messages])"},
		{matches: stops(`'|None\b|True\b|False\b|nan\b|b'`), description: "a Python dict or list as print shows it, not JSON", advice: "write JSON in Python: json.dumps(body)"},
		{matches: func(g *inputSample) bool { return heading(g) && !laterObject(g) }, description: "Markdown, not JSON", advice: conversationHint},
		{matches: stops(`//|/\*|#`), description: "JSON with comments", advice: "delete the comments: providers do not take them either"},
		{matches: func(g *inputSample) bool { return strings.Contains(g.syntax.Reason, "comma with nothing after it") }, description: "JSON5 or JavaScript: JSON has no comma before } or ]", advice: "delete that comma"},
		{matches: func(g *inputSample) bool {
			return strings.Contains(g.syntax.Reason, "expected a key") && bareKey(g)
		}, description: "JSON5 or JavaScript: in JSON keys have double quotes", advice: `convert it: node -p "JSON.stringify($(cat FILE))" | pare check`},
		{matches: stops(`undefined\b|NaN\b|-?Infinity\b`), description: "JavaScript, not JSON", advice: "write JSON with JSON.stringify(body)"},
		{matches: func(g *inputSample) bool { return isPlainText(g) && isRefusal(g.text) }, explain: explainProviderError},
		{matches: isYAML, description: "YAML, not JSON", advice: "convert it: yq -o=json . FILE | pare check"},
		{matches: begins(`\[\[?\w[\w.-]*\]\]?\s*(?:\n|$)|(?s:(?:#[^\n]*\n|\s)*)\w[\w-]* = `), description: "TOML, not JSON", advice: "a configuration of Pare is checked by pare rules --check --config FILE"},
		{matches: begins(`\*\*\w|> `), description: "Markdown, not JSON", advice: conversationHint},
		{matches: isPlainText, description: "text, not JSON", advice: conversationHint},
	}
})

// isPlainText reports whether the input is text from its first byte on.
func isPlainText(sample *inputSample) bool {
	if len(sample.text) == 0 || len(sample.unparsed) < len(sample.text) || bytes.IndexByte(sample.text[:min(len(sample.text), 512)], 0) >= 0 {
		return false
	}
	c := sample.text[0] | 0x20
	return c >= 'a' && c <= 'z'
}

var yamlHistoryPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^(?:messages|input|contents):\s|^\s*- role:`)
})

func isYAML(sample *inputSample) bool {
	head := sample.text[:min(len(sample.text), 4096)]
	return !bytes.HasPrefix(head, []byte{'{'}) && yamlHistoryPattern().Match(head)
}

func isRefusal(text []byte) bool {
	_, ok := parseProviderError(text[:min(len(text), maxErrorText)])
	return ok
}

// explainResponse describes a reply with its headers. Its body may contain an error of a provider.
func explainResponse(sample *inputSample) (what, next string) {
	what, next = "an HTTP reply with its headers, as curl -i prints it, not a request", requestBodyHint
	if providerErr, ok := parseProviderError(sample.text[:min(len(sample.text), maxErrorText)]); ok {
		return what + ": " + providerErr.formatTitle(), providerErr.formatAdvice()
	}
	return what, next
}

var pageTitlePattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?is)<(?:title|h1)[^>]*>\s*([^<]{1,80}?)\s*<`)
})

// explainPage describes an HTML page by its title.
func explainPage(sample *inputSample) (what, next string) {
	what = "an HTML page, not JSON"
	if m := pageTitlePattern().FindSubmatch(sample.text); m != nil {
		what += ": " + plain.Line(string(m[1]))
	}
	return what, "a gateway or a proxy answered in place of the provider; " + requestBodyHint
}

// conversionHint returns how to convert the messages of a framework, which wire has recognized.
func conversionHint(looks string) string {
	for _, way := range []struct{ whose, by string }{
		{"LangChain", "convert_to_openai_messages(messages) of langchain_core makes messages that Pare reads"},
		{"LlamaIndex", "to_openai_message_dicts(messages) of llama_index.llms.openai makes messages that Pare reads"},
		{"Vercel", "record what the SDK sends: point its baseURL at pare mock --record OUT.jsonl"},
		{"ShareGPT", shareGPTHint},
	} {
		if strings.Contains(looks, way.whose) {
			return way.by
		}
	}
	return "Pare reads what goes to the provider; to record that, point the framework's base URL at: pare mock --record OUT.jsonl"
}
