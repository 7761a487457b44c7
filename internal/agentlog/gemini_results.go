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

func (r *geminiRepairer) readToolCalls(x *geminiEdit) []*heldResults {
	var all []*heldResults
	message := objectAt(r.edits.file.raw, x.at)
	for _, c := range message.List("toolCalls") {
		call := objectAt(r.edits.file.raw, c)
		h := &heldResults{at: c, id: call.Text("id"), name: call.Text("name"), parts: geminiResults(call)}
		for _, p := range h.parts {
			if response := responseOf(p); h.ownResponse == nil && len(response.Members) > 0 && response.Text("id") == h.id && response.Text("name") == h.name {
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
func (r *geminiRepairer) sortResults(finding *Finding, edit *geminiEdit) bool {
	if r.sorted[edit.at.Start] { // once per round, however many findings there are
		return false
	}
	r.sorted[edit.at.Start] = true
	all := r.readToolCalls(edit)
	byID := make(map[string]*heldResults, len(all))
	for _, held := range all {
		if held.id != "" && byID[held.id] == nil {
			byID[held.id] = held
		}
	}
	change := Change{Thread: r.thread.Name, Line: finding.Line}
	for _, held := range all {
		var stay [][]byte
		own := false // the own response is among the kept parts
		for _, p := range held.parts {
			response := responseOf(p)
			of := byID[response.Text("id")]
			switch {
			case len(response.Members) == 0 || of == nil || response.Text("name") != of.name, of == held && !own && bytes.Equal(p, held.ownResponse):
				own = own || of == held
				stay = append(stay, p)
				continue
			case of != held && of.ownResponse == nil: // the response is missing from its own call
				of.ownResponse, of.changed = p, true
				r.edits.addChange(change.with(wire.Change{Action: wire.ActionMove, Rule: "displaced-result", IDs: []string{of.id}}), "moved to its call")
			case bytes.Equal(response.Value("response"), responseOf(of.ownResponse).Value("response")) && bytes.Equal(response.Value("parts"), responseOf(of.ownResponse).Value("parts")):
				r.edits.addChange(change.with(wire.Change{Action: wire.ActionDrop, Rule: "duplicate-result", IDs: []string{of.id}, Bytes: -len(p)}), "a copy of the result that its call holds")
			case holdsSpeaker(p):
				stay = append(stay, p)
				continue
			default:
				stay = append(stay, quotedResponse(response, string(response.Value("response")))...)
				r.edits.addChange(change.with(wire.Change{Action: wire.ActionEdit, Rule: "duplicate-result", IDs: []string{of.id}}), "another result of a call, kept as quoted text")
			}
			held.changed = true
		}
		if held.changed {
			held.parts = stay
		}
	}
	hasChanges := false
	for _, held := range all {
		if !held.changed {
			continue
		}
		hasChanges = true
		if held.ownResponse != nil && !slices.ContainsFunc(held.parts, func(p []byte) bool { return bytes.Equal(p, held.ownResponse) }) {
			held.parts = append(slices.Clip(held.parts), held.ownResponse)
		}
		call := objectAt(r.edits.file.raw, held.at)
		edit.calls[held.at.Start] = call.With("result", array(held.parts...))
		r.changed[held.at.Start] = true
	}
	return hasChanges
}
