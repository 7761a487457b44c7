package dialect

import (
	"slices"
	"strings"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
)

// responsesGrammar is OpenAI's Responses API.
var responsesGrammar = grammar{
	name: "openai-responses", list: "input", blocks: inContent, flat: true, discipline: transcript.Anywhere, stringList: true, assistant: "assistant",
	types: responsesTypes,
	apart: true, joins: [transcript.Tool + 1]bool{transcript.Assistant: true, transcript.Tool: true},
	roles:   []namedRole{{"user", transcript.User}, {"assistant", transcript.Assistant}, {"system", transcript.System}, {"developer", transcript.System}},
	idLimit: 64, nameLimit: 64,
	remote:    []string{"previous_response_id", "conversation", "prompt"},
	endpoints: []endpoint{{end: "/responses"}},
	tells: tells{
		element: []memberTell{{"call_id", textOrList}, {"encrypted_content", textOrList}, {"summary", textOrList}},
		items:   []typeTell{{typ: "reasoning"}, {typ: "item_reference"}, {typ: "compaction_trigger"}, {typ: "additional_tools"}, {typ: "*_call"}, {typ: "*_call_output"}, {typ: "mcp_*"}, {typ: "program*"}},
		types:   []string{"input_text", "output_text", "input_image", "input_file"},
	},
	foreign: map[string]string{"user_input": interactionSteps, "model_output": interactionSteps, "function_result": interactionSteps, "thought": interactionSteps},
	words: pairWords{
		ids:    []string{"id", "call_id", "approval_request_id"},
		call:   []string{"input", "action", "operation", "server_label", "code", "fingerprint"},
		result: []string{"output", "reason", "error", "result"},
	},
	rules:  responsesRules,
	speech: responses{},
}

type responses struct{ common }

// Families of calls on the Responses API. A result answers a call of its own
// family; which one a function_call_output is of is for [parser.answered] to say.
const (
	functionFamily uint8 = 1 + iota
	localShellFamily
	toolSearchFamily
	customFamily
	shellFamily
	patchFamily
	computerFamily
	programFamily
	approvalFamily
	agentFamily
)

// itemFields are the members of an item that rules look at.
type itemFields struct {
	itemHead
	approval, args, output, status, content, summary, encrypted, execution, checks, acknowledged, caller field
	plain                                                                                                bool // content holds something
	others                                                                                               bool // it has members beside its type, its role and its content
	tools                                                                                                []string
}

// element reads one item of OpenAI's Responses API.
func (responses) element(p *parser) {
	start := p.Offset()
	p.startMessage(transcript.Assistant, start, 0)
	i := len(p.messages) - 1
	var f itemFields
	for k := range p.members {
		p.responsesField(k, &f, i)
	}
	span := p.since(start)
	t := p.symbol(f.typ)
	if t == "" || t == "message" {
		p.closeResponsesMessage(i, span, &f)
		return
	}
	p.closeItem(i, span, t, &f)
}

// slot is where the value of a member is kept that is not looked into; nil if it is not one
// of these.
func (f *itemFields) slot(name []byte) *field {
	if slot := f.itemHead.slot(name); slot != nil {
		return slot
	}
	switch string(name) {
	case "approval_request_id":
		return &f.approval
	case "arguments", "input", "code":
		return &f.args
	case "output":
		return &f.output
	case "status":
		return &f.status
	case "summary":
		return &f.summary
	case "encrypted_content":
		return &f.encrypted
	case "execution":
		return &f.execution
	case "pending_safety_checks":
		return &f.checks
	case "acknowledged_safety_checks":
		return &f.acknowledged
	}
	return nil
}

// responsesField reads one member.
func (p *parser) responsesField(name []byte, f *itemFields, i int) {
	f.others = f.others || !ofMessage(name)
	if slot := f.slot(name); slot != nil {
		*slot = p.value()
		return
	}
	switch string(name) {
	case "tools":
		f.tools = p.toolNames()
	case "caller":
		f.caller = p.member("caller_id")
	case "content":
		p.dropBlocks(i)
		f.content, f.plain = p.responsesContent()
	case "tool_calls":
		if p.value().kind == jsonspan.Array {
			p.note(chatCalls, -1, "tool_calls", "")
		}
	default:
		p.Skip()
	}
}

