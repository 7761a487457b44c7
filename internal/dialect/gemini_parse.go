package dialect

import (
	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
)

// geminiGrammar is Google's generateContent.
var geminiGrammar = grammar{
	name: "gemini", list: "contents", blocks: inParts, nested: true, modelInURL: true, countsCalls: true, namesResults: true, partsMessages: true, assistant: "model",
	types: geminiTypes, keyed: true,
	apart: true, joins: [transcript.Tool + 1]bool{transcript.System: true, transcript.User: true, transcript.Assistant: true, transcript.Tool: true},
	roles:   []namedRole{{"user", transcript.User}, {"model", transcript.Assistant}, {"function", transcript.User}},
	idLimit: 64, nameLimit: 64,
	endpoints: []endpoint{{end: ":generateContent"}, {end: ":streamGenerateContent"}},
	batch:     batch{end: ":batchGenerateContent", list: []string{"batch", "inputConfig|input_config", "requests", "requests"}, request: "request"},
	tells: tells{
		body:    []string{"contents", "systemInstruction", "generationConfig"},
		google:  []string{"system_instruction", "generation_config"},
		tools:   []string{"functionDeclarations", "function_declarations"},
		roles:   []string{"model"},
		element: []memberTell{{"parts", anything}},
	},
	words:  pairWords{ids: []string{"id"}, result: []string{"response"}, resultName: true},
	rules:  geminiRules,
	speech: gemini{},
}

type gemini struct{ common }

// element reads one content of Google's generateContent. Members come in
// camel case or, as the API takes both, in snake case.
func (gemini) element(p *parser) {
	start := p.Offset()
	p.startMessage(transcript.User, start, 0)
	i := len(p.messages) - 1
	var role, parts field
	for k := range p.members {
		switch string(k) {
		case "role":
			role = p.value()
		case "parts":
			p.dropBlocks(i)
			parts = p.parts(inParts, (*parser).geminiPart)
		default:
			p.Skip()
		}
	}
	if !role.absent() && !role.empty() { // a missing role means the user
		p.closeRole(i, role)
	}
	p.closeList(i, parts, "parts")
	p.tieSignature(i)
	p.endMessage(p.since(start), p.speaks(i))
}

// tieSignature makes calls without a signature need the signed one in front of them, which
// carries it for them. Where nothing is signed, calls stand for themselves.
func (p *parser) tieSignature(i int) {
	at := len(p.notes)
	for at > 0 && p.notes[at-1].message == int32(i) {
		at--
	}
	signed := transcript.NoBlock
	for b := p.messages[i].First; int(b) < len(p.blocks); b++ {
		if p.blocks[b].Kind != transcript.Call {
			continue
		}
		own := false
		for ; at < len(p.notes) && p.notes[at].block <= int32(b); at++ { // they come in the order of blocks
			own = own || p.notes[at].block == int32(b) && p.notes[at].fault == thoughtSignatureMissing
		}
		if own {
			signed = b
		} else if signed != transcript.NoBlock {
			p.ties = append(p.ties, transcript.Tie{From: b, To: signed})
		}
	}
}

// partFields are the members of a part that rules look at.
type partFields struct {
	text, signature    field
	thought            bool
	kind               transcript.Kind
	id, name, body     field
	payload            jsonspan.Kind // of the member that makes the part what it is
	data               bool          // some member holds data
	call, response, md bool
	failed             bool // a response that holds an error
	more               bool // a response that goes on in another one
}

func (p *parser) geminiPart(w place) {
	at := p.Offset()
	if p.stray(w) {
		return
	}
	var f partFields
	for k := range p.members {
		p.geminiField(string(k), &f)
	}
	span := tspan(p.since(at))
	b := transcript.Block{Kind: f.kind, Span: span, Body: span, CallID: p.text(f.id), Tool: p.text(f.name), Failed: f.failed && f.response, Continues: f.more && f.response}
	if f.body.given() {
		b.Body = tspan(f.body.span)
	}
	if f.kind == transcript.Other && f.text.given() {
		b.Kind = transcript.Text
		if f.thought {
			b.Kind = transcript.Thinking
		}
		b.Body = textBody(f.text, b.Body)
	}
	p.block(b, w)
	p.partNotes(&f)
}

