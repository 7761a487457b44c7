package dialect

import (
	"crypto/sha256"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
)

func (chatPen) stub(d *draft, call transcript.BlockID, text string) []byte {
	blk := d.t.Block(call)
	if d.where[call].in == inFunction {
		return object("role", "function", "name", blk.Tool, "content", text)
	}
	return object("role", "tool", "tool_call_id", blk.CallID, "content", text)
}

func (chatPen) idPath(_ *draft, _ transcript.BlockID, call bool) []string {
	if call {
		return []string{"id"}
	}
	return []string{"tool_call_id"}
}

func (chatPen) namePath(d *draft, b transcript.BlockID, call bool) []string {
	switch {
	case !call || d.where[b].in != inCalls:
		return []string{"name"}
	case d.g.freeForm(d.Request, &d.t.Blocks()[b]):
		return []string{"custom", "name"}
	}
	return []string{"function", "name"}
}

func (chatPen) argsPath(d *draft, b transcript.BlockID) []string {
	if d.where[b].in != inCalls {
		return []string{"arguments"}
	}
	return []string{"function", "arguments"}
}

// ownID: Mistral wants nine letters and digits.
func (chatPen) ownID(m *repairer, sum [sha256.Size]byte) (string, bool) {
	if m.Profile.Name != "mistral" && !m.strict {
		return "", false
	}
	const letters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	id := make([]byte, 9)
	for i := range id {
		id[i] = letters[int(sum[i])%len(letters)]
	}
	return string(id), true
}

func (chatPen) sayCall(m *repairer, b transcript.BlockID, text string) {
	blk := &m.t.Blocks()[b]
	if m.g.freeForm(m.Request, blk) {
		m.setAt(blk.Span, []string{"custom", "input"}, quote(text))
	} else if m.where[b].in == inCalls {
		m.setAt(blk.Span, []string{"function", "arguments"}, quote(string(noteOf(text))))
	}
}

// withoutCalls takes the calls out of a message. Nearly always they stand behind another
// member and are called so once: then nothing else of the message is looked at.
func (d *draft) withoutCalls(message, calls transcript.Span) []jsonspan.Edit {
	const key = `,"tool_calls":`
	at := calls.Start - len(key)
	if len(d.flaws) == 0 && at > message.Start && string(d.raw[at:calls.Start]) == key && d.raw[at-1] > ' ' {
		return []jsonspan.Edit{{Span: jsonspan.Span{Start: at, End: calls.End}}}
	}
	return jsonspan.RemoveMember(d.raw, jsonspan.Span(message), "tool_calls")
}
