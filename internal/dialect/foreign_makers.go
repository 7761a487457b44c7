package dialect

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
)

// A maker is a framework or a program whose histories look like requests, and what they have
// that no dialect has.
type maker struct {
	looks string
	types []string   // of elements and blocks
	keys  []string   // members of elements and blocks
	sets  [][]string // members of one object that tell together; with a ! it has none of that name
	roles []string
	// parts are members of what stands in a list called parts.
	parts []string
}

const (
	responsesItems   = "items of OpenAI Responses among steps of Gemini Interactions"
	interactionSteps = "steps of Gemini Interactions among items of OpenAI Responses"
	unknownFormat    = "a format that is not known"
)

// makers are those that are known by name. The first one that is told by something wins.
var makers = []maker{
	{looks: "messages of Pydantic AI", keys: []string{"part_kind"}},
	{looks: "stored messages of LangChain", types: []string{"human", "ai"}, keys: []string{"kwargs", "lc"}},
	{looks: "messages of LlamaIndex", keys: []string{"block_type"}, sets: [][]string{{"role", "blocks"}}},
	{looks: "messages of Semantic Kernel", types: []string{"TextContent", "FunctionCallContent", "FunctionResultContent", "ChatMessageContent"},
		sets: [][]string{{"role", "items"}, {"Role", "Items"}}},
	{looks: "messages of Microsoft.Extensions.AI", sets: [][]string{{"role", "contents"}, {"$type", "role"}}},
	{looks: "messages of A2A", sets: [][]string{{"messageId", "parts"}, {"kind", "parts", "role"}}, parts: []string{"kind"}},
	{looks: "a list of {info, parts}, as opencode keeps it", types: []string{"step-finish", "patch", "snapshot"}, sets: [][]string{{"info", "parts"}}},
	{looks: "messages of Mastra", sets: [][]string{{"threadId", "resourceId"}, {"format", "parts"}}},
	{looks: "messages of the Vercel AI SDK",
		types: []string{"tool-call", "tool-result", "tool-error", "tool-invocation", "dynamic-tool", "step-start", "source-url", "source-document", "tool-approval-request", "tool-approval-response"},
		keys:  []string{"toolInvocations"}, sets: [][]string{{"content", "parts", "role"}}, parts: []string{"type"}},
	{looks: "messages of AG-UI", keys: []string{"toolCalls", "toolCallId", "activityType"}},
	{looks: "messages of Haystack", keys: []string{"_role", "_content", "tool_call_result"}, sets: [][]string{{"role", "content", "meta"}}},
	{looks: "messages of AutoGen", types: []string{"TextMessage", "MultiModalMessage", "StopMessage", "HandoffMessage", "ToolCallRequestEvent", "ToolCallExecutionEvent", "ToolCallSummaryMessage", "ThoughtEvent"},
		sets: [][]string{{"source", "type", "!role"}}},
	{looks: "messages of pi", types: []string{"toolCall"}, roles: []string{"toolResult", "bashExecution"}},
	{looks: "messages of Letta", sets: [][]string{{"message_type", "!role"}}},
	{looks: "steps of ATIF", sets: [][]string{{"step_id", "source"}}},
	{looks: "steps of smolagents", sets: [][]string{{"step_number", "observations"}, {"step_number", "model_output"}}, roles: []string{"tool-call", "tool-response"}},
	{looks: "the history of DSPy", sets: [][]string{{"prompt", "messages", "outputs"}}},
	{looks: "the output of CrewAI", sets: [][]string{{"raw", "agent", "description"}}},
	{looks: "conversations of ShareGPT", sets: [][]string{{"from", "value"}}},
	{looks: "a transcript of agents-api", keys: []string{"tool_call"}, sets: [][]string{{"type", "message", "!role"}}},
}

func typesOf(m *maker) []string { return m.types }
func keysOf(m *maker) []string  { return m.keys }
func rolesOf(m *maker) []string { return m.roles }
func partsOf(m *maker) []string { return m.parts }

// findMaker returns the maker that one word identifies, or "". The last row with the word decides.
func findMaker(wordsOf func(*maker) []string, word string) string {
	for i := len(makers) - 1; i >= 0; i-- {
		if slices.Contains(wordsOf(&makers[i]), word) {
			return makers[i].looks
		}
	}
	return ""
}

