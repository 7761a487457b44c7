package dialect

import (
	"slices"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
)

// chatGrammar is OpenAI's Chat Completions API and its many imitations.
var chatGrammar = grammar{
	name: "openai-chat", list: "messages", blocks: inContent, nullContent: true, resultMember: "tool_call_id", assistant: "assistant",
	types: chatTypes,
	apart: true, joins: [transcript.Tool + 1]bool{transcript.Tool: true},
	roles: []namedRole{
		{"user", transcript.User}, {"assistant", transcript.Assistant}, {"system", transcript.System}, {"developer", transcript.System},
		{"tool", transcript.Tool}, {"function", transcript.Tool},
	},
	idLimit: 40, nameLimit: 64,
	endpoints: []endpoint{
		{end: "/chat/completions"},
		{end: ":rawPredict", within: "/publishers/mistralai/"}, {end: ":streamRawPredict", within: "/publishers/mistralai/"},
	},
	tells: tells{
		tools:   []string{"function"},
		roles:   []string{"tool", "developer", "function"},
		untyped: []memberTell{{"tool_calls", filledList}, {"tool_call_id", textOrList}, {"function_call", anObject}, {"reasoning_content", hintOnly}, {"refusal", hintOnly}},
		types:   []string{"image_url", "input_audio", "file", "document_url", "refusal", "video_url"},
	},
	words:  pairWords{ids: []string{"id", "tool_call_id"}, resultName: true},
	rules:  chatRules,
	speech: chat{},
}

type chat struct{ common }

// legacyFamily is that of function_call and of the messages of a function: tool_calls and
// the messages of a tool are another.
const legacyFamily uint8 = 1

// chatFields are the members of a message of the Chat Completions API.
type chatFields struct {
	role, content, callID, name, prefix, calls field
	side                                       [len(sideMembers)]field
	callItems                                  int
	legacyCall                                 bool
	others                                     bool // it has members that are not read
}

// sideMembers are the members of a message beside its content and its calls that the model reads, or that
// it wrote: each is a block.
var sideMembers = [...]struct {
	name string
	kind transcript.Kind
}{
	{"reasoning_content", transcript.Thinking},
	{"reasoning", transcript.Thinking},
	{"reasoning_details", transcript.Thinking}, // OpenRouter
	{"reasoning_text", transcript.Thinking},    // Copilot
	{"thinking", transcript.Thinking},          // Ollama
	{"thinking_blocks", transcript.Thinking},   // LiteLLM
	{"refusal", transcript.Text},
	{"audio", transcript.Media},
}

// sideMember returns which of them a name is, or -1.
func sideMember(name []byte) int {
	for i := range sideMembers {
		if sideMembers[i].name == string(name) {
			return i
		}
	}
	return -1
}

// element reads one message of OpenAI's Chat Completions API.
func (chat) element(p *parser) {
	start := p.Offset()
	p.startMessage(transcript.Unknown, start, 0)
	i := len(p.messages) - 1
	var f chatFields
	for k := range p.members {
		switch string(k) {
		case "role":
			f.role = p.value()
		case "content":
			p.forget(i, inContent)
			f.content = p.chatContent()
		case "tool_calls":
			p.forget(i, inCalls)
			f.callItems = 0
			f.calls = p.chatCalls(&f)
		case "function_call":
			p.forget(i, inFunction)
			f.legacyCall = p.chatFunctionCall()
		case "tool_call_id":
			f.callID = p.value()
		case "name":
			f.name = p.value()
		case "prefix":
			f.prefix = p.value()
		default:
			side := sideMember(k)
			if side < 0 {
				f.others = true
				p.Skip()
				continue
			}
			f.side[side] = p.value()
			if name := sideMembers[side].name; !f.side[side].absent() && reasoningFieldOf[name] != 0 {
				p.note(reasoningFieldOf[name], -1, name, "")
			}
		}
	}
	if !f.others && !f.name.given() && !f.prefix.given() {
		p.extra[i] |= holdsOnly
	}
	p.closeRole(i, f.role)
	p.closeChat(i, p.since(start), &f)
}

