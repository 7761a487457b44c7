package dialect

import (
	"bytes"
	"strings"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
)

// What is noted of the items of Responses when they are read.

// modelsParts notes the parts of a message that only the assistant may speak in.
func (p *parser) modelsParts(i int) {
	if m := p.messages[i]; m.Role == transcript.User || m.Role == transcript.System {
		for b := int(m.First); b < len(p.blocks); b++ {
			if t := p.partOfModel(jsonspan.Span(p.blocks[b].Span)); t != "" {
				p.note(partOfModel, b, "", t)
			}
		}
	}
}

// partOfModel is the type of a part that only the assistant may speak in; "" if it is none.
func (p *parser) partOfModel(at jsonspan.Span) string {
	if p.raw[at.Start] != '{' || bytes.HasPrefix(p.raw[at.Start:at.End], []byte(`{"type":"input_`)) {
		return ""
	}
	m, ok := jsonspan.Find(p.raw, at, "type")
	if !ok || p.raw[m.Value.Start] != '"' {
		return ""
	}
	switch t := string(jsonspan.Decode(nil, p.raw[m.Value.Start+1:m.Value.End-1])); t {
	case "output_text", "refusal":
		return t
	}
	return ""
}

func (p *parser) itemNotes(t string, kind blockType, f *itemFields) {
	b := &p.blocks[len(p.blocks)-1]
	n := len(p.blocks) - 1
	p.wantString(&f.id, n, "id")
	p.wantString(&f.callID, n, "call_id")
	p.wantString(&f.name, n, "name")
	if kind.idPrefix != "" {
		p.itemID(f.id, kind.idPrefix)
	}
	half := b.Kind == transcript.Call || b.Kind == transcript.Result
	switch {
	case !half || kind.family == approvalFamily:
	case f.callID.absent() && b.Kind == transcript.Call:
		p.noteBlock(callIDMissing, "", "call_id")
	case b.CallID == "" && f.callID.absent():
		p.noteBlock(idMissing, "", "")
	case b.CallID == "" && f.callID.kind == jsonspan.String || len(b.CallID) > 64:
		p.noteBlock(idTooLong, "", itoa(len(b.CallID)))
	}
	switch t {
	case "function_call":
		switch {
		case f.name.absent() || f.name.empty():
			p.noteBlock(nameEmpty, "", "")
		case f.name.kind == jsonspan.String && !plainID(b.Tool):
			p.noteBlock(nameFormat, "", b.Tool)
		}
		if f.args.kind != jsonspan.String {
			p.note(argsNotString, n, "arguments", f.args.kind.String())
		}
	case "function_call_output", "custom_tool_call_output":
		switch {
		case f.output.absent():
			p.noteBlock(outputMissing, "", "")
		case f.output.kind == jsonspan.Array:
			p.chatOutput(f.output.span)
		}
	case "custom_tool_call", "program":
		p.noteBlock(freeForm, "", "")
	case "tool_search_call":
		if !half {
			p.noteBlock(searched, "", searchCall)
		}
	case "tool_search_output", "additional_tools":
		if t == "tool_search_output" && !half {
			p.noteBlock(searched, "", "")
		}
		for _, name := range f.tools {
			p.noteBlock(toolDefined, "", name)
		}
	case "reasoning":
		p.reasoningNotes(f)
	case "item_reference":
		if id := p.text(f.id); strings.HasPrefix(id, "rs_") {
			p.noteBlock(reasoningUnresolvable, "", id)
		} else {
			p.noteBlock(itemUnresolvable, "", id)
		}
	case "computer_call":
		if p.lists(f.checks) {
			p.noteBlock(safetyUnacknowledged, "", "call")
		}
	case "computer_call_output":
		if p.lists(f.acknowledged) {
			p.noteBlock(safetyUnacknowledged, "", "output")
		}
	}
	if f.caller.given() {
		p.noteBlock(calledBy, "", p.text(f.caller))
	}
	borrowed := t == "item_reference" || t == "local_shell_call_output" && f.callID.absent() // the id of another item
	if f.id.kind == jsonspan.String && !borrowed && f.id.span.Len() > 0 {
		p.noteBlock(repeatedItemID, "", p.text(f.id))
	}
}

// chatOutput notes the first part of an output that is written as the chat API has it.
func (p *parser) chatOutput(at jsonspan.Span) {
	for j, e := range jsonspan.Elements(p.raw, at) {
		m, ok := jsonspan.Find(p.raw, e, "type")
		if !ok || p.raw[m.Value.Start] != '"' {
			continue
		}
		if t := p.cut(jsonspan.Span{Start: m.Value.Start + 1, End: m.Value.End - 1}); t == "text" || t == "image_url" {
			p.noteBlock(chatPart, "output."+itoa(j), t)
			return
		} else if t == "output_text" || t == "refusal" {
			p.noteBlock(partOfModel, "output."+itoa(j), t)
			return
		}
	}
}

// toolNames reads a list of tools that were found, and those in name spaces.
func (p *parser) toolNames() (names []string) {
	for range p.objects {
		for k := range p.members {
			switch string(k) {
			case "name":
				names = append(names, p.text(p.value()))
			case "tools":
				names = append(names, p.toolNames()...)
			default:
				p.Skip()
			}
		}
	}
	return names
}

func (p *parser) reasoningNotes(f *itemFields) {
	p.noteBlock(reasoningUnsupported, "", "")
	if f.summary.absent() {
		p.noteBlock(summaryMissing, "", "")
	}
	if f.plain {
		p.noteBlock(reasoningPlaintext, "content", "")
	}
	if f.id.kind == jsonspan.String && f.id.span.Len() > 0 {
		p.noteBlock(reasoningOrphan, "", p.text(f.id))
		if f.encrypted.absent() || f.encrypted.empty() {
			p.noteBlock(reasoningUnresolvable, "", p.text(f.id))
		}
	}
}

// reasoningTie ties a reasoning item to the item it produced. One that carries
// its own id is refused without its reasoning.
func (p *parser) reasoningTie(i int, t string, f *itemFields) {
	b := transcript.BlockID(len(p.blocks) - 1)
	if t == "reasoning" || i == 0 || p.blocks[b].Kind == transcript.Compaction || p.messages[i].Role != transcript.Assistant || b == 0 {
		return
	}
	if prev := p.messages[i-1]; prev.First == b-1 && p.blocks[b-1].Kind == transcript.Thinking {
		p.ties = append(p.ties, transcript.Tie{From: b - 1, To: b, Mutual: !f.id.absent()})
	}
}

// itemID notes an item id that OpenAI could not have made.
func (p *parser) itemID(f field, prefix string) {
	if f.kind != jsonspan.String {
		return
	}
	id := p.text(f)
	if !strings.HasPrefix(id, prefix) || len(id) > 64 || !plainID(id) || strings.HasSuffix(id, "_") {
		b := len(p.blocks) - 1
		if prefix == "msg_" {
			b = -1
		}
		p.note(itemID, b, "", id)
	}
}
