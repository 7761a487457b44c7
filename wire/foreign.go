package wire

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
)

// A ForeignError is the error for a body that holds a history in a format that only looks
// like a dialect. It is not read, so that it cannot be damaged; a dialect that is named
// overrides it. It wraps ErrNotRequest. Many goroutines may read it.
type ForeignError struct {
	Looks string // what it looks like
	Why   string // what tells

	asked Dialect // that was named for what another dialect says; Auto: it is nobody's
}

func (e *ForeignError) Error() string {
	if e.asked != Auto {
		return fmt.Sprintf("this looks like %s (%s), and %s was expected", e.Looks, e.Why, e.asked)
	}
	var names []string
	for _, d := range Dialects() {
		names = append(names, d.String())
	}
	return fmt.Sprintf("this looks like %s (%s), which is not read; the formats are %s", e.Looks, e.Why, strings.Join(names, ", "))
}

func (e *ForeignError) Unwrap() error { return ErrNotRequest }

const (
	vercel           = "messages of the Vercel AI SDK"
	infoParts        = "a list of {info, parts}, as opencode keeps it"
	langchain        = "stored messages of LangChain"
	pydantic         = "messages of Pydantic AI"
	agui             = "messages of AG-UI"
	responsesItems   = "items of OpenAI Responses among steps of Gemini Interactions"
	interactionSteps = "steps of Gemini Interactions among items of OpenAI Responses"
)

// foreignTypes are types of blocks and elements that no dialect has, and whose they are.
var foreignTypes = map[string]string{
	"tool-call": vercel, "tool-result": vercel, "tool-error": vercel, "tool-invocation": vercel, "dynamic-tool": vercel, "step-start": vercel,
	"source-url": vercel, "source-document": vercel, "tool-approval-request": vercel, "tool-approval-response": vercel,
	"step-finish": infoParts, "patch": infoParts, "snapshot": infoParts,
	"human": langchain, "ai": langchain,
}

// foreignKeys are members of elements and parts that no dialect has, and whose they are.
var foreignKeys = map[string]string{
	"part_kind": pydantic, "kwargs": langchain, "lc": langchain, "toolInvocations": vercel, "toolCalls": agui, "toolCallId": agui,
}

// whose says whose a type is, if it is another's.
func (r *Request) whose(typ []byte) string {
	if whose := r.g.foreign[string(typ)]; whose != "" {
		return whose
	}
	return foreignTypes[string(typ)]
}

// foreign tells whether the request, whose dialect was detected, is a history of another
// format. One type that is known to be another's is enough; of types that nobody knows it
// takes most of the blocks.
func (r *Request) foreign() *ForeignError {
	unknown, sample := 0, []byte(nil)
	blocks := r.t.Blocks()
	for i := range blocks { // they are large, and of this kind hardly ever
		if blocks[i].Kind != transcript.Other {
			if !r.g.nested && blocks[i].Kind == transcript.Result && blocks[i].CallID == "" {
				if key, whose, _ := r.keys(blocks[i].Span, transcript.Span{}); whose != "" {
					return &ForeignError{Looks: whose, Why: fmt.Sprintf("elements with %s", key)}
				}
			}
			continue
		}
		typ := r.typeOf(blocks[i].Span)
		if whose := r.whose(typ); whose != "" {
			return &ForeignError{Looks: whose, Why: fmt.Sprintf("blocks of type %q", typ)}
		}
		if len(typ) == 0 && r.g.nested {
			key, whose, known := r.keys(blocks[i].Span, transcript.Span{})
			if whose != "" {
				return &ForeignError{Looks: whose, Why: fmt.Sprintf("blocks with %s", key)}
			}
			if typ = []byte(key); known {
				continue
			}
		}
		if len(typ) > 0 && !carried[string(typ)] {
			unknown, sample = unknown+1, typ
		}
	}
	if unknown > 1 && 2*unknown > len(blocks) {
		return &ForeignError{Looks: unknownFormat, Why: fmt.Sprintf("most blocks are of types such as %q", sample)}
	}
	return r.foreignElements()
}

const unknownFormat = "a format that is not known"

// foreignElements is foreign for what stands around the blocks. Whoever keeps elements of
// his own keeps all of them so: the first ones tell, and those in which nothing was found.
func (r *Request) foreignElements() *ForeignError {
	ms := r.t.Messages()
	strangers := 0
	for i := range ms {
		m := &ms[i]
		if i >= 3 && m.First < m.End {
			continue
		}
		// What the content says is known: the blocks have told.
		content := r.frame[i].content
		key, whose, known := r.keys(m.Span, content)
		if whose != "" {
			return &ForeignError{Looks: whose, Why: "elements with " + key}
		}
		if m.First == m.End && key != "" && !known {
			strangers++
		}
	}
	if strangers > 0 && 2*strangers > len(ms) {
		return &ForeignError{Looks: unknownFormat, Why: "most elements have neither role nor content"}
	}
	return nil
}

// elementKeys are members that elements of some dialect have.
var elementKeys = map[string]bool{"parts": true, "type": true, "id": true, "tool_calls": true, "function_call": true, "refusal": true}