// ofMessage reports whether a member is one of those that every message has.
func ofMessage(name []byte) bool {
	return string(name) == "role" || string(name) == "content" || string(name) == "type"
}

// responsesContent reads content: a string or a list of parts.
func (p *parser) responsesContent() (f field, plain bool) {
	if p.Peek() != jsonspan.Array {
		f = p.value()
		return f, f.kind == jsonspan.String && !f.empty()
	}
	start := p.Offset()
	p.Enter()
	for j := 0; p.Element(); j++ {
		plain = true
		p.responsesPart(j)
	}
	return field{jsonspan.Array, p.since(start)}, plain
}

func (p *parser) responsesPart(j int) {
	w := place{inContent, int32(j)}
	t, text, b, ok := p.typedPart(w)
	if !ok {
		return
	}
	switch t {
	case "input_text", "output_text", "text", "refusal", "summary_text", "reasoning_text":
		b.Kind, b.Body = transcript.Text, textBody(text, b.Span)
	case "input_image", "input_file", "input_audio", "image_url":
		b.Kind = transcript.Media
	}
	p.block(b, w)
	if t == "text" || t == "image_url" {
		p.noteBlock(chatPart, "", t)
	}
	if strings.HasPrefix(t, "input_") {
		p.noteBlock(partType, "", t)
	}
}

// closeResponsesMessage files an item that is a message.
func (p *parser) closeResponsesMessage(i int, span jsonspan.Span, f *itemFields) {
	if f.typ.given() && f.typ.kind != jsonspan.String {
		p.note(wrongType, -1, "type", "expected a string, found "+f.typ.kind.String())
	}
	if !f.others {
		p.extra[i] |= holdsOnly
	}
	p.closeRole(i, f.role)
	m := &p.messages[i]
	m.Turn = p.turnOf(m.Role)
	p.frame[i].content = f.content.whole()
	switch f.content.kind {
	case jsonspan.String:
		p.stringContent(f.content)
	case jsonspan.Array:
	case jsonspan.Invalid, jsonspan.Null:
		if f.role.kind == jsonspan.String || p.is(f.typ, "message") { // otherwise it need not be a message
			p.note(nullContentFault, -1, "", "")
		}
	default:
		p.note(wrongType, -1, "content", "expected a string or a list, found "+f.content.kind.String())
	}
	if m.Role != transcript.Assistant {
		// Only the assistant may not speak in input parts.
		from := len(p.notes)
		for from > 0 && p.notes[from-1].message == int32(i) {
			from--
		}
		p.notes = append(p.notes[:from], slices.DeleteFunc(p.notes[from:], func(n note) bool { return n.fault == partType })...)
		p.modelsParts(i)
	} else if f.id.given() {
		p.itemID(f.id, "msg_")
	}
	if f.id.kind == jsonspan.String && f.id.span.Len() > 0 {
		p.note(repeatedItemID, -1, "", p.text(f.id))
	}
	p.endMessage(span, m.Role == transcript.User)
}

