package dialect

import (
	"slices"
	"strings"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
)

// interactionsGrammar is Google's Interactions API: a list of steps, each by itself.
var interactionsGrammar = grammar{
	name: "gemini-interactions", list: "input", blocks: inContent, flat: true, typed: true, stringList: true, objectList: true,
	marksFailure: true, namesResults: true, assistant: "model",
	types: interactionsTypes,
	apart: true, joins: [transcript.Tool + 1]bool{transcript.Assistant: true, transcript.Tool: true},
	roles:   []namedRole{{"user", transcript.User}, {"model", transcript.Assistant}},
	idLimit: 64, nameLimit: 64,
	remote:     []string{"continuation_token"},
	shows:      [][2]string{{"result", "function_result"}, {"arguments", "function_call"}, {"summary", "thought"}, {"text", "text"}},
	showsMedia: [][2]string{{"image/", "image"}, {"audio/", "audio"}, {"video/", "video"}, {"application/pdf", "document"}, {"text/", "document"}},
	endpoints:  []endpoint{{end: "/interactions"}},
	tells: tells{
		body:  []string{"previous_interaction_id", "continuation_token", "agent_config", "webhook_config"},
		steps: append([]string{"user_input", "model_output", "thought", "function_result"}, servedSteps("file_search")...),
	},
	foreign: map[string]string{
		"message": responsesItems, "reasoning": responsesItems, "function_call_output": responsesItems, "item_reference": responsesItems,
		"custom_tool_call": responsesItems, "custom_tool_call_output": responsesItems, "input_text": responsesItems, "output_text": responsesItems,
	},
	words:  pairWords{ids: []string{"id", "call_id"}, result: []string{"result"}, resultName: true},
	rules:  interactionsRules,
	speech: interactions{},
}

type interactions struct{ common }

// servedTools are the tools that Google runs.
var servedTools = []string{"code_execution", "url_context", "google_search", "google_maps", "file_search", "retrieval", "processing", "mcp_server_tool"}

// servedSteps are the types of the steps of all tools but those that another dialect has,
// too.
func servedSteps(but ...string) (all []string) {
	for _, tool := range servedTools {
		if !slices.Contains(but, tool) {
			all = append(all, tool+"_call", tool+"_result")
		}
	}
	return all
}

// serverFamily is the first family of a provider's own tools, behind those of Responses.
const serverFamily = 32

// stepFields are the members of a step, or of a part of one, that rules look at.
type stepFields struct {
	itemHead
	args, result, isError, signature, text, content, summary, encrypted field
	failed                                                              bool // the result says so
	items                                                               bool // the result is a list of parts
}

// element reads one step, one part of what the user says, or a turn as the API took it
// before June 2026.
func (interactions) element(p *parser) {
	start := p.Offset()
	p.startMessage(transcript.Assistant, start, 0)
	i := len(p.messages) - 1
	var f stepFields
	for k := range p.members {
		if string(k) == "content" {
			p.dropBlocks(i)
			f.content = p.stepContent()
			continue
		}
		p.stepField(k, &f)
	}
	span := p.since(start)
	switch t := p.symbol(f.typ); {
	case t == "user_input":
		p.closeStep(i, span, transcript.User, &f)
	case t == "model_output":
		p.closeStep(i, span, transcript.Assistant, &f)
	case t == "" && (f.role.given() || f.content.given()):
		p.closeTurn(i, span, &f)
	default:
		p.dropBlocks(i)
		p.closeBlock(i, span, t, &f)
	}
}

// stepField reads one member of a step or of a part.
func (p *parser) stepField(name []byte, f *stepFields) {
	if slot := f.itemHead.slot(name); slot != nil {
		*slot = p.value()
		return
	}
	switch string(name) {
	case "arguments":
		f.args = p.value()
	case "is_error":
		f.isError = p.value()
	case "signature":
		f.signature = p.value()
	case "text":
		f.text = p.value()
	case "summary":
		f.summary = p.value()
	case "encrypted_content":
		f.encrypted = p.value()
	case "result":
		p.stepResult(f)
	default:
		p.Skip()
	}
}

// stepResult reads what a tool returned: a text, an object or a list of parts.
func (p *parser) stepResult(f *stepFields) {
	f.failed, f.items = false, false
	switch p.Peek() {
	case jsonspan.Object:
		f.result, f.failed = p.outcome()
	case jsonspan.Array:
		start := p.Offset()
		f.items = true
		p.Enter()
		for p.Element() {
			if typ := p.member("type"); typ.kind != jsonspan.String {
				f.items = false
			}
		}
		f.result = field{jsonspan.Array, p.since(start)}
	default:
		f.result = p.value()
	}
}

