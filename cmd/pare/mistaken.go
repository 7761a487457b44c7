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

// A mistake is something that people give to Pare although it is no request, how it is
// recognised, and what they should do instead.
type mistake struct {
	is   func(*given) bool
	what string // behind "this is "
	next string // what to do; FILE stands for the input
	// tell says both where they depend on what was given.
	tell func(*given) (what, next string)
}

// given is an input that is no request.
type given struct {
	raw    []byte // without white space around it
	syntax *wire.SyntaxError
	rest   []byte // from where it stops being JSON
	line   bool   // it is one line of several
	list   bool   // it is a list, and the members are those of its first element
	member map[string][]byte
}

// mistaken recognises an input by what it looks like. The first row that fits decides.
func mistaken(err error, from origin, raw []byte) (what, next string, ok bool) {
	g := given{raw: bytes.TrimSpace(raw), line: from.line > 0, member: map[string][]byte{}}
	table := otherJSON
	var foreign *wire.ForeignError
	switch {
	case errors.As(err, &g.syntax):
		g.rest = raw[min(g.syntax.Offset, len(raw)):]
		table = notJSON()
	case errors.As(err, &foreign):
		return "", converted(foreign.Looks), false
	default:
		g.look()
	}
	for _, m := range table {
		if !m.is(&g) {
			continue
		}
		if what, next = m.what, m.next; m.tell != nil {
			what, next = m.tell(&g)
		}
		if from.source != source.Stdin {
			next = screen.ForFile(next, from.source)
		}
		return "this is " + what, next, true
	}
	return "", "", false
}

// look reads the members of an object, or of the first element of a list.
func (g *given) look() {
	at := jsonspan.Span{End: len(g.raw)}
	if at.Len() > 0 && g.raw[0] == '[' {
		g.list = true
		all := jsonspan.Elements(g.raw, at)
		if len(all) == 0 {
			return
		}
		at = all[0]
	}
	if at.Len() == 0 || g.raw[at.Start] != '{' {
		return
	}
	for _, m := range jsonspan.Members(g.raw, at) {
		g.member[string(g.raw[m.Key.Start:m.Key.End])] = g.raw[m.Value.Start:m.Value.End]
	}
}

// has reports whether there are members of all these names. One with a value, as in
// type=message, is the string.
func (g *given) has(names ...string) bool {
	for _, name := range names {
		key, want, valued := strings.Cut(name, "=")
		value, ok := g.member[key]
		if !ok || valued && string(value) != `"`+want+`"` {
			return false
		}
	}
	return true
}

// members is a row's condition: an object, or the first of a list, with all these members.
func members(names ...string) func(*given) bool {
	return func(g *given) bool { return g.has(names...) }
}

// anyMembers is one that several sets of members fulfil.
func anyMembers(sets ...string) func(*given) bool {
	return func(g *given) bool {
		for _, set := range sets {
			if g.has(strings.Fields(set)...) {
				return true
			}
		}
		return false
	}
}

// within reports whether a member is an object that has one of these names.
func (g *given) within(member string, names ...string) bool {
	value := g.member[member]
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
	notTalk   = "Pare reads conversations: request bodies, lists of messages, JSON lines of either, and the session files of agents"
	exported  = "an export keeps what was shown, not what was sent; Pare reads request bodies and the session files of agents"
	sentBody  = "Pare checks what was sent: give it the body of the request"
	encodeDup = "JSON that was encoded twice: the whole is one string"
)

// reply is a row for what a provider answers.
func reply(is func(*given) bool, of, where string) mistake {
	return mistake{is: is, what: "a reply" + of + ", not a request", next: "append " + where + " that you sent, and check that"}
}

