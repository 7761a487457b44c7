package agentlog

import (
	"bytes"
	"slices"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/wire"
)

// heldResults are a toolCall of a message and the parts of its result.
type heldResults struct {
	at          jsonspan.Span
	id, name    string
	parts       [][]byte
	ownResponse []byte // the response to this call, or nil
	changed     bool
}

func (m *geminiRepairer) readToolCalls(x *geminiEdit) []*heldResults {
	var all []*heldResults
	message := objectAt(m.edits.file.raw, x.at)
	for _, c := range message.List("toolCalls") {
		call := objectAt(m.edits.file.raw, c)
		h := &heldResults{at: c, id: call.Text("id"), name: call.Text("name"), parts: geminiResults(call)}
		for _, p := range h.parts {
			if r := responseOf(p); h.ownResponse == nil && len(r.Members) > 0 && r.Text("id") == h.id && r.Text("name") == h.name {
				h.ownResponse = p
			}
		}
		all = append(all, h)
	}
	return all
}

func responseOf(part []byte) object {
	o := objectOf(part)
	return o.Object("functionResponse")
}

// sortResults assigns each response to its own toolCall, once. After a compaction, Gemini CLI
// writes the responses of all parallel calls into each of them. It reports whether anything
// changed.
func (m *geminiRepairer) sortResults(f *Finding, x *geminiEdit) bool {
	if m.sorted[x.at.Start] { // once per round, however many findings there are
		return false
	}
	m.sorted[x.at.Start] = true
	all := m.readToolCalls(x)
	byID := make(map[string]*heldResults, len(all))
	for _, h := range all {
		if h.id != "" && byID[h.id] == nil {
			byID[h.id] = h
		}
	}
	c := Change{Thread: m.thread.Name, Line: f.Line}
	for _, h := range all {
		var stay [][]byte
		own := false // the own response is among the kept parts
		for _, p := range h.parts {
			r := responseOf(p)
			of := byID[r.Text("id")]
			switch {
			case len(r.Members) == 0 || of == nil || r.Text("name") != of.name, of == h && !own && bytes.Equal(p, h.ownResponse):
				own = own || of == h
				stay = append(stay, p)
				continue
			case of != h && of.ownResponse == nil: // the response is missing from its own call
				of.ownResponse, of.changed = p, true
				m.edits.addChange(c, wire.ActionMove, "displaced-result", []string{of.id}, 0, "moved to its call")
			case bytes.Equal(r.Value("response"), responseOf(of.ownResponse).Value("response")) && bytes.Equal(r.Value("parts"), responseOf(of.ownResponse).Value("parts")):
				m.edits.addChange(c, wire.ActionDrop, "duplicate-result", []string{of.id}, -len(p), "a copy of the result that its call holds")
			case holdsSpeaker(p):
				stay = append(stay, p)
				continue
			default:
				stay = append(stay, quotedResponse(r, string(r.Value("response")))...)
				m.edits.addChange(c, wire.ActionEdit, "duplicate-result", []string{of.id}, 0, "another result of a call, kept as quoted text")
			}
			h.changed = true
		}
		if h.changed {
			h.parts = stay
		}
	}
	some := false
	for _, h := range all {
		if !h.changed {
			continue
		}
		some = true
		if h.ownResponse != nil && !slices.ContainsFunc(h.parts, func(p []byte) bool { return bytes.Equal(p, h.ownResponse) }) {
			h.parts = append(slices.Clip(h.parts), h.ownResponse)
		}
		call := objectAt(m.edits.file.raw, h.at)
		x.calls[h.at.Start] = call.With("result", array(h.parts...))
		m.changed[h.at.Start] = true
	}
	return some
}
