package dialect

import (
	"strconv"
	"strings"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
)

// removedBlock returns the JSON of a block or, if block is NoBlock, of a message.
func (m *repairer) removedBlock(block transcript.BlockID, message int) string {
	switch {
	case block != transcript.NoBlock:
		return string(m.t.Bytes(m.quotesAround(m.t.Block(block).Span)))
	case message >= 0:
		return string(m.t.Bytes(m.t.Messages()[message].Span))
	}
	return ""
}

// removedMember returns the JSON at the end of a dotted path from a value; of members of one name, all of them.
func (m *repairer) removedMember(at jsonspan.Span, path string) string {
	all := []jsonspan.Span{at}
	for step := range strings.SplitSeq(path, ".") {
		inner := m.innerOf(all[len(all)-1])[step]
		if len(inner) == 0 {
			return ""
		}
		all = inner
	}
	var out []byte
	for i, one := range all {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, m.raw[one.Start:one.End]...)
	}
	return string(out)
}

// innerOf returns the members of an object by their names, or the elements of a list by their numbers. Each value is
// read once: an object may have very many members that go.
func (m *repairer) innerOf(at jsonspan.Span) map[string][]jsonspan.Span {
	inner, known := m.inners[at]
	if known {
		return inner
	}
	inner = make(map[string][]jsonspan.Span)
	for i, e := range jsonspan.Elements(m.raw, at) {
		inner[strconv.Itoa(i)] = []jsonspan.Span{e}
	}
	for _, e := range jsonspan.Members(m.raw, at) {
		name := string(jsonspan.Decode(nil, m.raw[e.Key.Start:e.Key.End]))
		inner[name] = append(inner[name], e.Value)
	}
	if m.inners == nil {
		m.inners = make(map[jsonspan.Span]map[string][]jsonspan.Span)
	}
	m.inners[at] = inner
	return inner
}

// noteRemoved notes in the last receipt that a block is not what it was.
func (m *repairer) noteRemoved(block transcript.BlockID) {
	m.changes[len(m.changes)-1].Removed = m.removedBlock(block, -1)
}