// closeItem files an item that is no message; the item is the block.
func (p *parser) closeItem(i int, span jsonspan.Span, t string, f *itemFields) {
	p.dropBlocks(i)
	kind := findType(responsesTypes, t)
	b := transcript.Block{Kind: kind.kind, Family: kind.family, Span: tspan(span), Body: tspan(span), CallID: p.text(f.callID), Tool: p.text(f.name)}
	if b.Kind == transcript.Call && b.Tool == "" && t != "function_call" {
		b.Tool = strings.TrimSuffix(t, "_call") // shells and the like have no name
	}
	m := &p.messages[i]
	body := f.args
	switch {
	case kind.family == approvalFamily && b.Kind == transcript.Call:
		b.CallID = p.text(f.id)
	case kind.family == approvalFamily:
		b.CallID = p.text(f.approval)
	case kind.family == localShellFamily:
		b.CallID = p.shellID(b, f)
	case t == "tool_search_call" && !p.is(f.execution, "client"):
		// Run by the provider; what follows may or may not hold its output.
		b.Kind = transcript.Other
	case t == "tool_search_output" && !p.is(f.execution, "client"):
		b.Kind = transcript.Other
	case b.Kind == transcript.Compaction:
		if f.encrypted.absent() || f.encrypted.empty() {
			if body = compactionBody(f.summary, f.content); !body.given() {
				b.Kind = transcript.Other // it stands for nothing
			}
		}
	}
	switch b.Kind {
	case transcript.Result:
		m.Role, body = transcript.Tool, f.output
		b.Family, b.Failed = p.answered(t, b), p.is(f.status, "failed")
	case transcript.ServerResult: // the provider's own agents; the model's turn goes on
		body = f.output
	}
	if body.given() {
		b.Body = tspan(body.span)
	}
	m.Turn = p.turnOf(m.Role)
	p.block(b, place{in: inMessage})
	p.ask(b)
	p.itemNotes(t, kind, f)
	p.reasoningTie(i, t, f)
	p.endMessage(span, false)
}

// compactionBody is the first of several members that holds the words of a compaction; none if nothing does.
func compactionBody(members ...field) field {
	for _, m := range members {
		if !m.absent() && !m.empty() && m.kind != jsonspan.Object {
			return m
		}
	}
	return field{}
}

// shellID is the id by which a call of a local shell and its output are paired. The output
// may have no call_id: then its id is that of the call, or of the call's item.
func (p *parser) shellID(b transcript.Block, f *itemFields) string {
	switch id := p.text(f.id); {
	case id == "":
	case b.Kind == transcript.Call:
		if p.shells == nil {
			p.shells = make(map[string]string)
		}
		p.shells[id] = b.CallID
	case f.callID.absent() && p.shells[id] != "":
		return p.shells[id]
	case f.callID.absent():
		return id
	}
	return b.CallID
}

// askers are the calls of one id that a function_call_output may answer: clients answer
// local shells and tool searches with one, too.
type askers struct {
	open []uint8 // families of those without an answer, in order
	last uint8   // of the one answered last
}

// answered is the family of the call that an item answers: of those with its id, the first
// that is still open.
func (p *parser) answered(t string, b transcript.Block) uint8 {
	if a := p.asked[b.CallID]; a != nil && t == "function_call_output" {
		if len(a.open) > 0 {
			return a.open[0]
		}
		return a.last
	}
	return b.Family
}

// ask keeps the askers up to date. They are kept from the first call on that is no function
// and may be answered like one.
func (p *parser) ask(b transcript.Block) {
	if b.Family < functionFamily || b.Family > toolSearchFamily || b.Kind != transcript.Call && b.Kind != transcript.Result {
		return
	}
	if p.asked == nil {
		if b.Family == functionFamily || b.Kind != transcript.Call {
			return
		}
		p.asked = make(map[string]*askers)
		for _, before := range p.blocks[:len(p.blocks)-1] {
			p.ask(before)
		}
	}
	a := p.asked[b.CallID]
	if a == nil {
		a = &askers{last: functionFamily}
		p.asked[b.CallID] = a
	}
	if b.Kind == transcript.Call {
		a.open = append(a.open, b.Family)
	} else if i := slices.Index(a.open, b.Family); i >= 0 {
		a.open, a.last = slices.Delete(a.open, i, i+1), b.Family
	}
}

func (responses) freeForm(_ *Request, blk *transcript.Block) bool {
	return blk.Family == customFamily
}

// takesText reports whether an item holds plain text. Its family tells its type, as far as
// that matters: the item may be long.
func (responses) takesText(r *Request, blk transcript.Block) bool {
	switch blk.Family {
	case functionFamily, customFamily:
		return true
	case localShellFamily:
		return blk.Kind == transcript.Result
	case toolSearchFamily:
		return blk.Kind == transcript.Result && r.memberIs(blk.Span, "type", "function_call_output")
	}
	return false
}

func (responses) textBlock(role transcript.Role, raw []byte) []byte {
	if role == transcript.Assistant {
		return object("type", "output_text", "text", raw)
	}
	return object("type", "input_text", "text", raw)
}
