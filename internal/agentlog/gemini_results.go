package agentlog

import (
	"bytes"
	"slices"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/wire"
)

// A geminiHeld is a toolCall of a message and the parts that it holds as its result.
type geminiHeld struct {
	at       jsonspan.Span
	id, name string
	parts    [][]byte
	own      []byte // the response to this call; nil: there is none
	changed  bool
}

// held reads the toolCalls of a message.
func (m *geminiRepairer) held(x *geminiEdit) []*geminiHeld {
	var all []*geminiHeld
	message := objectAt(m.e.l.raw, x.at)
	for _, c := range message.List("toolCalls") {
		call := objectAt(m.e.l.raw, c)
		h := &geminiHeld{at: c, id: call.Text("id"), name: call.Text("name"), parts: geminiResults(call)}
		for _, p := range h.parts {
			if r := responseOf(p); h.own == nil && len(r.Members) > 0 && r.Text("id") == h.id && r.Text("name") == h.name {
				h.own = p
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

// sortResults lets each toolCall of a message hold its own response, once. After a
// compaction Gemini CLI writes the responses to all parallel calls into each of them. It
// returns whether there was something to sort.
func (m *geminiRepairer) sortResults(f *Finding, x *geminiEdit) bool {
	if m.sorted[x.at.Start] { // once in a round, however many findings are about it
		return false
	}
	m.sorted[x.at.Start] = true
	all := m.held(x)
	byID := make(map[string]*geminiHeld, len(all))
	for _, h := range all {
		if h.id != "" && byID[h.id] == nil {
			byID[h.id] = h
		}
	}
	c := Change{Thread: m.t.Name, Line: f.Line}
	for _, h := range all {
		var stay [][]byte
		own := false // it stands among those that stay
		for _, p := range h.parts {
			r := responseOf(p)
			of := byID[r.Text("id")]
			switch {
			case len(r.Members) == 0 || of == nil || r.Text("name") != of.name, of == h && !own && bytes.Equal(p, h.own):
				own = own || of == h
				stay = append(stay, p)
				continue
			case of != h && of.own == nil: // its call has lost it
				of.own, of.changed = p, true
				m.e.log(c, wire.ActionMove, "displaced-result", []string{of.id}, 0, "moved to its call")
			case bytes.Equal(r.Value("response"), responseOf(of.own).Value("response")) && bytes.Equal(r.Value("parts"), responseOf(of.own).Value("parts")):
				m.e.log(c, wire.ActionDrop, "duplicate-result", []string{of.id}, -len(p), "a copy of the result that its call holds")
			case somebodySpeaks(p):
				stay = append(stay, p)
				continue
			default:
				stay = append(stay, quotedResponse(r, string(r.Value("response")))...)
				m.e.log(c, wire.ActionEdit, "duplicate-result", []string{of.id}, 0, "another result of a call, kept as quoted text")
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
		if h.own != nil && !slices.ContainsFunc(h.parts, func(p []byte) bool { return bytes.Equal(p, h.own) }) {
			h.parts = append(slices.Clip(h.parts), h.own)
		}
		call := objectAt(m.e.l.raw, h.at)
		x.calls[h.at.Start] = call.With("result", array(h.parts...))
		m.busy[h.at.Start] = true
	}
	return some
}
