package dialect

import (
	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
)

// bedrockGrammar is the Converse API of AWS Bedrock.
var bedrockGrammar = grammar{
	name: "bedrock", list: "messages", blocks: inContent, nested: true, modelInURL: true, addsTools: true, marksFailure: true, assistant: "assistant",
	types: bedrockTypes, keyed: true,
	apart: true, joins: [transcript.Tool + 1]bool{transcript.System: true, transcript.User: true, transcript.Assistant: true, transcript.Tool: true},
	roles:   []namedRole{{"user", transcript.User}, {"assistant", transcript.Assistant}, {"system", transcript.System}},
	idLimit: 64, nameLimit: 64,
	endpoints: []endpoint{{end: "/converse"}, {end: "/converse-stream"}},
	tells: tells{
		body:   []string{"modelId", "inferenceConfig", "additionalModelRequestFields"},
		behind: []string{"toolConfig"}, // Gemini has one too
		blocks: []string{"toolUse", "toolResult", "reasoningContent", "cachePoint", "citationsContent", "guardContent"},
	},
	words:  pairWords{ids: []string{"toolUseId"}},
	rules:  bedrockRules,
	speech: bedrock{},
}

type bedrock struct{ common }

// element reads one message of AWS Bedrock's Converse API.
func (bedrock) element(p *parser) {
	start := p.Offset()
	p.startMessage(transcript.Unknown, start, 0)
	i := len(p.messages) - 1
	var role, content field
	for k := range p.members {
		switch string(k) {
		case "role":
			role = p.value()
		case "content":
			p.dropBlocks(i)
			content = p.parts(inContent, (*parser).bedrockBlock)
		default:
			p.Skip()
		}
	}
	p.closeRole(i, role)
	p.closeList(i, content, "content")
	p.tieThinking(i)
	p.endMessage(p.since(start), p.speaks(i))
}

// bedrockBlock reads one block. It is what its member is called.
func (p *parser) bedrockBlock(w place) {
	at := p.Offset()
	if p.stray(w) {
		return
	}
	b := transcript.Block{}
	var notes func()
	for k := range p.members {
		switch string(k) {
		case "text":
			f := p.value()
			b.Kind, b.Body = transcript.Text, textBody(f, b.Body)
			notes = func() { p.bedrockText(f) }
		case "toolUse":
			notes = p.bedrockUse(&b)
		case "toolResult":
			notes = p.bedrockResult(&b)
		case "reasoningContent":
			b.Kind = transcript.Thinking
			notes = p.bedrockReasoning()
		case "cachePoint":
			p.Skip()
			notes = func() { p.noteBlock(tooManyCacheMarks, "", "5m") }
		case "document", "video":
			hollow := p.bedrockHollow()
			b.Kind = transcript.Media
			notes = func() {
				p.noteBlock(mixedMedia, "", "")
				hollow()
			}
		case "toolAddition", "toolRemoval":
			notes = p.bedrockToolChange(&b, string(k) == "toolAddition")
		case "image", "audio":
			notes = p.bedrockHollow()
			b.Kind = transcript.Media
		case "searchResult":
			p.Skip()
			b.Kind = transcript.Media
		default:
			p.Skip()
		}
	}
	b.Span = tspan(p.since(at))
	p.block(b, w)
	if notes != nil {
		notes()
	}
}

// bedrockHollow reads media and returns what to note if its bytes should be here and are not.
func (p *parser) bedrockHollow() func() {
	source := p.member("source")
	if source.kind == jsonspan.Object {
		if m, ok := jsonspan.Find(p.raw, source.span, "bytes"); ok && string(p.raw[m.Value.Start:m.Value.End]) == `""` {
			return func() { p.noteBlock(hollowMedia, "", "") }
		}
	}
	return func() {}
}

// bedrockToolChange reads what makes a declared tool available from here on, or takes it
// away, and returns what to note about it.
func (p *parser) bedrockToolChange(b *transcript.Block, adds bool) func() {
	name := ""
	if p.Peek() != jsonspan.Object {
		p.Skip()
		return nil
	}
	for k := range p.members {
		if string(k) == "tool" {
			f := p.member("name")
			name = p.text(f)
			continue
		}
		p.Skip()
	}
	b.Kind, b.Tool = transcript.Other, name
	if name == "" { // a whole server of tools
		return nil
	}
	return func() {
		p.noteBlock(toolChangeUnknown, "", name)
		if adds {
			p.noteBlock(toolAdded, "", name)
		}
	}
}

func (p *parser) bedrockText(f field) {
	p.wantString(&f, len(p.blocks)-1, "text")
	if f.absent() || p.blank(f) {
		p.noteBlock(blankTextBlock, "", "")
	}
}

