package dialect

import (
	"strconv"
	"strings"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
)

// anthropicGrammar is the Anthropic Messages API.
var anthropicGrammar = grammar{
	name: "anthropic", contextEdits: true, list: "messages", required: "max_tokens", blocks: inContent, nested: true, marksFailure: true, cacheMark: "cache_control", assistant: "assistant",
	types: anthropicTypes,
	apart: true, joins: [transcript.Tool + 1]bool{transcript.System: true, transcript.User: true, transcript.Assistant: true, transcript.Tool: true},
	roles:   []namedRole{{"user", transcript.User}, {"assistant", transcript.Assistant}, {"system", transcript.System}},
	idLimit: 64, nameLimit: 200,
	shows:      [][2]string{{"tool_use_id", "tool_result"}, {"input", "tool_use"}, {"thinking", "thinking"}, {"text", "text"}},
	showsMedia: [][2]string{{"image/", "image"}, {"application/pdf", "document"}, {"text/", "document"}},
	endpoints: []endpoint{
		{end: "/messages", without: "/threads/"}, // OpenAI's threads have messages too
		{end: ":rawPredict", within: "/publishers/anthropic/"}, {end: ":streamRawPredict", within: "/publishers/anthropic/"},
		{end: "/invoke", within: "anthropic"}, {end: "/invoke-with-response-stream", within: "anthropic"},
	},
	batch: batch{end: "/messages/batches", list: []string{"requests"}, request: "params"},
	tells: tells{
		body:    []string{"anthropic_version", "stop_sequences"},
		tools:   []string{"input_schema"},
		element: []memberTell{{"clear_at", textOrList}, {"output_config", anObject}},
		types:   []string{"tool_use", "tool_result", "thinking", "redacted_thinking", "server_tool_use", "mcp_tool_use", "search_result", "container_upload", "compaction", "tool_addition", "tool_removal"},
		kinds:   []typeTell{{typ: "image", with: "source"}, {typ: "document", with: "source"}, {typ: "*_tool_result"}},
	},
	words:  pairWords{ids: []string{"id", "tool_use_id"}, resultName: true},
	rules:  anthropicRules,
	speech: anthropic{},
}

type anthropic struct{ common }

// element reads one message of the Anthropic Messages API.
func (anthropic) element(p *parser) {
	p.startMessage(transcript.Unknown, p.Offset(), 0)
	i := len(p.messages) - 1
	start := p.Offset()
	var role, content field
	configures, others := false, false
	for k := range p.members {
		switch string(k) {
		case "role":
			role = p.value()
		case "content":
			p.dropBlocks(i) // the last one wins
			content = p.anthropicContent(i)
		case "clear_at", "output_config": // of messages of the system in mid-conversation
			configures, others = !p.value().absent() || configures, true
		default:
			others = true
			p.note(foreignMember, -1, string(k), "")
			p.Skip()
		}
	}
	if !others {
		p.extra[i] |= holdsOnly
	}
	p.closeRole(i, role)
	m := &p.messages[i]
	m.Turn = p.turnOf(m.Role)
	p.frame[i].content = content.whole()
	switch {
	case content.kind == jsonspan.String:
		p.stringContent(content)
	case content.absent():
		p.extra[i] |= nullContent
		p.note(nullContentFault, -1, "", "")
	case content.kind != jsonspan.Array:
		p.note(wrongType, -1, "content", "expected a string or a list, found "+content.kind.String())
	case m.First == transcript.BlockID(len(p.blocks)) && !(configures && m.Role == transcript.System):
		p.extra[i] |= emptyList
	}
	p.tieThinking(i)
	p.endMessage(p.since(start), p.speaks(i))
}

// anthropicContent reads the content of message i.
func (p *parser) anthropicContent(i int) field {
	if p.Peek() != jsonspan.Array {
		return p.value()
	}
	start := p.Offset()
	p.Enter()
	for j := 0; p.Element(); j++ {
		if p.Peek() == jsonspan.Object { // a block is worth an inlined look
			p.anthropicBlock(j)
		} else {
			p.stray(place{inContent, int32(j)})
		}
	}
	return field{jsonspan.Array, p.since(start)}
}

// blockFields are the members of a content block that rules look at.
type blockFields struct {
	typ, id, useID, name, text, input, thinking, signature, data, isError, content, toolset field
	nested                                                                                  nested
	caller                                                                                  field // caller.tool_id
	program                                                                                 bool  // caller is code execution
	cache                                                                                   bool
	ttl                                                                                     string
	citations, cited                                                                        bool
	tool                                                                                    field // tool.name of tool_addition
	encrypted                                                                               field
	defines                                                                                 bool // tool holds a definition
	hollow                                                                                  bool // source has no data
	others                                                                                  []other
}