func (p *parser) geminiField(name string, f *partFields) {
	payload := func(kind transcript.Kind) {
		// If a member stands twice, the last one counts.
		f.kind, f.data, f.payload = kind, true, p.Peek()
		if f.payload != jsonspan.Object {
			f.kind = transcript.Other // nobody knows what it is
		}
		f.id, f.name, f.body, f.call, f.response, f.failed, f.more = field{}, field{}, field{}, false, false, false, false
	}
	switch name {
	case "text":
		f.text = p.value()
	case "thought":
		f.thought = p.isTrue(p.value())
	case "thoughtSignature", "thought_signature":
		f.signature = p.value()
	case "functionCall", "function_call":
		payload(transcript.Call)
		f.call = f.kind == transcript.Call
		p.geminiFunction(f, "args")
	case "functionResponse", "function_response":
		payload(transcript.Result)
		f.response = f.kind == transcript.Result
		p.geminiFunction(f, "response")
	case "toolCall", "tool_call":
		payload(transcript.ServerCall)
		p.geminiFunction(f, "args")
	case "toolResponse", "tool_response":
		payload(transcript.ServerResult)
		p.geminiFunction(f, "response")
	case "executableCode", "executable_code":
		payload(transcript.ServerCall)
		p.Skip()
	case "codeExecutionResult", "code_execution_result":
		payload(transcript.ServerResult)
		p.Skip()
	case "inlineData", "inline_data", "fileData", "file_data":
		payload(transcript.Media)
		p.Skip()
	default:
		f.md = true
		p.Skip()
	}
}

// geminiFunction reads a call or a response.
func (p *parser) geminiFunction(f *partFields, body string) {
	for k := range p.object {
		switch string(k) {
		case "id":
			f.id = p.value()
		case "name":
			f.name = p.value()
		case "willContinue", "will_continue":
			f.more = p.isTrue(p.value())
		case body:
			f.body, f.failed = p.geminiBody(body)
		default:
			p.Skip()
		}
	}
}

// geminiBody reads args or a response. A response that holds an error has failed.
func (p *parser) geminiBody(name string) (f field, failed bool) {
	if name != "response" || p.Peek() != jsonspan.Object {
		return p.value(), false
	}
	return p.outcome()
}

func (p *parser) partNotes(f *partFields) {
	n := len(p.blocks) - 1
	signed := f.signature.isSignature()
	switch {
	case f.data:
		if f.payload != jsonspan.Object {
			p.noteBlock(wrongType, "", "expected an object, found "+f.payload.String())
		}
	case f.text.given() && !f.text.isNull() && f.text.kind != jsonspan.String:
		p.note(wrongType, n, "text", "expected a string, found "+f.text.kind.String())
	case f.text.empty() && !signed && !f.thought:
		p.noteBlock(emptyText, "", "")
	case f.text.absent() && !f.md:
		p.noteBlock(emptyPart, "", "")
	}
	p.wantString(&f.id, n, "id")
	p.wantString(&f.name, n, "name")
	switch {
	case f.call:
		if f.name.absent() || f.name.empty() {
			p.noteBlock(nameEmpty, "", "")
		}
		if !f.body.absent() && f.body.kind != jsonspan.Object {
			p.noteBlock(argsNotObject, "", f.body.kind.String())
		}
		if signed {
			p.noteBlock(thoughtSignatureMissing, "", "signed")
		}
	case f.response:
		if f.name.absent() || f.name.empty() {
			p.noteBlock(nameMissing, "", "")
		}
		if f.body.kind != jsonspan.Object {
			p.noteBlock(resultNotObject, "", f.body.kind.String())
		}
	}
}

// resultTokens: a response is read as the JSON that it is.
func (gemini) resultTokens(r *Request, c Counter, blk *transcript.Block) int {
	if blk.Body == blk.Span {
		return r.bodyTokens(c, blk)
	}
	return c.Count(r.t.Bytes(blk.Body))
}

func (gemini) saidTokens(_ *Request, c Counter, blk *transcript.Block, text string) int {
	return c.Count(geminiSaid(*blk, text))
}

func (gemini) textBlock(_ transcript.Role, raw []byte) []byte { return object("text", raw) }

func (gemini) textMessage(role transcript.Role, text string) []byte {
	name := "user"
	if role == transcript.Assistant {
		name = "model"
	}
	return object("role", name, "parts", array(object("text", text)))
}

// geminiSaid writes a text as the response of a function; a failure stays one.
func geminiSaid(blk transcript.Block, text string) []byte {
	if blk.Failed {
		return object("error", text)
	}
	return object("output", text)
}