// forget drops the blocks of message i that an earlier member of the same name
// left: the last one counts.
func (p *parser) forget(i int, in container) {
	first := int(p.messages[i].First)
	kept := first
	for b := first; b < len(p.blocks); b++ {
		to := int32(-2) // gone
		if p.where[b].in != in {
			p.blocks[kept], p.where[kept] = p.blocks[b], p.where[b]
			to = int32(kept)
			kept++
		}
		for n := len(p.notes) - 1; to != int32(b) && n >= 0 && p.notes[n].message == int32(i); n-- {
			if p.notes[n].block == int32(b) {
				p.notes[n].block = to
			}
		}
	}
	if kept == len(p.blocks) {
		return
	}
	p.unfile(kept)
	p.notes = slices.DeleteFunc(p.notes, func(n note) bool { return n.block == -2 })
}

var reasoningFieldOf = map[string]fault{"reasoning_content": reasoningField, "reasoning": reasoningFieldPlain}

// closeChat files the parts of a message once its role is known.
func (p *parser) closeChat(i int, span jsonspan.Span, f *chatFields) {
	m := &p.messages[i]
	p.frame[i] = frame{f.content.whole(), f.calls.whole()}
	m.Turn = p.turnOf(m.Role)
	if m.Role == transcript.Tool {
		p.chatResult(i, span, f)
		p.endMessage(span, false)
		return
	}
	beside := p.chatSides(i, f)
	nothing := !beside && f.callItems == 0 && !f.legacyCall
	switch {
	case f.content.kind == jsonspan.String:
		p.stringContent(f.content)
		if f.content.empty() && nothing {
			p.note(emptyRole[m.Role], -1, "", "")
		}
	case f.content.absent():
		p.extra[i] |= nullContent
		if m.Role != transcript.Assistant || nothing {
			p.note(nullContentOf(m.Role), -1, "", "")
		}
		if nothing || m.Role != transcript.Assistant && !beside {
			p.note(emptyRole[m.Role], -1, "", "")
			if m.Role == transcript.Assistant {
				p.note(emptyAssistantNull, -1, "", "")
			}
		}
	case f.content.kind == jsonspan.Array:
		if f.content.span.Len() < 64 && len(jsonspan.Elements(p.raw, f.content.span)) == 0 {
			p.note(emptyParts, -1, "", "")
		}
	default:
		p.note(wrongType, -1, "content", "expected a string or a list, found "+f.content.kind.String())
	}
	switch {
	case f.callItems > 0 && f.content.kind == jsonspan.String && !f.content.empty():
		p.extra[i] |= besideCalls
		p.note(contentBesideCalls, -1, "", "")
	case p.extra[i]&saysBeside == 0 && p.extra[i]&(nullContent|emptyList) != 0:
		p.note(noContentElement, -1, "", "")
	}
	if f.calls.kind == jsonspan.Array && f.callItems == 0 {
		p.note(emptyCalls, -1, "tool_calls", "")
	}
	if p.isTrue(f.prefix) {
		p.extra[i] |= wantsPrefix
	}
	if f.legacyCall {
		p.note(legacyFunction, -1, "", "")
	}
	p.wantString(&f.callID, -1, "tool_call_id")
	p.chatOrder(i)
	p.tieThinking(i)
	p.endMessage(span, m.Role == transcript.User)
}

// chatSides files the members beside the content of message i, and reports whether one of them says what
// content would.
func (p *parser) chatSides(i int, f *chatFields) (says bool) {
	for k := range f.side {
		v, kind := f.side[k], sideMembers[k].kind
		if v.kind == jsonspan.String && reasoningFieldOf[sideMembers[k].name] != 0 {
			p.extra[i] |= hasReasoning // an empty one counts, as recordings show
		}
		if v.absent() || v.empty() || v.kind != jsonspan.String && saysNothing(p.bytes(v.span)) {
			continue
		}
		p.block(transcript.Block{Kind: kind, Span: v.whole(), Body: tspan(v.span)}, place{inMember, int32(k)})
		if kind != transcript.Thinking {
			says = true
			p.extra[i] |= saysBeside
		}
	}
	return says
}

// said is the order in which the members of a message are heard, however they are written:
// what the model thought, its words, its calls.
func (p place) said() int {
	switch {
	case p.in == inMember && sideMembers[p.index].kind == transcript.Thinking:
		return 0
	case p.in == inCalls || p.in == inFunction:
		return 2
	}
	return 1
}

