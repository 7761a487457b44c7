package dialect

import (
	"github.com/pare-llm/pare/transcript"
)

func (geminiPen) stub(d *draft, call transcript.BlockID, text string) []byte {
	blk := d.t.Block(call)
	response := []any{"name", blk.Tool, "response", object("error", text)}
	if blk.CallID != "" {
		response = append(response, "id", blk.CallID)
	}
	return object("functionResponse", object(response...))
}

// geminiMember returns the member of a part in the spelling that it uses.
func geminiMember(d *draft, b transcript.BlockID, call bool) string {
	names := []string{"functionResponse", "function_response"}
	if call {
		names = []string{"functionCall", "function_call"}
	}
	if _, ok := d.member(d.t.Block(b).Span, names[1]); ok {
		return names[1]
	}
	return names[0]
}

func (geminiPen) idPath(d *draft, b transcript.BlockID, call bool) []string {
	return []string{geminiMember(d, b, call), "id"}
}

func (geminiPen) namePath(d *draft, b transcript.BlockID, call bool) []string {
	return []string{geminiMember(d, b, call), "name"}
}

func (geminiPen) argsPath(d *draft, b transcript.BlockID) []string {
	return []string{geminiMember(d, b, true), "args"}
}

func (geminiPen) sayResult(m *repairer, b transcript.BlockID, text string) {
	m.setAt(m.t.Block(b).Span, []string{geminiMember(m.draft, b, false), "response"}, geminiSaid(m.t.Block(b), text))
}

func (geminiPen) sayCall(m *repairer, b transcript.BlockID, text string) {
	m.setAt(m.t.Block(b).Span, []string{geminiMember(m.draft, b, true), "args"}, noteOf(text))
}

// shown: media are parts, of a response as of a message.
func (geminiPen) shown(d *draft, item transcript.Span) []byte {
	for _, name := range []string{"inlineData", "inline_data", "fileData", "file_data"} {
		if _, ok := d.member(item, name); ok {
			return d.t.Bytes(item)
		}
	}
	return nil
}

func (geminiPen) wrapResult(m *repairer, f *Finding) {
	blk := m.t.Block(f.Block)
	value := []byte(`{"output":""}`)
	if blk.Body != blk.Span {
		raw := m.t.Bytes(blk.Body)
		if m.raw[blk.Body.Start-1] == '"' {
			raw = m.raw[blk.Body.Start-1 : blk.Body.End+1]
		}
		value = object("output", raw)
	}
	if m.setAt(blk.Span, []string{geminiMember(m.draft, f.Block, false), "response"}, value) {
		m.log(f, ActionEdit, f.Block, f.Index, len(value)-blk.Body.Len(), "a response must be an object; it is the output of one now")
	}
}
