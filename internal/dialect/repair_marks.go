package dialect

import (
	"slices"
	"strconv"
	"strings"

	"github.com/pare-llm/pare/transcript"
)

// stripMark takes a cache mark off a block that may not carry one.
func (m *repairer) stripMark(f *Finding) {
	at := m.t.Block(f.Block).Span
	if _, field, ok := cutPath(f.Path, m.Path(f.Block)); ok {
		i, err := strconv.Atoi(field[strings.LastIndex(field, ".")+1:])
		elems := m.elements(f.Block)
		if err != nil || i >= len(elems) {
			return
		}
		at = tspan(elems[i])
	}
	if m.removeMember(at, "cache_control") {
		m.log(f, ActionEdit, f.Block, f.Index, 0, "a cache mark that may not stand here, removed")
	}
}

// shortenMark makes a long-lived mark behind a short-lived one short-lived too.
func (m *repairer) shortenMark(f *Finding) {
	if m.setMember(m.t.Block(f.Block).Span, "cache_control", []byte(`{"type":"ephemeral"}`)) {
		m.log(f, ActionEdit, f.Block, f.Index, 0, "a long-lived cache mark behind a short-lived one, shortened")
	}
}

// dropMarks takes off the oldest marks in the messages until four are left.
func (m *repairer) dropMarks(f *Finding) {
	have, err := strconv.Atoi(f.arg)
	if err != nil {
		return
	}
	for _, n := range m.notes {
		if n.fault != tooManyCacheMarks || have <= 4 {
			continue
		}
		b := transcript.BlockID(n.block)
		if m.g.cacheMark == "" {
			m.dropBlock(b)
		} else if !m.removeMember(m.t.Block(b).Span, m.g.cacheMark) {
			continue
		}
		have--
		m.log(f, ActionEdit, b, 0, 0, "the oldest cache marks go; four may stay")
	}
}

// moveMarks moves the cache marks of dropped blocks to the nearest block before
// them that stays and may carry one, so that what is cached stays cached.
func (m *repairer) moveMarks() {
	if m.g.cacheMark == "" || !slices.ContainsFunc(m.notes, func(n note) bool { return n.fault == tooManyCacheMarks }) {
		return
	}
	marked := make(map[transcript.BlockID]bool)
	for _, n := range m.notes {
		marked[transcript.BlockID(n.block)] = marked[transcript.BlockID(n.block)] || n.fault == tooManyCacheMarks
	}
	carrier := make([]transcript.BlockID, len(m.t.Blocks())+1) // by block: the nearest one before it that may
	carrier[0] = transcript.NoBlock
	for i := range m.t.Blocks() {
		b := transcript.BlockID(i)
		if carrier[i+1] = carrier[i]; !m.gone[b] && m.mayCarry(b) {
			carrier[i+1] = b
		}
	}
	for _, n := range m.notes {
		b := transcript.BlockID(n.block)
		if n.fault != tooManyCacheMarks || !m.gone[b] {
			continue
		}
		to := carrier[b]
		mark, ok := m.member(m.t.Block(b).Span, m.g.cacheMark)
		if to < 0 || !ok || marked[to] {
			continue
		}
		marked[to] = true
		if m.setMember(m.t.Block(to).Span, m.g.cacheMark, m.t.Bytes(mark)) {
			m.log(&Finding{Rule: "cache-breakpoint"}, ActionMove, to, 0, mark.Len(), "takes the cache mark of a block that is dropped")
		}
	}
}

// mayCarry reports whether a block may carry a cache mark.
func (m *repairer) mayCarry(b transcript.BlockID) bool {
	switch m.t.Block(b).Kind {
	case transcript.Text, transcript.Call, transcript.Result, transcript.Media:
		return m.where[b].in == inContent
	}
	return false
}
