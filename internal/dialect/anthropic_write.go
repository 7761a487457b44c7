package dialect

import "github.com/pare-llm/pare/transcript"

func (anthropicPen) stub(d *draft, call transcript.BlockID, text string) []byte {
	return object("type", "tool_result", "tool_use_id", d.t.Block(call).CallID, "content", text, "is_error", []byte("true"))
}

func (anthropicPen) idPath(_ *draft, _ transcript.BlockID, call bool) []string {
	if call {
		return []string{"id"}
	}
	return []string{"tool_use_id"}
}

func (anthropicPen) argsPath(*draft, transcript.BlockID) []string { return []string{"input"} }

func (anthropicPen) sayCall(m *repairer, b transcript.BlockID, text string) {
	m.setMember(m.t.Block(b).Span, "input", noteOf(text))
}

// retagPart keeps what the assistant may not show as a text behind its message.
func (anthropicPen) retagPart(m *repairer, f *Finding) {
	text := allText(m.raw, m.t.Block(f.Block).Span, 1)
	m.dropBlock(f.Block)
	m.insertMessage(f.Index+1, m.g.textMessage(transcript.User, "[A search result]\n"+text), m.fresh(), m.at(f.Block))
	m.log(f, ActionEdit, f.Block, f.Index, 0, "not allowed in the assistant's message; kept as text behind it")
}
