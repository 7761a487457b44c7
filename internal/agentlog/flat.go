package agentlog

import (
	"bytes"
	"maps"
	"strings"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// A unitWriter writes the units of a format in which a result is a unit of its own.
type unitWriter interface {
	// stub writes a unit that answers the call of a block.
	stub(l *Log, t *Thread, call transcript.BlockID, text string) []byte
	// quote writes the unit of a result anew as words of nobody.
	quoteUnit(l *Log, t *Thread, result transcript.BlockID, text string) []byte
	// without writes the unit of a call, or of a result, without it; nil if nothing would be
	// left.
	withoutBlock(l *Log, t *Thread, half transcript.BlockID) []byte
}

// A shower is a unitWriter of a format whose results may hold media; a quotation keeps them.
type mediaWriter interface {
	media(l *Log, t *Thread, result transcript.BlockID) [][]byte
}

// A parter is a unitWriter of a format whose units may hold several results: one of them is quoted
// in a unit of its own, and the others stay where they are.
type resultSplitter interface {
	// apart writes the unit without a result, and what is quoted of it; nil if nothing else
	// is in the unit.
	splitResult(l *Log, t *Thread, result transcript.BlockID, text string) (rest, quoted []byte)
}

// A carver is a unitWriter of a format whose units may hold results beside other things: a result that
// moves leaves those where they are.
type elementWriter interface {
	// elements are the parts of a unit that results are among.
	elements(o object) []jsonspan.Span
	// alone writes a unit for one of them.
	unitFor(l *Log, unit int, element []byte) []byte
}

// A nester is a unitWriter of a format whose units may hold lists of items: those are changed where
// they stand.
type nestedWriter interface {
	setNestedItem(e *edits, t *Thread, b transcript.BlockID, now []byte)
	quotedItem(l *Log, t *Thread, result transcript.BlockID, text string) []byte
}

// A matcher is a unitWriter of a format in which an id alone does not make a pair.
type pairMatcher interface {
	isPair(t *Thread, call, result transcript.BlockID) bool
}

// repairFlat repairs what is wrong with the pairs of a thread, one change for each
// finding.
func repairFlat(w unitWriter, e *edits, t *Thread, o Options) error {
	if o.AppendOnly {
		return appendStubs(w, e, t, o)
	}
	changeFlat(w, e, t, o)
	return nil
}

// appendStubs answers the calls at the end of a file of lines, which is all that can
// be done without a change of what is there.
func appendStubs(w unitWriter, e *edits, t *Thread, o Options) error {
	for _, f := range e.file.checkThread(t, o.Check) {
		if f.Open && o.Repair.Open {
			continue
		}
		text := stubText(o.Repair, t.Request.Transcript(), f.Block)
		raw := w.stub(e.file, t, f.Block, text)
		if !f.Open || e.file.lists != nil || raw == nil {
			return ErrAppendOnly
		}
		e.appended = append(e.appended, raw)
		e.addChange(Change{Thread: t.Name, Line: f.Line}, wire.ActionInsert, f.Rule, f.IDs, len(raw), "a stub: %s", text)
	}
	return nil
}

func changeFlat(w unitWriter, e *edits, t *Thread, o Options) {
	found := e.file.checkThread(t, wire.CheckOptions{Strict: o.Check.Strict})
	if len(found) == 0 {
		return
	}
	tr := t.Request.Transcript()
	m := flatRepairer{
		unitWriter: w, edits: e, thread: t, options: o, transcript: tr, ids: newCallIDs(tr), touched: maps.Clone(e.heldUnits), movedElements: make(map[int]map[int]bool),
		moved: make(map[transcript.BlockID]bool), settled: make(map[transcript.BlockID]bool),
	}
	strays := make(map[string]*Finding)
	for i := range found {
		if f := &found[i]; f.Rule == "orphan-result" && len(f.IDs) > 0 {
			strays[f.IDs[0]] = f
		}
	}
	// What is there counts before what is not: results go to their calls first.
	for i := range found {
		if f := &found[i]; f.Rule == "orphan-call" && len(f.IDs) > 0 && strays[f.IDs[0]] != nil && m.isPair(f.Block, strays[f.IDs[0]].Block) && m.moveResult(f, strays[f.IDs[0]].Block, strays[f.IDs[0]].unit, f.unit) {
			m.moved[f.Block] = true
			delete(strays, f.IDs[0])
		}
	}
	for i := range found {
		m.repair(&found[i])
	}
	m.writeRemainders()
}

type flatRepairer struct {
	unitWriter
	edits         *edits
	thread        *Thread
	options       Options
	transcript    *transcript.Transcript
	touched       map[int]bool
	moved         map[transcript.BlockID]bool // calls whose results were moved to them
	settled       map[transcript.BlockID]bool // first results of calls with several
	movedElements map[int]map[int]bool        // elements that have moved out of units, by where they begin
	ids           *callIDs
}

func (m *flatRepairer) change(f *Finding) Change { return Change{Thread: m.thread.Name, Line: f.Line} }

// mates reports whether a result can answer a call of its id.
func (m *flatRepairer) isPair(call, result transcript.BlockID) bool {
	k, ok := m.unitWriter.(pairMatcher)
	return !ok || k.isPair(m.thread, call, result)
}

// move puts a result behind the unit of its call: its unit, or the element of it that it is.
func (m *flatRepairer) moveResult(f *Finding, result transcript.BlockID, unit, call int) bool {
	if unit == call || m.edits.file.sealed[unit] || m.touched[unit] && m.movedElements[unit] == nil {
		return false
	}
	m.touched[unit] = true
	moved := m.carve(result, unit)
	if moved == nil {
		moved = m.edits.unitBytes(unit)
		m.edits.unit(unit).drop = true
	}
	x := m.edits.unit(call)
	x.after = append(x.after, moved)
	m.edits.addChange(Change{Thread: m.thread.Name, Line: m.edits.file.units[unit].line}, wire.ActionMove, f.Rule, f.IDs, 0, "moved to the place behind its call")
	return true
}

// carve takes a result out of a unit that holds more, and returns a unit of its own; nil: it
// holds nothing else.
func (m *flatRepairer) carve(result transcript.BlockID, unit int) []byte {
	c, ok := m.unitWriter.(elementWriter)
	if !ok || len(c.elements(m.edits.file.object(unit))) < 2 {
		return nil
	}
	if m.movedElements[unit] == nil {
		m.movedElements[unit] = make(map[int]bool)
	}
	blk := m.transcript.Block(result)
	at := m.thread.sources[blk.Message].blockSpans[result-m.transcript.Messages()[blk.Message].First]
	m.movedElements[unit][at.Start] = true
	return c.unitFor(m.edits.file, unit, m.edits.file.raw[at.Start:at.End])
}

// writeLeft writes the units that results have moved out of.
func (m *flatRepairer) writeRemainders() {
	for unit, gone := range m.movedElements {
		all := m.unitWriter.(elementWriter).elements(m.edits.file.object(unit))
		var stay [][]byte
		for _, at := range all {
			if !gone[at.Start] {
				stay = append(stay, m.edits.file.raw[at.Start:at.End])
			}
		}
		if stay == nil {
			m.edits.unit(unit).drop = true
			continue
		}
		first := all[0].Start
		m.edits.replaceSpan(unit, first, all[len(all)-1].End-first, bytes.Join(stay, []byte{','}))
	}
}

func (m *flatRepairer) repair(f *Finding) {
	if f.Block == transcript.NoBlock || m.touched[f.unit] && f.Rule != "orphan-call" {
		return
	}
	x := m.transcript.Exchanges()[m.transcript.ExchangeOf(f.Block)]
	switch f.Rule {
	case "orphan-call":
		m.answerCall(f, x)
	case "orphan-result":
		m.settleStray(f)
	case "displaced-result":
		if x.Call != transcript.NoBlock {
			call, _ := m.thread.locate(m.edits.file, m.transcript.Block(x.Call).Message, x.Call)
			m.moveResult(f, f.Block, f.unit, call)
		}
	case "duplicate-result":
		m.settleExtra(f, x)
	case "duplicate-call-id":
		m.settleDuplicateID(f, x)
	}
}

// answer gives a call its stub, or drops it.
func (m *flatRepairer) answerCall(f *Finding, x transcript.Exchange) {
	if m.options.Repair.Open && f.Open || m.moved[f.Block] {
		return
	}
	text := stubText(m.options.Repair, m.transcript, f.Block)
	if m.options.Repair.OrphanCall == wire.RemedyDrop || text == "" || x.CallID == "" {
		m.dropOpenCall(f)
		return
	}
	raw := m.stub(m.edits.file, m.thread, f.Block, text)
	if raw == nil {
		m.dropOpenCall(f)
		return
	}
	u := m.edits.unit(f.unit)
	u.after = append(u.after, raw)
	m.edits.addChange(m.change(f), wire.ActionInsert, f.Rule, f.IDs, len(raw), "a stub: %s", text)
}

// dropOpen drops a call without a result.
func (m *flatRepairer) dropOpenCall(f *Finding) {
	if len(f.IDs) > 0 { // else the receipt names nothing
		m.allowRead(f.unit, f.Block)
	}
	m.dropCall(f, "a tool call without a result")
}

// letRead says that a receipt names what the format has read of a call or a result, apart from what
// somebody else is quoted with in it.
func (m *flatRepairer) allowRead(unit int, b transcript.BlockID) {
	at := m.elementSpan(b)
	if at == m.edits.file.units[unit].span {
		return // a whole record says more than its call
	}
	read := make(map[string]bool)
	raw := m.transcript.Bytes(m.transcript.Block(b).Span)
	eachWord(raw, jsonspan.Span{End: len(raw)}, func(s jsonspan.Span) { read[decodeString(raw, s)] = true })
	quoted := wirex.QuotedIn(m.edits.file.raw, transcript.Span(at))
	eachWord(m.edits.file.raw, at, func(s jsonspan.Span) {
		if read[decodeString(m.edits.file.raw, s)] && !quoted[s.Start] {
			m.edits.allowLoss(unit, s)
		}
	})
}

// element is the part of a file that a block was made of.
func (m *flatRepairer) elementSpan(b transcript.BlockID) jsonspan.Span {
	blk := m.transcript.Block(b)
	p, msg := m.thread.sources[blk.Message], m.transcript.Messages()[blk.Message]
	switch i := int(b - msg.First); {
	case p.start >= 0:
		return jsonspan.Span{Start: p.start, End: p.start + msg.Span.Len()}
	case i < len(p.blockSpans):
		return p.blockSpans[i]
	}
	return m.edits.file.units[p.unit].span
}

// dropCall takes a call out of its unit.
func (m *flatRepairer) dropCall(f *Finding, why string) {
	gone := func() {
		m.edits.addChange(m.change(f), wire.ActionDrop, f.Rule, f.IDs, -m.transcript.Block(f.Block).Span.Len(), "%s", why)
	}
	if m.edits.file.sealed[f.unit] {
		if n, ok := m.unitWriter.(nestedWriter); ok && !m.edits.heldUnits[f.unit] {
			n.setNestedItem(m.edits, m.thread, f.Block, nil)
			gone()
		}
		return
	}
	if m.touched[f.unit] {
		return
	}
	m.touched[f.unit] = true
	rest := m.withoutBlock(m.edits.file, m.thread, f.Block)
	if rest == nil {
		m.edits.unit(f.unit).drop = true
	} else {
		m.edits.unit(f.unit).body = rest
	}
	gone()
}

// says returns the words of a result, and the bytes of what it shows beside them. One that says
// nothing where its format says it, and something elsewhere, is said as it is written.
func (m *flatRepairer) resultTexts(result transcript.BlockID) (text, shown string) {
	if s, ok := m.unitWriter.(mediaWriter); ok {
		shown = string(bytes.Join(s.media(m.edits.file, m.thread, result), []byte{','}))
	}
	text = m.thread.Request.Text(result)
	if strings.TrimSpace(text+shown) != "" {
		return text, shown
	}
	unit, _ := m.thread.locate(m.edits.file, m.transcript.Block(result).Message, result)
	at, some := m.elementSpan(result), false
	if at != m.edits.file.units[unit].span {
		eachWord(m.edits.file.raw, at, func(jsonspan.Span) { some = true })
	}
	if some {
		text = string(m.edits.file.raw[at.Start:at.End])
	}
	return text, shown
}

// stray quotes a result that answers no call, or drops it.
func (m *flatRepairer) settleStray(f *Finding) {
	if !m.canChange(f.unit) {
		return
	}
	text, shown := m.resultTexts(f.Block)
	if m.options.Repair.OrphanResult == wire.RemedyDrop || wirex.IsSynthetic(text) || strings.TrimSpace(text+shown) == "" {
		m.allowRead(f.unit, f.Block)
		m.edits.addChange(m.change(f), wire.ActionDrop, f.Rule, f.IDs, -m.dropResult(f.unit, f.Block), "a result whose call is not in the history")
		return
	}
	m.quoteResult(f.unit, f.Block, text)
	m.edits.addChange(m.change(f), wire.ActionEdit, f.Rule, f.IDs, 0, "a result whose call is not in the history, kept as quoted text")
}

// reach reports whether the results of a unit can be changed, and keeps others from changing a
// unit that holds one alone.
func (m *flatRepairer) canChange(unit int) bool {
	if m.edits.file.sealed[unit] {
		_, ok := m.unitWriter.(nestedWriter)
		return ok && !m.edits.heldUnits[unit]
	}
	m.touched[unit] = true
	return true
}

// dropResult takes a result out of its unit, which goes if nothing else is in it, and returns
// how many bytes that were.
func (m *flatRepairer) dropResult(unit int, result transcript.BlockID) int {
	if n, ok := m.unitWriter.(nestedWriter); ok && m.edits.file.sealed[unit] {
		n.setNestedItem(m.edits, m.thread, result, nil)
		return m.transcript.Block(result).Span.Len()
	}
	whole := m.edits.file.units[unit].span.Len()
	rest := m.withoutBlock(m.edits.file, m.thread, result)
	if rest == nil {
		m.edits.unit(unit).drop = true
		return whole
	}
	m.edits.unit(unit).body = rest
	return whole - len(rest)
}

// quoteResult writes a result anew as words of nobody.
func (m *flatRepairer) quoteResult(unit int, result transcript.BlockID, text string) {
	if n, ok := m.unitWriter.(nestedWriter); ok && m.edits.file.sealed[unit] {
		n.setNestedItem(m.edits, m.thread, result, n.quotedItem(m.edits.file, m.thread, result, quotation+text))
		return
	}
	u := m.edits.unit(unit)
	if p, ok := m.unitWriter.(resultSplitter); ok {
		if rest, quoted := p.splitResult(m.edits.file, m.thread, result, quotation+text); rest != nil {
			u.body, u.after = rest, append(u.after, quoted)
			return
		}
	}
	u.body = m.quoteUnit(m.edits.file, m.thread, result, quotation+text)
}

// quotation introduces what a tool said, so that nobody takes it for the user's
// words.
const quotation = "[A tool result without its call; quoted, not written by the user]\n"

// extra keeps one result of a call as its answer: the first real one, before one that was
// made up. Copies of it and those that were made up go; what else a tool said is quoted.
func (m *flatRepairer) settleExtra(f *Finding, x transcript.Exchange) {
	if m.settled[x.Results[0]] {
		return // with the first finding about this call
	}
	m.settled[x.Results[0]] = true
	best := x.Results[0]
	for _, r := range x.Results {
		if !wirex.IsSynthetic(m.thread.Request.Text(r)) {
			best = r
			break
		}
	}
	first, shown := m.resultTexts(best)
	said := map[[2]string]bool{{first, shown}: true}
	words := make(map[string]bool) // of the results that stay
	again := func(r transcript.BlockID) bool {
		known := true
		eachWord(m.edits.file.raw, m.elementSpan(r), func(s jsonspan.Span) {
			if text := decodeString(m.edits.file.raw, s); !words[text] {
				words[text], known = true, false
			}
		})
		return known
	}
	again(best)
	for _, r := range x.Results {
		u, _ := m.thread.locate(m.edits.file, m.transcript.Block(r).Message, r)
		if r == best || m.touched[u] || !m.canChange(u) {
			continue
		}
		c := Change{Thread: m.thread.Name, Line: m.edits.file.units[u].line}
		text, shown := m.resultTexts(r)
		if again(r) && said[[2]string{text, shown}] || wirex.IsSynthetic(text) || strings.TrimSpace(text+shown) == "" {
			m.edits.addChange(c, wire.ActionDrop, f.Rule, f.IDs, -m.dropResult(u, r), "a call has one result; another one was kept")
			continue
		}
		said[[2]string{text, shown}] = true
		m.quoteResult(u, r, text)
		m.edits.addChange(c, wire.ActionEdit, f.Rule, f.IDs, 0, "a call has one result; this one is kept as quoted text")
	}
}