// stepContent reads the content of a step: a list of parts, one part, or a string.
func (p *parser) stepContent() field {
	if p.Peek() != jsonspan.Object {
		return p.parts(inContent, (*parser).stepPart)
	}
	start := p.Offset()
	p.stepPart(place{in: inString})
	return field{jsonspan.Object, p.since(start)}
}

// stepPart reads one part of a step's content. In turns these were all that steps are now.
func (p *parser) stepPart(w place) {
	at := p.Offset()
	if p.stray(w) {
		return
	}
	var f stepFields
	for k := range p.members {
		p.stepField(k, &f)
	}
	p.stepBlock(p.since(at), p.symbol(f.typ), &f, w)
}

// stepBlock files a step, or a part, that is one block.
func (p *parser) stepBlock(span jsonspan.Span, t string, f *stepFields, w place) {
	kind := findType(interactionsTypes, t)
	b := transcript.Block{Kind: kind.kind, Family: kind.family, Span: tspan(span), Body: tspan(span)}
	body := field{}
	switch b.Kind {
	case transcript.Call, transcript.ServerCall:
		b.CallID, b.Tool, body = p.first(f.id, f.callID), p.text(f.name), f.args
		if b.Tool == "" && b.Kind == transcript.ServerCall {
			b.Tool = strings.TrimSuffix(t, "_call")
		}
	case transcript.Result:
		b.CallID, b.Tool, body = p.first(f.callID, f.id), p.text(f.name), f.result
		b.Failed = f.failed || p.isTrue(f.isError)
	case transcript.ServerResult:
		b.CallID, b.Tool = p.text(f.callID), p.text(f.name)
		b.Failed = p.isTrue(f.isError)
	case transcript.Text:
		if f.text.kind == jsonspan.String {
			body = f.text
		}
	case transcript.Compaction:
		body = compactionBody(f.summary, f.content, f.text)
		if f.encrypted.isSignature() {
			body = field{} // nobody but the provider can read it
		} else if !body.given() && !f.signature.isSignature() {
			b.Kind = transcript.Other // it stands for nothing
		}
	}
	if body.given() {
		b.Body = tspan(body.span)
	}
	p.block(b, w)
	p.stepNotes(t, f)
}

// first is the text of the first field that has one.
func (p *parser) first(fields ...field) string {
	for _, f := range fields {
		if t := p.text(f); t != "" {
			return t
		}
	}
	return ""
}

// stepNotes notes what rules look at.
func (p *parser) stepNotes(t string, f *stepFields) {
	n := len(p.blocks) - 1
	b := &p.blocks[n]
	if t == "" {
		if f.typ.absent() {
			p.noteBlock(typeMissing, "", "")
		} else {
			p.wantString(&f.typ, n, "type")
		}
	}
	switch b.Kind {
	case transcript.Call:
		p.wantString(&f.id, n, "id")
		p.wantString(&f.name, n, "name")
		p.stepID(f.id, f.callID, "id", "call_id", callIDMissing)
		if f.name.absent() || f.name.empty() {
			p.noteBlock(nameEmpty, "", "")
		}
		if f.args.kind != jsonspan.Object {
			p.noteBlock(argsNotObject, "", f.args.kind.String())
		}
	case transcript.Result:
		p.wantString(&f.callID, n, "call_id")
		p.wantString(&f.name, n, "name")
		p.stepID(f.callID, f.id, "call_id", "id", idMissing)
		if f.name.absent() || f.name.empty() {
			p.noteBlock(nameMissing, "", "")
		}
		if k := f.result.kind; k != jsonspan.String && k != jsonspan.Object && !f.items {
			p.noteBlock(resultNotObject, "", k.String())
		}
	case transcript.Text:
		switch {
		case f.text.absent() || f.text.empty():
			p.noteBlock(emptyText, "", "")
		default:
			p.wantString(&f.text, n, "text")
		}
		p.strangerID(f.id)
	case transcript.Thinking:
		if f.signature.isSignature() {
			p.noteBlock(thoughtSignatureMissing, "", "signed")
		}
		p.strangerID(f.id)
	case transcript.Media:
		p.strangerID(f.id)
	}
}

