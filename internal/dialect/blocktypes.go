package dialect

import (
	"bytes"
	"strings"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
)

// A blockType is a row of the table of all types of blocks, items, parts and steps that the official
// libraries know. TestBlockTypesCoverUnions compares the table with their unions.
//
// A type without a row gets the answers of the zero value: a person wrote the block if it is in
// a message without results, it accompanies the result otherwise, all its texts count, and it is removed
// only with its message.
type blockType struct {
	name   string
	kind   transcript.Kind
	author author
	// pinned: removing the block would change which tools or settings later messages have.
	pinned bool
	// family and idPrefix are set for items and steps that are calls or results.
	family   uint8
	idPrefix string
}

// An author is the side that a block comes from.
type author uint8

const (
	// fromSender: a person attached the block, unless the message holds results. Then the block
	// accompanies a result: clients put cache marks, screenshots and files of tools there.
	fromSender author = iota
	// fromPerson: a person wrote the block, also next to results.
	fromPerson
	// fromModel: the model or its provider wrote the block.
	fromModel
	// fromTool: the block is a result, or is valid in results only.
	fromTool
	// fromClient: the program that sends the request added a mark or a setting.
	fromClient
)

var anthropicTypes = []blockType{
	{name: "text", kind: transcript.Text, author: fromPerson},
	{name: "tool_use", kind: transcript.Call, author: fromModel},
	{name: "tool_result", kind: transcript.Result, author: fromTool},
	{name: "thinking", kind: transcript.Thinking, author: fromModel},
	{name: "redacted_thinking", kind: transcript.Thinking, author: fromModel},
	{name: "image", kind: transcript.Media},
	{name: "document", kind: transcript.Media},
	{name: "search_result", kind: transcript.Media},
	{name: "container_upload", kind: transcript.Media},
	{name: "server_tool_use", kind: transcript.ServerCall, author: fromModel},
	{name: "mcp_tool_use", kind: transcript.ServerCall, author: fromModel},
	{name: "web_search_tool_result", kind: transcript.ServerResult, author: fromModel},
	{name: "web_fetch_tool_result", kind: transcript.ServerResult, author: fromModel},
	{name: "code_execution_tool_result", kind: transcript.ServerResult, author: fromModel},
	{name: "bash_code_execution_tool_result", kind: transcript.ServerResult, author: fromModel},
	{name: "text_editor_code_execution_tool_result", kind: transcript.ServerResult, author: fromModel},
	{name: "tool_search_tool_result", kind: transcript.ServerResult, author: fromModel},
	{name: "advisor_tool_result", kind: transcript.ServerResult, author: fromModel},
	{name: "mcp_tool_result", kind: transcript.ServerResult, author: fromModel},
	{name: "compaction", kind: transcript.Compaction, author: fromModel, pinned: true},
	{name: "fallback", author: fromModel},
	{name: "mcp_tool_listing", author: fromModel},
	{name: "tool_addition", author: fromClient, pinned: true},
	{name: "tool_removal", author: fromClient, pinned: true},
	{name: "mid_conv_system", author: fromClient, pinned: true},
	{name: "tool_reference", author: fromTool},
	{name: "browser_state", author: fromTool},
	{name: "context"},
	{name: "advisor", author: fromModel},
}

var chatTypes = []blockType{
	{name: "text", kind: transcript.Text, author: fromPerson},
	{name: "refusal", kind: transcript.Text, author: fromModel},
	{name: "function", kind: transcript.Call, author: fromModel},
	{name: "custom", kind: transcript.Call, author: fromModel},
	{name: "image_url", kind: transcript.Media},
	{name: "input_audio", kind: transcript.Media},
	{name: "file", kind: transcript.Media},
	{name: "image", kind: transcript.Media},        // Mistral
	{name: "document_url", kind: transcript.Media}, // Mistral
	{name: "video_url", kind: transcript.Media},    // Qwen
}