// chatOrder files the blocks of message i, the last one, in the order in which they are heard.
// Members come in any order, and a string is filed after them.
func (p *parser) chatOrder(i int) {
	first, n := int(p.messages[i].First), len(p.blocks)
	var from [4]int // where blocks of each place in the order begin
	sorted, last := true, 0
	for _, w := range p.where[first:] {
		at := w.said()
		from[at+1]++
		sorted, last = sorted && at >= last, at
	}
	if sorted {
		return
	}
	from[0] = first
	from[1] += first
	from[2] += from[1]
	var room [16]int32
	to := room[:0]
	for _, w := range p.where[first:] {
		at := w.said()
		to = append(to, int32(from[at]))
		from[at]++
	}
	p.blocks, p.where = append(p.blocks, p.blocks[first:]...), append(p.where, p.where[first:]...)
	for b, at := range to {
		p.blocks[at], p.where[at] = p.blocks[n+b], p.where[n+b]
	}
	p.unfile(n)
	for j := len(p.notes) - 1; j >= 0 && p.notes[j].message == int32(i); j-- {
		if b := p.notes[j].block; b >= 0 {
			p.notes[j].block = to[int(b)-first]
		}
	}
}

// emptyRole is the fault of a message of a role that holds nothing.
var emptyRole = [...]fault{transcript.Unknown: emptyOther, transcript.System: emptySystem, transcript.User: emptyUser, transcript.Assistant: emptyAssistant, transcript.Tool: emptyOther}

// nullContentOf is the fault of null in the place of content: vendors differ on what
// the assistant may leave out, and on nobody else.
func nullContentOf(r transcript.Role) fault {
	if r == transcript.Assistant {
		return nullContentFault
	}
	return nullContentOther
}

// chatResult files a tool message, which is one result.
func (p *parser) chatResult(i int, span jsonspan.Span, f *chatFields) {
	// What the content was read as does not matter: the message is the block.
	media := false
	for _, b := range p.blocks[p.messages[i].First:] {
		media = media || b.Kind == transcript.Media
	}
	p.unfile(int(p.messages[i].First))
	from := len(p.notes)
	for from > 0 && p.notes[from-1].message == int32(i) {
		from--
	}
	p.notes = append(p.notes[:from], slices.DeleteFunc(p.notes[from:], func(n note) bool { return n.block >= 0 })...)
	b := transcript.Block{Kind: transcript.Result, Span: tspan(span), Body: tspan(span), CallID: p.text(f.callID), Tool: p.text(f.name)}
	if f.content.given() {
		b.Body = tspan(f.content.span)
	}
	legacy := p.is(f.role, "function")
	if legacy {
		b.Family = legacyFamily
	}
	p.block(b, place{in: inMessage})
	switch {
	case legacy && (f.name.absent() || f.name.empty()):
		p.noteBlock(functionNameMissing, "", "")
	case legacy:
	case f.callID.absent():
		p.noteBlock(idMissing, "", "")
	case f.callID.kind == jsonspan.String:
		p.chatID(b.CallID)
	}
	p.wantString(&f.callID, len(p.blocks)-1, "tool_call_id")
	switch f.content.kind {
	case jsonspan.Invalid, jsonspan.Null:
		p.noteBlock(nullContentOther, "", "")
	case jsonspan.String, jsonspan.Array:
	default:
		p.noteBlock(wrongType, "content", "expected a string or a list, found "+f.content.kind.String())
	}
	if media {
		p.noteBlock(imageInTool, "", "")
	}
	if f.name.absent() && !legacy {
		p.noteBlock(resultNameMissing, "", "")
	}
}

// chatID notes what is odd about the id of the call or result added last.
func (p *parser) chatID(id string) {
	// The limit is 40, but the catalogue's own accepted example has one more.
	if len(id) > 41 {
		p.noteBlock(idTooLong, "", itoa(len(id)))
	}
	if len(id) != 9 || !alphanumeric(id) {
		p.noteBlock(idNotNine, "", id)
	}
}

func alphanumeric(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c|0x20 < 'a' || c|0x20 > 'z') && (c < '0' || c > '9') {
			return false
		}
	}
	return true
}