// bedrockUse reads a call and returns what to note about it.
func (p *parser) bedrockUse(b *transcript.Block) func() {
	*b = transcript.Block{Kind: transcript.Call}
	if k := p.Peek(); k != jsonspan.Object {
		p.Skip()
		b.Kind = transcript.Other
		return func() { p.noteBlock(wrongType, "toolUse", "expected an object, found "+k.String()) }
	}
	var id, name, input, typ field
	for k := range p.members {
		switch string(k) {
		case "toolUseId":
			id = p.value()
		case "name":
			name = p.value()
		case "input":
			input = p.value()
		case "type":
			typ = p.value()
		default:
			p.Skip()
		}
	}
	if p.is(typ, "server_tool_use") {
		b.Kind = transcript.ServerCall
	}
	b.CallID, b.Tool = p.text(id), p.text(name)
	if input.given() {
		b.Body = tspan(input.span)
	}
	tool := b.Tool
	return func() {
		n := len(p.blocks) - 1
		p.wantString(&id, n, "toolUse.toolUseId")
		p.wantString(&name, n, "toolUse.name")
		if id.absent() {
			p.noteBlock(callIDMissing, "", "toolUseId")
		}
		p.bedrockID(id)
		if name.absent() || !plainID(tool) || len(tool) > 64 {
			p.noteBlock(nameFormat, "", tool)
		}
		if input.kind != jsonspan.Object {
			p.noteBlock(argsNotObject, "", input.kind.String())
		}
	}
}

func (p *parser) bedrockID(f field) {
	if f.kind != jsonspan.String {
		return
	}
	switch id := p.text(f); {
	case len(id) > 64:
		p.noteBlock(idTooLong, "", id)
	case !plainID(id):
		p.noteBlock(idAlphabet, "", id)
	}
}

// bedrockResult reads a result and returns what to note about it.
func (p *parser) bedrockResult(b *transcript.Block) func() {
	*b = transcript.Block{Kind: transcript.Result}
	if k := p.Peek(); k != jsonspan.Object {
		p.Skip()
		b.Kind = transcript.Other
		return func() { p.noteBlock(wrongType, "toolResult", "expected an object, found "+k.String()) }
	}
	var id, status, content, typ field
	items, list := 0, 0
	for k := range p.members {
		switch string(k) {
		case "toolUseId":
			id = p.value()
		case "status":
			status = p.value()
		case "content":
			content, items, list = p.bedrockResultContent()
		case "type":
			typ = p.value()
		default:
			p.Skip()
		}
	}
	if !typ.absent() { // only results of the provider's own tools are typed
		b.Kind = transcript.ServerResult
	}
	b.CallID, b.Failed = p.text(id), p.is(status, "error")
	if content.given() {
		b.Body = tspan(content.span)
	}
	failed := b.Failed
	return func() {
		p.wantString(&id, len(p.blocks)-1, "toolResult.toolUseId")
		if id.absent() {
			p.noteBlock(idMissing, "", "")
		}
		p.bedrockID(id)
		if failed && items == 0 {
			p.noteBlock(emptyErrorResult, "", "")
		}
		if list > 0 {
			p.noteBlock(resultNotObject, "", "")
		}
		if status.given() {
			p.noteBlock(statusField, "toolResult.status", "")
		}
		if !content.absent() && content.kind != jsonspan.Array {
			p.noteBlock(wrongType, "toolResult.content", "expected a list, found "+content.kind.String())
		}
	}
}

// bedrockResultContent counts the items of a result and those whose json is not
// an object.
func (p *parser) bedrockResultContent() (f field, items, notObject int) {
	if p.Peek() != jsonspan.Array {
		return p.value(), 0, 0
	}
	start := p.Offset()
	p.Enter()
	for p.Element() {
		items++
		if j := p.member("json"); j.given() && j.kind != jsonspan.Object {
			notObject++
		}
	}
	return field{jsonspan.Array, p.since(start)}, items, notObject
}

// bedrockReasoning reads reasoning and returns what to note about it.
func (p *parser) bedrockReasoning() func() {
	unsigned, wordless := false, false
	for k := range p.object {
		if string(k) != "reasoningText" {
			p.Skip()
			continue
		}
		var text, signature field
		for k := range p.object {
			switch string(k) {
			case "text":
				text = p.value()
			case "signature":
				signature = p.value()
			default:
				p.Skip()
			}
		}
		unsigned, wordless = !signature.isSignature(), text.absent()
	}
	if !unsigned && !wordless {
		return nil
	}
	return func() {
		if unsigned {
			p.noteBlock(signatureMissing, "", "")
		}
		if wordless {
			p.noteBlock(thinkingTextMissing, "", "")
		}
	}
}

func (bedrock) textBlock(_ transcript.Role, raw []byte) []byte { return object("text", raw) }

func (bedrock) textMessage(role transcript.Role, text string) []byte {
	return object("role", role.String(), "content", array(object("text", text)))
}
