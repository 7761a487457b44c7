package agentlog

import (
	"bytes"
	"maps"
	"strings"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// A pen writes the units of a format in which a result is a unit of its own.
type pen interface {
	// stub writes a unit that answers the call of a block.
	stub(l *Log, t *Thread, call transcript.BlockID, text string) []byte
	// quote writes the unit of a result anew as words of nobody.
	quote(l *Log, t *Thread, result transcript.BlockID, text string) []byte
	// without writes the unit of a call, or of a result, without it; nil if nothing would be
	// left.
	without(l *Log, t *Thread, half transcript.BlockID) []byte
}

// A shower is a pen of a format whose results may hold media; a quotation keeps them.
type shower interface {
	shows(l *Log, t *Thread, result transcript.BlockID) [][]byte
}

// A parter is a pen of a format whose units may hold several results: one of them is quoted
// in a unit of its own, and the others stay where they are.
type parter interface {
	// apart writes the unit without a result, and what is quoted of it; nil if nothing else
	// is in the unit.
	apart(l *Log, t *Thread, result transcript.BlockID, text string) (rest, quoted []byte)
}

// A carver is a pen of a format whose units may hold results beside other things: a result that
// moves leaves those where they are.
type carver interface {
	// elements are the parts of a unit that results are among.
	elements(o object) []jsonspan.Span
	// alone writes a unit for one of them.
	alone(l *Log, unit int, element []byte) []byte
}

// A nester is a pen of a format whose units may hold lists of items: those are changed where
// they stand.
type nester interface {
	nest(e *edits, t *Thread, b transcript.BlockID, now []byte)
	quoted(l *Log, t *Thread, result transcript.BlockID, text string) []byte
}

// A matcher is a pen of a format in which an id alone does not make a pair.
type matcher interface {
	mates(t *Thread, call, result transcript.BlockID) bool
}

// repairFlat repairs what is wrong with the pairs of a thread, one change for each
// finding.
func repairFlat(w pen, e *edits, t *Thread, o Options) error {
	if o.AppendOnly {
		return appendStubs(w, e, t, o)
	}
	changeFlat(w, e, t, o)
	return nil
}

// appendStubs answers the calls at the end of a file of lines, which is all that can
// be done without a change of what is there.
func appendStubs(w pen, e *edits, t *Thread, o Options) error {
	for _, f := range e.l.checkThread(t, o.Check) {
		if f.Open && o.Repair.Open {
			continue
		}
		text := stubText(o.Repair, t.Request.Transcript(), f.Block)
		raw := w.stub(e.l, t, f.Block, text)
		if !f.Open || e.l.lists != nil || raw == nil {
			return ErrAppendOnly
		}
		e.end = append(e.end, raw)
		e.log(Change{Thread: t.Name, Line: f.Line}, wire.ActionInsert, f.Rule, f.IDs, len(raw), "a stub: %s", text)
	}
	return nil
}

func changeFlat(w pen, e *edits, t *Thread, o Options) {
	found := e.l.checkThread(t, wire.CheckOptions{Strict: o.Check.Strict})
	if len(found) == 0 {
		return
	}
	tr := t.Request.Transcript()
	m := flatRepairer{
		pen: w, e: e, t: t, o: o, tr: tr, ids: newCallIDs(tr), touched: maps.Clone(e.held), carved: make(map[int]map[int]bool),
		home: make(map[transcript.BlockID]bool), weighed: make(map[transcript.BlockID]bool),
	}
	strays := make(map[string]*Finding)
	for i := range found {
		if f := &found[i]; f.Rule == "orphan-result" && len(f.IDs) > 0 {
			strays[f.IDs[0]] = f
		}
	}
	// What is there counts before what is not: results go to their calls first.
	for i := range found {
		if f := &found[i]; f.Rule == "orphan-call" && len(f.IDs) > 0 && strays[f.IDs[0]] != nil && m.mates(f.Block, strays[f.IDs[0]].Block) && m.move(f, strays[f.IDs[0]].Block, strays[f.IDs[0]].unit, f.unit) {
			m.home[f.Block] = true
			delete(strays, f.IDs[0])
		}
	}
	for i := range found {
		m.repair(&found[i])
	}
	m.writeLeft()
}

type flatRepairer struct {
	pen
	e       *edits
	t       *Thread
	o       Options
	tr      *transcript.Transcript
	touched map[int]bool
	home    map[transcript.BlockID]bool // calls whose results were moved to them
	weighed map[transcript.BlockID]bool // first results of calls with several
	carved  map[int]map[int]bool        // elements that have moved out of units, by where they begin
	ids     *callIDs
}

func (m *flatRepairer) change(f *Finding) Change { return Change{Thread: m.t.Name, Line: f.Line} }

// mates reports whether a result can answer a call of its id.
func (m *flatRepairer) mates(call, result transcript.BlockID) bool {
	k, ok := m.pen.(matcher)
	return !ok || k.mates(m.t, call, result)
}

// move puts a result behind the unit of its call: its unit, or the element of it that it is.
func (m *flatRepairer) move(f *Finding, result transcript.BlockID, unit, call int) bool {
	if unit == call || m.e.l.sealed[unit] || m.touched[unit] && m.carved[unit] == nil {
		return false
	}
	m.touched[unit] = true
	moved := m.carve(result, unit)
	if moved == nil {
		moved = m.e.body(unit)
		m.e.unit(unit).drop = true
	}
	x := m.e.unit(call)
	x.after = append(x.after, moved)
	m.e.log(Change{Thread: m.t.Name, Line: m.e.l.units[unit].line}, wire.ActionMove, f.Rule, f.IDs, 0, "moved to the place behind its call")
	return true
}

// carve takes a result out of a unit that holds more, and returns a unit of its own; nil: it
// holds nothing else.
func (m *flatRepairer) carve(result transcript.BlockID, unit int) []byte {
	c, ok := m.pen.(carver)
	if !ok || len(c.elements(m.e.l.object(unit))) < 2 {
		return nil
	}
	if m.carved[unit] == nil {
		m.carved[unit] = make(map[int]bool)
	}
	blk := m.tr.Block(result)
	at := m.t.parts[blk.Message].blocks[result-m.tr.Messages()[blk.Message].First]
	m.carved[unit][at.Start] = true
	return c.alone(m.e.l, unit, m.e.l.raw[at.Start:at.End])
}

// writeLeft writes the units that results have moved out of.
func (m *flatRepairer) writeLeft() {
	for unit, gone := range m.carved {
		all := m.pen.(carver).elements(m.e.l.object(unit))
		var stay [][]byte
		for _, at := range all {
			if !gone[at.Start] {
				stay = append(stay, m.e.l.raw[at.Start:at.End])
			}
		}
		if stay == nil {
			m.e.unit(unit).drop = true
			continue
		}
		first := all[0].Start
		m.e.replaceIn(unit, first, all[len(all)-1].End-first, bytes.Join(stay, []byte{','}))
	}
}

func (m *flatRepairer) repair(f *Finding) {
	if f.Block == transcript.NoBlock || m.touched[f.unit] && f.Rule != "orphan-call" {
		return
	}
	x := m.tr.Exchanges()[m.tr.ExchangeOf(f.Block)]
	switch f.Rule {
	case "orphan-call":
		m.answer(f, x)
	case "orphan-result":
		m.stray(f)
	case "displaced-result":
		if x.Call != transcript.NoBlock {
			call, _ := m.t.locate(m.e.l, m.tr.Block(x.Call).Message, x.Call)
			m.move(f, f.Block, f.unit, call)
		}
	case "duplicate-result":
		m.extra(f, x)
	case "duplicate-call-id":
		m.twin(f, x)
	}
}

// answer gives a call its stub, or drops it.
func (m *flatRepairer) answer(f *Finding, x transcript.Exchange) {
	if m.o.Repair.Open && f.Open || m.home[f.Block] {
		return
	}
	text := stubText(m.o.Repair, m.tr, f.Block)
	if m.o.Repair.OrphanCall == wire.RemedyDrop || text == "" || x.CallID == "" {
		m.dropOpen(f)
		return
	}
	raw := m.stub(m.e.l, m.t, f.Block, text)
	if raw == nil {
		m.dropOpen(f)
		return
	}
	u := m.e.unit(f.unit)
	u.after = append(u.after, raw)
	m.e.log(m.change(f), wire.ActionInsert, f.Rule, f.IDs, len(raw), "a stub: %s", text)
}

// dropOpen drops a call without a result.
func (m *flatRepairer) dropOpen(f *Finding) {
	if len(f.IDs) > 0 { // else the receipt names nothing
		m.letRead(f.unit, f.Block)
	}
	m.dropCall(f, "a tool call without a result")
}

// letRead says that a receipt names what the format has read of a call or a result, apart from what
// somebody else is quoted with in it.
func (m *flatRepairer) letRead(unit int, b transcript.BlockID) {
	at := m.element(b)
	if at == m.e.l.units[unit].span {
		return // a whole record says more than its call
	}
	read := make(map[string]bool)
	raw := m.tr.Bytes(m.tr.Block(b).Span)
	eachWord(raw, jsonspan.Span{End: len(raw)}, func(s jsonspan.Span) { read[contentText(raw, s)] = true })
	quoted := wirex.QuotedIn(m.e.l.raw, transcript.Span(at))
	eachWord(m.e.l.raw, at, func(s jsonspan.Span) {
		if read[contentText(m.e.l.raw, s)] && !quoted[s.Start] {
			m.e.let(unit, s)
		}
	})
}

// element is the part of a file that a block was made of.
func (m *flatRepairer) element(b transcript.BlockID) jsonspan.Span {
	blk := m.tr.Block(b)
	p, msg := m.t.parts[blk.Message], m.tr.Messages()[blk.Message]
	switch i := int(b - msg.First); {
	case p.at >= 0:
		return jsonspan.Span{Start: p.at, End: p.at + msg.Span.Len()}
	case i < len(p.blocks):
		return p.blocks[i]
	}
	return m.e.l.units[p.unit].span
}

// dropCall takes a call out of its unit.
func (m *flatRepairer) dropCall(f *Finding, why string) {
	gone := func() {
		m.e.log(m.change(f), wire.ActionDrop, f.Rule, f.IDs, -m.tr.Block(f.Block).Span.Len(), "%s", why)
	}
	if m.e.l.sealed[f.unit] {
		if n, ok := m.pen.(nester); ok && !m.e.held[f.unit] {
			n.nest(m.e, m.t, f.Block, nil)
			gone()
		}
		return
	}
	if m.touched[f.unit] {
		return
	}
	m.touched[f.unit] = true
	rest := m.without(m.e.l, m.t, f.Block)
	if rest == nil {
		m.e.unit(f.unit).drop = true
	} else {
		m.e.unit(f.unit).body = rest
	}
	gone()
}

// says returns the words of a result, and the bytes of what it shows beside them. One that says
// nothing where its format says it, and something elsewhere, is said as it is written.
func (m *flatRepairer) says(result transcript.BlockID) (text, shown string) {
	if s, ok := m.pen.(shower); ok {
		shown = string(bytes.Join(s.shows(m.e.l, m.t, result), []byte{','}))
	}
	text = m.t.Request.Text(result)
	if strings.TrimSpace(text+shown) != "" {
		return text, shown
	}
	unit, _ := m.t.locate(m.e.l, m.tr.Block(result).Message, result)
	at, some := m.element(result), false
	if at != m.e.l.units[unit].span {
		eachWord(m.e.l.raw, at, func(jsonspan.Span) { some = true })
	}
	if some {
		text = string(m.e.l.raw[at.Start:at.End])
	}
	return text, shown
}

// stray quotes a result that answers no call, or drops it.
func (m *flatRepairer) stray(f *Finding) {
	if !m.reach(f.unit) {
		return
	}
	text, shown := m.says(f.Block)
	if m.o.Repair.OrphanResult == wire.RemedyDrop || wirex.IsSynthetic(text) || strings.TrimSpace(text+shown) == "" {
		m.letRead(f.unit, f.Block)
		m.e.log(m.change(f), wire.ActionDrop, f.Rule, f.IDs, -m.dropResult(f.unit, f.Block), "a result whose call is not in the history")
		return
	}
	m.quoteResult(f.unit, f.Block, text)
	m.e.log(m.change(f), wire.ActionEdit, f.Rule, f.IDs, 0, "a result whose call is not in the history, kept as quoted text")
}

// reach reports whether the results of a unit can be changed, and keeps others from changing a
// unit that holds one alone.
func (m *flatRepairer) reach(unit int) bool {
	if m.e.l.sealed[unit] {
		_, ok := m.pen.(nester)
		return ok && !m.e.held[unit]
	}
	m.touched[unit] = true
	return true
}

// dropResult takes a result out of its unit, which goes if nothing else is in it, and returns
// how many bytes that were.
func (m *flatRepairer) dropResult(unit int, result transcript.BlockID) int {
	if n, ok := m.pen.(nester); ok && m.e.l.sealed[unit] {
		n.nest(m.e, m.t, result, nil)
		return m.tr.Block(result).Span.Len()
	}
	whole := m.e.l.units[unit].span.Len()
	rest := m.without(m.e.l, m.t, result)
	if rest == nil {
		m.e.unit(unit).drop = true
		return whole
	}
	m.e.unit(unit).body = rest
	return whole - len(rest)
}

// quoteResult writes a result anew as words of nobody.
func (m *flatRepairer) quoteResult(unit int, result transcript.BlockID, text string) {
	if n, ok := m.pen.(nester); ok && m.e.l.sealed[unit] {
		n.nest(m.e, m.t, result, n.quoted(m.e.l, m.t, result, quotation+text))
		return
	}
	u := m.e.unit(unit)
	if p, ok := m.pen.(parter); ok {
		if rest, quoted := p.apart(m.e.l, m.t, result, quotation+text); rest != nil {
			u.body, u.after = rest, append(u.after, quoted)
			return
		}
	}
	u.body = m.quote(m.e.l, m.t, result, quotation+text)
}

// quotation introduces what a tool said, so that nobody takes it for the user's
// words.
const quotation = "[A tool result without its call; quoted, not written by the user]\n"

// extra keeps one result of a call as its answer: the first real one, before one that was
// made up. Copies of it and those that were made up go; what else a tool said is quoted.
func (m *flatRepairer) extra(f *Finding, x transcript.Exchange) {
	if m.weighed[x.Results[0]] {
		return // with the first finding about this call
	}
	m.weighed[x.Results[0]] = true
	best := x.Results[0]
	for _, r := range x.Results {
		if !wirex.IsSynthetic(m.t.Request.Text(r)) {
			best = r
			break
		}
	}
	first, shown := m.says(best)
	said := map[[2]string]bool{{first, shown}: true}
	words := make(map[string]bool) // of the results that stay
	again := func(r transcript.BlockID) bool {
		known := true
		eachWord(m.e.l.raw, m.element(r), func(s jsonspan.Span) {
			if text := contentText(m.e.l.raw, s); !words[text] {
				words[text], known = true, false
			}
		})
		return known
	}
	again(best)
	for _, r := range x.Results {
		u, _ := m.t.locate(m.e.l, m.tr.Block(r).Message, r)
		if r == best || m.touched[u] || !m.reach(u) {
			continue
		}
		c := Change{Thread: m.t.Name, Line: m.e.l.units[u].line}
		text, shown := m.says(r)
		if again(r) && said[[2]string{text, shown}] || wirex.IsSynthetic(text) || strings.TrimSpace(text+shown) == "" {
			m.e.log(c, wire.ActionDrop, f.Rule, f.IDs, -m.dropResult(u, r), "a call has one result; another one was kept")
			continue
		}
		said[[2]string{text, shown}] = true
		m.quoteResult(u, r, text)
		m.e.log(c, wire.ActionEdit, f.Rule, f.IDs, 0, "a call has one result; this one is kept as quoted text")
	}
}
