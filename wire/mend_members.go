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

// dropCopy takes the copy of a member out that stands twice and says the same both
// times. Which of two different values was meant, nobody can tell.
func (m *mender) dropCopy(f *Finding) {
	offset, ok := flawOffset(f)
	if !ok {
		return
	}
	all := jsonspan.Members(m.raw, objectAt(m.raw, offset))
	name := func(e jsonspan.Member) string { return string(jsonspan.Decode(nil, m.raw[e.Key.Start:e.Key.End])) }
	value := func(e jsonspan.Member) string { return string(m.raw[e.Value.Start:e.Value.End]) }
	for i, e := range all {
		if e.Key.Start < offset || i == 0 {
			continue
		}
		for _, earlier := range all[:i] {
			if name(earlier) != name(e) || value(earlier) != value(e) {
				continue
			}
			gone := jsonspan.Span{Start: all[i-1].Value.End, End: e.Value.End}
			if m.edit(jsonspan.Edit{Span: gone}) {
				if f.Index >= 0 {
					m.taken[f.Index] = true
				}
				m.logHead(f, "drop", m.pathAt(f.Index, offset, f.Path), -gone.Len(), "%q stands twice and says the same; the copy goes", name(e))
			}
			return
		}
		return
	}
}

// objectAt is the innermost object that holds the key at an offset.
func objectAt(raw []byte, offset int) jsonspan.Span {
	at := jsonspan.Span{End: len(raw)}
	for {
		var inner []jsonspan.Span
		for _, e := range jsonspan.Members(raw, at) {
			inner = append(inner, e.Value)
		}
		inner = append(inner, jsonspan.Elements(raw, at)...)
		i := slices.IndexFunc(inner, func(s jsonspan.Span) bool { return s.Start <= offset && offset < s.End })
		if i < 0 {
			return at
		}
		at = inner[i]
	}
}
