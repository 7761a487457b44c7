package wire

import (
	"bytes"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
)

// usualRole reads a message up to its content, if it begins as nearly all do; else the role
// is missing and nothing was read.
func (p *parser) usualRole() field {
	start := p.Offset()
	role := func(n int) field {
		return field{jsonspan.String, jsonspan.Span{Start: start + len(`{"role":"`), End: start + len(`{"role":"`) + n}}
	}
	switch {
	case p.Predict(`{"role":"user","content":`, 3):
		return role(len("user"))
	case p.Predict(`{"role":"assistant","content":`, 3):
		return role(len("assistant"))
	}
	return field{}
}

// usualBlock reads a block and files it, if it is one of the usual ones, as clients write
// them, and nothing about it is to be noted. Else it has entered the block, or read the
// members of a call that it returns, and the rest is to be read.
func (p *parser) usualBlock(j int) (begun blockBegin, filed bool) {
	here, start := p.Here(), p.Offset()
	add := func(k transcript.Kind, body jsonspan.Span) *transcript.Block {
		return p.file(k, tspan(p.since(start)), tspan(body), place{inContent, int32(j)})
	}
	switch {
	case p.Predict(`{"type":"tool_result","tool_use_id":`, 3):
		id, ok := p.Known()
		if !ok || !p.Predict(`,"content":`, 1) {
			break
		}
		content, ok := p.Known()
		if raw := p.bytes(id); ok && p.Closes() && plainID(raw) && !bytes.HasPrefix(raw, serverPrefix) {
			add(transcript.Result, content).CallID = p.copied(raw)
			return blockBegin{}, true
		}
	case p.Predict(`{"type":"text","text":`, 3):
		if text, ok := p.Known(); ok && p.Closes() && !p.blank(field{jsonspan.String, text}) {
			add(transcript.Text, text)
			return blockBegin{}, true
		}
	case p.Predict(`{"type":"tool_use","id":`, 3):
		id, ok := p.Known()
		if !ok || !plainID(p.bytes(id)) || !p.Predict(`,"name":`, 1) {
			break
		}
		name, ok := p.Known()
		if !ok || name.Len() == 0 || name.Len() > 200 || !p.Predict(`,"input":`, 1) || p.Peek() != jsonspan.Object {
			break
		}
		at := p.Offset()
		p.Descend()
		input := p.Skip()
		if p.Ascend() {
			b := add(transcript.Call, input)
			b.CallID, b.Tool = p.copied(p.bytes(id)), p.cut(name)
			return blockBegin{}, true
		}
		typ := start + len(`{"type":"`)
		p.Resume(before(typ, "type"), before(id.Start, "id"), before(name.Start, "name"), before(at+1, "input"))
		return blockBegin{
			typ: field{jsonspan.String, jsonspan.Span{Start: typ, End: typ + len("tool_use")}},
			id:  field{jsonspan.String, id}, name: field{jsonspan.String, name}, input: field{jsonspan.Object, input},
		}, false
	}
	p.Back(here)
	p.Enter()
	return blockBegin{}, false
}

// A blockBegin is the members of a call that have been read.
type blockBegin struct{ typ, id, name, input field }

// serverPrefix begins the ids of what the provider executes.
var serverPrefix = []byte("srvtoolu_")

// before is the span of a key in front of a string whose content starts there, with nothing
// between them but quotes and a colon.
func before(value int, key string) jsonspan.Span {
	end := value - len(`":"`)
	return jsonspan.Span{Start: end - len(key), End: end}
}
