package dialect

import (
	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
)

func (bedrockPen) resultContent(_ *draft, text string) []byte { return array(object("text", text)) }

func (bedrockPen) stub(d *draft, call transcript.BlockID, text string) []byte {
	result := []any{"toolUseId", d.t.Block(call).CallID, "content", array(object("text", text))}
	if d.Profile.Family != "writer" {
		result = append(result, "status", "error")
	}
	return object("toolResult", object(result...))
}

func (bedrockPen) idPath(_ *draft, _ transcript.BlockID, call bool) []string {
	if call {
		return []string{"toolUse", "toolUseId"}
	}
	return []string{"toolResult", "toolUseId"}
}

func (bedrockPen) namePath(*draft, transcript.BlockID, bool) []string {
	return []string{"toolUse", "name"}
}

func (bedrockPen) argsPath(*draft, transcript.BlockID) []string { return []string{"toolUse", "input"} }

func (bedrockPen) contentPath(*draft, transcript.BlockID) []string {
	return []string{"toolResult", "content"}
}

func (bedrockPen) sayCall(m *repairer, b transcript.BlockID, text string) {
	m.setAt(m.t.Block(b).Span, []string{"toolUse", "input"}, noteOf(text))
}

// shown: an item is what its member is called.
func (bedrockPen) shown(d *draft, item transcript.Span) []byte {
	for _, name := range []string{"image", "document", "video"} {
		if _, ok := d.member(item, name); ok {
			return d.t.Bytes(item)
		}
	}
	return nil
}

func (bedrockPen) wrapResult(m *repairer, f *Finding) {
	done := false
	for _, e := range jsonspan.Elements(m.raw, jsonspan.Span(m.t.Block(f.Block).Body)) {
		j, ok := jsonspan.Find(m.raw, e, "json")
		if ok && m.raw[j.Value.Start] != '{' {
			done = m.edit(jsonspan.Edit{Span: j.Value, New: object("result", m.raw[j.Value.Start:j.Value.End])}) || done
		}
	}
	if done {
		m.log(f, ActionEdit, f.Block, f.Index, 11, "structured results must be objects; this is the result of one now")
	}
}

func (bedrockPen) thinkingOff(m *repairer, f *Finding) {
	inner, ok := m.bodyMember("additionalModelRequestFields")
	if !ok {
		return
	}
	for _, name := range []string{"thinking", "reasoning_config"} {
		if _, ok := m.member(inner, name); ok && m.setMember(inner, name, []byte(`{"type":"disabled"}`)) {
			m.logHead(f, ActionEdit, "additionalModelRequestFields."+name, 0, "thinking is switched off for this request: the thinking of the open tool loop is lost")
		}
	}
}