// An other is a member of a block that no rule looks into.
type other struct {
	name string
	null bool
}

func (p *parser) anthropicBlock(j int) {
	start := p.Offset()
	var f blockFields
	for k := range p.members {
		switch string(k) {
		case "type":
			f.typ = p.value()
		case "id":
			f.id = p.value()
		case "tool_use_id":
			f.useID = p.value()
		case "name":
			f.name = p.value()
		case "text":
			f.text = p.value()
		case "input":
			f.input = p.value()
		case "thinking":
			f.thinking = p.value()
		case "signature":
			f.signature = p.value()
		case "data":
			f.data = p.value()
		case "is_error":
			f.isError = p.value()
		case "toolset_name":
			f.toolset = p.value()
		case "content":
			f.content = p.nestedContent(&f.nested)
		case "cache_control":
			f.ttl, f.cache = p.cacheControl()
		case "caller":
			p.readCaller(&f)
		case "citations":
			f.cited = p.Peek() == jsonspan.Array && !p.hollow()
			f.citations = p.readCitations()
		case "tool":
			p.readTool(&f)
		case "source":
			var null bool
			f.hollow, null = p.readSource()
			f.others = append(f.others, other{"source", null})
		case "encrypted_content":
			f.encrypted = p.value()
			f.others = append(f.others, other{"encrypted_content", f.encrypted.isNull()})
		default:
			f.others = append(f.others, other{string(k), p.value().isNull()})
		}
	}
	p.addAnthropicBlock(j, tspan(p.since(start)), &f)
}

// known lists the members of the block types whose null fillers are refused.
var known = map[string]string{
	"text":        " type text cache_control citations ",
	"tool_use":    " type id name input cache_control caller toolset_name ",
	"tool_result": " type tool_use_id content is_error cache_control toolset_name ",
	"thinking":    " type thinking signature ",
	"image":       " type source cache_control transformations ",
	"compaction":  " type content signature cache_control encrypted_content tool_changes ",
}

// foreignMembers are what streams, SDKs and other vendors' formats leave in blocks. A
// member that is simply unknown may be tomorrow's, and passes.
var foreignMembers = map[string]bool{
	"index": true, "partial_json": true, "reasoning_details": true, "reasoning_content": true, "tool_calls": true, "function_call": true, "tool_call_id": true,
	"providerOptions": true, "providerMetadata": true, "experimental_providerMetadata": true, "provider_options": true, "additional_kwargs": true,
	"stop_reason": true, "usage": true, "logprobs": true, "finish_reason": true,
}

// The families of calls that the provider executes: a call is answered by a result of its
// own kind ("`web_fetch` tool use … was found without a corresponding
// `web_fetch_tool_result` block"). MCP servers are declared elsewhere. What is not listed
// may be tomorrow's tool, and takes any result.
const (
	mcpFamily uint8 = iota + 1
	webSearchFamily
	webFetchFamily
	codeFamily
	toolFindFamily
	advisorFamily
)

// hostedFamily is the family of a tool that the provider executes, by the name in a call
// or by a result's type; 0 for one that is not known.
func hostedFamily(name string) uint8 {
	switch name {
	case "web_search":
		return webSearchFamily
	case "web_fetch":
		return webFetchFamily
	case "code_execution", "bash_code_execution", "text_editor_code_execution":
		return codeFamily
	case "tool_search", "tool_search_tool_regex", "tool_search_tool_bm25":
		return toolFindFamily
	case "advisor":
		return advisorFamily
	}
	return 0
}

// answeringFamily is the family of a server's result: its own kind's, unless that or the
// call's is not known.
func (p *parser) answeringFamily(b *transcript.Block) uint8 {
	own := hostedFamily(b.Tool)
	if call, ok := p.servers[b.CallID]; ok {
		if asked := p.blocks[call].Family; own == 0 && asked != mcpFamily || asked == 0 {
			return asked
		}
	}
	return own
}

// fileBlock adds a block of a kind, whose body is that of a field if that is there.
func (p *parser) fileBlock(b transcript.Block, at place, k transcript.Kind, body field) {
	if b.Kind = k; body.given() {
		b.Body = tspan(body.span)
	}
	p.block(b, at)
}

