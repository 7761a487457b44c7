package dialect

import (
	"bytes"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
)

// retypeContent writes what stands for the content of a message or a result, and is of the
// wrong type, as a content: a block becomes a list of one, what a tool returned, a number or a
// word a text. Another object in the place of what somebody says is not understood, and stays.
func (m *repairer) retypeContent(f *Finding, v transcript.Span) {
	raw := m.t.Bytes(v)
	if raw[0] == '[' || raw[0] == 'n' || f.Block == transcript.NoBlock && !m.untouched(f.Index) {
		return
	}
	content, how := m.asText(f, raw), "is text"
	switch {
	case raw[0] != '{':
	case m.blockLike(v):
		content, how = array(raw), "is put into a list"
	case len(jsonspan.Members(m.raw, jsonspan.Span(v))) == 0 && f.Block == transcript.NoBlock:
		content, how = array(), "is an empty list"
	case f.Block == transcript.NoBlock:
		return
	}
	if !m.edit(jsonspan.Edit{Span: jsonspan.Span(v), New: content}) {
		return
	}
	if f.Block == transcript.NoBlock {
		m.taken[f.Index] = true
		from := atMessage(f.Index) // the input has no such block
		if m.g.blocks == inContent {
			from.in = inString // but what stands there
		}
		m.written(f.Index, []origin{from})
	} else {
		m.settled[f.Block] = true
	}
	m.log(f, ActionEdit, f.Block, f.Index, len(content)-len(raw), "%s: what stands there %s now", f.arg, how)
}

// asText is a value as the text of a content.
func (m *repairer) asText(f *Finding, raw []byte) []byte {
	text := string(raw)
	if raw[0] == '"' {
		text = string(jsonspan.Decode(nil, raw[1:len(raw)-1]))
	}
	if f.Block != transcript.NoBlock {
		return m.pen.resultContent(m.draft, text)
	}
	return array(m.g.textBlock(m.t.Messages()[f.Index].Role, quote(text)))
}

// singleBlocks are the types or, where blocks have none, the members by which one block is
// told from any other object.
var singleBlocks = map[string]bool{
	"text": true, "image": true, "document": true, "image_url": true, "input_text": true, "output_text": true, "input_image": true,
	"tool_use": true, "tool_result": true, "video": true, "toolUse": true, "toolResult": true, "inlineData": true, "fileData": true,
	"functionCall": true, "functionResponse": true,
}

// blockLike reports whether an object is one block of this dialect.
func (m *repairer) blockLike(v transcript.Span) bool {
	// Blocks are told apart by their type or, as a text shows, by their members.
	if !bytes.HasPrefix(m.g.textBlock(transcript.User, []byte(`""`)), []byte(`{"text"`)) {
		typ, ok := m.member(v, "type")
		return ok && m.raw[typ.Start] == '"' && singleBlocks[string(jsonspan.Decode(nil, m.raw[typ.Start+1:typ.End-1]))]
	}
	like := false
	jsonspan.Visit(m.raw, jsonspan.Span(v), jsonspan.Span{}, func(e jsonspan.Member) {
		like = like || singleBlocks[string(jsonspan.Decode(nil, m.raw[e.Key.Start:e.Key.End]))]
	})
	return like
}
