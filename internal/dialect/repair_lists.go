package dialect

import (
	"slices"
	"strconv"
	"strings"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
)

// A refList is a list inside of a block, references or parts, of which some go, but never all.
type refList struct {
	list
	stay int
}

// dropReference takes an unknown tool out of a list of references. A list that
// this would empty goes with the exchange, or says so.
func (m *repairer) dropReference(f *Finding) {
	_, field, ok := cutPath(f.Path, m.Path(f.Block))
	if !ok {
		return
	}
	i, err := strconv.Atoi(field[strings.LastIndex(field, ".")+1:])
	if err != nil {
		return
	}
	at := m.t.Block(f.Block).Body
	if strings.Contains(field, "tool_references") {
		if at, ok = m.member(at, "tool_references"); !ok {
			return
		}
	}
	l := m.listIn(f.Block, at)
	switch {
	case i >= len(l.drop) || l.drop[i]:
		return
	case l.stay > 1:
		m.dropIn(f.Block, l, i)
	case m.t.Block(f.Block).Kind == transcript.ServerResult:
		delete(m.refs, f.Block)
		m.dropExchange(f)
		return
	default:
		delete(m.refs, f.Block)
		ok = m.setResult(f.Block, m.pen.resultContent(m.draft, "The tool that was found is not available any more."))
	}
	if ok {
		m.logMember(f, f.Block, field, "the reference to %q, which is not declared, removed", f.arg)
	}
}

// listIn is a list inside of a block, of which elements may go.
func (m *repairer) listIn(b transcript.BlockID, at transcript.Span) *refList {
	if l := m.refs[b]; l != nil {
		return l
	}
	l := &refList{list: list{span: at}}
	for _, e := range jsonspan.Elements(m.raw, jsonspan.Span(at)) {
		l.elems = append(l.elems, tspan(e))
	}
	l.drop, l.stay = make([]bool, len(l.elems)), len(l.elems)
	return l
}

// dropIn takes an element out of a list inside of a block.
func (m *repairer) dropIn(b transcript.BlockID, l *refList, i int) {
	if m.refs == nil {
		m.refs = make(map[transcript.BlockID]*refList)
	}
	l.drop[i], m.refs[b] = true, l
	l.stay--
}

// dropEmptyParts takes the texts out of a result that have nothing in them. If that is all
// there is, a text says that it was nothing.
func (m *repairer) dropEmptyParts(f *Finding) {
	blk := m.t.Block(f.Block)
	l := m.listIn(f.Block, blk.Body)
	var empty []int
	for i, e := range l.elems {
		if !l.drop[i] && m.memberIs(e, "type", "text") && m.memberIs(e, "text", "") {
			empty = append(empty, i)
		}
	}
	switch {
	case len(empty) == 0:
	case len(empty) < l.stay:
		for _, i := range empty {
			m.dropIn(f.Block, l, i)
		}
		m.log(f, ActionEdit, f.Block, f.Index, 0, "texts with nothing in them removed from the result")
	case blk.Failed:
		delete(m.refs, f.Block)
		m.wordError(f)
	default:
		delete(m.refs, f.Block)
		m.wordEmpty(f)
	}
}

// carryRefs writes the lists inside of blocks without what goes.
func (m *repairer) carryRefs() {
	for _, l := range m.refs {
		for _, e := range l.edits(m.raw) {
			m.edit(e)
		}
	}
}

// dropSystemText takes what says nothing out of the top-level system prompt; a prompt that says
// nothing at all goes. A cache mark moves to the block in front of it, as in a message.
func (m *repairer) dropSystemText(f *Finding) {
	if m.again(&Finding{fault: emptySystemText}, 0) {
		return
	}
	named := slices.DeleteFunc(slices.Clone(m.bodyObject().members), func(x jsonspan.Member) bool { return !jsonspan.Says(m.raw, x.Key, "system") })
	if len(named) != 1 { // which of them counts is not for us to say
		return
	}
	at := tspan(named[0].Value)
	l := list{span: at}
	for _, e := range jsonspan.Elements(m.raw, jsonspan.Span(at)) {
		l.elems = append(l.elems, tspan(e))
	}
	l.drop = make([]bool, len(l.elems))
	gone := 0
	for _, n := range m.notes {
		if n.fault != emptySystemText && n.fault != blankSystemText {
			continue
		}
		i, err := strconv.Atoi(strings.TrimPrefix(n.sub, "system."))
		if err == nil && !l.drop[i] {
			l.drop[i] = true
			gone++
		}
	}
	if gone == len(l.elems) {
		if m.removeBodyMember("system") {
			m.logHead(f, ActionDrop, "system", -at.Len(), "a system prompt that says nothing")
		}
		return
	}
	last := -1 // the block in front that stays
	for i, e := range l.elems {
		if !l.drop[i] {
			last = i
			continue
		}
		m.logHead(f, ActionDrop, "system."+strconv.Itoa(i), -e.Len(), "a text that says nothing")
		mark, marked := m.member(e, "cache_control")
		if !marked || last < 0 || m.raw[l.elems[last].Start] != '{' {
			continue
		}
		if _, has := m.member(l.elems[last], "cache_control"); !has && m.setMember(l.elems[last], "cache_control", m.t.Bytes(mark)) {
			m.logHead(&Finding{Rule: "cache-breakpoint"}, ActionMove, "system."+strconv.Itoa(last), 0, "takes the cache mark of a block that is dropped")
		}
	}
	for _, e := range l.edits(m.raw) {
		m.edit(e)
	}
}
