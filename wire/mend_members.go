package wire

import (
	"slices"
	"strings"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
)

// strip removes a member of a message.
func (m *mender) strip(f *Finding, name string) {
	if m.removeMember(m.t.Messages()[f.Index].Span, name) {
		m.taken[f.Index] = true
		m.logMember(f, transcript.NoBlock, name, "%s removed: %s", name, m.why(f))
	}
}

// stripNamed removes the member that the finding's path ends with.
func (m *mender) stripNamed(f *Finding) {
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
	if m.removeMember(at, path[0]) {
		m.logMember(f, f.Block, field, "%s removed: %s", path[0], m.why(f))
	}
}

// logBeside records what goes with a block of which only the member at the end of a way is
// kept: everything beside the way, other values of the same names among them.
func (m *mender) logBeside(f *Finding, b transcript.BlockID, way []string) {
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

// dropCopy takes the copy of a member out that stands twice and says the same both
// times. Which of two different values was meant, nobody can tell.
func (m *mender) dropCopy(f *Finding) {
	offset, ok := flawOffset(f)
	if !ok {
		return
	}
	at := jsonspan.Span{End: len(m.raw)}
	if f.Index >= 0 {
		at = jsonspan.Span(m.t.Messages()[f.Index].Span)
	}
	all, ok := membersAt(m.raw, at, offset)
	if !ok {
		return
	}
	value := func(e jsonspan.Member) string { return string(m.raw[e.Value.Start:e.Value.End]) }
	i := slices.IndexFunc(all, func(e jsonspan.Member) bool { return e.Key.Start >= offset })
	if i <= 0 {
		return
	}
	name := string(jsonspan.Decode(nil, m.raw[all[i].Key.Start:all[i].Key.End]))
	for _, earlier := range all[:i] {
		if !jsonspan.Says(m.raw, earlier.Key, name) || value(earlier) != value(all[i]) {
			continue
		}
		gone := jsonspan.Span{Start: all[i-1].Value.End, End: all[i].Value.End}
		if m.edit(jsonspan.Edit{Span: gone}) {
			if f.Index >= 0 {
				m.taken[f.Index] = true
			}
			m.logHead(f, "drop", m.pathAt(f.Index, offset, f.Path), -gone.Len(), "%q stands twice and says the same; the copy goes", name)
		}
		return
	}
}

// membersAt returns the members of the innermost object in at that holds the key at an
// offset. There are none to work on in a value that another of its name hides: no path
// leads there.
func membersAt(raw []byte, at jsonspan.Span, offset int) ([]jsonspan.Member, bool) {
	holds := func(s jsonspan.Span) bool { return s.Start <= offset && offset < s.End }
	for {
		all := jsonspan.Members(raw, at)
		i := slices.IndexFunc(all, func(e jsonspan.Member) bool { return holds(e.Value) })
		if i >= 0 {
			name := string(jsonspan.Decode(nil, raw[all[i].Key.Start:all[i].Key.End]))
			if slices.ContainsFunc(all[i+1:], func(e jsonspan.Member) bool { return jsonspan.Says(raw, e.Key, name) }) {
				return nil, false
			}
			at = all[i].Value
			continue
		}
		items := jsonspan.Elements(raw, at)
		i = slices.IndexFunc(items, holds)
		if i < 0 {
			return all, true
		}
		at = items[i]
	}
}
