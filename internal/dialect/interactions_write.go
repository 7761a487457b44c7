package dialect

import "github.com/pare-llm/pare/transcript"

func (interactionsPen) stub(d *draft, call transcript.BlockID, text string) []byte {
	blk := d.t.Block(call)
	return object("type", "function_result", "call_id", blk.CallID, "name", blk.Tool, "result", text, "is_error", []byte("true"))
}

func (interactionsPen) idPath(_ *draft, _ transcript.BlockID, call bool) []string {
	if call {
		return []string{"id"}
	}
	return []string{"call_id"}
}

func (interactionsPen) argsPath(*draft, transcript.BlockID) []string { return []string{"arguments"} }

func (interactionsPen) contentPath(*draft, transcript.BlockID) []string { return []string{"result"} }

func (interactionsPen) sayCall(m *repairer, b transcript.BlockID, text string) {
	m.setMember(m.t.Block(b).Span, "arguments", noteOf(text))
}

// shown: parts of a result are parts of a step.
func (interactionsPen) shown(d *draft, item transcript.Span) []byte {
	if findType(interactionsTypes, d.text(item, "type")).kind == transcript.Media {
		return d.t.Bytes(item)
	}
	return nil
}

// wrapResult makes a text of a number, and an object of a list that holds no parts.
func (interactionsPen) wrapResult(m *repairer, f *Finding) {
	blk := m.t.Block(f.Block)
	value := quote("")
	switch {
	case blk.Body == blk.Span:
	case m.raw[blk.Body.Start] == '[':
		value = object("output", m.t.Bytes(blk.Body))
	case string(m.t.Bytes(blk.Body)) != "null":
		value = quote(string(m.t.Bytes(blk.Body)))
	}
	if m.setResult(f.Block, value) {
		m.settled[f.Block] = true
		m.log(f, ActionEdit, f.Block, f.Index, len(value)-blk.Body.Len(), "a result is a text, an object or a list of parts: %s", value[:min(len(value), 60)])
	}
}

// joined joins objects to one with a list of outputs, and everything else as usual; an
// object among lists and texts becomes a text.
func (interactionsPen) joined(d *draft, all []transcript.BlockID) ([]byte, bool) {
	var values [][]byte
	objects := 0
	for _, b := range all {
		v := d.value(b)
		if len(v) > 0 && v[0] == '{' {
			objects++
		}
		values = append(values, v)
	}
	if objects == len(all) {
		return object("output", array(values...)), true
	}
	for i, v := range values {
		if len(v) > 0 && v[0] == '{' {
			values[i] = quote(string(Canonical(v)))
		}
	}
	return d.joinValues(values, true)
}

// skipSignature signs the thought that opens a run, or opens the run with one.
func (interactionsPen) skipSignature(m *repairer, f *Finding) {
	if blk := m.t.Block(f.Block); blk.Kind == transcript.Thinking {
		if m.setMember(blk.Span, "signature", quote(skippedSignature)) {
			m.log(f, ActionEdit, f.Block, f.Index, 0, "the signature is lost; the documented skip value stands in its place")
		}
		return
	}
	raw := object("type", "thought", "signature", skippedSignature)
	m.insertMessage(m.turns[m.t.Messages()[f.Index].Turn], raw, m.fresh())
	m.log(f, ActionInsert, f.Block, f.Index, len(raw), "the signed thought in front of the call is lost; one with the documented skip value stands in its place")
}

// ownName gives a half the id that it has under the name of the other half's.
func (m *repairer) ownName(f *Finding) {
	if id := m.t.Block(f.Block).CallID; m.setID(f.Block, id) {
		m.settled[f.Block] = true
		m.log(f, ActionEdit, f.Block, f.Index, len(id), "its id %q has another name here than %s", id, f.arg)
	}
}

// asSteps writes a turn as the steps that the API takes now: what is said in a row is one
// step, and everything else is one by itself. Not a byte of any part changes.
func (m *repairer) asSteps(f *Finding) {
	i := f.Index
	msg := m.t.Messages()[i]
	if !m.untouched(i) || m.extra[i]&badRole != 0 {
		return // until it is known who speaks
	}
	var parts [][]byte
	var from []origin
	say := func() {
		if parts != nil {
			m.insertMessage(i, object("type", stepOf(msg.Role), "content", array(parts...)), m.fresh(), from...)
		}
		parts, from = nil, nil
	}
	m.dropMessage(i)
	for b := msg.First; b < msg.End; b++ {
		raw := m.t.Bytes(m.t.Block(b).Span)
		switch m.t.Block(b).Kind {
		case transcript.Text, transcript.Media, transcript.Other:
			if raw[0] == '"' {
				raw = m.g.textBlock(msg.Role, raw)
			}
			parts, from = append(parts, raw), append(from, m.at(b))
		default:
			say()
			m.insertMessage(i, raw, m.fresh(), m.at(b))
		}
	}
	say()
	action := ActionEdit
	if msg.First == msg.End {
		action = ActionDrop
	}
	m.log(f, action, transcript.NoBlock, i, 0, "a turn is written as steps now")
}
