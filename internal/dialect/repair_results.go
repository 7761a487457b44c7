package dialect

import (
	"strings"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
)

// setResult replaces the content of a result.
func (m *repairer) setResult(b transcript.BlockID, raw []byte) bool {
	at := m.t.Block(b).Span
	if body := m.t.Block(b).Body; body != at { // the content is known: no need to look for it
		if m.inString(body) {
			body = quoted(jsonspan.Span(body))
		}
		return m.edit(jsonspan.Edit{Span: jsonspan.Span(body), New: raw})
	}
	return m.setAt(at, m.pen.contentPath(m.draft, b), raw)
}

func (m *repairer) wordError(f *Finding) {
	if m.setResult(f.Block, m.pen.resultContent(m.draft, emptyErrorText)) {
		m.log(f, ActionEdit, f.Block, f.Index, len(emptyErrorText), "an error needs a text: %s", emptyErrorText)
	}
}

func (m *repairer) wordEmpty(f *Finding) {
	if m.setResult(f.Block, m.pen.resultContent(m.draft, emptyResultText)) {
		m.log(f, ActionEdit, f.Block, f.Index, len(emptyResultText), "%s", emptyResultText)
	}
}

// partError keeps the texts of an error result and moves the rest behind the
// results of the turn.
func (m *repairer) partError(f *Finding) {
	blk := m.t.Block(f.Block)
	var texts, others [][]byte
	for _, e := range jsonspan.Elements(m.raw, jsonspan.Span(blk.Body)) {
		raw := m.raw[e.Start:e.End]
		if m.memberIs(tspan(e), "type", "text") {
			texts = append(texts, raw)
		} else {
			others = append(others, raw)
		}
	}
	if len(texts) == 0 {
		texts = append(texts, m.g.text(transcript.User, emptyErrorText))
	}
	if !m.setResult(f.Block, array(texts...)) {
		return
	}
	l := m.listOf(blk.Message, inContent)
	for _, raw := range others {
		l.insert(m.behindResults(m.t.Block(f.Block).Message), item{raw: raw, from: m.at(f.Block)})
	}
	m.log(f, ActionEdit, f.Block, f.Index, 0, "an error result holds text only; the rest stands behind the results now")
}

// wrapArgs makes an object of arguments that are none. What was complete JSON in
// a string is unwrapped, anything else is kept under a name of its own.
func (m *repairer) wrapArgs(f *Finding) {
	blk := m.t.Block(f.Block)
	var value []byte
	if blk.Body == blk.Span { // missing
		value = []byte("{}")
	} else {
		value = wrapValue(m.raw, blk.Body, "raw_arguments")
	}
	if f.fault == argsNotJSON || f.fault == argsNotString {
		value = quote(string(value))
	}
	if m.setAt(blk.Span, m.pen.argsPath(m.draft, f.Block), value) {
		m.log(f, ActionEdit, f.Block, f.Index, len(value)-blk.Body.Len(), "arguments must be an object: %s", value[:min(len(value), 60)])
	}
}

// wrapValue turns a JSON value, or the content of a JSON string, into an object.
func wrapValue(raw []byte, s transcript.Span, name string) []byte {
	value := raw[s.Start:s.End]
	isText := s.Start > 0 && raw[s.Start-1] == '"' && s.End < len(raw) && raw[s.End] == '"'
	if !isText {
		switch {
		case len(value) > 0 && value[0] == '{':
			return value
		case string(value) == "null":
			return []byte("{}")
		}
		return object(name, value)
	}
	text := jsonspan.Decode(nil, value)
	trimmed := strings.TrimSpace(string(text))
	if strings.HasPrefix(trimmed, "{") && jsonspan.Valid([]byte(trimmed)) == nil {
		return []byte(trimmed)
	}
	if trimmed == "" {
		return []byte("{}")
	}
	return object(name, string(text))
}

// textItem turns the items of a result that it may not hold into text.
func (m *repairer) textItem(f *Finding) {
	blk := m.t.Block(f.Block)
	done := false
	for _, e := range jsonspan.Elements(m.raw, jsonspan.Span(blk.Body)) {
		name := m.text(tspan(e), "type")
		if name == "text" || resultParts[name] && name != "search_result" {
			continue
		}
		if t := m.typeShown(tspan(e)); name == "" && (t == "text" || resultParts[t]) {
			done = m.setMember(tspan(e), "type", quote(t)) || done
			continue
		}
		text, image := m.imageBlock(tspan(e))
		if !image {
			text = m.g.text(transcript.User, allText(m.raw, tspan(e), 1))
		}
		done = m.edit(jsonspan.Edit{Span: e, New: text}) || done
	}
	if done {
		m.log(f, ActionEdit, f.Block, f.Index, 0, "a result may not hold this; it is written as one may")
	}
}

// moveImage moves the media of a tool message into a user message behind the run.
func (m *repairer) moveImage(f *Finding) {
	content := m.frame[f.Index].content
	var texts, media [][]byte
	for _, e := range jsonspan.Elements(m.raw, jsonspan.Span(content)) {
		if raw := m.raw[e.Start:e.End]; m.memberIs(tspan(e), "type", "text") {
			texts = append(texts, raw)
		} else {
			media = append(media, raw)
		}
	}
	value := quote("The tool returned an image; it follows in the next message.")
	if len(texts) > 0 {
		value = array(texts...)
	}
	if !m.setMember(m.t.Messages()[f.Index].Span, "content", value) {
		return
	}
	m.insertMessage(m.behindTool(f.Index), object("role", "user", "content", array(media...)), m.fresh(), repeat(m.at(f.Block), len(media))...)
	m.log(f, ActionMove, f.Block, f.Index, 0, "images may not stand in a tool message; moved to a user message behind the results")
}

// gather moves the responses of a later message to the first one of their turn or, where nothing else may
// stand in a turn of its own, the whole message.
func (m *repairer) gather(f *Finding) {
	switch {
	case !m.g.partsMessages:
		m.mergeUp(f)
	case m.g.nested: // found once for all of a message
		for b := f.Block; b < m.t.Messages()[f.Index].End; b++ {
			if m.t.Block(b).Kind == transcript.Result && answersInPlace(m.t.Exchanges()[m.t.ExchangeOf(b)]) {
				each := *f
				each.Block, each.IDs = b, nil
				m.moveResult(&each)
			}
		}
	}
}

// giveToolset gives a result the toolset of its call.
func (m *repairer) giveToolset(f *Finding) {
	if m.setMember(m.t.Block(f.Block).Span, "toolset_name", quote(f.arg)) {
		m.log(f, ActionEdit, f.Block, f.Index, len(f.arg), "takes the toolset of the call it answers: %s", f.arg)
	}
}
