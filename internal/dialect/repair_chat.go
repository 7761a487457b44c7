package dialect

import (
	"bytes"
	"strings"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
)

// retagChat gives parts that are written as the chat API has them the types of the Responses
// API: those of a message, or all that an output holds.
func (m *repairer) retagChat(f *Finding) {
	blk := m.t.Block(f.Block)
	spans := []jsonspan.Span{jsonspan.Span(blk.Span)}
	text := "input_text"
	if blk.Kind == transcript.Result {
		spans = jsonspan.Elements(m.raw, jsonspan.Span(blk.Body))
	} else if m.t.Messages()[blk.Message].Role == transcript.Assistant {
		text = "output_text"
	}
	done := false
	for _, s := range spans {
		at := tspan(s)
		switch m.text(at, "type") {
		case "text":
			done = m.setMember(at, "type", quote(text)) || done
		case "image_url":
			done = m.retagImage(at) || done
		}
	}
	if done {
		m.log(f, ActionEdit, f.Block, f.Index, 0, "a part as the chat API has it; its type is that of the Responses API now")
	}
}

// retagImage does that for an image, whose address lies in an object of its own there.
func (m *repairer) retagImage(at transcript.Span) bool {
	image, ok := m.member(at, "image_url")
	if !ok || m.raw[image.Start] != '{' {
		return ok && m.setMember(at, "type", quote("input_image"))
	}
	url, ok := m.member(image, "url")
	if !ok {
		return false
	}
	value := m.t.Bytes(url)
	if detail, ok := m.member(image, "detail"); ok {
		value = append(append([]byte(nil), value...), `,"detail":`...)
		value = append(value, m.t.Bytes(detail)...)
	}
	return m.setMember(at, "type", quote("input_image")) && m.setMember(at, "image_url", value)
}

// asInput writes parts that only the assistant may speak in as those of everybody else.
func (m *repairer) asInput(f *Finding) {
	blk := m.t.Block(f.Block)
	spans := []jsonspan.Span{jsonspan.Span(blk.Span)}
	if blk.Kind == transcript.Result {
		spans = jsonspan.Elements(m.raw, jsonspan.Span(blk.Body))
	}
	done := false
	for j, s := range spans {
		name := map[string]string{"output_text": "text", "refusal": "refusal"}[m.text(tspan(s), "type")]
		text, ok := m.member(tspan(s), name)
		if name == "" || !ok || !m.edit(jsonspan.Edit{Span: s, New: m.g.textBlock(transcript.User, m.t.Bytes(text))}) {
			continue
		}
		if !done {
			m.log(f, ActionEdit, f.Block, f.Index, 0, "only what the assistant says is %s; this is input_text", f.arg)
		}
		done = true
		path := ""
		if blk.Kind == transcript.Result {
			path = "output." + itoa(j) + "."
		}
		for _, e := range jsonspan.Members(m.raw, s) {
			if key := string(jsonspan.Decode(nil, m.raw[e.Key.Start:e.Key.End])); key != "type" && tspan(e.Value) != text {
				m.logMember(f, f.Block, path+key, "%s goes: input_text has none", key)
			}
		}
	}
}

// joinTexts makes one string of the texts of a message. A list that holds anything else stays.
func (m *repairer) joinTexts(f *Finding) {
	var texts [][]byte
	for _, e := range jsonspan.Elements(m.raw, jsonspan.Span(m.frame[f.Index].content)) {
		if !m.memberIs(tspan(e), "type", "text") {
			return
		}
		texts = append(texts, quote(m.text(tspan(e), "text")))
	}
	if m.setMember(m.t.Messages()[f.Index].Span, "content", joinStrings(closeQuotations(texts), `\n`)) {
		m.log(f, ActionEdit, transcript.NoBlock, f.Index, 0, "this vendor wants a string here; the texts are joined")
	}
}

// emptyOutput says that a call returned nothing.
func (m *repairer) emptyOutput(f *Finding) {
	if m.setMember(m.t.Block(f.Block).Span, "output", quote("")) {
		m.log(f, ActionEdit, f.Block, f.Index, 0, "an output must be given; an empty text stands for nothing")
	}
}

// asBlock writes a block of OpenAI's APIs as the Messages API does.
func (m *repairer) asBlock(f *Finding) {
	at := m.t.Block(f.Block).Span
	done := false
	if strings.HasSuffix(f.arg, "_text") {
		done = m.setMember(at, "type", quote("text"))
	} else if image, ok := m.imageBlock(at); ok {
		done = m.edit(jsonspan.Edit{Span: jsonspan.Span(at), New: image})
	}
	if done {
		m.log(f, ActionEdit, f.Block, f.Index, 0, "a block as OpenAI's APIs have it, written as this one does")
	}
}

// imageBlock is an image of OpenAI's APIs as the Messages API has it: its address, or what lies
// in a data URL, and its cache mark. It is false if this is no image, or one that lies
// elsewhere.
func (m *repairer) imageBlock(at transcript.Span) ([]byte, bool) {
	switch m.text(at, "type") {
	case "image_url", "input_image":
	default:
		return nil, false
	}
	url, ok := m.member(at, "image_url")
	if ok && m.raw[url.Start] == '{' {
		url, ok = m.member(url, "url")
	}
	if !ok || m.raw[url.Start] != '"' {
		return nil, false
	}
	inner := m.raw[url.Start+1 : url.End-1]
	source := append([]byte(`{"type":"url","url":"`), inner...)
	if data, ok := bytes.CutPrefix(bytes.ReplaceAll(inner, []byte(`\/`), []byte("/")), []byte("data:")); ok {
		media, text, ok := bytes.Cut(data, []byte(";base64,"))
		if !ok || len(text) == 0 {
			return nil, false
		}
		source = append([]byte(`{"type":"base64","media_type":"`), media...)
		source = append(append(source, `","data":"`...), text...)
	}
	block := append([]byte(`{"type":"image","source":`), source...)
	block = append(block, `"}`...)
	if mark, ok := m.member(at, "cache_control"); ok {
		block = append(append(block, `,"cache_control":`...), m.t.Bytes(mark)...)
	}
	return append(block, '}'), true
}