// chatContent reads content: a string, null or a list of parts.
func (p *parser) chatContent() field { return p.parts(inContent, (*parser).chatPart) }

func (p *parser) chatPart(w place) {
	t, text, b, ok := p.typedPart(w)
	if !ok {
		return
	}
	switch t {
	case "text", "refusal":
		b.Kind, b.Body = transcript.Text, textBody(text, b.Span)
		p.block(b, w)
		p.wantString(&text, len(p.blocks)-1, "text")
	case "image_url", "image", "input_audio", "file", "document_url", "video_url":
		b.Kind = transcript.Media
		p.block(b, w)
		if t == "image_url" || t == "image" {
			p.noteBlock(imageUnsupported, "", "")
		}
	case "thinking", "redacted_thinking", "reasoning", "tool_use", "tool_result":
		p.block(b, w)
		p.noteBlock(foreignPart, "", t)
	default:
		p.block(b, w)
	}
}

// chatCalls reads tool_calls.
func (p *parser) chatCalls(f *chatFields) field {
	k := p.Peek()
	if k != jsonspan.Array {
		v := p.value()
		if !v.absent() {
			p.note(wrongType, -1, "tool_calls", "expected a list, found "+k.String())
		}
		return v
	}
	start := p.Offset()
	p.Enter()
	for j := 0; p.Element(); j++ {
		f.callItems++
		p.chatCall(j)
	}
	return field{jsonspan.Array, p.since(start)}
}

func (p *parser) chatCall(j int) {
	w, at := place{inCalls, int32(j)}, p.Offset()
	if p.stray(w) {
		return
	}
	var id, typ, name, args field
	for k := range p.members {
		switch string(k) {
		case "id":
			id = p.value()
		case "type":
			typ = p.value()
		case "function", "custom":
			name, args = p.chatFunction()
		default:
			p.Skip()
		}
	}
	span := tspan(p.since(at))
	body := span
	if args.given() {
		body = tspan(args.span)
	}
	b := p.file(transcript.Call, span, body, w)
	b.CallID, b.Tool = p.text(id), p.text(name)
	n := len(p.blocks) - 1
	p.wantString(&id, n, "id")
	p.wantString(&name, n, "function.name")
	switch {
	case id.absent():
		p.noteBlock(callIDMissing, "", "")
	case id.kind == jsonspan.String:
		p.chatID(b.CallID)
	}
	p.callName(name, "function.name")
	switch {
	case p.is(typ, "custom"):
		p.noteBlock(freeForm, "", "")
	case args.kind != jsonspan.String:
		p.note(argsNotString, n, "function.arguments", args.kind.String())
	}
}

// chatFunction reads the function of a call.
func (p *parser) chatFunction() (name, args field) {
	for k := range p.object {
		switch string(k) {
		case "name":
			name = p.value()
		case "arguments", "input":
			args = p.value()
		default:
			p.Skip()
		}
	}
	return name, args
}

// chatFunctionCall reads the old form of a call, which has no id.
func (p *parser) chatFunctionCall() bool {
	if p.Peek() != jsonspan.Object {
		p.Skip()
		return false
	}
	at := p.Offset()
	name, args := p.chatFunction()
	span := tspan(p.since(at))
	b := transcript.Block{Kind: transcript.Call, Family: legacyFamily, Span: span, Body: span, Tool: p.text(name)}
	if args.given() {
		b.Body = tspan(args.span)
	}
	p.block(b, place{in: inFunction})
	n := len(p.blocks) - 1
	p.wantString(&name, n, "name")
	p.callName(name, "name")
	if args.kind != jsonspan.String {
		p.note(argsNotString, n, "arguments", args.kind.String())
	}
	return true
}

// callName notes what is odd about the name of the call added last.
func (p *parser) callName(name field, member string) {
	b := &p.blocks[len(p.blocks)-1]
	switch {
	case name.absent(), name.empty():
		p.noteBlock(nameEmpty, "", member)
	case !plainID(b.Tool) || len(b.Tool) > 64:
		p.noteBlock(nameFormat, "", b.Tool)
	}
}

func (chat) freeForm(r *Request, blk *transcript.Block) bool {
	_, ok := jsonspan.Find(r.raw, jsonspan.Span(blk.Span), "custom")
	return ok
}