// otherJSON is JSON that holds no history.
var otherJSON = []mistake{
	{is: twiceEncoded, what: encodeDup, next: "decode it once: jq -r . FILE | pare check"},

	{is: anyMembers("custom_id result", "custom_id response"), what: "the results of a batch: replies, not requests", next: "check the file of requests that the batch was made from"},
	{is: isError, tell: tellError},
	reply(members("object=chat.completion.chunk"), " in pieces, as it is streamed", "the whole message to the messages"),
	reply(anyMembers("choices"), " of a Chat Completions API", "choices[0].message to the messages"),
	reply(anyMembers("object=response", "output status id"), " of OpenAI's Responses API", "its output to the input"),
	reply(anyMembers("candidates", "promptFeedback", "usageMetadata modelVersion"), " of Gemini", "candidates[0].content to the contents"),
	reply(func(g *given) bool { return g.has("stopReason") || g.within("output", "message") }, " of Bedrock's Converse", "output.message to the messages"),
	reply(anyMembers("type=message role content stop_reason", "type=message role content usage"), " of Anthropic's Messages API", "its role and content to the messages"),
	reply(members("outputs", "status"), " of Gemini's Interactions API", "its outputs to the input"),
	{is: anyMembers("type=message_start", "type=content_block_delta", "type=response.created", "type=response.output_text.delta"), what: "events of a streamed reply, not a request", next: "append the whole message to the messages that you sent, and check that"},
	{is: func(g *given) bool { return len(g.member) <= 2 && g.has("input_tokens") || g.has("totalTokens") }, what: "the answer to a count of tokens, not a request", next: sentBody},

	{is: func(g *given) bool { return g.within("log", "entries") }, what: "a HAR file: requests and replies as a browser or proxy recorded them",
		next: "extract the bodies: jq -c '.log.entries[].request.postData.text | fromjson?' FILE | pare check"},

	{is: isChatGPT, what: "an export of ChatGPT, which Pare does not read", next: exported},
	{is: members("chat_messages"), what: "an export of claude.ai, which Pare does not read", next: exported},
	{is: anyMembers("chunkedPrompt", "runSettings"), what: "a prompt of Google AI Studio, which Pare does not read", next: exported},
	{is: members("conversations"), what: "training data: conversations, not requests", next: shareGPTHint},

	{is: isMessage, tell: tellMessage},
	{is: anyMembers("type=tool_use id", "type=tool_result tool_use_id", "type=text text", "type=function_call call_id", "type=function_call_output call_id"),
		what: "a single block of a message", next: "give the whole list of messages that it belongs to"},

	{is: anyMembers("name version scripts", "name version dependencies", "name devDependencies", "name version main", "name private"), what: "a package.json, not a conversation", next: notTalk},
	{is: members("lockfileVersion"), what: "a lock file of npm, not a conversation", next: notTalk},
	{is: members("compilerOptions"), what: "a tsconfig.json, not a conversation", next: notTalk},
	{is: members("mappings", "sources"), what: "a source map, not a conversation", next: notTalk},
	{is: members("nbformat", "cells"), what: "a Jupyter notebook, not a conversation", next: notTalk},
	{is: anyMembers("openapi paths", "swagger paths"), what: "an OpenAPI description, not a conversation", next: notTalk},
	{is: members("$schema", "properties"), what: "a JSON Schema, not a conversation", next: notTalk},
}

func isChatGPT(g *given) bool {
	return g.has("mapping", "current_node") || g.has("mapping", "title") || g.has("mapping", "create_time")
}

func isMessage(g *given) bool {
	return !g.list && g.has("role") && (g.has("content") || g.has("parts") || g.has("tool_calls"))
}

func tellMessage(g *given) (what, next string) {
	if g.line {
		return "a single message, not a request", "where each line is a message, make one list of them: jq -s . FILE | pare check"
	}
	return "a single message, not a request", "put it in a list with the others: jq -s . FILE | pare check"
}

func twiceEncoded(g *given) bool { return doubled().Match(g.raw) }

var doubled = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^"(?:\\[nrt]|\s)*[\[{]`) })

// isError recognises what providers and gateways answer when they refuse.
func isError(g *given) bool {
	switch {
	case !g.list && requestIn(g.raw, jsonspan.Span{End: len(g.raw)}, 3) != "": // a log has both
		return false
	case g.has("type=error"), g.has("error") && !g.has("choices"), g.has("__type"):
		return true
	case g.has("detail") && len(g.member) <= 3, g.has("message") && len(g.member) <= 3 && g.member["message"][0] == '"', g.has("Message") && len(g.member) <= 2:
		_, ok := refusalIn(g.raw)
		return ok
	}
	return false
}

func tellError(g *given) (what, next string) {
	r, ok := refusalIn(g.raw)
	if !ok {
		return "a provider's error, not a request", "check the request that was refused: pare check REQUEST; a session of an agent: pare doctor"
	}
	return "a provider's error, not a request: " + r.title(), r.nextLine()
}