// keys looks at the members of an object, without the one at skip: a name that tells whose
// the object is and its owner, else the first name if none of them is known, and whether
// one is.
func (r *Request) keys(at, skip transcript.Span) (name, whose string, known bool) {
	if at.Len() == 0 || r.raw[at.Start] != '{' {
		return "", "", true
	}
	var info, parts bool
	var typ, first []byte
	jsonspan.Visit(r.raw, jsonspan.Span(at), jsonspan.Span(skip), func(e jsonspan.Member) {
		key := r.raw[e.Key.Start:e.Key.End]
		if bytes.IndexByte(key, '\\') >= 0 {
			key = jsonspan.Decode(nil, key)
		}
		switch string(key) {
		case "role", "content": // nearly always
			known = true
			return
		case "type":
			typ = r.text(e.Value)
		case "info":
			info = true
		case "parts":
			parts = true
		}
		known = known || elementKeys[string(key)] || carried[string(key)]
		if owner := foreignKeys[string(key)]; owner != "" && whose == "" {
			name, whose = string(key), owner
		}
		if len(first) == 0 {
			first = key
		}
	})
	if owner := r.whose(typ); owner != "" {
		return fmt.Sprintf("type %q", typ), owner, known
	}
	if info && parts {
		return "info and parts", infoParts, known
	}
	if whose == "" && !known {
		name = string(first)
	}
	return name, whose, known
}

// carried are types of blocks, and members of parts and blocks that have no type, that no
// rule looks into and that are handed on as they are. What the official libraries know is
// either of a kind or in this list: TestDefectP5Unions.
var carried = map[string]bool{
	"compaction": true, "compaction_trigger": true, "compaction_summary": true, "tool_addition": true, "tool_removal": true, "fallback": true, "container_upload": true,
	"mid_conv_system": true, "additional_tools": true, "item_reference": true, "refusal": true, "text": true, "tool_search_tool_result": true,
	"browser_state": true, "context": true, "program": true, "advisor": true,
	"content": true, "elicitation_call": true, "elicitation_result": true, "transcription": true, "audio_truncation": true,
	"playback_awaiting": true, "playback_interruption": true, "playback_complete": true, "agent_message": true,
	"mcp_tool_listing": true, "configuration_update": true, "code_interpreter_call": true, "file_search_call": true, "image_generation_call": true,
	"mcp_call": true, "mcp_list_tools": true, "tool_search_call": true, "tool_search_output": true,
	"audioTranscription": true, "mediaProcessing": true, "mediaResolution": true, "partMetadata": true, "speechMetadata": true, "thought": true,
	"thoughtSignature": true, "videoMetadata": true,
	"cachePoint": true, "citationsContent": true, "guardContent": true, "toolAddition": true, "toolRemoval": true,
}

// typeOf is the type that an object says it has, or "".
func (r *Request) typeOf(at transcript.Span) []byte {
	if at.Len() == 0 || r.raw[at.Start] != '{' {
		return nil
	}
	m, ok := jsonspan.Find(r.raw, jsonspan.Span(at), "type")
	if !ok {
		return nil
	}
	return r.text(m.Value)
}

// text is what the value at span says if it is a string, or nothing.
func (r *Request) text(at jsonspan.Span) []byte {
	if r.raw[at.Start] != '"' {
		return nil
	}
	text := r.raw[at.Start+1 : at.End-1]
	if bytes.IndexByte(text, '\\') >= 0 {
		text = jsonspan.Decode(nil, text)
	}
	return text
}

// Foreign returns the error for a request whose dialect was named, but which holds a
// history in another format; nil if it does not. Where the dialect is detected, [Parse]
// returns that error itself.
func (r *Request) Foreign() error {
	if err := r.foreign(); err != nil {
		return err
	}
	if err := r.unseen(); err != nil {
		return err
	}
	return nil
}

// unseen tells whether a message is one of another dialect, with calls or results that the
// request, read as the dialect that was named, has not seen: whatever is done to it would
// part them or leave them out.
func (r *Request) unseen() *ForeignError {
	pair := func(b transcript.Block) bool { return b.Kind == transcript.Call || b.Kind == transcript.Result }
	ms, blocks := r.t.Messages(), r.t.Blocks()
	for i := range ms {
		m := &ms[i]
		if slices.ContainsFunc(blocks[m.First:m.End], pair) {
			continue
		}
		raw := r.raw[m.Span.Start:m.Span.End]
		d := Telling(raw)
		if d == Auto || d == r.Dialect {
			continue
		}
		own, err := Parse(slices.Concat([]byte{'['}, raw, []byte{']'}), Options{Dialect: d})
		if err == nil && slices.ContainsFunc(own.t.Blocks(), pair) {
			return &ForeignError{Looks: "a history of " + d.String(), Why: fmt.Sprintf("the calls and results of %s.%d", r.g.list, i), asked: r.Dialect}
		}
	}
	return nil
}

// Delta reports whether the request goes on from a history that the server holds: what is
// in it cannot be judged, repaired or cut by itself.
func (r *Request) Delta() bool { return r.head.stateful }