var responsesTypes = []blockType{
	{name: "function_call", kind: transcript.Call, author: fromModel, family: functionFamily, idPrefix: "fc_"},
	{name: "function_call_output", kind: transcript.Result, author: fromTool, family: functionFamily},
	{name: "message"}, // its role and its parts decide
	{name: "reasoning", kind: transcript.Thinking, author: fromModel, idPrefix: "rs_"},
	{name: "custom_tool_call", kind: transcript.Call, author: fromModel, family: customFamily, idPrefix: "ctc_"},
	{name: "custom_tool_call_output", kind: transcript.Result, author: fromTool, family: customFamily},
	{name: "local_shell_call", kind: transcript.Call, author: fromModel, family: localShellFamily},
	{name: "local_shell_call_output", kind: transcript.Result, author: fromTool, family: localShellFamily},
	{name: "shell_call", kind: transcript.Call, author: fromModel, family: shellFamily},
	{name: "shell_call_output", kind: transcript.Result, author: fromTool, family: shellFamily},
	{name: "apply_patch_call", kind: transcript.Call, author: fromModel, family: patchFamily},
	{name: "apply_patch_call_output", kind: transcript.Result, author: fromTool, family: patchFamily},
	{name: "computer_call", kind: transcript.Call, author: fromModel, family: computerFamily},
	{name: "computer_call_output", kind: transcript.Result, author: fromTool, family: computerFamily},
	{name: "tool_search_call", kind: transcript.Call, author: fromModel, family: toolSearchFamily},
	{name: "tool_search_output", kind: transcript.Result, author: fromTool, family: toolSearchFamily},
	{name: "program", kind: transcript.Call, author: fromModel, family: programFamily},
	{name: "program_output", kind: transcript.Result, author: fromTool, family: programFamily},
	{name: "mcp_approval_request", kind: transcript.Call, author: fromModel, family: approvalFamily},
	{name: "mcp_approval_response", kind: transcript.Result, author: fromPerson, family: approvalFamily},
	{name: "multi_agent_call", kind: transcript.ServerCall, author: fromModel, family: agentFamily},
	{name: "multi_agent_call_output", kind: transcript.ServerResult, author: fromModel, family: agentFamily},
	{name: "web_search_call", author: fromModel, idPrefix: "ws_"},
	{name: "file_search_call", author: fromModel},
	{name: "code_interpreter_call", author: fromModel},
	{name: "image_generation_call", author: fromModel},
	{name: "mcp_call", author: fromModel},
	{name: "mcp_list_tools", author: fromModel},
	{name: "agent_message", author: fromModel},
	{name: "item_reference", author: fromModel},
	{name: "compaction", kind: transcript.Compaction, author: fromModel, pinned: true},
	{name: "compaction_summary", kind: transcript.Compaction, author: fromModel, pinned: true},
	{name: "compaction_trigger", author: fromClient},
	{name: "additional_tools", author: fromClient, pinned: true},
	{name: "configuration_update", author: fromClient, pinned: true},
	{name: "input_text", kind: transcript.Text, author: fromPerson},
	{name: "output_text", kind: transcript.Text, author: fromPerson}, // in messages of the user, too
	{name: "text", kind: transcript.Text, author: fromPerson},
	{name: "refusal", kind: transcript.Text, author: fromModel},
	{name: "summary_text", kind: transcript.Text, author: fromModel},
	{name: "reasoning_text", kind: transcript.Text, author: fromModel},
	{name: "input_image", kind: transcript.Media},
	{name: "input_file", kind: transcript.Media},
	{name: "input_audio", kind: transcript.Media},
	{name: "image_url", kind: transcript.Media},
}

// geminiTypes are members of parts.
var geminiTypes = []blockType{
	{name: "functionCall", kind: transcript.Call, author: fromModel},
	{name: "functionResponse", kind: transcript.Result, author: fromTool},
	{name: "toolCall", kind: transcript.ServerCall, author: fromModel},
	{name: "toolResponse", kind: transcript.ServerResult, author: fromModel},
	{name: "executableCode", kind: transcript.ServerCall, author: fromModel},
	{name: "codeExecutionResult", kind: transcript.ServerResult, author: fromModel},
	{name: "inlineData", kind: transcript.Media},
	{name: "fileData", kind: transcript.Media},
	{name: "text", kind: transcript.Text, author: fromPerson},
	{name: "audioTranscription", author: fromPerson},
	{name: "thought", author: fromModel},
	{name: "thoughtSignature", author: fromModel},
	{name: "mediaProcessing", author: fromClient},
	{name: "mediaResolution", author: fromClient},
	{name: "videoMetadata", author: fromClient},
	{name: "speechMetadata", author: fromClient},
	{name: "partMetadata", author: fromClient},
}

var bedrockTypes = []blockType{
	{name: "text", kind: transcript.Text, author: fromPerson},
	{name: "toolUse", kind: transcript.Call, author: fromModel},
	{name: "toolResult", kind: transcript.Result, author: fromTool},
	{name: "reasoningContent", kind: transcript.Thinking, author: fromModel},
	{name: "cachePoint", author: fromClient},
	{name: "guardContent", author: fromPerson}, // words that a guardrail is to check
	{name: "citationsContent", author: fromModel},
	{name: "image", kind: transcript.Media},
	{name: "document", kind: transcript.Media},
	{name: "video", kind: transcript.Media},
	{name: "audio", kind: transcript.Media},
	{name: "searchResult", kind: transcript.Media},
	{name: "toolAddition", author: fromClient, pinned: true},
	{name: "toolRemoval", author: fromClient, pinned: true},
	{name: "json", author: fromTool},
}

var interactionsTypes = append([]blockType{
	{name: "text", kind: transcript.Text, author: fromPerson},
	{name: "function_call", kind: transcript.Call, author: fromModel},
	{name: "function_result", kind: transcript.Result, author: fromTool},
	{name: "user_input"}, // its parts decide
	{name: "model_output", author: fromModel},
	{name: "thought", kind: transcript.Thinking, author: fromModel},
	{name: "image", kind: transcript.Media},
	{name: "audio", kind: transcript.Media},
	{name: "video", kind: transcript.Media},
	{name: "document", kind: transcript.Media},
	{name: "compaction", kind: transcript.Compaction, author: fromModel, pinned: true},
	// The API had these before June 2026.
	{name: "content"},
	{name: "transcription"},
	{name: "elicitation_call", author: fromModel},
	{name: "elicitation_result", author: fromTool},
	{name: "audio_truncation", author: fromClient},
	{name: "playback_awaiting", author: fromClient},
	{name: "playback_interruption", author: fromClient},
	{name: "playback_complete", author: fromClient},
}, servedTypes()...)

