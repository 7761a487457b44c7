package dialect

import (
	"strings"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
)

// strip removes a member of a message.
func (m *repairer) strip(f *Finding, name string) {
	if !m.onlySpeaker(f.Index, name) && m.removeMember(m.t.Messages()[f.Index].Span, name) {
		m.taken[f.Index] = true
		m.logMember(f, transcript.NoBlock, name, "%s removed: %s", name, m.why(f))
	}
}

// onlySpeaker reports whether a member of a message is all that says who speaks in it.
func (m *repairer) onlySpeaker(i int, name string) bool {
	kind := name == "type" || name == "kind"
	if !speakerMembers[name] && !kind {
		return false
	}
	at := m.t.Messages()[i].Span
	if m.unnamed.at != at { // once for all members of a message
		m.unnamed.at, m.unnamed.is = at, m.text(at, "role") == ""
	}
	return m.unnamed.is && (!kind || speakerTypes[strings.ToLower(m.text(at, name))])
}

// stripNamed removes the member that the finding's path ends with.
func (m *repairer) stripNamed(f *Finding) {
	_, field, ok := cutPath(f.Path, m.foundAt(f))
	if !ok {
		return
	}
	at := m.t.Messages()[f.Index].Span
	if f.Block != transcript.NoBlock {
		at = m.t.Block(f.Block).Span
	}
	path := strings.Split(field, ".")
	for len(path) > 1 {
		inner, ok := m.member(at, path[0])
		if !ok {
			return
		}
		at, path = inner, path[1:]
	}
	if f.Block == transcript.NoBlock && m.onlySpeaker(f.Index, field) {
		return
	}
	if m.removeMember(at, path[0]) {
		m.logMember(f, f.Block, field, "%s removed: %s", path[0], m.why(f))
	}
}

// logBeside records what goes with a block of which only the member at the end of a way is
// kept: everything beside the way, other values of the same names among them.
func (m *repairer) logBeside(f *Finding, b transcript.BlockID, way []string) {
	at, path := m.t.Block(b).Span, ""
	for _, name := range way {
		kept, _ := m.member(at, name)
		for _, e := range jsonspan.Members(m.raw, jsonspan.Span(at)) {
			key := string(jsonspan.Decode(nil, m.raw[e.Key.Start:e.Key.End]))
			if tspan(e.Value) != kept && key != "type" {
				m.logMember(f, b, path+key, "%s goes with the block; %s is kept", key, strings.Join(way, "."))
			}
		}
		at, path = kept, path+name+"."
	}
}