// objectWords are the words of an object that may tell whose it is.
type objectWords struct {
	keys  []string
	typ   string
	known bool // some member is one that elements of a dialect have
}

// elementKeys are members that elements of some dialect have.
var elementKeys = map[string]bool{"role": true, "content": true, "parts": true, "type": true, "id": true, "tool_calls": true, "function_call": true, "refusal": true}

// wordsOf reads the words of an object, without the member at skip.
func wordsOf(raw []byte, at, skip jsonspan.Span) (w objectWords) {
	if at.Len() == 0 || raw[at.Start] != '{' {
		return objectWords{known: true}
	}
	jsonspan.Visit(raw, at, skip, func(e jsonspan.Member) {
		key := raw[e.Key.Start:e.Key.End]
		if bytes.IndexByte(key, '\\') >= 0 {
			key = jsonspan.Decode(nil, key)
		}
		if k := string(key); (k == "type" || k == "$type") && raw[e.Value.Start] == '"' {
			w.typ = string(jsonspan.Decode(nil, raw[e.Value.Start+1:e.Value.End-1]))
		}
		if value := raw[e.Value.Start:e.Value.End]; string(value) == "null" {
			key = nil // a column that is empty
		}
		switch string(key) {
		case "":
		case "role": // nearly all elements have these, which cost nothing so
			w.keys = append(w.keys, "role")
		case "content":
			w.keys = append(w.keys, "content")
		case "type":
			w.keys = append(w.keys, "type")
		case "parts":
			w.keys = append(w.keys, "parts")
		case "text":
			w.keys = append(w.keys, "text")
		default:
			w.keys = append(w.keys, string(key))
		}
		w.known = w.known || elementKeys[string(key)] || isBlockMember(string(key))
	})
	if skip.Len() > 0 {
		w.known = true // it has a content
	}
	return w
}

// isBlockMember reports whether a name is that of a part of Gemini or a block of Bedrock that is of no
// kind.
func isBlockMember(name string) bool {
	for _, types := range [][]blockType{geminiTypes, bedrockTypes} {
		if row := findType(types, name); row.name != "" && (row.kind == transcript.Other || row.kind == transcript.Text) {
			return true
		}
	}
	return false
}

// maker says whose an object is, and by what; "": nobody's that is known.
func (w *objectWords) maker() (looks, by string) {
	if looks := findMaker(typesOf, w.typ); looks != "" && w.typ != "" {
		return looks, fmt.Sprintf("type %q", w.typ)
	}
	for _, k := range w.keys {
		if looks := findMaker(keysOf, k); looks != "" {
			return looks, k
		}
	}
	for i := range makers {
		for _, set := range makers[i].sets {
			if w.hasAll(set) {
				return makers[i].looks, strings.TrimSuffix(strings.Join(set[:2], " and "), " and !role")
			}
		}
	}
	return "", ""
}

func (w *objectWords) hasAll(names []string) bool {
	for _, n := range names {
		name, not := strings.CutPrefix(n, "!")
		if slices.Contains(w.keys, name) == not {
			return false
		}
	}
	return true
}

// callWords are how names of calls and results begin or end, without case and marks.
var callWords = []string{
	"toolcall", "tooluse", "toolresult", "toolresponse", "toolinvocation", "toolreturn", "tooloutput", "toolrequest", "toolmessage",
	"functioncall", "functionresponse", "functionresult", "functionoutput", "functionreturn", "callresult", "calloutput",
}

// looksLikeCall reports whether a name is one that somebody gives to calls of tools or to what they
// return, however it is spelled.
func looksLikeCall(name string) bool {
	var short [64]byte
	b := short[:0]
	for i := 0; i < len(name) && len(b) < len(short); i++ {
		switch c := name[i] | 0x20; {
		case c >= 'a' && c <= 'z':
			b = append(b, c)
		}
	}
	s := strings.TrimSuffix(string(b), "s")
	if strings.HasSuffix(s, "id") {
		return false // it only names one
	}
	for _, w := range callWords {
		if strings.HasPrefix(s, w) || strings.HasSuffix(s, w) {
			return true
		}
	}
	return false
}