// stepID notes an id that is missing, that stands under the other half's name, or both.
func (p *parser) stepID(own, other field, name, strange string, missing fault) {
	switch {
	case own.kind == jsonspan.String && !own.empty(), !own.absent() && own.kind != jsonspan.String:
		if other.given() {
			p.noteBlock(foreignBlockMember, strange, strange)
		}
	case other.kind == jsonspan.String && !other.empty():
		p.noteBlock(idUnderOtherName, "", strange)
	default:
		p.noteBlock(missing, "", name)
	}
}

// strangerID notes an id on something that has none.
func (p *parser) strangerID(id field) {
	if id.given() {
		p.noteBlock(foreignBlockMember, "id", "id")
	}
}

// closeStep files a step that holds parts.
func (p *parser) closeStep(i int, span jsonspan.Span, role transcript.Role, f *stepFields) {
	p.messages[i].Role = role
	if f.id.given() {
		p.note(foreignMember, -1, "id", "id")
	}
	p.closeParts(i, f)
	p.endStep(i, span, false)
}

// closeTurn files a turn of the schema that steps have replaced.
func (p *parser) closeTurn(i int, span jsonspan.Span, f *stepFields) {
	p.closeRole(i, f.role)
	p.note(turnList, -1, "", "")
	p.closeParts(i, f)
	p.tieThinking(i)
	p.endStep(i, span, false)
}

// closeParts notes what the content of a step is.
func (p *parser) closeParts(i int, f *stepFields) {
	p.frame[i].content = f.content.whole()
	switch f.content.kind {
	case jsonspan.String:
		p.stringContent(f.content)
	case jsonspan.Array:
		if p.messages[i].First == transcript.BlockID(len(p.blocks)) {
			p.extra[i] |= emptyList
		}
	case jsonspan.Invalid, jsonspan.Null:
		p.extra[i] |= emptyList
	case jsonspan.Object:
	default:
		p.note(wrongType, -1, "content", "expected a list, found "+f.content.kind.String())
	}
}

// closeBlock files a step that is one block. A part that stands in the list by itself is
// the user's, and all that stand in a row are one turn.
func (p *parser) closeBlock(i int, span jsonspan.Span, t string, f *stepFields) {
	loose := false
	switch findType(interactionsTypes, t).kind {
	case transcript.Result:
		p.messages[i].Role = transcript.Tool
	case transcript.Text, transcript.Media:
		p.messages[i].Role, loose = transcript.User, true
	}
	p.stepBlock(span, t, f, place{in: inMessage})
	p.leadingThought(i)
	p.endStep(i, span, loose)
}

// leadingThought makes calls need the thought in front of them, which is signed for them: one
// of the same turn, which may begin with an answer.
func (p *parser) leadingThought(i int) {
	b := transcript.BlockID(len(p.blocks) - 1)
	switch {
	case i == 0:
		p.thought = 0
	case p.thought > 0:
		before, of := &p.messages[i-1], &p.messages[p.blocks[p.thought-1].Message]
		if before.Role != transcript.Assistant || before.Turn != of.Turn {
			p.thought = 0
		}
	}
	switch p.blocks[b].Kind {
	case transcript.Thinking:
		p.thought = len(p.blocks)
	case transcript.Call, transcript.ServerCall:
		if p.thought > 0 {
			p.ties = append(p.ties, transcript.Tie{From: b, To: transcript.BlockID(p.thought - 1)})
		}
	}
}

func (p *parser) endStep(i int, span jsonspan.Span, loose bool) {
	m := &p.messages[i]
	goesOn := loose && i > 0 && p.extra[i-1]&loosePart != 0
	if m.Turn = p.turnOf(m.Role); goesOn {
		m.Turn = p.turn
	}
	if loose {
		p.extra[i] |= loosePart
	}
	p.endMessage(span, p.speaks(i) && !goesOn)
}

func (interactions) version(p *Profile, model string) { gemini{}.version(p, model) }

func (interactions) textMessage(role transcript.Role, text string) []byte {
	return object("type", stepOf(role), "content", array(object("type", "text", "text", text)))
}

// stepOf is the type of step in which a role speaks.
func stepOf(role transcript.Role) string {
	if role == transcript.Assistant {
		return "model_output"
	}
	return "user_input"
}

// resultTokens: an object is read as the JSON that it is.
func (interactions) resultTokens(r *Request, c Counter, blk *transcript.Block) int {
	if blk.Kind == transcript.Result && blk.Body != blk.Span && !r.inString(blk.Body) && r.raw[blk.Body.Start] == '{' {
		return c.Count(r.t.Bytes(blk.Body))
	}
	return r.bodyTokens(c, blk)
}