// addServerBlock files a call that a server carries out, or its result.
func (p *parser) addServerBlock(b transcript.Block, at place, t string, f *blockFields) {
	tool, answers := strings.CutSuffix(t, "_tool_result")
	if answers {
		b.CallID, b.Tool = p.text(f.useID), tool
		b.Family = p.answeringFamily(&b)
	} else {
		b.CallID, b.Tool = p.text(f.id), p.text(f.name)
		b.Family = hostedFamily(b.Tool)
	}
	mcp := t == "mcp_tool_use" || t == "mcp_tool_result"
	if mcp {
		b.Family = mcpFamily
	}
	if answers {
		p.fileBlock(b, at, transcript.ServerResult, f.content)
	} else {
		p.fileBlock(b, at, transcript.ServerCall, f.input)
		if p.servers == nil {
			p.servers = make(map[string]transcript.BlockID)
		}
		p.servers[b.CallID] = transcript.BlockID(len(p.blocks) - 1)
	}
	if !mcp && !serverID(b.CallID) {
		p.noteBlock(serverIDFormat, "", b.CallID)
	}
	if !answers {
		return
	}
	p.referenceNotes(f)
	for _, i := range f.nested.bare {
		p.noteBlock(encryptedMissing, "content."+strconv.Itoa(i), "")
	}
}

// thinkingNotes notes what is odd about thinking.
func (p *parser) thinkingNotes(t string, f *blockFields) {
	if t == "thinking" && !f.signature.isSignature() {
		p.noteBlock(signatureMissing, "", "")
	}
	switch {
	case t == "thinking" && f.thinking.absent():
		p.noteBlock(thinkingTextMissing, "", "")
	case t == "redacted_thinking" && f.data.absent():
		p.noteBlock(fieldMissing, "", "data")
	}
	if f.cache {
		p.noteBlock(cacheMarkThinking, "", "")
	}
}

// addAnthropicBlock files the block and notes what is odd about it.
func (p *parser) addAnthropicBlock(j int, span transcript.Span, f *blockFields) {
	b := transcript.Block{Span: span, Body: span}
	at := place{inContent, int32(j)}
	t := p.symbol(f.typ)
	add := func(k transcript.Kind, body field) { p.fileBlock(b, at, k, body) }
	switch {
	case t == "text":
		add(transcript.Text, f.text)
		p.textNotes(f)
	case t == "thinking", t == "redacted_thinking":
		add(transcript.Thinking, f.thinking)
		p.thinkingNotes(t, f)
	case t == "tool_use":
		b.CallID, b.Tool = p.text(f.id), p.text(f.name)
		add(transcript.Call, f.input)
		p.callNotes(f, b.CallID)
	case t == "tool_result":
		b.CallID, b.Tool = p.text(f.useID), p.text(f.name) // some programs keep the name of the tool
		b.Failed = p.isTrue(f.isError)
		add(transcript.Result, f.content)
		p.resultNotes(f, b.CallID, b.Failed)
	case t == "server_tool_use", t == "mcp_tool_use", strings.HasSuffix(t, "_tool_result"):
		p.addServerBlock(b, at, t, f)
	case t == "image", t == "document", t == "container_upload":
		add(transcript.Media, field{})
		if f.hollow {
			p.noteBlock(hollowMedia, "", t)
		}
	case t == "search_result":
		add(transcript.Media, field{})
		p.noteBlock(citationsMixed, "", strconv.FormatBool(f.citations))
	case t == "tool_addition", t == "tool_removal":
		b.Tool = p.text(f.tool)
		add(transcript.Other, field{})
		switch {
		case f.defines:
			p.noteBlock(toolDefined, "", b.Tool)
		case b.Tool != "": // and not a whole set of tools
			p.noteBlock(toolChangeUnknown, "", b.Tool)
			if t == "tool_addition" {
				p.noteBlock(toolAdded, "", b.Tool)
			}
		}
	case t == "compaction":
		kind := transcript.Other // one that failed stands for nothing
		if readable := !f.content.absent() && !f.content.empty(); readable || !f.encrypted.absent() && !f.encrypted.empty() {
			kind = transcript.Compaction
			if !readable {
				f.content = field{}
			}
		}
		add(kind, f.content)
		p.compactionNotes(f)
	case t == "image_url", t == "input_image":
		add(transcript.Media, field{})
		p.noteBlock(chatBlock, "", t)
	case t == "input_text", t == "output_text":
		add(transcript.Text, f.text)
		p.noteBlock(chatBlock, "", t)
	case t == "fallback":
		add(transcript.Other, field{})
		p.noteBlock(thinkingBeforeFallback, "", "")
	default:
		add(transcript.Other, field{})
		switch {
		case f.typ.absent():
			p.noteBlock(typeMissing, "", "")
		case f.typ.kind != jsonspan.String:
			p.noteBlock(wrongType, "type", "expected a string, found "+f.typ.kind.String())
		}
	}
	p.sharedNotes(t, f)
}