// servedTypes are the calls and results of the tools that Google runs. Each tool has a family,
// because a result answers a call of its own tool.
func servedTypes() (all []blockType) {
	for i, tool := range servedTools {
		family := serverFamily + uint8(i)
		all = append(all,
			blockType{name: tool + "_call", kind: transcript.ServerCall, author: fromModel, family: family},
			blockType{name: tool + "_result", kind: transcript.ServerResult, author: fromModel, family: family})
	}
	return all
}

// findType returns the row of a type, or the zero value.
func findType(types []blockType, name string) blockType {
	for i := range types {
		if types[i].name == name {
			return types[i]
		}
	}
	return blockType{}
}

// typeOfBlock returns the row of a block's type, or the zero value if the table does not have it.
// It reads the type from the block's bytes. Where types are members, marks and settings next to
// another member do not decide.
func (g *grammar) typeOfBlock(raw []byte, b *transcript.Block) blockType {
	object := jsonspan.Span(b.Span)
	if raw[object.Start] != '{' {
		return blockType{}
	}
	if !g.keyed {
		if typ, ok := jsonspan.Find(raw, object, "type"); ok {
			return findType(g.types, string(jsonspan.Decode(nil, bytes.Trim(raw[typ.Value.Start:typ.Value.End], `"`))))
		}
		return blockType{}
	}
	var client blockType
	unknown := false
	for _, m := range jsonspan.Members(raw, object) {
		name := camelCase(string(jsonspan.Decode(nil, raw[m.Key.Start:m.Key.End])))
		switch row := findType(g.types, name); {
		case row.name == "":
			unknown = true
		case row.author != fromClient:
			return row
		default:
			client = row
		}
	}
	if unknown {
		return blockType{}
	}
	return client
}

// camelCase returns a name in camel case. Gemini takes snake case as well.
func camelCase(name string) string {
	words := strings.Split(name, "_")
	for i, w := range words[1:] {
		if w != "" {
			words[i+1] = strings.ToUpper(w[:1]) + w[1:]
		}
	}
	return strings.Join(words, "")
}

// authorOf returns the side that a block of a message of the user comes from.
func (g *grammar) authorOf(raw []byte, b *transcript.Block) author {
	switch b.Kind {
	case transcript.Text:
		return fromPerson
	case transcript.Media:
		return fromSender
	case transcript.Result, transcript.ServerResult:
		return fromTool
	case transcript.Other:
		if raw[b.Span.Start] == '"' { // a string where a block belongs
			return fromPerson
		}
		return g.typeOfBlock(raw, b).author
	}
	return fromModel
}

// A presence is how far a person takes part in a message.
type presence uint8

const (
	absent    presence = iota
	belonging          // the message has attachments only, which belong to a result or a quotation
	shows              // a person attached something, and wrote nothing
	writes             // a person wrote something
)

// presenceIn returns how far a person takes part in a message of the user that has these blocks.
// Words of a person count wherever they are: clients put what is typed while a tool runs next to
// its result. Anything else counts in messages without results only.
func (g *grammar) presenceIn(raw []byte, blocks []transcript.Block) presence {
	quoted := 0 // parts that belong to the quotation before them
	found, result := absent, false
	for i := range blocks {
		b := &blocks[i]
		switch g.authorOf(raw, b) {
		case fromPerson:
			text := raw[b.Body.Start:b.Body.End]
			if b.Kind != transcript.Text || len(words(text)) > 0 {
				return writes
			}
			quoted = attachments(text)
		case fromTool:
			result = true
		case fromSender:
			if quoted == 0 {
				found = shows
				continue
			}
			quoted--
			found = max(found, belonging)
		}
	}
	if result {
		return absent
	}
	return found
}

// personText returns the words of a person in block b. It is "" for attachments, and in messages of other
// roles than the user's.
func (r *Request) personText(b transcript.BlockID) string {
	blk := &r.t.Blocks()[b]
	if r.t.Messages()[blk.Message].Role != transcript.User || r.g.authorOf(r.raw, blk) != fromPerson {
		return ""
	}
	return PersonsWords(r.Text(b))
}

// fromPerson reports whether a person wrote or attached block b.
func (r *Request) fromPerson(b transcript.BlockID) bool {
	blk := &r.t.Blocks()[b]
	if !r.t.Messages()[blk.Message].Speaks {
		return false
	}
	switch r.g.authorOf(r.raw, blk) {
	case fromPerson:
		return r.personText(b) != ""
	case fromSender:
		return true
	}
	return false
}