// notJSON is text that is no JSON.
var notJSON = sync.OnceValue(func() []mistake {
	begins := func(pattern string) func(*given) bool {
		is := regexp.MustCompile(`(?i)^(?:` + pattern + `)`)
		return func(g *given) bool { return is.Match(g.raw) }
	}
	stops := func(pattern string) func(*given) bool {
		is := regexp.MustCompile(`^(?:` + pattern + `)`)
		return func(g *given) bool { return is.Match(g.rest) }
	}
	bareKey, heading := stops(`[\w$]`), begins(`#{1,6} `)
	object := regexp.MustCompile(`(?m)^\s*[\[{]`)
	laterObject := func(g *given) bool { return object.Match(g.raw) }
	return []mistake{
		{is: twiceEncoded, what: encodeDup, next: "decode it once: jq -r . FILE | pare check"},
		{is: begins(`HTTP/\d`), tell: tellResponse},
		{is: begins(`(?:POST|PUT|GET) \S+ HTTP/\d`), what: "an HTTP request with its headers", next: `give the body alone: sed '1,/^\r*$/d' FILE | pare check`},
		{is: begins(`\* +(?:Trying|Host|Connected|Uses|Rebuilt)|[<>] (?:POST|HTTP/)|Note: Unnecessary use of -X`), what: "what curl -v prints, not JSON", next: "without -v curl prints the reply alone; " + sentBody},
		{is: begins(`(?:\$ *)?curl\s`), what: "a curl command, not a request body", next: "put what follows -d or --data in a file, and check that"},
		{is: begins(`<!doctype html|<html|<head|<body`), tell: tellPage},
		{is: begins(`<\?xml|<[a-z]+[ >]`), what: "XML, not JSON", next: sentBody},
		{is: begins(`(?::[^\n]*\n+)*(?:event|data|id|retry):`), what: "an event stream: a reply as it is streamed, not a request", next: "append the whole message to the messages that you sent, and check that"},
		{is: begins(`PK\x03\x04`), what: "a ZIP archive", next: "unpack it first: unzip FILE"},
		{is: begins(`version https://git-lfs`), what: "a pointer of Git LFS, not the file itself", next: "fetch the file: git lfs pull"},
		{is: begins(`\w*(?:Message|Completion|Response|Param|Item)\(|\[\s*\w+\(`), what: "the repr of Python objects, not JSON", next: "write JSON in Python: json.dumps([m.model_dump() for m in messages])"},
		{is: stops(`'|None\b|True\b|False\b|nan\b|b'`), what: "a Python dict or list as print shows it, not JSON", next: "write JSON in Python: json.dumps(body)"},
		{is: func(g *given) bool { return heading(g) && !laterObject(g) }, what: "Markdown, not JSON", next: notTalk},
		{is: stops(`//|/\*|#`), what: "JSON with comments", next: "delete the comments: providers do not take them either"},
		{is: func(g *given) bool { return strings.Contains(g.syntax.Reason, "comma with nothing after it") }, what: "JSON5 or JavaScript: JSON has no comma before } or ]", next: "delete that comma"},
		{is: func(g *given) bool {
			return strings.Contains(g.syntax.Reason, "expected a key") && bareKey(g)
		}, what: "JSON5 or JavaScript: in JSON keys have double quotes", next: `convert it: node -p "JSON.stringify($(cat FILE))" | pare check`},
		{is: stops(`undefined\b|NaN\b|-?Infinity\b`), what: "JavaScript, not JSON", next: "write JSON with JSON.stringify(body)"},
		{is: func(g *given) bool { return plainText(g) && isRefusal(g.raw) }, tell: tellError},
		{is: isYAML, what: "YAML, not JSON", next: "convert it: yq -o=json . FILE | pare check"},
		{is: begins(`\[\[?\w[\w.-]*\]\]?\s*(?:\n|$)|(?s:(?:#[^\n]*\n|\s)*)\w[\w-]* = `), what: "TOML, not JSON", next: "a configuration of Pare is checked by pare rules --check --config FILE"},
		{is: begins(`\*\*\w|> `), what: "Markdown, not JSON", next: notTalk},
		{is: plainText, what: "text, not JSON", next: notTalk},
	}
})

// plainText reports whether what was given is text from its first letter on.
func plainText(g *given) bool {
	if len(g.raw) == 0 || len(g.rest) < len(g.raw) || bytes.IndexByte(g.raw[:min(len(g.raw), 512)], 0) >= 0 {
		return false
	}
	c := g.raw[0] | 0x20
	return c >= 'a' && c <= 'z'
}

var yamlHistory = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^(?:messages|input|contents):\s|^\s*- role:`)
})

func isYAML(g *given) bool {
	head := g.raw[:min(len(g.raw), 4096)]
	return !bytes.HasPrefix(head, []byte{'{'}) && yamlHistory().Match(head)
}

func isRefusal(text []byte) bool {
	_, ok := refusalIn(text[:min(len(text), maxPasted)])
	return ok
}

// tellResponse is about an answer with its headers: its body may say more.
func tellResponse(g *given) (what, next string) {
	what, next = "an HTTP reply with its headers, as curl -i prints it, not a request", sentBody
	if r, ok := refusalIn(g.raw[:min(len(g.raw), maxPasted)]); ok {
		return what + ": " + r.title(), r.nextLine()
	}
	return what, next
}

var pageTitle = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?is)<(?:title|h1)[^>]*>\s*([^<]{1,80}?)\s*<`)
})

// tellPage is about a page of HTML, and what it says.
func tellPage(g *given) (what, next string) {
	what = "an HTML page, not JSON"
	if m := pageTitle().FindSubmatch(g.raw); m != nil {
		what += ": " + plain.Line(string(m[1]))
	}
	return what, "a gateway or a proxy answered in place of the provider; " + sentBody
}

// converted says how the messages of a framework become a request. Looks is what wire calls
// them.
func converted(looks string) string {
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
